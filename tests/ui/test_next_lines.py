"""Every `next` line of every error: read from where it is raised, and held to what can be typed."""

import re
import shlex
import subprocess

import click
import pytest

from ralph.app.words.error_pages import error_pages
from ralph.ui.cli.tree import ALIASES, commands, load_command

LINES = sorted({page.next for page in error_pages() if page.next})
SAMPLES = {"name": "fix-auth-7f3a91c2", "above": "main", "typed": "loop x", "command": "ralph loop"}


def typed(line):
    """The line with something in the place of what is only known then."""
    return re.sub(r"\{([^{}]*)\}", lambda hole: SAMPLES.get(hole[1], "fix-auth-7f3a91c2"), line)


@pytest.mark.parametrize("line", LINES)
def test_a_next_line_holds_no_gap(line):
    """Nobody has to guess what to put where: no TASK, CMD, FILE or dots are left to be filled in."""
    plain = re.sub(r"\$\{?[A-Z_]+(?::-[a-z]+)?\}?|\{[^{}]*\}", "x", line)
    assert not re.search(
        r"(?<![\w$./-])(?:TASK|CMD|FILE|NAME|LOOP|PATH|TEXT|VALUE)(?![\w=])|\u2026", plain
    ), line


@pytest.mark.parametrize("line", LINES)
def test_a_next_line_is_a_command(line):
    """A shell reads it; of Ralph's own, the command and each of its options exist."""
    text = typed(line)
    if text.strip():
        subprocess.run(["sh", "-n", "-c", text], check=True)
    for part in re.split(r"&&|;|, then: ", text):
        words = shlex.split(part)
        if words[:1] != ["ralph"] or len(words) == 1:
            continue
        path, command = words[1], None
        if path.startswith("-"):
            continue
        if path in commands() or path in ALIASES:
            command = load_command(ALIASES.get(path, path))
        assert command is not None, line
        rest = words[2:]
        while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
            command = command.get_command(click.Context(command), rest.pop(0))
            assert command is not None, line
        known = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        used = {word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
        assert used <= {*known, "--help", "-h"}, line
