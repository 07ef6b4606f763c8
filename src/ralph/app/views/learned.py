"""What agents of a loop noted for later, kept in the file that agents read."""

from __future__ import annotations

from collections.abc import Sequence

from ralph.shell.journal.entries import Record
from ralph.shell.prompts.learnings_file import append_notes


def append_learned(record: Record, notes: Sequence[str]) -> tuple[str, int]:
    """The file they went to, and how many were new in it."""
    name, text = append_notes(record.loop.sealed.repo, notes)
    return name, text.count("\n- ")
