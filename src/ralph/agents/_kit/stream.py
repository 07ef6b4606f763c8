"""One parser for all CLIs that print events: a table of the CLI says what each type of event means.

The head of a line (its type) is read first; only lines of types in the table are decoded. Words are kept
as messages, so that a claim is looked for in the agent's own final message and nowhere else. What a CLI
reports as running totals becomes differences here. Which types exist, each adapter's file says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from ralph.agents import (
    AgentFact,
    CallFacts,
    Closed,
    Denied,
    FaultSeen,
    LimitHit,
    Raw,
    Retried,
    Said,
    SessionSeen,
    Spent,
    ToolUsed,
)
from ralph.agents._kit.faults import closed_fault, fault_of
from ralph.agents._kit.fields import Fields, parse_object
from ralph.agents._kit.lines import Tail, last_words
from ralph.core.claim.status_block import parse_status
from ralph.core.model.agent import AgentSession, Fault
from ralph.core.model.spend import Usage
from ralph.core.text.clean import clean, one_line

MAX_MESSAGE_CHARS = 64 * 1024  # characters of one message that are kept: its end
MAX_NOISE_BYTES = 16 * 1024  # bytes of output that is no event
LINE = 400
MAX_DENIALS = 20
COUNTS = ("tokens", "cost", "fresh", "cached", "written")


class Total(Struct, frozen=True, gc=False):
    """What a whole conversation has used so far, as a CLI reports it; never leaves this module."""

    tokens: int | None = None
    cost: float | None = None
    fresh: int | None = None
    cached: int | None = None
    written: int | None = None


Made = Iterable[AgentFact | Total]


class Account:
    """What is known of one call so far. Handlers of events read it; only the parser changes it."""

    def __init__(self, session: AgentSession | None) -> None:
        self.base = session
        self.session = session.id if session else ""
        self.message = ""  # the newest message of the agent
        self.open = ""  # its id, while further pieces still belong to it
        self.spent = Spent()
        self.total: Total | None = None
        self.limit: LimitHit | None = None
        self.fault: FaultSeen | None = None
        self.retried: Retried | None = None
        self.closed: Closed | None = None
        self.denials: list[str] = []
        self.tools = 0
        self.seen: dict[str, str] = {}  # what a format itself must remember: ids of messages, files in work


class Format(Struct, frozen=True):
    """The table of one CLI: what its events mean, and how it ends."""

    events: dict[str, Callable[[Account, Fields], Made]]
    quiet: frozenset[str] = frozenset()  # types that are known to hold nothing for us
    prose: Callable[[Account, str], Made] | None = None  # for what a CLI says in words only: one line
    file: Callable[[Account, str, Fields], Made] | None = None  # a file the CLI left
    ending: Callable[[Account, int | None], Made] | None = None  # facts that only the end makes
    broken_off: Callable[[Account], Made] | None = None  # what is known of a call without a last word


class _Head(Struct, gc=False):
    """Of an event, what tells its kind."""

    type: str = ""


_HEAD = msgspec.json.Decoder(_Head)


class StreamParser:
    """One call's output, by the table of its CLI."""

    def __init__(self, format_: Format, session: AgentSession | None = None, login: str = "") -> None:
        self._format = format_
        self._login = login
        self._account = Account(session)
        self._noise = Tail(MAX_NOISE_BYTES)
        self._half = b""  # an unfinished line of words, where words are read

    def feed(self, line: bytes) -> tuple[AgentFact, ...]:
        try:
            head: _Head | None = _HEAD.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            head = None
        return self._event(line, head)

    def absorb(self, lines: bytes) -> None:
        """Heads of many lines at once; of those nobody asks about, nothing more is read."""
        try:
            heads: list[_Head] = _HEAD.decode_lines(lines)
        except (msgspec.DecodeError, ValueError, RecursionError):
            heads = []
        split = lines.split(b"\n")[:-1]
        if len(heads) != len(split):  # an empty line between, or a bad one: each by itself
            for line in split:
                self.feed(line)
            return
        quiet = self._format.quiet
        for line, head in zip(split, heads, strict=True):
            if head.type not in quiet:
                self._event(line, head)

    def text(self, block: bytes) -> tuple[AgentFact, ...]:
        self._noise.add(block)
        if self._format.prose is None:
            shown = one_line(block[: 4 * LINE], LINE)
            return (Raw(shown),) if shown else ()
        *lines, self._half = (self._half + block).split(b"\n")
        self._half = self._half[-MAX_MESSAGE_CHARS:]
        return tuple(fact for line in lines for fact in self._prose(line))

    def file(self, name: str, data: bytes) -> None:
        fields = parse_object(data)
        if fields is not None and self._format.file is not None:
            self._take(self._format.file(self._account, name, fields))

    def finish(self, exit_code: int | None, ended: str, dropped: int) -> CallFacts:
        if self._half:
            self._prose(self._half)
        if self._format.ending is not None and ended == "exited":
            self._take(self._format.ending(self._account, exit_code))
        account = self._account
        if self._format.broken_off is not None and account.closed is None:
            self._take(self._format.broken_off(account))
        closed = account.closed
        said = closed.words if closed is not None and closed.words is not None else account.message
        said = clean(said[-MAX_MESSAGE_CHARS:]).strip()
        noise = clean(self._noise.bytes()).strip()
        parsed = parse_status(said)
        fault = fault_of(exit_code, ended, account.limit, account.fault, noise or said)
        fault = closed_fault(fault, account.closed, account.retried, ended, noise or said)
        if fault is not None and fault.kind == "auth" and self._login:
            fault = Fault("auth", f"{one_line(fault.message, 120)}; log in with: {self._login}")
        spent, last = account.spent, account.total
        usage = Usage(spent.tokens, spent.cost, spent.fresh, spent.cached, spent.written)
        return CallFacts(
            usage=Usage() if dropped else usage,  # sums over output that was only partly seen are no sums
            claim=parsed.claim,
            fault=_hollow(fault, usage, exit_code),
            denials=tuple(account.denials),
            said=last_words(said or (noise if fault else "")),
            problems=parsed.problems,
            session=_session(account, last),
            after=account.limit.after if account.limit else None,
            clock=account.limit.clock if account.limit else None,
            message=said,
            model=account.seen.get("model", ""),
        )

    def _event(self, line: bytes, head: _Head | None) -> tuple[AgentFact, ...]:
        format_ = self._format
        name = head.type if head is not None else ""
        handler = format_.events.get(name)
        if handler is None and name in format_.quiet:
            return ()
        fields = parse_object(line) if handler is not None or head is None else None
        if head is None and fields is not None:  # a type that is no text, or bytes that are no characters
            name = fields["type"] if isinstance(fields.get("type"), str) else ""
            handler = format_.events.get(name)
        if fields is None or handler is None:
            self._noise.add(line[:LINE] + b"\n")
            return (Raw(one_line(line[: 4 * LINE], LINE)),)
        return self._take(handler(self._account, fields))

    def _prose(self, line: bytes) -> tuple[AgentFact, ...]:
        assert self._format.prose is not None
        return self._take(self._format.prose(self._account, clean(line[:MAX_MESSAGE_CHARS])))

    def _take(self, made: Made) -> tuple[AgentFact, ...]:
        facts: list[AgentFact] = []
        for fact in made:
            known = self._difference(fact) if isinstance(fact, Total) else fact
            self._note(known)
            facts.append(known)
        return tuple(facts)

    def _note(self, fact: AgentFact) -> None:
        account = self._account
        match fact:
            case Said():
                going_on = fact.message and fact.message == account.open
                account.message = ((account.message if going_on else "") + fact.text)[-MAX_MESSAGE_CHARS:]
                account.open = fact.message
            case ToolUsed():
                account.open = ""
                account.tools += 1
            case Spent():
                pairs = ((name, getattr(account.spent, name), getattr(fact, name)) for name in COUNTS)
                account.spent = Spent(**{name: _plus(old, new) for name, old, new in pairs})
            case LimitHit():
                account.limit = fact
            case FaultSeen():
                account.fault = fact
            case Retried():
                account.retried = fact
            case SessionSeen():
                account.session = fact.id
                account.open = ""
            case Denied():
                if len(account.denials) < MAX_DENIALS and fact.what not in account.denials:
                    account.denials.append(fact.what)
            case Closed():
                account.closed, account.open = fact, ""
                if fact.ok:  # whatever happened on the way, the CLI got over it
                    account.limit = account.fault = account.retried = None
            case _:
                pass
        if account.retried is not None and isinstance(fact, Said | ToolUsed):
            account.retried = None

    def _difference(self, total: Total) -> Spent:
        """What a running total adds to the one before it; a smaller one began anew."""
        before: Total | AgentSession | None = self._account.total or self._account.base
        self._account.total = total
        if before is None:
            return Spent(**{name: getattr(total, name) for name in COUNTS})
        return Spent(**{name: _minus(getattr(total, name), getattr(before, name)) for name in COUNTS})


def _plus(old: Any, new: Any) -> Any:
    return old if new is None else (old or 0) + new


def _minus(now: Any, before: Any) -> Any:
    if now is None or before is None or now < before:
        return now
    return now - before


def _hollow(fault: Fault | None, usage: Usage, exit_code: int | None) -> Fault | None:
    """An error in a call that seems to have gone well and used nothing: it would look like success."""
    vague = fault is not None and fault.kind in ("crash", "protocol")
    if fault is not None and vague and exit_code == 0 and usage.tokens == 0:
        return Fault("hollow", fault.message)
    return fault


def _session(account: Account, total: Total | None) -> AgentSession | None:
    if not account.session and total is None:
        return None
    counts: Total | AgentSession | Spent | None = total or account.base
    if total is None and account.closed is None:  # its next total holds what this call is known to have used
        known = ((name, getattr(counts, name, None), getattr(account.spent, name)) for name in COUNTS)
        counts = Spent(**{name: _plus(old, new) for name, old, new in known})
    if counts is None:
        return AgentSession(account.session)
    return AgentSession(account.session, "", *(getattr(counts, name) for name in COUNTS))
