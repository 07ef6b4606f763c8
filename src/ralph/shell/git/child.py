"""One git process from its start to its end, which answers to whoever waits for it.

While a git works, `heed` is asked several times a second; what it raises ends the git, politely first, so
that git takes its own locks away. A git that somebody has stopped is told to go on. What is asked of git,
with which environment, and what its failures mean is `command`.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import BinaryIO, Self

import msgspec

TIMEOUT_SECONDS = 600.0
LOOK_SECONDS = 0.1  # between two looks; time is counted in them
AWAKE_EVERY = 20  # looks, after which a stopped git is told to go on
GRACE_SECONDS = 1.0
TERMINATED = 143
OWN_GROUP = 0  # a terminal's Ctrl-C goes to a whole group: git would die of it in the middle of a checkpoint
CHUNK = 1 << 16

Heed = Callable[[str, float], None]  # the command, and for how many seconds it has been at work


class GitResult(msgspec.Struct, frozen=True):
    code: int
    out: bytes
    err: bytes


def run_whole(
    argv: Sequence[str | bytes],
    env: Mapping[str, str],
    cwd: str,
    stdin: bytes = b"",
    hold: Sequence[int] = (),
    heed: Heed | None = None,
) -> GitResult:
    """All that git says, through files in memory: it never waits for us, and we wait for its end alone."""
    with ExitStack() as files:
        given, out, err = (files.enter_context(_memory(name)) for name in ("in", "out", "err"))
        given.write(stdin)
        given.seek(0)
        with (
            subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=given,
                stdout=out,
                stderr=err,
                process_group=OWN_GROUP,
                pass_fds=hold,
            ) as child,
            _Wait(child, heed) as wait,
        ):
            wait.until_end()
        return GitResult(child.returncode, _content(out), _content(err))


def run_limited(
    argv: Sequence[str | bytes],
    env: Mapping[str, str],
    cwd: str,
    limit: int,
    hold: Sequence[int] = (),
    heed: Heed | None = None,
) -> GitResult:
    """At most `limit` bytes of what git says; it is ended when there is more."""
    # stderr is dropped: nobody drains it here, and a full pipe would hang git.
    out, cut = b"", False
    with subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=OWN_GROUP,
        pass_fds=hold,
    ) as child:
        assert child.stdout is not None
        with _Wait(child, heed) as wait:
            while not cut and (chunk := wait.read(child.stdout.fileno())):
                cut = len(out) + len(chunk) > limit
                out = (out + chunk)[:limit]
            if cut:
                child.kill()
            wait.until_end()
    return GitResult(0 if cut else child.returncode, out, b"")


class _Wait:
    """Waits for one git: woken by the kernel, heeding, awaking it; whatever goes wrong, the git is ended."""

    def __init__(self, child: subprocess.Popen[bytes], heed: Heed | None) -> None:
        self._child, self._heed = child, heed
        self._looks = 0
        self._handle = os.pidfd_open(child.pid)
        self._deaf: list[signal.Signals] = []

    def __enter__(self) -> Self:
        """Where a signal would just end us, the git would go on alone: it is ended with us instead."""
        try:
            for number in (signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) == signal.SIG_DFL:
                    signal.signal(number, _leave)
                    self._deaf.append(number)
        except ValueError:
            return self  # only the main thread hears signals
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is not None:
                self._end()
        finally:
            os.close(self._handle)
            for number in self._deaf:
                signal.signal(number, signal.SIG_DFL)

    def until_end(self) -> None:
        self._until(self._handle)

    def read(self, fd: int) -> bytes:
        """What it says next; nothing at its end."""
        self._until(fd)
        return os.read(fd, CHUNK)

    def _until(self, fd: int) -> None:
        poller = select.poll()
        poller.register(fd, select.POLLIN)
        while not poller.poll(LOOK_SECONDS * 1000):
            self._looks += 1
            seconds = self._looks * LOOK_SECONDS
            if seconds > TIMEOUT_SECONDS:
                raise subprocess.TimeoutExpired(self._child.args, TIMEOUT_SECONDS)
            if self._looks % AWAKE_EVERY == 0 and _is_stopped(self._child.pid):
                self._child.send_signal(signal.SIGCONT)
            if self._heed is not None:
                self._heed(_verb(self._child.args), seconds)

    def _end(self) -> None:
        """Asked first: a git that is told to end removes its locks and half-written files."""
        if self._child.poll() is not None:
            return
        self._child.send_signal(signal.SIGTERM)
        self._child.send_signal(signal.SIGCONT)
        poller = select.poll()
        poller.register(self._handle, select.POLLIN)
        if not poller.poll(GRACE_SECONDS * 1000):
            self._child.kill()


def _leave(*_: object) -> None:
    raise SystemExit(TERMINATED)


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False


def _memory(name: str) -> BinaryIO:
    return open(os.memfd_create(name), "r+b")


def _content(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read()


def _verb(argv: object) -> str:
    words = argv if isinstance(argv, list | tuple) else []
    word = words[1] if len(words) > 1 else ""
    return os.fsdecode(word) if isinstance(word, str | bytes) else ""
