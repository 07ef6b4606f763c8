"""What the tests of streams share: recorded calls, and how to put bytes through an adapter."""

import json
from pathlib import Path

from ralph.agents import AgentFact, CallContext, CallFacts, load
from ralph.agents._kit.lines import Intake
from ralph.core.model.agent import AgentSession
from ralph.core.model.gate import Criterion
from ralph.core.model.order import Order
from ralph.core.model.parts import from_flat
from ralph.core.model.spend import Limits

RECORDED = Path(__file__).parent / "recorded"
INDEX = json.loads((RECORDED / "index.json").read_text())
CLIS = ("claude", "codex", "gemini", "goose", "opencode", "copilot", "qwen", "aider", "mini", "pi", "droid")
ACP = ("acp-goose", "acp-gemini")  # of those over the protocol, the ones that are recorded
STREAMS = (*CLIS, *ACP)
USER = {"PATH": "/usr/bin", "HOME": "/home/someone", "ANTHROPIC_API_KEY": "secret-one", "SSH_AUTH_SOCK": "/s"}


def order(agent: str = "claude", **fields: object) -> Order:
    """`fields` by the names that they have in a journal."""
    known = {"loop": "x-12345678", "task": "t", "repo": "/repo", "limits": Limits(), "agent": agent}
    return from_flat(Order, {**known, "criterion": Criterion("custom", ()), **fields})


def context(**fields: object) -> CallContext:
    given = {"scratch": "/call/given", "tmp": "/tmp", "token": "11111111-2222-4333-8444-000000000000"}
    environ, workspace = fields.pop("environ", USER), fields.pop("workspace", "/repo")
    return CallContext("ralph-x-12345678", 3, 4, workspace, "/call/prompt.md", environ, **{**given, **fields})


def cases() -> list[tuple[str, str]]:
    """Every recorded call, as (CLI, case)."""
    found = (*RECORDED.glob("*/*.jsonl"), *RECORDED.glob("*/*.txt"))
    return sorted((path.parent.name, path.stem) for path in found)


def recorded(cli: str, case: str) -> bytes:
    """What the call printed: events, then what went to stderr (in a loop the two are one)."""
    path = RECORDED / cli / f"{case}.jsonl"
    data = (path if path.exists() else path.with_suffix(".txt")).read_bytes()
    return data + INDEX[cli][case].get("stderr", "").encode()


def left(cli: str, case: str) -> list[tuple[str, bytes]]:
    """The files that the call left for its parser."""
    return [(path.name, path.read_bytes()) for path in sorted((RECORDED / cli).glob(f"{case}.*.json"))]


def ended(cli: str, case: str) -> tuple[int, str]:
    told = INDEX[cli][case]
    return told["exit"][-1], "stopped" if told["killed"] else "exited"


def read(
    cli: str,
    data: bytes,
    exit_code: int | None = 0,
    how: str = "exited",
    *,
    session: AgentSession | None = None,
    files: list[tuple[str, bytes]] | None = None,
    absorb: bool = False,
    dropped: int = 0,
) -> tuple[list[AgentFact], CallFacts]:
    """One call's output through the adapter, live or in bulk."""
    parser = load(cli).stream(order(cli), session)
    intake = Intake(parser)
    facts: list[AgentFact] = []
    if absorb:
        intake.absorb(data)
    else:
        facts = intake.feed(data)
    for name, content in files or []:
        parser.file(name, content)
    return facts, intake.finish(exit_code, how, dropped)
