"""What earlier loops of a repository left for later ones: notes of their agents, and how the loops ended.

A note is an agent's word: it may be wrong, or worse. It reaches a prompt only marked as data, few of them do,
and none that stems from a loop whose work was accused, dropped or aborted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.clean import one_line

MAX_OFFERED = 12
MAX_WIDTH = 200
TRUSTED = frozenset({"verified", "unproven", "satisfied", "exhausted", "stalled"})


class MemoryEntry(Struct, frozen=True, kw_only=True):
    """One thing that is remembered; S2's fields (docs/memory.md)."""

    id: str  # loop, iteration and number: stays the same
    loop: str
    iteration: int
    created: float
    type: Literal["lesson_learned", "failure_pattern", "success_pattern"]
    lesson: str
    context: str  # the task that the loop was on
    tags: tuple[str, ...] = ()
    confidence: Literal["low", "medium", "high"] = "low"
    offered: bool = True  # may a later loop be told?

    @property
    def said(self) -> str:
        """The same in other signs and spaces is the same; with a "no" or another number it is not."""
        return " ".join(re.findall(r"\w+", self.lesson.casefold()))


def ended_entry(body: dict[str, object], loop: str, updated: float) -> MemoryEntry | None:
    """How the loop itself ended: Ralph's own word, of ends that a later loop can learn from."""
    outcome, reason = str(body.get("outcome") or ""), one_line(str(body.get("reason") or ""), MAX_WIDTH)
    good = outcome == "verified"
    if not good and outcome not in ("stalled", "exhausted"):
        return None
    iteration = body.get("iteration")
    task = one_line(str(body.get("task") or ""), MAX_WIDTH)
    count = iteration if isinstance(iteration, int) else 0
    said = f"verified after {count} iteration{'s' if count != 1 else ''}" if good else f"{outcome}: {reason}"
    return MemoryEntry(
        id=f"{loop}/end",
        loop=loop,
        iteration=count,
        created=updated,
        type="success_pattern" if good else "failure_pattern",
        lesson=one_line(f"{said} ({task})", MAX_WIDTH),
        context=task,
        tags=(outcome,),
        confidence="high",
        offered=not good,  # that something once went well tells nobody what to do
    )


def join_repeated(entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """Newest first; what several loops noted is one entry, of high confidence."""
    found: dict[str, MemoryEntry] = {}
    for entry in sorted(entries, key=lambda one: -one.created):
        known = found.setdefault(entry.said, entry)
        if known.loop != entry.loop:
            found[entry.said] = replace(known, confidence="high")
    return list(found.values())


def choose_notes(entries: Sequence[MemoryEntry], task: str) -> tuple[str, ...]:
    """The few that a new loop is told: those that share words with its task first, then the newest."""
    about = _long_words(task)

    def rank(entry: MemoryEntry) -> tuple[int, bool, float]:
        shared = len(about & _long_words(f"{entry.lesson} {entry.context}"))
        return (-min(shared, 3), entry.confidence != "high", -entry.created)

    chosen = sorted((entry for entry in entries if entry.offered), key=rank)[:MAX_OFFERED]
    return tuple(entry.lesson for entry in chosen)


def matches(entry: MemoryEntry, text: str) -> bool:
    """Does it hold every word of the query?"""
    held = f"{entry.lesson} {entry.context} {' '.join(entry.tags)} {entry.type}".casefold()
    return all(word in held for word in text.casefold().split())


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.casefold()))
