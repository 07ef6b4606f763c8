"""The agent protocol: what an adapter is given, what it answers, and where each one is found.

An adapter is a module with three functions (`Adapter` below). It only translates: an order into a
command line, bytes of output into facts. It never spawns, never waits and never decides; processes
and boxes are the shell's, decisions the core's. `lines` turns chunks of output into calls of a
`Parser`, `environ` says which variables an agent gets, `endings` turns the end of a call into a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol, cast

from msgspec import Struct

from ralph.core.model import Claim, Fault, FaultKind, Order, Usage
from ralph.errors import UserError

# name -> module, imported when first asked for
ADAPTERS: dict[str, str] = {
    "command": "ralph.agents.command",
    "demo": "ralph.agents.demo",
}


class Probe(Struct, frozen=True):
    """Whether an agent can be used on this machine, and what to do if not."""

    installed: bool
    version: str = ""
    path: str = ""
    hint: str = ""


class CallContext(Struct, frozen=True):
    """What changes from call to call. Paths are those that the agent sees."""

    loop: str  # handed on as RALPH_LOOP_ID
    iteration: int
    call: int
    workspace: str
    prompt_file: str
    environ: Mapping[str, str]  # the user's own; an allow-list of it reaches the agent


class Launch(Struct, frozen=True):
    """How to start one call. The prompt goes in as a file, never as an argument."""

    argv: tuple[str, ...]
    env: dict[str, str]  # the whole environment of the agent, except what the box itself must set
    stdin: Literal["prompt", "none"] = "prompt"
    files: dict[str, str] = {}  # written for this call before it starts: path as the agent sees it -> text
    tools: tuple[str, ...] = ()  # words to be resolved outside the box; the first must exist
    writes: tuple[str, ...] = ()  # paths the agent may write besides its workspace
    reads: tuple[str, ...] = ()  # paths that must be readable in the box


# Facts of plain values come by the hundred thousand, and cannot be part of a cycle: not for the collector.
class Said(Struct, frozen=True, tag=True, gc=False):
    text: str


class ToolUsed(Struct, frozen=True, tag=True, gc=False):
    tool: str
    path: str = ""
    detail: str = ""
    added: int | None = None
    removed: int | None = None


class Spent(Struct, frozen=True, tag=True, gc=False):
    """What was used since the last such fact: a difference, never a running total."""

    tokens: int | None = None
    cost: float | None = None


class LimitHit(Struct, frozen=True, tag=True, gc=False):
    message: str
    reset_at: float | None = None  # epoch seconds


class FaultSeen(Struct, frozen=True, tag=True, gc=False):
    kind: FaultKind
    message: str = ""


class Claimed(Struct, frozen=True, tag=True):
    claim: Claim


class Denied(Struct, frozen=True, tag=True, gc=False):
    what: str


class Raw(Struct, frozen=True, tag=True, gc=False):
    """A line nobody understood: kept, shown on demand, never fatal."""

    line: str


AgentFact = Said | ToolUsed | Spent | LimitHit | FaultSeen | Claimed | Denied | Raw


class CallFacts(Struct, frozen=True):
    """One whole call, as `AgentEnded` records it."""

    usage: Usage
    claim: Claim | None
    fault: Fault | None
    denials: tuple[str, ...]
    said: str  # last words, cleaned and cut
    problems: tuple[str, ...] = ()  # what was wrong with how the claim was made


class Parser(Protocol):
    """Reads one call's output; has state. Must survive anything."""

    def feed(self, line: bytes) -> tuple[AgentFact, ...]:
        """One complete line that begins with `{`, without its line end."""

    def absorb(self, lines: bytes) -> None:
        """Many such lines with their line ends: as `feed` for each, when nobody asks for the facts."""

    def text(self, block: bytes) -> tuple[AgentFact, ...]:
        """Any other output, in pieces as they came: many lines, or part of one."""

    def finish(self, exit_code: int | None, ended: str, dropped: int) -> CallFacts:
        """The call is over. `dropped` counts bytes of output that this parser never saw."""


class Adapter(Protocol):
    """A module that speaks for one coding CLI."""

    def probe(self, environ: Mapping[str, str]) -> Probe: ...

    def launch(self, order: Order, call: CallContext) -> Launch: ...

    def stream(self, order: Order) -> Parser: ...


def load(name: str) -> Adapter:
    """The adapter of that name."""
    from importlib import import_module

    if name not in ADAPTERS:
        raise UserError(
            f'unknown agent "{name}"',
            code="E-AGENT-UNKNOWN",
            why=f"known agents: {', '.join(sorted(ADAPTERS))}",
            next="ralph agents list",
        )
    return cast("Adapter", import_module(ADAPTERS[name]))
