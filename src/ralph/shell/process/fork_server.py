"""The fork server: one small process of a runner that forks its keepers, which saves an interpreter a call.

Started by `fork_client` with a socket as stdin. Each message is the directory of a call, with the keeper's
three streams beside it; each answer is the keeper's pid, or the negative number of the error. End of file
means that the runner is gone: this ends too, and its keepers hear of it on streams of their own. Like
the keeper it imports almost nothing. What a keeper does is `keeper`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import os
import resource  # noqa: F401 - every keeper wants it; here it is loaded once for all
import sys

from ralph.shell.process.keeper import keep

FD_BYTES = 4
STREAMS = 3


def serve(runner: _socket.socket) -> None:
    """Fork a keeper for every message until the runner is gone."""
    while True:
        folder, beside, _, _ = runner.recvmsg(1 << 16, _socket.CMSG_SPACE(STREAMS * FD_BYTES))
        if not folder:
            return
        packed = b"".join(data for _, _, data in beside)
        streams = [
            int.from_bytes(packed[at : at + FD_BYTES], sys.byteorder)
            for at in range(0, len(packed), FD_BYTES)
        ]
        try:
            answer = os.fork()
        except OSError as error:
            answer = -(error.errno or 1)
        if answer == 0:
            become_keeper(os.fsdecode(folder), streams)
        for fd in streams:
            os.close(fd)
        runner.send(b"%d" % answer)


def become_keeper(folder: str, streams: list[int]) -> None:
    """In the new process: what `posix_spawn` would have set, then the call. Never returns."""
    code = 70
    try:
        os.setsid()
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # it has to wait for its own
        for to, fd in enumerate(streams):
            os.dup2(fd, to)
        code = keep(folder)
    finally:
        os._exit(code)


def main() -> None:
    os.closerange(3, 65536)  # whatever the runner's own parents left open is not for keepers
    for number in (_signal.SIGINT, _signal.SIGHUP, _signal.SIGQUIT):
        _signal.signal(number, _signal.SIG_IGN)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # the kernel collects keepers; the runner hears them
    gc.freeze()  # pages that nobody writes to stay shared
    runner = _socket.socket(fileno=os.dup(0))
    serve(runner)
    os._exit(0)
