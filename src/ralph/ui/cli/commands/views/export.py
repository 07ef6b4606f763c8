"""`ralph export`: a loop's record as files for other programs."""

from __future__ import annotations

import os

import click


@click.command(short_help="Write a loop's record as files.")
@click.argument("loop", required=False)
@click.option("--layout", default="s2", type=click.Choice(("s2",)), help="Names and shapes of the files.")
@click.option("--to", "target", default="", metavar="DIR", help="Folder to write to [default: ralph-export].")
def command(loop: str | None, layout: str, target: str) -> int:  # noqa: ARG001 (there is one layout so far)
    """Write registry.json, loops/ID/state.json, checkpoints and analytics.json, and the report of LOOP.

    Unknown values are null. docs/json.md has the fields.

    \b
    Example:
      ralph export fix-auth --to /tmp/fix-auth
    """
    from ralph.app.report.export_s2 import export_loop
    from ralph.ui.cli.pick_loop import loop_to_show

    for path in export_loop(loop_to_show(loop), dict(os.environ), os.getcwd(), target or "ralph-export"):
        print(path)
    return 0
