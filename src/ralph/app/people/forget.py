"""Clearing what is remembered across loops: a fact in the record of each loop that noted it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ralph.app.people.memory import noted_by_loops
from ralph.clock import SystemClock
from ralph.core.model.events import LearningsCleared
from ralph.core.views.memory import MemoryEntry, words_of
from ralph.shell.ports import Quiet
from ralph.shell.run.hold import hold_record


def forget(entries: Sequence[MemoryEntry], env: Mapping[str, str], repo: str | None) -> int:
    """Forget these, in every loop that noted the same; how many loops that were."""
    words = {words_of(entry.lesson) for entry in entries}
    by_loop: dict[str, list[str]] = {}
    for entry in noted_by_loops(env, repo):
        if words_of(entry.lesson) in words:
            by_loop.setdefault(entry.loop, []).append(entry.lesson)
    for loop, lessons in by_loop.items():
        with hold_record(loop, env, SystemClock(), Quiet()) as scribe:
            scribe.append(LearningsCleared(notes=tuple(lessons)))
    return len(by_loop)
