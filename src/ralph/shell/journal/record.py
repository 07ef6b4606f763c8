"""One loop's record: its rows decoded, and the loop that they make.

Here: decoding and folding. Everything that shows or resumes a loop starts with this. Not here: how rows are
stored (`store`), which loop a user means (`selection`), what an event
means (`core`), how anything looks (`ui`).
"""

from __future__ import annotations

from msgspec import DecodeError, Struct, ValidationError

from ralph.core.decide.machine import decide
from ralph.core.model.events import VERSIONS, AnyEvent, decode
from ralph.core.model.loop import Loop
from ralph.errors import IllegalEvent, JournalError
from ralph.shell.journal.selection import choose_loop, find_loop, project_top, unknown_loop_error
from ralph.shell.journal.store import JournalReader, JournalRow

__all__ = [
    "Record",
    "RecordEntry",
    "choose_loop",
    "decode_row",
    "find_loop",
    "load",
    "project_top",
]


class RecordEntry(Struct, frozen=True):
    row: JournalRow
    event: AnyEvent | None  # None: a kind or version that this Ralph does not know


class Record(Struct, frozen=True):
    name: str
    loop: Loop
    entries: tuple[RecordEntry, ...]
    newer: bool = False  # unknown rows were met; `loop` is as of the row before the first of them

    @property
    def events(self) -> tuple[AnyEvent, ...]:
        return tuple(entry.event for entry in self.entries if entry.event is not None)

    @property
    def started(self) -> float:
        """Wall clock of the first row, in seconds."""
        return self.entries[0].row.at / 1000


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


def decode_row(row: JournalRow) -> AnyEvent | None:
    """The event in a row; None for a kind, version or value that this Ralph does not know."""
    if row.v > VERSIONS.get(row.kind, 0):
        return None
    try:
        return decode(row.body)
    except ValidationError:
        return None  # well-formed, and holds a value that this version does not know
    except (DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise JournalError(
            f"row {row.seq} of loop '{row.loop}' cannot be read",
            code="E-JOURNAL-GARBLED",
            why=f"its body is not JSON ({exc}); other loops are not touched by this",
            next="ralph doctor",
        ) from exc


def _fold_event(loop: Loop, event: AnyEvent, row: JournalRow) -> Loop:
    try:
        return decide(loop, event).loop
    except IllegalEvent as exc:
        # For a reader this is no bug of the moment: the row stands, it just does not follow.
        raise JournalError(
            f"the record of loop '{row.loop}' does not hold together at row {row.seq}",
            code="E-JOURNAL-ILLEGAL",
            why=f"{exc.what}; other loops are not touched by this",
            next="ralph doctor",
        ) from exc
