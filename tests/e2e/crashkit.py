"""More of kit.Place, for tests that kill, control and land: a counting agent, and ways to die.

The counting agent appends a line for each call to a file outside the workspace and holds a lock while it
lives, so that calls can be counted and two at a time would be seen. Nothing here knows ralph's inside but
the journal's reader, which is asked what was recorded.
"""

from __future__ import annotations

import shutil
import signal
import sys
from pathlib import Path

import kit
from kit import HERE, LIMIT, SCRIPTED, Done, Place, Running, lib, userstate

from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import load

NAME = "l1-00000001"
KILLED = 128 + signal.SIGKILL
AGENT = """#!/usr/bin/env python3
import fcntl, os, time
from _lib import done, event, fix, more
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def say(word):
    os.write(log, f"{{word}} {{os.environ['RALPH_CALL']}} {{os.environ['RALPH_ITERATION']}}\\n".encode())
try:
    fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    say("overlap")
say("start")
def nap(seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until and not os.path.exists({go!r}):
        time.sleep(0.02)
nap({before})
left = fix(1)
{more}
event("usage", tokens=100, cost=0.25)
nap({after})
say("end")
if left:
    more("one more to go")
else:
    done()
"""


class World(Place):
    """A place with one loop, called l1-00000001, that needs two iterations of the counting agent."""

    once = True

    def __init__(self, top: Path, home: Path, seen: Path | None = None) -> None:
        super().__init__(top, home, seen)
        self.outside = top / "outside"
        self.outside.mkdir()

    def counting(self, before: float = 0.0, after: float = 0.0, more: str = "") -> str:
        """The counting agent: sleeps `before` and `after` its edit, at most until a file `go` comes."""
        path = self.top / "tools" / "agent.py"
        path.parent.mkdir(exist_ok=True)
        shutil.copy(SCRIPTED / "_lib.py", path.parent)
        log = str(self.outside / "calls")
        go = str(self.outside / "go")
        path.write_text(AGENT.format(log=log, go=go, before=before, after=after, more=more))
        path.chmod(0o755)
        return str(path)

    def words(self, agent: str = "", *more: str) -> list[str]:
        """A loop called l1-00000001 with this agent, by default the counting one."""
        named = ("--loop-id", NAME, "--allow-write", str(self.outside))
        return self.loop_words(agent or self.counting(), *named, *more)

    def dying(self, die: str, *words: str, limit: float = LIMIT) -> Done:
        """ralph, killed with SIGKILL at that place of its own code; see dying.py."""
        done = self.maybe_dying(die, *words, limit=limit)
        assert done.code == KILLED, f"it did not die at {die}\n{done.report()}"
        return done

    def maybe_dying(self, die: str, *words: str, limit: float = LIMIT) -> Done:
        """As `dying`, for a place that may never be reached."""
        argv = [sys.executable, str(HERE / "dying.py"), die, *words]
        return Running(self, argv, self.repo, self.env()).wait(limit)

    def record(self, name: str = NAME):
        with read_journal(str(self.state)) as reader:
            return load(reader, name)

    def kinds(self, name: str = NAME) -> list[str]:
        return [entry.row.kind for entry in self.record(name).entries]

    def calls(self) -> list[tuple[str, int, int]]:
        """(start, end or overlap; call; iteration) as the counting agent wrote it."""
        path = self.outside / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(word, int(call), int(iteration)) for word, call, iteration in map(str.split, lines)]

    def refs(self, name: str = NAME) -> dict[str, str]:
        lines = self.git(
            "for-each-ref", "--format=%(refname) %(objectname)", f"refs/ralph/{name}"
        ).splitlines()
        return {ref.removeprefix(f"refs/ralph/{name}/"): oid for ref, oid in map(str.split, lines)}

    def whole(self, *, calls: int | None = None, iterations: int = 2) -> None:
        """What must hold after all the kills: nothing lost, nothing done twice."""
        record = self.record()
        loop, log = record.loop, self.calls()
        kinds = [entry.row.kind for entry in record.entries]
        ended = (loop.phase, loop.outcome, loop.grade)
        assert ended == ("ended", "verified", "B"), (ended, loop.reason, loop.proof.unproven)
        assert loop.iteration == iterations
        assert not [line for line in log if line[0] == "overlap"], log
        started = [call for word, call, _ in log if word == "start"]
        assert len(started) == len(set(started)), f"a call was made twice: {log}"
        assert loop.spend.calls == kinds.count("AgentStarted") == kinds.count("AgentEnded")
        assert set(started) <= set(range(1, loop.spend.calls + 1))
        if calls is not None:
            assert loop.spend.calls == calls, log
        assert sum(word == "end" for word, _, _ in log) <= loop.spend.calls
        assert loop.spend.tokens == 100 * loop.spend.calls - 100 * self._silent(record)
        self._commits(loop, iterations)
        assert "LoopEnded" in kinds
        assert kinds.count("LoopEnded") == 1
        assert kinds.count("ResultPublished") == 1
        self.no_process_left(5)
        self.same_user()

    def _silent(self, record) -> int:
        """Calls that ended before they told their spend."""
        return sum(
            entry.event.usage.tokens is None for entry in record.entries if entry.row.kind == "AgentEnded"
        )

    def _commits(self, loop, iterations: int) -> None:
        refs = self.refs()
        numbers = {int(ref.split("/")[1]) for ref in refs if ref.startswith("checkpoint/")}
        assert numbers == set(range(1, iterations + 1)), refs
        newest = refs[f"checkpoint/{iterations}"]
        assert self.git("rev-list", "--count", f"{refs['base']}..{newest}") == str(iterations)
        assert self.git("rev-parse", f"refs/heads/{loop.landing.branch}") == loop.landing.result
        assert self.git("rev-list", "--count", f"{refs['base']}..{loop.landing.result}") == "1"
        assert self.git("rev-parse", f"{newest}^{{tree}}") == self.git(
            "rev-parse", f"{loop.landing.result}^{{tree}}"
        )
        # No commit of Ralph's lies about that no ref names: a second one would have been made and lost.
        stray = self.git("fsck", "--unreachable", "--no-reflogs", "--no-progress").splitlines()
        own = [line.split()[2] for line in stray if line.startswith("unreachable commit")]
        messages = [self.git("log", "-1", "--format=%an %s", oid) for oid in own]
        assert not [text for text in messages if "ralph" in text.lower()], messages


__all__ = ["NAME", "World", "kit", "lib", "userstate"]
