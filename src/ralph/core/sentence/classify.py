"""How large a task looks by its words, and which commands suit that: advice, and nothing but advice.

The words and routes are in `classify.toml`. Nothing here looks at a project, and no proof depends on it.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from ralph.core.text.clean import clean

_MAX_READ, _MAX_SHOWN = 20_000, 400  # characters; a task that is not shown is named by its file


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("classify.toml").read_text("utf-8"))


def classify(task: str) -> dict[str, Any]:
    """Of a clause the first known word counts, because the rest says where ("a typo in the login page"); what
    follows "without" or "do not" is passed over."""
    table, text = _table(), clean(task)[:_MAX_READ].replace("\u2019", "'")
    parts = [
        re.split(_pattern(table["negations"]), part)[0]
        for clause in re.split(r"[,;:!?.](?:\s|$)|\n", text)
        for part in re.split(_pattern(table["clauses"]), clause)
    ]
    first = [min(hits) for part in parts if (hits := _hits(table["complexity"], [part]))]
    complexity, word = max(((int(row), word) for _, row, word in first), default=(table["usual"], ""))
    found: dict[str, Any] = {"complexity": complexity, "words": [word]}
    for scale in ("density", "context"):  # the last row with a word in the text
        order, hits = list(table[scale]), _hits(table[scale], parts)
        at, word = max(((order.index(row), word) for _, row, word in hits), default=(0, ""))
        found |= {scale: order[at], "words": [*found["words"], word]}
    row = next(
        one
        for one in table["routes"]
        if complexity <= one["complexity"]
        and all(found[name] in one[name] for name in ("density", "context"))
    )
    line, review = " ".join(clean(task).split()), complexity >= table["review"]
    named = shlex.quote(line) if line[:1] not in "-@" and len(line) <= _MAX_SHOWN else "--task-file FILE"
    lines = [one.replace("{review}", table["reviewed"] * review) for one in row["commands"]]
    return found | {
        "words": [*dict.fromkeys(filter(None, found["words"]))],
        "route": row["name"],
        "max_iterations": row["cap"],
        "review": review,
        "what": row["what"],
        "commands": [one.replace("{task}", named) for one in lines],
    }


def _pattern(words: list[str]) -> str:
    made = (re.escape(one).replace(r"\ ", r"[\s-]+").replace(r"\*", r"\w*") for one in words)
    return rf"(?i)(?<!\w)(?:{'|'.join(made) or '(?!)'})(?!\w)"


def _hits(rows: dict[str, list[str]], parts: list[str]) -> list[tuple[int, str, str]]:
    """Where each known word is in its part, its row, and the word."""
    found = ((row, hit) for part in parts for row in rows for hit in re.finditer(_pattern(rows[row]), part))
    return [(hit.start(), row, hit[0]) for row, hit in found]
