"""Readers: calls that only read, several at once, before a plan is made; their notes go into its prompt.

What they say is data for the planning call and proves nothing. A reader that fails is a note that says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from msgspec.structs import replace

from ralph.core.decide import after_judging
from ralph.core.model.actions import RunReaders
from ralph.core.model.events import Event, ReadersEnded, ReadersStarted
from ralph.core.model.loop import Loop
from ralph.core.model.plan.plan_state import ReaderNote
from ralph.core.model.spend import add_side_calls, add_usage
from ralph.core.text.clean import clean, redact, trim

MAX_LABEL_PATHS = 3  # paths that stand for an area
MAX_LINES, MAX_CHARS = 200, 12_000  # of one reader's notes


def areas(paths: Sequence[str], count: int) -> tuple[tuple[str, ...], ...]:
    """The files of a tree in at most `count` parts of about the same number, folders kept together."""
    ordered = sorted(paths)
    count = min(count, len(ordered))
    cuts = [round(part * len(ordered) / count) for part in range(count + 1)] if count else []
    return tuple(tuple(ordered[a:b]) for a, b in pairwise(cuts) if b > a)


def reader_note(area: Sequence[str], message: str, fault: str, secrets: Sequence[str]) -> ReaderNote:
    """What was read, in a few words, and what was said of it, cleaned and cut; of a failure only why."""
    many = len(area) > MAX_LABEL_PATHS
    label = f"{area[0]} to {area[-1]} ({len(area)} files)" if many else ", ".join(area)
    text = "" if fault else trim(redact(clean(message), secrets), MAX_LINES, MAX_CHARS)
    return ReaderNote(area=label, text=text, fault=redact(fault, secrets)[:500])


def readers_started(loop: Loop, event: ReadersStarted) -> Loop:
    owed, build = _owed_readers(loop, event), loop.build
    if build.planning.readers_running or (event.call, event.count) != (owed.call, owed.count):
        loop.refuse(event, "no such calls were asked for")
    loop = loop.begin_calls(event.call, event.at, event.count)
    loop = loop.charge("planner", lambda spend: add_side_calls(spend, event.count))
    return replace(loop, build=build.with_planning(readers_running=True))


def readers_ended(loop: Loop, event: ReadersEnded) -> Loop:
    _owed_readers(loop, event)
    build = loop.build
    if not build.planning.readers_running:
        loop.refuse(event, "no readers were called")
    for usage in event.usages:
        loop = loop.charge("planner", partial(add_usage, usage=usage))
    loop = replace(loop, build=build.with_planning(readers_running=False, reader_notes=event.notes))
    return after_judging.pause_or_call(loop)


def _owed_readers(loop: Loop, event: Event) -> RunReaders:
    owed = loop.owed
    if not isinstance(owed, RunReaders):
        loop.refuse(event, "no readers were asked for")
    return owed
