"""Processes that begin, end and count in one session at the same moment: what they leave agrees."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import builders as b
import pytest

from ralph.app.session.state import note_state
from ralph.clock import SystemClock
from ralph.core.session.names import session_name
from ralph.core.session.record import SessionStarted, encode_fact
from ralph.shell.session.stream import add_fact, marker_of, read_session
from ralph.shell.state.directory import open_state

NAME = session_name("claude", "s1")
READY = "import os, sys, time\nwhile not os.path.exists('go'): time.sleep(0.001)\n"
BEGIN_AND_END = (
    READY
    + """
from ralph.clock import SystemClock
from ralph.core.session.record import SessionEnded, decode_fact
from ralph.shell.session.stream import add_fact
from ralph.shell.state.directory import open_state
def on_a_slow_disk(path, unlink=os.unlink):
    time.sleep(0.2)
    unlink(path)
os.unlink = on_a_slow_disk
state, name = open_state(os.environ["RALPH_STATE_DIR"], create=True), sys.argv[1]
begin = decode_fact("SessionStarted", open("begin.json", "rb").read())
fact = begin if sys.argv[2] == "begin" else SessionEnded(outcome="stopped", reason="")
for number in range(3):
    def turn(now):
        return fact if now.active is (fact is not begin) else None
    while add_fact(state, name, SystemClock(), turn)[1] is None:
        time.sleep(0.001)
"""
)
COUNT = (
    READY
    + """
from ralph.app.session.state import count_state
for turn in range(5):
    count_state(sys.argv[1], os.environ, "loop")
"""
)


class Many:
    """Processes that wait for each other, then all begin."""

    def __init__(self, top: Path) -> None:
        self.top, self.repo = top, top / "repo"
        self.repo.mkdir()
        self.env = {**os.environ, "HOME": str(top), "RALPH_STATE_DIR": str(top / "state")}
        self.env.pop("RALPH_LOOP_ID", None)
        self.state = open_state(self.env["RALPH_STATE_DIR"], create=True)

    def at_once(
        self, *argvs: list[str], cwd: Path | None = None, meanwhile: Callable[[], None] = lambda: None
    ) -> list[tuple[int, str]]:
        started = [
            subprocess.Popen(
                argv,
                cwd=cwd or self.top,
                env=self.env,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for argv in argvs
        ]
        (self.top / "go").touch()
        while any(one.poll() is None for one in started):
            meanwhile()
        outs = [one.communicate(timeout=120)[0] for one in started]
        return [(one.returncode, out) for one, out in zip(started, outs, strict=True)]


@pytest.fixture
def many(tmp_path: Path) -> Many:
    return Many(tmp_path)


def test_a_marker_says_what_the_record_says_whoever_ends_and_begins(many: Many) -> None:
    """A session that is judged is never without its marker: hooks would take it for nobody's."""
    fact = SessionStarted(host="claude", session="s1", order=b.order(), protection="S2")
    (many.top / "begin.json").write_bytes(encode_fact(fact))
    argvs = ([sys.executable, "-c", BEGIN_AND_END, NAME, word] for word in ("end", "begin", "end", "begin"))
    add_fact(many.state, NAME, SystemClock(), lambda _: fact)
    said = many.at_once(*argvs)
    assert [code for code, _ in said] == [0] * 4, said
    assert read_session(many.state, NAME).active
    assert os.path.exists(marker_of(many.state, NAME))


def test_counts_of_the_same_moment_are_all_counted(many: Many) -> None:
    """Four agents that count five times each have counted to twenty."""
    note_state(NAME, many.env, "loop", {}, create=True)
    said = many.at_once(*[[sys.executable, "-c", COUNT, NAME]] * 4)
    assert [code for code, _ in said] == [0] * 4, said
    assert read_session(many.state, NAME).notes["loop"]["iteration"] == "20"


@pytest.mark.slow
def test_of_two_starts_of_one_session_one_is_refused_and_spoils_nothing(many: Many) -> None:
    """The base of the one that began is still pinned, and is the one that its order names."""

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=many.repo, check=True, capture_output=True, text=True
        ).stdout

    git("init", "-q")
    (many.repo / "check.sh").write_text("test -e done\n")
    git("add", "-A")
    git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "base")
    turns = iter(range(1 << 30))

    def work_on() -> None:  # so that no two of them see the same files
        (many.repo / "mine.txt").write_text(f"not committed {next(turns)}\n")
        time.sleep(0.002)

    work_on()
    argv = [sys.executable, "-m", "ralph", "session", "start", "make it done", "--check", "sh check.sh"]
    argv += ["--host", "claude", "--session", "s1"]
    said = many.at_once(
        *[[*argv, "--host", "claude", "--session", "s1"]] * 3, cwd=many.repo, meanwhile=work_on
    )
    assert sorted(code for code, _ in said) == [0, 2, 2], said
    assert sum("works on a task already" in out for _, out in said) == 2
    session = read_session(many.state, NAME)
    assert git("rev-parse", f"refs/ralph/{NAME}/base").strip() == session.loop.sealed.base.commit
    assert "mine.txt" in git("ls-tree", "--name-only", session.loop.sealed.base.tree)
