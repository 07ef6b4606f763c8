"""A loop's record: decoding, folding, and which loop a user means."""

import os
import sqlite3
import sys

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "ui"))
import making
from making import Maker, order, record_all

from ralph.errors import JournalError, NothingToDo, UserError
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.record import choose_loop, find_loop, load, project_top
from ralph.shell.state.locks import acquire, this_process

NAME = "fix-auth-7f3a91c2"


def test_replay_equals_live_state(tmp_path):
    """Loading a record gives the very loop that the events made."""
    maker = making.verified()
    with read_journal(record_all(tmp_path, maker)) as reader:
        record = load(reader, NAME)
    assert record.loop == maker.loop
    assert record.events == tuple(maker.events)
    assert record.started == making.START
    assert record.newer is False


@pytest.mark.parametrize(
    ("kind", "v", "body"),
    [
        ("Teleported", 1, b'{"kind":"Teleported"}'),
        ("WaitOver", 99, b'{"kind":"WaitOver"}'),
        ("LoopEnded", 1, b'{"kind":"LoopEnded","outcome":"ascended","reason":""}'),
    ],
)
def test_rows_of_a_newer_ralph(tmp_path, kind, v, body):
    """An unknown kind, version or value stops the fold there, is kept raw, and marks the record as newer."""
    maker = Maker().begin()
    root = record_all(tmp_path, maker)
    with open_journal(root) as journal:
        journal.append(NAME, len(maker.events), at=1, kind=kind, v=v, body=body)
    with read_journal(root) as reader:
        record = load(reader, NAME)
    assert record.newer is True
    assert record.loop == maker.loop
    assert record.entries[-1].event is None
    assert record.entries[-1].row.body == body


@pytest.mark.parametrize(
    ("kind", "body", "code"),
    [
        ("WaitOver", b"not json", "E-JOURNAL-GARBLED"),
        ("WaitOver", b'{"kind":"WaitOver"}', "E-JOURNAL-ILLEGAL"),
    ],
)
def test_rows_that_make_no_sense(tmp_path, kind, body, code):
    """A body that is no JSON, or a fact that cannot follow, is refused; other loops still load."""
    maker = Maker().begin()
    root = record_all(tmp_path, maker, making.verified(order("other-00000001")))
    with open_journal(root) as journal:
        journal.append(NAME, len(maker.events), at=1, kind=kind, v=1, body=body)
    with read_journal(root) as reader:
        with pytest.raises(JournalError, match=f"row {len(maker.events) + 1}") as raised:
            load(reader, NAME)
        assert raised.value.code == code
        assert load(reader, "other-00000001").loop.outcome == "verified"


def test_a_changed_row_is_damage(tmp_path):
    """A row that was edited is refused by the hash chain."""
    root = record_all(tmp_path, Maker().begin())
    with sqlite3.connect(f"{root}/journal.db") as db:
        db.execute("UPDATE event SET at = at + 1 WHERE seq = 2")
    db.close()
    with read_journal(root) as reader, pytest.raises(JournalError, match="damaged at row 2"):
        load(reader, NAME)


def test_find(tmp_path):
    """A name, an id or a unique beginning means one loop; anything else is an error that helps."""
    root = record_all(tmp_path, Maker(), Maker(order("fix-auth-00000001")), Maker(order("docs-00000002")))
    with read_journal(root) as reader:
        assert (
            find_loop(reader, NAME)
            == find_loop(reader, f"ralph-{NAME}")
            == find_loop(reader, "fix-auth-7")
            == NAME
        )
        with pytest.raises(UserError, match="matches 2 loops"):
            find_loop(reader, "fix")
        with pytest.raises(UserError) as raised:
            find_loop(reader, "dosc-00000002")
        assert raised.value.why == "did you mean 'docs-00000002'?"
        with pytest.raises(UserError, match="there is no loop ''"):
            find_loop(reader, "")
        with pytest.raises(UserError, match="there is no loop"):
            load(reader, "gone")


def test_choose(tmp_path):
    """Without a name the newest loop of the repository is meant, or the newest unfinished one."""
    older = Maker(order("older-00000001", repo="/a")).begin()
    newer = making.verified(order("newer-00000002", repo="/a"))
    root = record_all(tmp_path, older, newer)
    with read_journal(root) as reader:
        assert choose_loop(reader, None, "/a") == "newer-00000002"
        assert choose_loop(reader, None, "/a", active=True) == "older-00000001"
        assert choose_loop(reader, "older", "/b") == "older-00000001"
        with pytest.raises(NothingToDo, match="there is no loop for '/b'"):
            choose_loop(reader, None, "/b")


def test_running(tmp_path):
    """Somebody drives a loop exactly while its lock is held."""
    reader = read_journal(str(tmp_path))
    assert reader.driver(NAME) is None
    os.makedirs(tmp_path / "loops" / NAME)
    lock = acquire(str(tmp_path / "loops" / NAME / "lock"), this_process(5, "test"))
    assert reader.driver(NAME).pid == os.getpid()
    lock.release()
    assert reader.driver(NAME) is None


def test_project_top(tmp_path):
    """The work tree around a folder is found through links; the .git file of a linked worktree counts."""
    (tmp_path / "app" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "app" / ".git").write_text("gitdir: elsewhere\n")
    (tmp_path / "link").symlink_to(tmp_path / "app" / "deep")
    top = os.path.realpath(tmp_path / "app")
    assert project_top(str(tmp_path / "app" / "deep" / "er")) == top
    assert project_top(str(tmp_path / "link")) == top
    assert project_top("/") is None
