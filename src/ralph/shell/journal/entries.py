"""Rows of a journal with the events in them, and the record that they make together."""

from __future__ import annotations

from msgspec import DecodeError, Struct, ValidationError

from ralph.core.model.events import VERSIONS, AnyEvent, decode
from ralph.core.model.loop import Loop
from ralph.errors import JournalError
from ralph.shell.journal.store import JournalRow


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
