"""An agent as a loop knows it: its key and price, its conversation, its claim, its faults."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from ralph.core.model.spend import Price


class AgentSession(Struct, frozen=True, omit_defaults=True):
    """A conversation of an agent CLI, and what it had used in all when it was last heard of."""

    id: str
    agent: str = ""
    tokens: int | None = None
    cost: float | None = None
    fresh: int | None = None
    cached: int | None = None
    written: int | None = None


class KeySource(Struct, frozen=True, omit_defaults=True):
    """Where a key comes from at each call, and the variable it goes into; the key itself is kept nowhere."""

    into: str
    variable: str = ""
    command: str = ""


FaultKind = Literal[
    "limit",  # a usage limit, with the time of its reset where one was named
    "overload",  # the provider is too busy (529, 503)
    "server",  # the provider failed (other 5xx)
    "network",
    "auth",  # the login or key was refused
    "credit",  # nothing left to pay with
    "request",  # the provider refused the request itself: unknown model, malformed
    "context",  # more than the model can read at once
    "turns",  # the agent's own bound on turns
    "budget",  # the bound on money that Ralph gave to this one call
    "hollow",  # ended as if all were well, reported an error and used nothing
    "protocol",  # ended as if all were well, without its last word
    "crash",
    "timeout",
    "idle",
    "interrupted",
    "missing",
    "upgraded",  # the program is not the one that this loop began with
    "disk",
]


class Fault(Struct, frozen=True, omit_defaults=True):
    """The machinery failed, not the work: retried with back-off, refunds the iteration."""

    kind: FaultKind
    message: str
    reset_at: float | None = None  # epoch seconds at which a limit is lifted
    address: str = ""  # host:port that was not reached, where it can be looked at


class AskedWaiver(Struct, frozen=True):
    """An exception that the agent asks for instead of taking it."""

    kind: str
    subject: str
    why: str

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.subject}"


class Claim(Struct, frozen=True, omit_defaults=True):
    """The agent's structured word. It asks for judgement; it never is one."""

    status: Literal["IN_PROGRESS", "COMPLETE", "BLOCKED"]
    exit_signal: bool = False
    tests: str = "NOT_RUN"
    tasks: int = 0
    files: int = 0
    work: str = ""
    recommendation: str = ""
    asks: tuple[AskedWaiver, ...] = ()


class Steer(Struct, frozen=True):
    text: str
    at: float = 0.0
    author: str = ""


class SealedAgent(Struct, frozen=True, omit_defaults=True):
    """An agent as it was agreed: the one that works, one that stands in for it, a reader or the judge."""

    name: str = field(name="agent")
    argv: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    env: dict[str, str] = {}  # what the configuration adds to its environment
    model: str = ""
    key: KeySource | None = None
    price: Price | None = None
