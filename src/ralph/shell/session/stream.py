"""The stream of a session in the journal: found by host and id, folded, and added to by many processes.

Hooks of one session may come at the same moment, and a judge writes beside them: each waits for its turn, and
sees all that was recorded before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Literal

from msgspec.structs import replace

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.session.record import (
    VERSION,
    Fact,
    Session,
    SessionStarted,
    apply_fact,
    decode_fact,
    encode_fact,
)
from ralph.errors import JournalError, UserError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.store import SESSIONS, JournalReader, JournalStore
from ralph.shell.state.directory import State
from ralph.shell.state.locks import acquire_within

_TIMEOUT_SECONDS = 30.0


def session_folder(state: State, name: str) -> str:
    return os.path.join(state.loops, name)


def stream_of(name: str) -> str:
    return f"{SESSIONS}{name.removeprefix('session-')}"


def marker_of(state: State, name: str) -> str:
    """A file that is there while the session is judged: without it nothing has to be read."""
    return os.path.join(session_folder(state, name), "active")


def read_session(state: State, name: str) -> Session:
    """The session as it stands; an empty one when nothing is recorded."""
    with read_journal(state.root) as reader:
        return _fold(reader, name)[0]


def open_session(state: State, name: str) -> Session:
    """A session that Ralph judges now; UserError when there is none."""
    session = read_session(state, name)
    if not session.active:
        raise UserError(
            "Ralph does not judge this session",
            code="E-SESSION-NONE",
            why="no task was started in it, or it has ended",
            next="ralph session start --help",
        )
    return session


def session_facts(state: State, name: str) -> list[Fact]:
    """All facts of a session, those of a newer Ralph left out."""
    with read_journal(state.root) as reader:
        rows = reader.rows(stream_of(name))
        return [fact for row in rows if (fact := decode_fact(row.kind, row.body)) is not None]


def session_names(state: State) -> list[str]:
    with read_journal(state.root) as reader:
        return [f"session-{key.removeprefix(SESSIONS)}" for key in reader.streams(SESSIONS)]


def _fold(reader: JournalReader, name: str) -> tuple[Session, int]:
    session, seq = Session(), 0
    for row in reader.rows(stream_of(name)):
        fact = decode_fact(row.kind, row.body)
        if fact is None:
            raise JournalError(
                f"row {row.seq} of this session was written by a newer Ralph",
                code="E-JOURNAL-NEWER",
                why=f"it holds '{row.kind}', which this version does not know",
                next="ralph version",
            )
        session, seq = apply_fact(session, fact), row.seq
    return session, seq


def add_fact(
    state: State, name: str, clock: Clock, make: Callable[[Session], Fact | None]
) -> tuple[Session, Fact | None]:
    """Append the fact that `make` wants in the light of all that is recorded; the session with it, and the
    fact. Nobody else writes meanwhile, so the marker says what the record says, whoever ends and begins.
    """
    with alone(state, name, "record", clock), open_journal(state.root) as journal:
        session, seq = _fold(journal, name)
        fact = make(session)
        if fact is None:
            return session, None
        if isinstance(fact, SessionStarted):
            with open(marker_of(state, name), "wb"):
                pass
        session = apply_fact(session, _append(journal, name, seq, fact, clock.now()))
        if not session.active:
            with suppress(FileNotFoundError):
                os.unlink(marker_of(state, name))
        return session, fact


@contextmanager
def alone(state: State, name: str, what: Literal["record", "snapshot"], clock: Clock) -> Iterator[None]:
    """One at a time for a session: a fact, which takes a moment, or a snapshot and what hangs on it."""
    path = os.path.join(session_folder(state, name), f"{what}.lock")
    held = acquire_within(path, what, clock, _TIMEOUT_SECONDS)
    try:
        yield
    finally:
        held.release()


def _append(journal: JournalStore, name: str, seq: int, fact: Fact, now: float) -> Fact:
    fact = replace(fact, at=now)
    journal.append(
        stream_of(name),
        seq,
        at=int(now * 1000),
        kind=type(fact).__name__,
        v=e.VERSIONS[type(fact).__name__] if isinstance(fact, e.Event) else VERSION,
        body=encode_fact(fact),
    )
    return fact
