"""Where this process stands: state directory, project, and readers on the journal. For commands that read."""

from __future__ import annotations

import os

from ralph.shell.journal.open import read_journal
from ralph.shell.journal.selection import project_top
from ralph.shell.journal.store import JournalReader
from ralph.shell.state.directory import State, open_state, state_dir


def state_here() -> State:
    """The state directory, looked at and not written to."""
    return open_state(state_dir(os.environ), create=False)


def journal_here() -> JournalReader:
    return read_journal(state_here().root)


def project_here() -> str | None:
    return project_top(os.getcwd())
