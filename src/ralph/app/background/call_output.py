"""What an agent prints while it is at work, read by whoever looks on."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ralph.app.place import state_of

MAX_CHUNK = 1 << 20


class CallOutput:
    """What the newest call of a loop prints, as it comes."""

    def __init__(self, name: str, env: Mapping[str, str]) -> None:
        self._folder = os.path.join(state_of(env).loops, name, "calls")
        self._call, self._offset, self._rest = 0, 0, b""
        self.size = 0
        self.newest = 0.0  # wall clock of the last words

    def read(self, call: int) -> bytes:
        """What is new of this call; the first time everything."""
        if call != self._call:
            self._call, self._offset, self._rest, self.size = call, 0, b"", 0
        try:
            with open(os.path.join(self._folder, str(call), "out"), "rb") as file:
                file.seek(self._offset)
                data = file.read(MAX_CHUNK)
                self.newest = os.fstat(file.fileno()).st_mtime
        except OSError:
            return b""  # it has not printed yet, or has been accounted for
        self._offset += len(data)
        self.size = self._offset
        return data

    def lines(self, call: int, *, last: bool = False) -> Iterator[str]:
        """Its new whole lines; with `last` also one that nothing ends."""
        while call and (data := self.read(call)):
            *found, self._rest = (self._rest + data).split(b"\n")
            yield from (line.decode("utf-8", "replace") for line in found)
        if last and self._rest:
            yield self._rest.decode("utf-8", "replace")
