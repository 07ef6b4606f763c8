"""Which store holds the journal of a state directory: the one place where a concrete store is named.

The writer is imported when something is written: lists must start in milliseconds.
"""

from __future__ import annotations

from ralph.shell.journal.reader import SqliteReader
from ralph.shell.journal.store import JournalReader, JournalStore


def open_journal(state_root: str) -> JournalStore:
    """For writing; makes or migrates the journal first."""
    from ralph.shell.journal.writer import open_sqlite

    return open_sqlite(state_root)


def read_journal(state_root: str) -> JournalReader:
    """For reading, also where nothing may be written."""
    return SqliteReader(state_root)
