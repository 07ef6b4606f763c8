"""One loop's record: its rows decoded, and the loop that they make.

Here: folding. Everything that shows or resumes a loop starts with this. Not here: how rows are stored
(`store`) and decoded (`entries`), which loop a user means (`selection`), what an event means (`core`).
"""

from __future__ import annotations

from ralph.core.decide.machine import decide
from ralph.core.model.events import AnyEvent
from ralph.core.model.loop import Loop
from ralph.core.views.summary import summarise, summary_json
from ralph.errors import IllegalEvent, JournalError
from ralph.shell.journal.entries import Record, RecordEntry, decode_row
from ralph.shell.journal.selection import choose_loop, find_loop, project_top, unknown_loop_error
from ralph.shell.journal.store import JournalReader, JournalRow, SummaryRow

__all__ = [
    "Record",
    "RecordEntry",
    "choose_loop",
    "decode_row",
    "find_loop",
    "load",
    "project_top",
    "summary_row",
]


def load(reader: JournalReader, name: str) -> Record:
    """The whole record of a loop; JournalError when it is damaged, UserError when there is none."""
    loop, newer, entries = Loop(), False, []
    for row in reader.rows(name):
        event = decode_row(row)
        newer = newer or event is None
        if event is not None and not newer:
            loop = _fold_event(loop, event, row)
        entries.append(RecordEntry(row, event))
    if not entries:
        raise unknown_loop_error(name, reader.names())
    return Record(name=name, loop=loop, entries=tuple(entries), newer=newer)


def _fold_event(loop: Loop, event: AnyEvent, row: JournalRow) -> Loop:
    try:
        return decide(loop, event)
    except IllegalEvent as exc:
        # For a reader this is no bug of the moment: the row stands, it just does not follow.
        raise JournalError(
            f"the record of loop '{row.loop}' does not hold together at row {row.seq}",
            code="E-JOURNAL-ILLEGAL",
            why=f"{exc.what}; other loops are not touched by this",
            next="ralph doctor",
        ) from exc


def summary_row(loop: Loop, started: float) -> SummaryRow:
    """The cached line that lists are made from."""
    return SummaryRow(
        loop=loop.sealed.loop,
        repo=loop.sealed.repo,
        phase=loop.phase,
        outcome=loop.outcome or "",
        body=summary_json(summarise(loop, started)),
    )
