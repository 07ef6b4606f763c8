"""Chunks of output to calls of a parser, in bounded memory and without looking at every line.

Only lines that begin with `{` are cut out and held until complete; everything else is passed on in the
pieces it came in, because cutting 200 MB of plain text into lines would cost more than running the agent.
`Tail` keeps the last bytes of a call. Nothing here knows any format.
"""

from __future__ import annotations

import re

from ralph.agents import AgentFact, CallFacts, Parser

MAX_LINE_BYTES = 1 << 20  # a longer line is no record: its bytes are passed on as text
_SAID_LINES, _SAID_CHARS = 40, 4000
_BRACE = b"{"
_ROW_END = re.compile(rb"\n(?!\{)")  # the end of a line after which no line begins with a brace


class Intake:
    """Feeds a parser from chunks of any size."""

    def __init__(self, parser: Parser, longest: int = MAX_LINE_BYTES) -> None:
        self._parser = parser
        self._longest = longest
        self._record = bytearray()  # an unfinished line that begins with a brace
        self._inside_text = False  # the last byte seen was inside a line of text

    def feed(self, chunk: bytes) -> list[AgentFact]:
        """The facts in this chunk, in order."""
        facts: list[AgentFact] = []
        parse = self._parser.feed
        if self._record:
            chunk = self._continue_record(chunk, facts)
        start, size = 0, len(chunk)
        while start < size:
            brace = self._next_record(chunk, start)
            if brace < 0:
                self._text(chunk[start:] if start else chunk, facts)
                break
            if brace > start:
                self._text(chunk[start:brace], facts)
            end = chunk.find(b"\n", brace)
            if end < 0:
                self._hold(chunk[brace:], facts)
                break
            if end - brace > self._longest:
                self._line(chunk[brace:end], facts)
            else:
                self._inside_text = False
                facts += parse(chunk[brace:end])
            start = end + 1
        return facts

    def absorb(self, chunk: bytes) -> None:
        """As `feed` for one who wants no facts: lines in a row that begin with a brace go in together."""
        if self._record:
            chunk = self._continue_record(chunk, [])
        start = 0
        while not self._record and (brace := self._next_record(chunk, start)) >= 0:
            if brace > start:
                self._text(chunk[start:brace], [])
            start = brace
            row = _ROW_END.search(chunk, start)
            # Without such an end the row goes on in the next chunk, and its last line may be half of one.
            end = row.end() if row else chunk.rfind(b"\n", start) + 1
            if not start < end <= start + self._longest:
                break
            self._parser.absorb(chunk[start:end])
            start = end
        self.feed(chunk[start:])

    def finish(self, exit_code: int | None, ended: str, dropped: int = 0) -> CallFacts:
        """The output is over: a last line without a line end counts too."""
        if self._record:
            self._line(bytes(self._record), [])
            self._record.clear()
        return self._parser.finish(exit_code, ended, dropped)

    def _next_record(self, chunk: bytes, start: int) -> int:
        """Where the next line beginning with a brace starts; -1 for nowhere."""
        if not self._inside_text and chunk.startswith(_BRACE, start):
            return start
        if chunk.find(_BRACE, start) < 0:  # one byte is found five times faster than two
            return -1
        found = chunk.find(b"\n{", start)
        return found + 1 if found >= 0 else -1

    def _continue_record(self, chunk: bytes, facts: list[AgentFact]) -> bytes:
        """Completes the held line if its end is here; gives back what comes after it."""
        end = chunk.find(b"\n")
        if end < 0:
            self._hold(chunk, facts)
            return b""
        line = bytes(self._record) + chunk[:end]
        self._record.clear()
        self._line(line, facts)
        return chunk[end + 1 :]

    def _hold(self, piece: bytes, facts: list[AgentFact]) -> None:
        self._record += piece
        if len(self._record) > self._longest:
            block = bytes(self._record)
            self._record.clear()
            self._text(block, facts)

    def _line(self, line: bytes, facts: list[AgentFact]) -> None:
        if len(line) > self._longest:
            self._text(line + b"\n", facts)
            return
        self._inside_text = False
        facts.extend(self._parser.feed(line))

    def _text(self, block: bytes, facts: list[AgentFact]) -> None:
        self._inside_text = not block.endswith(b"\n")
        facts.extend(self._parser.text(block))


class Tail:
    """The last bytes of everything added."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept = bytearray()

    def add(self, block: bytes) -> None:
        if len(block) >= self._size:
            self._kept = bytearray(memoryview(block)[len(block) - self._size :])
            return
        self._kept += block
        if len(self._kept) > 2 * self._size:
            del self._kept[: len(self._kept) - self._size]

    def bytes(self) -> bytes:
        return bytes(self._kept[-self._size :])


def last_words(words: str) -> str:
    """The end of what was said, as much as a record holds."""
    last = "\n".join(words[-_SAID_CHARS:].split("\n")[-_SAID_LINES:])
    return last if len(last) == len(words) else "…" + last[1:]
