"""The words all protocols share: what a client asks, what it offers, what it is answered. No wire shapes."""

import re
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# How the clients tell the model where they work; the first that matches wins.
_CWD = (
    re.compile(r"<cwd>\s*(/[^<\n]+?)\s*</cwd>"),
    re.compile(r"workspace directories:\W*?\n?\s*-\s*(/[^\s`'\"<>,]+)", re.IGNORECASE),
    re.compile(r"(?:working|current) directory(?: is)?[^/\w\n]{0,12}(/[^\s`'\"<>,]+)", re.IGNORECASE),
    re.compile(r"\bcwd[^/\w\n]{0,12}(/[^\s`'\"<>,]+)", re.IGNORECASE),
    re.compile(r"in the (?:following )?directory[^/\w\n]{0,12}(/[^\s`'\"<>,]+)", re.IGNORECASE),
)


@dataclass(frozen=True)
class Tool:
    """A tool as offered: `form` is "function" (JSON arguments) or "custom" (free text)."""

    name: str
    form: str = "function"
    schema: Json = field(default_factory=dict)
    space: str = ""

    @property
    def fields(self) -> Json:
        found = self.schema.get("properties")
        return found if isinstance(found, dict) else {}


@dataclass(frozen=True)
class Ask:
    """One request for an answer, in any protocol."""

    protocol: str
    model: str
    stream: bool
    tools: tuple[Tool, ...]
    text: str
    """All instructions and messages joined: what lanes and tool choice look at."""
    begun: bool
    """Whether the model has already answered in this conversation."""
    last: str = ""
    """The newest user words."""
    schema: Json | None = None
    """The shape an answer must have, where the client demands JSON."""
    agent: str = ""
    """The name of a sub-agent, where the client tells."""
    conversation: str = ""
    extra: Json = field(default_factory=dict)

    @property
    def cwd(self) -> str:
        for pattern in _CWD:
            found = pattern.search(self.text)
            if found:
                return found.group(1).rstrip("/.") or "/"
        return ""


@dataclass(frozen=True)
class Call:
    """One use of a tool: `arguments` is a table, or text for a custom tool."""

    tool: Tool
    arguments: Json | str


@dataclass(frozen=True)
class Usage:
    input: int = 100
    output: int = 10
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Answer:
    """What the model says and does. `stop` is "", "max_tokens" or "refusal"."""

    number: int
    say: str
    calls: tuple[Call, ...]
    usage: Usage
    stop: str = ""
    think: str = ""

    def id(self, prefix: str, index: int = 0) -> str:
        """Deterministic, unique in a server's life, and as long as the clients expect."""
        return f"{prefix}{self.number:06d}{index:02d}scripted"


def pieces(text: str, most: int = 24) -> list[str]:
    """A text as a stream brings it: in at least two fragments, so that readers must join them."""
    size = max(1, min(most, (len(text) + 1) // 2))
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]
