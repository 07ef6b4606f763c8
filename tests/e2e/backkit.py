"""Loops in the background, and what can happen to them: kills of runner, worker and keeper, a reboot.

Each loop has a counting agent of its own, which would see a second one at the same time.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from crashkit import AGENT, World
from kit import SCRIPTED, processes_of, ralph_argv

from ralph.core.model import events as e
from ralph.core.model.loop import Loop

BOOT_ID = "/proc/sys/kernel/random/boot_id"
FAULTS = (
    "runner", "worker", "keeper", "all", "hangup", "terminate", "two workers", "reboot", "clock", "disk",
)  # fmt: skip
HOURS = 7200
# Loaded by every Python of this world before anything else: the wall clock of the machine, as it was moved.
CLOCK = """
import time as _time
_real = _time.time
def _moved():
    try:
        with open({path!r}) as file:
            return _real() + float(file.read() or 0)
    except OSError:
        return _real()
_time.time = _moved
"""


class Back(World):
    """A world whose loops are in the background."""

    boots = moved = 0

    def __init__(self, top: Path, home: Path, seen: Path | None = None) -> None:
        state = top / "state"
        state.mkdir(parents=True, mode=0o700)
        mount = ["mount", "-t", "tmpfs", "-o", "size=400m,mode=700", "tmpfs", str(state)]
        self.small = subprocess.run(mount, check=False, capture_output=True).returncode == 0  # for root only
        super().__init__(top, home, seen=seen)
        own = top / "python"
        own.mkdir()
        (own / "sitecustomize.py").write_text(CLOCK.format(path=str(top / "moved")))
        self.more_env: dict[str, str] = {}
        self._python = os.pathsep.join(filter(None, (str(own), os.environ.get("PYTHONPATH"))))
        (self.config / "ralph" / "config.toml").write_text('retention.min_free = "1 MB"\n')

    def env(self, **more: str | None) -> dict[str, str]:
        return super().env(**{"PYTHONPATH": self._python, **self.more_env, **more})

    def unmount(self) -> None:
        if self.small:
            subprocess.run(["umount", "-l", str(self.state)], check=True)

    def begin(self, name: str, *flags: str, nap: float = 0.6, code: int = 0) -> str:
        """`ralph loop -d`: needs two iterations; what was printed."""
        done = self.ralph(*self.words_for(name, nap), *flags)
        assert done.code == code, done.report()
        return done.text

    def words_for(self, name: str, nap: float) -> list[str]:
        tools = self.top / "tools"
        tools.mkdir(exist_ok=True)
        shutil.copy(SCRIPTED / "_lib.py", tools)
        words = {"log": str(self.outside / name), "go": str(self.outside / f"go-{name}")}
        path = tools / f"{name}.py"
        path.write_text(AGENT.format(before=nap, after=nap / 2, more="", **words))
        path.chmod(0o755)
        named = ("--loop-id", name, "--allow-write", str(self.outside))
        return self.loop_words(str(path), *named, "-d")

    @contextmanager
    def terminal(self, name: str, nap: float) -> Iterator[subprocess.Popen[bytes]]:
        """A terminal in which somebody starts a loop with `-d` and stays."""
        line = f"{shlex.join([*ralph_argv(), *self.words_for(name, nap)])}; sleep 300"
        # Under nohup a hangup would be ignored by everybody in it.
        argv = ["env", "--default-signal=HUP", "script", "-qec", line, os.devnull]
        words = {"cwd": self.repo, "env": self.env(), "stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
        with subprocess.Popen(argv, **words) as made:
            try:
                while not (self.state / "logs" / "worker.log").exists():
                    time.sleep(0.1)
                yield made
            finally:
                made.kill()

    def session_of(self, terminal: subprocess.Popen[bytes]) -> list[int]:
        """Everybody in the session that the terminal belongs to."""
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(terminal.pid)], capture_output=True, check=True
        )
        leader = children.stdout.split()[0].decode()
        found = subprocess.run(["ps", "-o", "pid=", "-s", leader], capture_output=True, check=True)
        return [int(pid) for pid in found.stdout.split()]

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
        elif what == "clock":
            self.moved = -self.moved or HOURS
            (self.top / "moved").write_text(str(self.moved))
        elif what == "disk":
            self.fill_disk()
        if what != "reboot":
            self.worker()

    def fill_disk(self, seconds: float = 1.5) -> None:
        """Not one byte is free for a while."""
        path = self.state / "filler"
        with suppress(OSError), path.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
        time.sleep(seconds)
        path.unlink(missing_ok=True)

    def reboot(self, *, box: bool = True) -> None:
        """Everything is gone at once, and the machine that comes up has another boot id; without `box` no
        sandbox holds there.
        """
        self.kill_all()
        self.boots += 1
        own = self.top / f"boot-{self.boots}"
        own.write_text(f"{self.boots:08d}-0000-0000-0000-000000000000\n")
        # Where a part of /proc is covered, no box gets a /proc of its own, unless a whole one is mounted too.
        (self.top / "proc").mkdir(exist_ok=True)
        whole = f"mount -t proc proc '{self.top}/proc'" if box else "true"
        script = f"{whole} && mount --bind '{own}' {BOOT_ID} && exec \"$@\""
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
        messages = [self.git("log", "-1", "--format=%an %at %B", oid) for oid in own]
        results = [
            self.git("log", "-1", "--format=%at %B", ref) for ref in self.refs_below("refs/heads/ralph")
        ]
        assert not [text for text in messages if "ralph" in text.lower()], (messages, results)

    def refs_below(self, where: str) -> list[str]:
        return self.git("for-each-ref", "--format=%(refname)", where).split()

    def over(self, *names: str) -> None:
        """The end of a test: no worker, no process, the user's repository as it was."""
        self.kill(self.pids("worker start", "--foreground"), signal.SIGTERM)
        self.no_process_left(15)
        self.same_user()
        self.no_commit_is_stray()

    def storm(self, names: list[str], faults: int, seed: int, kinds: tuple[str, ...] = FAULTS) -> int:
        """So many faults, at random moments, to random loops; how many met a loop at work."""
        rng, met = random.Random(seed), 0
        kinds = tuple(kind for kind in kinds if kind != "disk" or self.small)
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
            time.sleep(rng.random() * 1.5)
        return met
