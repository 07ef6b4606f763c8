"""How much of a model's window a prompt takes: an estimate, since each model has a tokenizer of its own.

Estimate: one token for 3.5 ASCII characters, one for every other character. On English prose that is some
percent too many, on code about right, so that a warning comes early rather than late. What the agent CLI adds
(its own instructions, the files it reads) is not in it.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from ralph.core.text.clean import one_line
from ralph.core.text.quoting import BEGINS, ENDS

DEFAULT = 200_000
WARN_SHARE = 0.6
MAX_TITLE = 80
# Part of a model's name -> its window, as the vendors say; the first that fits counts.
MODELS: tuple[tuple[str, int], ...] = (
    ("[1m]", 1_000_000),
    ("gemini", 1_048_576),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-5", 272_000),
    ("codex", 272_000),
    ("qwen3-coder", 262_144),
    ("kimi-k2", 262_144),
    ("grok-code", 256_000),
    ("minimax", 204_800),
    ("deepseek", 128_000),
    ("devstral", 128_000),
    ("glm-4.5", 128_000),
)
AGENTS: dict[str, int] = {"gemini": 1_048_576, "codex": 272_000, "qwen": 262_144}


class PromptPart(Struct, frozen=True):
    """One section of a prompt, by the heading that it begins with."""

    title: str
    chars: int
    tokens: int


def tokens(text: str) -> int:
    narrow = len(text.encode("ascii", "ignore"))
    return -(-narrow * 2 // 7) + len(text) - narrow


def prefix(text: str, most: int) -> str:
    """The longest beginning of at most so many tokens."""
    text = text[: max(0, most) * 4]  # no token has more characters than that, here
    if tokens(text) <= most:
        return text
    return text[: bisect_right(range(len(text)), most, key=lambda at: tokens(text[: at + 1]))]


def window(agent: str, model: str) -> int:
    """What the model reads at once, as far as its name or the agent's tells."""
    name = model.lower()
    found = next((size for part, size in MODELS if part in name), None) if name else None
    return found or AGENTS.get(agent.removeprefix("acp-"), DEFAULT)


def parts_of(text: str) -> tuple[PromptPart, ...]:
    """The sections of a prompt. What stands between nonce lines belongs to the section around it."""
    parts: list[PromptPart] = []
    title, begun, at, end, code = "(beginning)", 0, 0, "", False
    for line in text.splitlines(keepends=True):
        if end:
            end = "" if line.rstrip("\n") == end else end
        elif found := BEGINS.fullmatch(line.rstrip("\n")):
            end = found[0].removesuffix("begins ---") + ENDS
        elif line.startswith("```"):
            code = not code
        elif line.startswith("# ") and not code:
            _close(parts, title, text[begun:at])
            title, begun = one_line(line[2:], MAX_TITLE), at
        at += len(line)
    _close(parts, title, text[begun:])
    return tuple(parts)


def _close(parts: list[PromptPart], title: str, text: str) -> None:
    if text:
        parts.append(PromptPart(title, len(text), tokens(text)))
