"""`ralph completions`: click's own completion script for a shell."""

from __future__ import annotations

import click

SHELLS = ("bash", "zsh", "fish")


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the completion script for SHELL: bash, zsh or fish.

    \b
    Examples:
      ralph completions bash > ~/.local/share/bash-completion/completions/ralph
      ralph completions zsh > ~/.zfunc/_ralph     (with ~/.zfunc in fpath)
      ralph completions fish > ~/.config/fish/completions/ralph.fish
    """
    from click.shell_completion import get_completion_class

    from ralph.ui.cli.tree import cli

    kind = get_completion_class(shell)
    assert kind is not None
    print(kind(cli, {}, "ralph", "_RALPH_COMPLETE").source())
    return 0
