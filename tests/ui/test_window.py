"""What is wider than the terminal is broken between words, and what is to be copied stays whole."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import making
import pytest
from making import order, record_all

from ralph.ui.cli.streams import fold_line

LONG = "make shipping of negative totals cost seven, whatever the rest of the shop may think about it"


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        ("short", "short"),
        ("  why   one two three four five six", "  why   one two three four\n        five six"),
        ("no columns here at all, only words", "no columns here at all, only\n  words"),
        ("               far to the right", "               far to the\n               right"),
        ("Work     loop  build  plan  backlog", "Work     loop  build  plan\n         backlog"),
        ("#1 name  exhausted  are 100 red", "#1 name  exhausted\n         are 100 red"),
        ("  see it again  ralph diff 7 --stat", "  see it again\n  ralph diff 7 --stat"),
        ("  at    " + "x" * 40, "  at    " + "x" * 40),  # no line could hold it
        ("\x1b[31merror:\x1b[0m it is much too long", "\x1b[31merror:\x1b[0m it is much too long"),
        (
            "\x1b[31merror:\x1b[0m it is much too long to fit  \x1b[2m[E-X]\x1b[0m",
            "\x1b[31merror:\x1b[0m it is much too long to\n  fit  \x1b[2m[E-X]\x1b[0m",
        ),
        ("\x1b[2K" + "x y " * 20, "\x1b[2K" + "x y " * 20),  # a live view draws for itself
        ("日本語 日本語 日本語 日本語 日本語 end", "日本語 日本語 日本語 日本語\n  日本語 end"),
        ("it is much too long to fit here \x1b[1m", "it is much too long to fit\n  here\x1b[1m"),
        ("\x1b[1mit is much too long to fit here\x1b[m", "\x1b[1mit is much too long to fit\n  here\x1b[m"),
        (" " * 40, " " * 40),
    ],
)
def test_lines_are_folded_under_their_columns(line, folded):
    """The rest of a line stands under its column; cells, commands and colours stay as they are."""
    assert fold_line(line, 30) == folded


def test_a_window_of_one_column_holds_every_word():
    """Such windows are nobody's wish, and no reason to fail."""
    for width in range(8):
        assert fold_line("  why   one two", width).split() == ["why", "one", "two"]


@pytest.mark.sample(check=4)
@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize(
    "words",
    [("status",), ("status", "1"), ("--help",), ("loop", "--help"), ("agents", "list"), ("status", "nobody")],
)
def test_no_screen_is_wider_than_its_terminal(tmp_path, words, columns):
    """What people read fits, up to a command or a path that no line can hold."""
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    state = record_all(
        tmp_path / "state", making.verified(order("fix-auth-7f3a91c2", repo=str(repo), task=LONG))
    )
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "RALPH_STATE_DIR": str(state), "LANG": "C.UTF-8"}
    argv = [sys.executable, "-m", "ralph", *words]
    with subprocess.Popen(argv, cwd=repo, env=env, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = b""
        while part := read(ours):
            shown += part
    os.close(ours)
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).splitlines()
    assert len(lines) > 2
    wide = [line for line in lines if len(line) > columns]
    assert not [line for line in wide if not re.search(r"ralph |npm |/\S{30}", line)], wide


def read(fd):
    try:
        return os.read(fd, 65536)
    except OSError:  # the other end is closed
        return b""
