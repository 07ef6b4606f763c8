"""Memory across loops: what agents of ended loops noted, listed, searched, cleared, offered to new loops.

There is no store of its own: the notes are in the journal, each in the record of its loop, and clearing one
is a fact there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ralph.app.place import JournalReader, journal_of
from ralph.app.views.rows import list_row
from ralph.clock import SystemClock
from ralph.core.model.events import AgentEnded, GuardsEnded, LearningsCleared, LoopEnded
from ralph.core.views.memory import TRUSTED, MemoryEntry, choose_notes, ended_entry, join_repeated
from ralph.errors import RalphError
from ralph.shell.journal.store import JournalRow, SummaryRow
from ralph.shell.ports import Quiet

MAX_LOOPS = 100  # ended loops that are looked at, newest first


class _Noted(msgspec.Struct, frozen=True):
    """What is read of a row: the rest of it is not needed here."""

    iteration: int = 0
    learned: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Guarded(msgspec.Struct, frozen=True):
    """Of one guard's answer: did it accuse?"""

    integrity: bool = True
    findings: tuple[msgspec.Raw, ...] = ()


class _Looked(msgspec.Struct, frozen=True):
    results: tuple[_Guarded, ...] = ()


def list_memory(env: Mapping[str, str], repo: str | None, since: float = 0.0) -> list[MemoryEntry]:
    """What ended loops of a repository (of all, for None) left, newest first."""
    return [entry for entry in join_repeated(noted_by_loops(env, repo)) if entry.created >= since]


def noted_by_loops(env: Mapping[str, str], repo: str | None) -> list[MemoryEntry]:
    with journal_of(env) as reader:
        found = reader.summaries(repo, MAX_LOOPS, active=False)
        return [one for summary in found for one in _entries(summary, reader)]


def _entries(summary: SummaryRow, reader: JournalReader) -> Iterator[MemoryEntry]:
    body = list_row(summary, reader).body
    if not body or body.get("dropped"):
        return
    context, agent = str(body["task"])[:200], str(body.get("agent", ""))
    verified = summary.outcome == "verified"
    try:
        noted, cleared, ended, accused = _notes(reader.rows(summary.loop))
    except RalphError:
        return  # a damaged record has nothing to teach
    for number, (row, note, iteration) in enumerate(noted, 1):
        if note not in cleared:
            yield MemoryEntry(
                id=f"{summary.loop}/{iteration}.{number}",
                loop=summary.loop,
                iteration=iteration,
                created=row.at / 1000,
                type="lesson_learned",
                lesson=note,
                context=context,
                tags=tuple(filter(None, (agent, summary.outcome))),
                confidence="medium" if verified else "low",
                offered=summary.outcome in TRUSTED and not accused,
            )
    entry = ended_entry(body, summary.loop, ended)
    if entry is not None and entry.lesson not in cleared:
        yield entry


def _notes(rows: Iterator[JournalRow]) -> tuple[list[tuple[JournalRow, str, int]], set[str], float, bool]:
    noted: list[tuple[JournalRow, str, int]] = []
    cleared: set[str] = set()
    ended, accused = 0.0, False
    for row in rows:
        if row.kind == GuardsEnded.__name__:
            looked = msgspec.json.decode(row.body, type=_Looked)
            accused |= any(one.integrity and one.findings for one in looked.results)
        if row.kind == LoopEnded.__name__:
            ended = row.at / 1000
        if row.kind not in (AgentEnded.__name__, LearningsCleared.__name__):
            continue
        found = msgspec.json.decode(row.body, type=_Noted)
        noted += [(row, note, found.iteration) for note in found.learned]
        cleared |= set(found.notes)
    return noted, cleared, ended, accused


def notes_for(task: str, repo: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """What a new loop on this task is told of earlier ones; nothing where that cannot be read."""
    try:
        return choose_notes(list_memory(env, repo), task)
    except RalphError:
        return ()


def forget(entries: Sequence[MemoryEntry], env: Mapping[str, str], repo: str | None) -> int:
    """Forget these, in every loop that noted the same; how many loops that were."""
    from ralph.shell.run.hold import hold_record

    said, by_loop = {entry.said for entry in entries}, dict[str, list[str]]()
    for entry in noted_by_loops(env, repo):
        if entry.said in said:
            by_loop.setdefault(entry.loop, []).append(entry.lesson)
    for loop, lessons in by_loop.items():
        with hold_record(loop, env, SystemClock(), Quiet()) as scribe:
            scribe.append(LearningsCleared(notes=tuple(lessons)))
    return len(by_loop)
