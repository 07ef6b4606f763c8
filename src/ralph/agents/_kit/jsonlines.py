"""Ralph's own output format for agents: plain text, or JSON lines marked `"ralph": 1`.

docs/agents.md is the public description. A line that is not such an object, has an unknown type or wrong
fields is kept as text and never fatal. Plain words are not read for limits or for "done": only a
RALPH_STATUS block (see `core.claim.status_block`) is, and a `claim` line goes before it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import cast, get_args

import msgspec

from ralph.agents import (
    AgentFact,
    CallFacts,
    Claimed,
    Denied,
    FaultSeen,
    LimitHit,
    Raw,
    Said,
    Spent,
    ToolUsed,
)
from ralph.agents._kit.faults import fault_of, limit_fault
from ralph.agents._kit.fields import Fields, count_of, epoch_seconds, number, parse_object, words
from ralph.agents._kit.lines import Tail, last_words
from ralph.core.claim.status_block import claim_from, parse_status
from ralph.core.model.agent import Claim, FaultKind
from ralph.core.model.spend import Usage
from ralph.core.text.clean import clean, one_line

_TAIL = 64 * 1024  # bytes of text in which a status block is looked for
_MAX_SHOWN_BYTES = 1000  # bytes of a block of plain text that are worth showing live
_LINE = 400
_MAX_DENIALS = 20


class _Words(msgspec.Struct, gc=False):
    """Of a line, what tells whether it holds nothing but words."""

    ralph: int = 0
    type: str = ""
    text: str | None = None


_WORDS = msgspec.json.Decoder(_Words)


class JsonLinesParser:
    """One call's output in text or JSON lines."""

    def __init__(self) -> None:
        self._tail = Tail(_TAIL)
        self._tokens: int | None = None
        self._cost: float | None = None
        self._claim: Claim | None = None
        self._problems: tuple[str, ...] = ()
        self._limit: LimitHit | None = None
        self._fault: FaultSeen | None = None
        self._denials: list[str] = []

    def feed(self, line: bytes) -> tuple[AgentFact, ...]:
        fields = _record(line)
        fact = self._fact(fields) if fields is not None else None
        if fact is None:
            self._tail.add(line + b"\n")
            return (Raw(one_line(line[: 4 * _LINE], _LINE)),)
        return (fact,)

    def absorb(self, lines: bytes) -> None:
        """Of words only the last ones are kept: all but those are decoded and let go."""
        try:
            found = _WORDS.decode_lines(lines)
        except (msgspec.DecodeError, ValueError, RecursionError):
            found = []
        split = lines.split(b"\n")[:-1]
        words: list[str] = []
        for line, row in zip_longest(split, found):
            if row is not None and row.ralph == 1 and row.type == "text" and row.text is not None:
                words.append(row.text)
            else:
                self._keep(words)
                words.clear()
                if row is None or row.ralph == 1:
                    self.feed(line)
                else:  # another tool's record: text, as it is for `feed`
                    self._tail.add(line + b"\n")
        self._keep(words)

    def _keep(self, words: list[str]) -> None:
        room, first = _TAIL, len(words)
        while first > 0 and room > 0:
            first -= 1
            room -= len(words[first])
        for text in words[first:]:
            self._tail.add(clean(text[-_TAIL:]).encode() + b"\n")

    def text(self, block: bytes) -> tuple[AgentFact, ...]:
        self._tail.add(block)
        shown = clean(
            _from_a_line(block[-_MAX_SHOWN_BYTES:]) if len(block) > _MAX_SHOWN_BYTES else block
        ).strip()
        return (Said(shown),) if shown else ()

    def file(self, name: str, data: bytes) -> None:
        """This format has no files beside its output."""

    def finish(self, exit_code: int | None, ended: str, dropped: int) -> CallFacts:
        words = clean(self._tail.bytes())
        claim, problems = self._claim, self._problems
        if claim is None:
            parsed = parse_status(words)
            claim, problems = parsed.claim, (*problems, *parsed.problems)
        # Sums over output that was only partly seen are no sums.
        usage = Usage() if dropped else Usage(self._tokens, self._cost)
        return CallFacts(
            usage=usage,
            claim=claim,
            fault=fault_of(exit_code, ended, self._limit, self._fault, words),
            denials=tuple(self._denials),
            said=last_words(words.strip()),
            problems=problems,
            after=self._limit.after if self._limit else None,
            clock=self._limit.clock if self._limit else None,
            message=words,
        )

    def _fact(self, fields: Fields) -> AgentFact | None:
        kind = fields.get("type")
        make = _TYPES.get(kind) if isinstance(kind, str) else None
        fact = make(fields) if make is not None else None
        if isinstance(fact, Said):  # by far the most frequent: not through the table below
            self._tail.add(fact.text.encode() + b"\n")
            return fact
        match fact:
            case Spent(tokens=tokens, cost=cost):
                if tokens is not None:
                    self._tokens = (self._tokens or 0) + tokens
                if cost is not None:
                    self._cost = (self._cost or 0.0) + cost
            case LimitHit():
                self._limit = fact
            case FaultSeen():
                self._fault = fact
            case Denied(what=what):
                if len(self._denials) < _MAX_DENIALS:
                    self._denials.append(what)
            case _:
                pass
        if kind == "claim":
            fact = self._claim_fact(fields)
        return fact

    def _claim_fact(self, fields: Fields) -> Claimed | None:
        pairs = {key.upper(): _word(value) for key, value in fields.items() if key not in ("ralph", "type")}
        parsed = claim_from(pairs)
        self._claim, self._problems = parsed.claim, parsed.problems
        return Claimed(parsed.claim) if parsed.claim is not None else None


def _record(line: bytes) -> Fields | None:
    """The object on this line if it is one of ours."""
    fields = parse_object(line) if b'"ralph"' in line else None
    return fields if fields is not None and fields.get("ralph") == 1 else None


def _from_a_line(piece: bytes) -> bytes:
    """A piece of a text from its first whole line on, so that no sequence is shown in half."""
    return piece[piece.find(b"\n") + 1 :]


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else ""


def _said_fact(fields: Fields) -> Said | None:
    text = fields.get("text")
    return Said(clean(text[-_TAIL:])) if isinstance(text, str) else None


def _tool(fields: Fields) -> ToolUsed | None:
    tool = words(fields, "tool")
    if not tool:
        return None
    return ToolUsed(
        tool,
        words(fields, "path"),
        words(fields, "detail"),
        count_of(fields, "added"),
        count_of(fields, "removed"),
    )


def _spent_fact(fields: Fields) -> Spent | None:
    tokens, cost = count_of(fields, "tokens"), number(fields, "cost")
    return Spent(tokens, cost) if tokens is not None or cost is not None else None


def _limit(fields: Fields) -> LimitHit:
    return limit_fault(words(fields, "message"), reset_at=epoch_seconds(fields.get("reset_at")))


def _fault(fields: Fields) -> FaultSeen:
    kind = fields.get("kind")
    known = cast("FaultKind", kind) if kind in get_args(FaultKind) else "crash"
    return FaultSeen(known, words(fields, "message"))


def _denied_fact(fields: Fields) -> Denied | None:
    what = words(fields, "what")
    return Denied(what) if what else None


_TYPES: dict[str, Callable[[Fields], AgentFact | None]] = {
    "text": _said_fact,
    "tool": _tool,
    "usage": _spent_fact,
    "limit": _limit,
    "fault": _fault,
    "denied": _denied_fact,
}
