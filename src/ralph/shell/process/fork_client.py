"""Where keepers come from: each started by itself, or forked by the fork server of a runner.

The runner's side only; the other one is `fork_server`. A fork server that dies is replaced at the next call,
and with its runner it ends by itself.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import socket
import sys
from typing import NamedTuple, Self

START = "import sys; sys.path.append(sys.argv[1]); from ralph.shell.process.{} import main; main()"
MAX_TRIES = 2
TIMEOUT_SECONDS = 10.0  # seconds for a fork; a fork server that takes longer was stopped or is stuck


class Streams(NamedTuple):
    """What a keeper reads, writes, and complains to."""

    control: int
    report: int
    errors: int


def start_alone(folder: str, streams: Streams) -> int:
    """A keeper as a process of its own; the caller reaps it."""
    return _start("keeper", streams, os.path.join(folder, "spec.json"))


def _start(module: str, streams: Streams, *words: str) -> int:
    package = os.path.abspath(__file__)
    for _ in range(len(__name__.split("."))):
        package = os.path.dirname(package)
    flags = ("-I", "-S", "-X", "utf8", "-c", START.format(module))
    return os.posix_spawn(
        sys.executable,
        [sys.executable, *flags, package, *words],
        {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, to) for to, fd in enumerate(streams)],
        setsid=True,
        setsigmask=[],
        setsigdef=[_signal.SIGINT, _signal.SIGTERM, _signal.SIGPIPE],
    )


class ForkClient:
    """A runner's hold on its fork server, which is started with the first call."""

    def __init__(self) -> None:
        self._server: socket.socket | None = None
        self._pid = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keeper(self, folder: str, streams: Streams) -> int:
        """A new keeper for the call in `folder`; the fork server reaps it."""
        for _ in range(MAX_TRIES):
            answer = self._ask(folder, streams)
            if answer > 0:
                return answer
            if answer < 0:
                raise OSError(-answer, os.strerror(-answer))
            self.close()
        raise OSError(0, "the process that starts keepers does not stay alive")

    def _ask(self, folder: str, streams: Streams) -> int:
        """Its answer; 0 when there was none."""
        try:
            server = self._server or self._start_server()
            socket.send_fds(server, [os.fsencode(folder)], list(streams))
            return int(server.recv(64) or b"0")
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            return 0

    def _start_server(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, open(os.devnull, "wb") as null:
            ours.settimeout(TIMEOUT_SECONDS)
            self._server = ours
            self._pid = _start("fork_server", Streams(theirs.fileno(), null.fileno(), null.fileno()))
        return ours

    def close(self) -> None:
        """End the fork server, and know that it is gone; keepers at work stay at it."""
        if self._server is not None:
            self._server.close()
            self._server = None
        if self._pid:
            os.kill(self._pid, _signal.SIGKILL)  # it has nothing to tidy, and may have been stopped
            os.waitpid(self._pid, 0)
            self._pid = 0
