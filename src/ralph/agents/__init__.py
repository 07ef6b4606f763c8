"""The agent protocol: what an adapter is given, what it answers, and where each one is found.

An adapter is a module with three functions (`Adapter` below); one with a table `CLI` and a `FORMAT` of its
output needs `launch` alone. It only translates: an order into a command line, bytes of output into facts. It
never spawns, never waits and never decides; processes and boxes are the shell's, decisions the core's.
`lines` turns chunks of output into calls of a `Parser`, `environ` says which variables an agent gets,
`faults` turns the end of a call into a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from os.path import isdir
from pkgutil import iter_modules
from typing import Literal, Protocol, cast

from msgspec import Struct

from ralph.agents._kit.folders import LaunchFolder, place
from ralph.core.model.agent import AgentSession, Claim, Fault, FaultKind
from ralph.core.model.order import Order
from ralph.core.model.spend import Usage
from ralph.errors import UserError

# Which one is taken first where nobody chose; what is not named here comes after them.
_ORDER = (
    *("claude", "codex", "gemini", "goose", "opencode", "copilot", "qwen", "aider", "mini", "command"),
    "demo",
)
# Over the Agent Client Protocol, which tells less of how a call went: name -> row of `adapter`
OVER_ACP: dict[str, str] = {
    "acp-gemini": "gemini",
    "acp-goose": "goose",
    "acp-opencode": "opencode",
    "acp-qwen": "qwen",
    "acp-copilot": "copilot",
    "acp-claude": "claude",
    "acp-codex": "codex",
    "acp-vibe": "vibe",
    "acp": "",  # any other, by its command
}

PROMPT_AS_JSON = "{prompt_json}"  # in a launch's files: stands for the prompt as a JSON string


class Probe(Struct, frozen=True):
    """Whether an agent can be used on this machine, and what to do if not."""

    installed: bool
    version: str = ""
    path: str = ""
    hint: str = ""
    version_argv: tuple[str, ...] = ()  # prints the version; an adapter spawns nothing, its caller may
    login: Literal["yes", "no", "unknown"] = "unknown"
    login_hint: str = ""  # how to log in, or where the login was seen
    features: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # in words: what becomes of its folders below the home, inside a box
    provider: str = ""  # URL of the model's provider, where it is known
    efforts: tuple[str, ...] = ()  # levels of effort that it can be asked for
    programs: dict[str, list[str]] = {}  # kind -> what the user's settings start by themselves


class CallContext(Struct, frozen=True):
    """What changes from call to call. Paths are those that the agent sees."""

    loop: str  # handed on as RALPH_LOOP_ID
    iteration: int
    call: int
    workspace: str
    prompt_file: str
    environ: Mapping[str, str]  # the user's and the configuration's; an allow-list of it reaches the agent
    scratch: str = ""  # folder of this call for files that the agent may read
    tmp: str = ""  # folder of this call that the agent may write
    boxed: bool = False  # a sandbox was seen to hold: the CLI's own permissions may be bypassed
    session: AgentSession | None = None  # conversation to go on with
    token: str = ""  # a new UUID, for CLIs that let one choose a conversation's id
    cost_left: float | None = None  # US dollars that this call may spend


class Launch(Struct, frozen=True):
    """How to start one call. The prompt goes in as a file, never as an argument."""

    argv: tuple[str, ...]
    env: dict[str, str]  # the whole environment of the agent, except what the box itself must set
    stdin: Literal["prompt", "none"] = "prompt"
    files: dict[str, str] = {}  # written for this call before it starts, below `scratch`: path -> text
    tools: tuple[str, ...] = ()  # words to be resolved outside the box; the first must exist
    writes: tuple[str, ...] = ()  # paths the agent may write besides its workspace
    reads: tuple[str, ...] = ()  # paths that must be readable in the box
    own: tuple[
        LaunchFolder, ...
    ] = ()  # the CLI's folders below the home, of which it works on a private copy
    outputs: tuple[str, ...] = ()  # files below `tmp` that the CLI leaves for the parser
    session: str = ""  # id that this call's conversation will have, where it can be chosen
    pin: bool = False  # the program must stay the same for the whole loop
    program: int = 0  # which word of argv is the agent's program; those before it start it


# Facts of plain values come by the hundred thousand, and cannot be part of a cycle: not for the collector.
class Said(Struct, frozen=True, tag=True, gc=False):
    text: str
    message: str = ""  # pieces of the same message in a row belong together


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
    fresh: int | None = None
    cached: int | None = None
    written: int | None = None


class TimeOfDay(Struct, frozen=True):
    """A time of day as it was told, with as much of its date as was told; "" = the zone of this machine."""

    hour: int
    minute: int = 0
    zone: str = ""
    year: int = 0
    month: int = 0
    day: int = 0
    weekday: int | None = None  # 0 = Monday
    days: int = 0  # so many days from today


class Reset(Struct, frozen=True):
    """What was told of the end of a limit; at most one of these is there."""

    at: float | None = None  # epoch seconds
    after: float | None = None  # seconds from when it was said
    clock: TimeOfDay | None = None


class LimitHit(Struct, frozen=True, tag=True, gc=False):
    message: str
    reset_at: float | None = None  # epoch seconds
    after: float | None = None  # or so many seconds from when it was said
    clock: TimeOfDay | None = None  # or at a time of day
    stop: bool = False  # the CLI would sit it out: end the call


class FaultSeen(Struct, frozen=True, tag=True, gc=False):
    kind: FaultKind
    message: str = ""
    stop: bool = False  # the CLI would go on trying what cannot work: end the call


class Retried(Struct, frozen=True, tag=True, gc=False):
    """The CLI tries again by itself: no fault yet, but the name of one if the call ends in it."""

    kind: FaultKind
    message: str = ""
    after: float | None = None


class SessionSeen(Struct, frozen=True, tag=True, gc=False):
    id: str


class Closed(Struct, frozen=True, tag=True, gc=False):
    """The CLI's last word on the call. Only with this, a good one, and exit code 0 a call has worked."""

    ok: bool
    words: str | None = None  # the agent's final message, where the CLI repeats it


class Claimed(Struct, frozen=True, tag=True):
    claim: Claim


class Denied(Struct, frozen=True, tag=True, gc=False):
    what: str


class Raw(Struct, frozen=True, tag=True, gc=False):
    """A line nobody understood: kept, shown on demand, never fatal."""

    line: str


AgentFact = (
    Said | ToolUsed | Spent | LimitHit | FaultSeen | Retried | SessionSeen | Closed | Claimed | Denied | Raw
)


class CallFacts(Struct, frozen=True):
    """One whole call, as `AgentEnded` records it."""

    usage: Usage
    claim: Claim | None
    fault: Fault | None
    denials: tuple[str, ...]
    said: str  # last words, cleaned and cut
    problems: tuple[str, ...] = ()  # what was wrong with how the claim was made
    session: AgentSession | None = None
    after: float | None = None  # seconds from the end of the call until a limit is lifted
    clock: TimeOfDay | None = None  # or the time of day at which it is
    message: str = ""  # the last message whole, as far as it was kept: for who asked a question
    model: str = ""  # that answered, where the CLI names it


class Parser(Protocol):
    """Reads one call's output; has state. Must survive anything."""

    def feed(self, line: bytes) -> tuple[AgentFact, ...]:
        """One complete line that begins with `{`, without its line end."""

    def absorb(self, lines: bytes) -> None:
        """Many such lines with their line ends: as `feed` for each, when nobody asks for the facts."""

    def text(self, block: bytes) -> tuple[AgentFact, ...]:
        """Any other output, in pieces as they came: many lines, or part of one."""

    def file(self, name: str, data: bytes) -> None:
        """A file that the launch named among its outputs, read after the end."""

    def finish(self, exit_code: int | None, ended: str, dropped: int) -> CallFacts:
        """The call is over. `dropped` counts bytes of output that this parser never saw."""


class Adapter(Protocol):
    """A module that speaks for one coding CLI."""

    def probe(self, environ: Mapping[str, str]) -> Probe: ...

    def launch(self, order: Order, call: CallContext) -> Launch: ...

    def stream(self, order: Order, session: AgentSession | None = None) -> Parser:
        """A parser for one call; `session` is the conversation that the call went on with."""


@cache
def adapters() -> dict[str, str]:
    """Name -> module, imported when first asked for: every module of this folder is one."""
    found = {one.name: f"{__name__}.{one.name}" for one in iter_modules(__path__) if not one.ispkg}
    found["demo"] = f"{__name__}.demo.adapter"
    return {name: found[name] for name in (*_ORDER, *found)}


def own_folders(name: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The folders of that CLI in the user's home, as far as they are there."""
    cli = getattr(import_module(adapters()[name]), "CLI", None)
    found = (place(folder, environ)[0] for folder in cli.folders) if cli is not None else ()
    return tuple(path for path in found if path and isdir(path))


def load(name: str) -> Adapter:
    if name in OVER_ACP:
        return cast("Adapter", import_module("ralph.agents.acp.adapter").for_agent(OVER_ACP[name]))
    if name not in adapters():
        raise UserError(
            f'unknown agent "{name}"',
            code="E-AGENT-UNKNOWN",
            why=f"known agents: {', '.join(sorted({*adapters(), *OVER_ACP}))}",
            next="ralph agents list",
        )
    module = import_module(adapters()[name])
    if not hasattr(module, "CLI"):
        return cast("Adapter", module)
    frame = import_module("ralph.agents._kit.cli").CliAdapter
    return cast("Adapter", frame(module.CLI, module.FORMAT, module.launch))
