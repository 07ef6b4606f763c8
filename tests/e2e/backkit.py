"""Loops in the background, and what can happen to them: kills of runner, worker and keeper, a reboot.

Each loop has a counting agent of its own, which would see a second one at the same time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from contextlib import suppress

from crashkit import AGENT, World
from kit import SCRIPTED, processes_of, ralph_argv

from ralph.core.model import events as e
from ralph.core.model.loop import Loop

BOOT_ID = "/proc/sys/kernel/random/boot_id"
FAULTS = ("runner", "worker", "keeper", "all", "hangup", "terminate", "two workers", "reboot")


class Back(World):
    """A world whose loops are in the background."""

    boots = 0

    def begin(self, name: str, *flags: str, nap: float = 0.6, code: int = 0) -> str:
        """`ralph loop -d`: needs two iterations; what was printed."""
        tools = self.top / "tools"
        tools.mkdir(exist_ok=True)
        shutil.copy(SCRIPTED / "_lib.py", tools)
        words = {"log": str(self.outside / name), "go": str(self.outside / f"go-{name}")}
        path = tools / f"{name}.py"
        path.write_text(AGENT.format(before=nap, after=nap / 2, more="", **words))
        path.chmod(0o755)
        named = ("--loop-id", name, "--allow-write", str(self.outside))
        done = self.ralph(*self.loop_words(str(path), *named, "-d", *flags))
        assert done.code == code, done.report()
        return done.text

    def loop(self, name: str) -> Loop:  # type: ignore[override]
        return self.record(name).loop

    def until(self, name: str, seen: object, limit: float = 90.0) -> Loop:
        assert callable(seen)
        end = time.monotonic() + limit
        while not seen(loop := self.loop(name)):
            log = (self.state / "logs" / "worker.log").read_text(errors="replace")[-1500:]
            assert time.monotonic() < end, (loop.phase, loop.reason, loop.todo, self.kinds(name), log)
            time.sleep(0.05)
        return loop

    def log_of(self, name: str) -> list[tuple[str, int]]:
        path = self.outside / name
        lines = path.read_text().splitlines() if path.exists() else []
        return [(line.split()[0], int(line.split()[1])) for line in lines]

    def pids(self, *words: str) -> list[int]:
        """Ralphs of this world with these words in their command line."""
        return [pid for pid, line in processes_of(str(self.top)) if all(word in line for word in words)]

    def runner_of(self, name: str) -> list[int]:
        return [pid for pid in self.pids("worker drive", f" {name}") if pid]

    def keepers(self, name: str) -> list[int]:
        """Keepers of agent calls that have not ended."""
        found = []
        for path in (self.state / "loops" / name / "calls").glob("*/keeper.json"):
            if not (path.parent / "result.json").exists():
                with suppress(OSError, ValueError):
                    found.append(json.loads(path.read_text())["keeper_pid"])
        return found

    def worker(self) -> None:
        """As systemd, or the next `-d`, would: there is a worker after this."""
        done = self.ralph("worker", "start")
        assert done.code == 0, done.report()

    def kill(self, pids: list[int], number: int = signal.SIGKILL) -> None:
        for pid in pids:
            with suppress(OSError):
                os.kill(pid, number)

    def fault(self, what: str, name: str) -> None:
        """One thing that happens to a loop, and what any machine does next."""
        runner, worker = self.runner_of(name), self.pids("worker start", "--foreground")
        if what == "runner":
            self.kill(runner)
        elif what == "worker":
            self.kill(worker)
        elif what == "keeper":
            self.kill(self.keepers(name))
        elif what == "all":
            self.kill([*worker, *runner, *self.keepers(name)])
        elif what == "hangup":
            self.kill(runner, signal.SIGHUP)
        elif what == "terminate":
            self.kill(runner, signal.SIGTERM)
        elif what == "two workers":
            self.kill(worker)
            argv = [*ralph_argv(), "worker", "start"]
            both = [subprocess.Popen(argv, env=self.env(), stdout=subprocess.DEVNULL) for _ in range(2)]
            assert [one.wait(60) for one in both] == [0, 0]
        elif what == "reboot":
            self.reboot()
        if what != "reboot":
            self.worker()

    def reboot(self) -> None:
        """Everything is gone at once, and the machine that comes up has another boot id."""
        self.kill_all()
        self.boots += 1
        own = self.top / f"boot-{self.boots}"
        own.write_text(f"{self.boots:08d}-0000-0000-0000-000000000000\n")
        script = f"mount --bind '{own}' {BOOT_ID} && exec \"$@\""
        argv = ["unshare", "-m", "sh", "-c", script, "sh", *ralph_argv(), "worker", "start"]
        subprocess.run(argv, env=self.env(), check=True, stdout=subprocess.DEVNULL, timeout=60)

    def whole(self, name: str, **_: object) -> Loop:  # type: ignore[override]
        """Nothing of this loop was lost, done twice or left behind."""
        record = self.record(name)
        loop, log, events = record.loop, self.log_of(name), record.events
        assert (loop.phase, loop.outcome) == ("ended", "verified"), (loop.phase, loop.outcome, loop.reason)
        assert "overlap" not in [word for word, _ in log], log
        started = [call for word, call in log if word == "start"]
        assert len(started) == len(set(started)), f"a call was made twice: {log}"
        kinds = [entry.row.kind for entry in record.entries]
        assert loop.spend.calls == kinds.count("AgentStarted") == kinds.count("AgentEnded")
        assert (kinds.count("LoopEnded"), kinds.count("ResultPublished")) == (1, 1)
        refs = self.refs(name)
        made = {one.iteration: one.commit for one in events if isinstance(one, e.CheckpointMade)}
        kept = {int(ref.split("/")[1]): oid for ref, oid in refs.items() if ref.startswith("checkpoint/")}
        assert set(kept.values()) <= set(made.values())
        assert made[max(made)] in kept.values()
        assert self.git("rev-list", "--count", f"{refs['base']}..{loop.landing.result}") == "1"
        return loop

    def no_commit_is_stray(self) -> None:
        stray = self.git("fsck", "--unreachable", "--no-reflogs", "--no-progress").splitlines()
        own = [line.split()[2] for line in stray if line.startswith("unreachable commit")]
        messages = [self.git("log", "-1", "--format=%an %s", oid) for oid in own]
        assert not [text for text in messages if "ralph" in text.lower()], messages

    def over(self, *names: str) -> None:
        """The end of a test: no worker, no process, the user's repository as it was."""
        self.kill(self.pids("worker start", "--foreground"), signal.SIGTERM)
        self.no_process_left(15)
        self.same_user()
        self.no_commit_is_stray()

    def storm(self, names: list[str], faults: int, seed: int, kinds: tuple[str, ...] = FAULTS) -> int:
        """So many faults, at random moments, to random loops; how many met a loop at work."""
        rng, met = random.Random(seed), 0
        for _ in range(faults):
            open_ = [name for name in names if self.loop(name).phase not in ("ended", "paused")]
            for name in names:  # given up by the rule for faults: a person takes it up again
                found = self.loop(name)
                if found.phase == "paused" and found.control.stopped_by == "limit":
                    assert self.ralph("resume", name, "-d", "--queue").code == 0
            if all(self.loop(name).phase == "ended" for name in names):
                break
            if not open_:  # stopped by a signal: the worker takes them up in a moment
                time.sleep(2.0)
                continue
            self.fault(rng.choice(kinds), rng.choice(open_))
            met += 1
            time.sleep(rng.random() * 2.5)
        return met
