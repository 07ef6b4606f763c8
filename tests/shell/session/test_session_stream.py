"""Sessions in the journal: kept apart, and written by several at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import builders as b
import pytest

from ralph.clock import SystemClock
from ralph.core.session.names import session_name
from ralph.core.session.record import Fact, HookAnswered, Session, SessionStarted
from ralph.errors import UserError
from ralph.shell.journal.open import read_journal
from ralph.shell.session.stream import add_fact, marker_of, read_session, session_names
from ralph.shell.state.directory import State, open_state


@pytest.fixture
def state(tmp_path: Path) -> State:
    return open_state(os.fspath(tmp_path / "state"), create=True)


def begin(state: State, host: str, session: str) -> str:
    name = session_name(host, session)
    fact = SessionStarted(host=host, session=session, order=b.order(), protection="S2")
    add_fact(state, name, SystemClock(), lambda _: fact)
    return name


def refuse(_session: Session) -> Fact:
    return HookAnswered(event="Stop", refused=True, why="red")


def test_two_sessions_never_mix(state: State) -> None:
    """The same id in two hosts, and two ids in one, are different sessions."""
    names = [begin(state, "claude", "a"), begin(state, "codex", "a"), begin(state, "claude", "b")]
    assert len(set(names)) == 3
    add_fact(state, names[0], SystemClock(), refuse)
    assert [read_session(state, name).refused for name in names] == [1, 0, 0]
    assert session_names(state) == sorted(names)
    with read_journal(state.root) as reader:
        assert reader.names() == []  # no list takes a session for a loop


def test_writers_at_the_same_moment_lose_nothing(state: State) -> None:
    """Each of them is counted: who is fenced off reads again and appends then."""
    name = begin(state, "claude", "a")
    threads = [
        threading.Thread(target=lambda: [add_fact(state, name, SystemClock(), refuse) for _ in range(5)])
        for _ in range(4)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert read_session(state, name).refused == 20


def test_an_unknown_session_is_empty_and_leaves_nothing(state: State) -> None:
    """Asking is free: no folder and no row for a session that Ralph does not judge."""
    name = session_name("claude", "nobody")
    assert not read_session(state, name).active
    assert add_fact(state, name, SystemClock(), lambda _: None)[1] is None
    assert not os.path.exists(marker_of(state, name))
    assert session_names(state) == []
    with pytest.raises(UserError):
        session_name("claude", "../../etc")
