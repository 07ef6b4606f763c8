"""Where things are: state directory, project, journal, and which loop a user means.

Light on purpose: lists start in milliseconds and need no core for this.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

from ralph.errors import RalphError
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.selection import choose_loop, project_top
from ralph.shell.journal.selection import find_loop as find_in_journal
from ralph.shell.journal.store import JournalReader, JournalRow
from ralph.shell.state.directory import State, open_state, state_dir

__all__ = ["JournalReader", "JournalRow", "State"]


def state_of(env: Mapping[str, str]) -> State:
    """The state directory, looked at and not written to."""
    return open_state(state_dir(env), create=False)


def journal_of(env: Mapping[str, str]) -> JournalReader:
    return read_journal(state_of(env).root)


def project_of(cwd: str) -> str | None:
    return project_top(cwd)


def find_loop(
    text: str, env: Mapping[str, str], cwd: str = "", *, repos: Collection[str] | None = None
) -> str:
    """The one loop that a name, an id, a number or a unique part stands for; those of the project around
    `cwd` first, and with `repos` only of these."""
    with journal_of(env) as reader:
        return find_in_journal(reader, text, project_of(cwd) if cwd else None, repos=repos)


def loop_number(name: str, env: Mapping[str, str], cwd: str) -> int:
    """The number that people may type in `cwd` for this loop; 0 where it has none, or nobody can tell."""
    here = project_of(cwd) or ""
    try:
        with journal_of(env) as reader:
            number = reader.number_of(name)
            return number if find_in_journal(reader, str(number), here, repos=(here,)) == name else 0
    except RalphError:
        return 0


def newest_loop(env: Mapping[str, str], cwd: str) -> str:
    """The newest loop of the project around `cwd` (of all, outside one)."""
    with journal_of(env) as reader:
        return choose_loop(reader, None, project_of(cwd))


def active_loop(text: str | None, env: Mapping[str, str], cwd: str) -> str:
    """The loop that was named, else the newest of this project that has not ended."""
    with journal_of(env) as reader:
        return choose_loop(reader, text, project_of(cwd), active=True)


def active_loops(env: Mapping[str, str], cwd: str) -> list[str]:
    """The loops of this project that have not ended."""
    with journal_of(env) as reader:
        return [row.loop for row in reader.summaries(project_of(cwd), active=True)]


def is_driven(name: str, env: Mapping[str, str]) -> bool:
    try:
        with journal_of(env) as reader:
            return reader.driver(name) is not None
    except RalphError:
        return True  # another user's loop: whether its lock is held cannot be seen


def recorded_rows(name: str, env: Mapping[str, str], after: int = 0) -> Iterator[JournalRow]:
    """The rows of a loop's journal after row `after`."""
    with journal_of(env) as reader:
        yield from reader.rows(name, after)


def log_path(name: str, env: Mapping[str, str]) -> str:
    """Where the loop's own log is written."""
    return os.path.join(open_state(state_dir(env), create=True).logs, f"{name}.log")
