"""Migrations: one transaction and one backup each, safe when killed and when several come at once."""

import os
import signal
import sqlite3
import stat
import time

import pytest
from journal_kit import add, child, fill, finish, new

from ralph.shell.journal.migrations import MIGRATIONS
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.reader import SqliteReader
from ralph.shell.journal.rows import FILE
from ralph.shell.journal.store import SummaryRow
from ralph.shell.journal.writer import open_sqlite

KNOWN = len(MIGRATIONS)


def second(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE summary ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'")
    db.execute("CREATE TABLE extra (x)")


def third(db: sqlite3.Connection) -> None:
    db.execute("DROP TABLE extra")


def version_of(path) -> int:
    db = sqlite3.connect(path)
    found = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return found


def test_new_journal_needs_no_backup(tmp_path):
    """A new journal is made in the newest shape, without backups of nothing."""
    open_sqlite(str(tmp_path), (*MIGRATIONS, second)).close()
    assert version_of(tmp_path / FILE) == KNOWN + 1
    assert [name for name in os.listdir(tmp_path) if "bak" in name] == []


def test_each_migration_has_its_backup(tmp_path):
    """Every migration of an existing journal leaves a private, whole copy of what was before it."""
    fill(tmp_path, "one", 3)
    with open_sqlite(str(tmp_path), (*MIGRATIONS, second, third)) as journal:
        add(journal, "one", 3)
    for number in (KNOWN, KNOWN + 1):
        backup = tmp_path / f"{FILE}.v{number}.bak"
        assert version_of(backup) == number
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
        (tmp_path / f"old{number}").mkdir()
        (tmp_path / f"old{number}" / FILE).write_bytes(backup.read_bytes())
        with SqliteReader(str(tmp_path / f"old{number}"), (*MIGRATIONS, second)) as reader:
            assert [row.seq for row in reader.rows("one")] == [1, 2, 3]
    assert version_of(tmp_path / FILE) == KNOWN + 2
    assert [name for name in os.listdir(tmp_path) if name.endswith(".tmp")] == []


def test_backup_holds_what_is_only_in_the_wal(tmp_path):
    """The backup is of everything committed, also of what no checkpoint has moved yet."""
    with open_journal(str(tmp_path)) as old:
        new(old, "one")
        open_sqlite(str(tmp_path), (*MIGRATIONS, second)).close()
    db = sqlite3.connect(tmp_path / f"{FILE}.v{KNOWN}.bak")
    assert db.execute("SELECT loop FROM event").fetchall() == [("one",)]
    db.close()


def test_failing_migration_changes_nothing(tmp_path):
    """A migration that raises leaves the journal as it was."""
    fill(tmp_path, "one", 2)

    def broken(db):
        second(db)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        open_sqlite(str(tmp_path), (*MIGRATIONS, broken))
    with open_journal(str(tmp_path)) as journal:
        add(journal, "one", 2)
    assert version_of(tmp_path / FILE) == KNOWN


KILLED = """
def second(db):
    db.execute("ALTER TABLE summary ADD COLUMN colour TEXT")
    if sys.argv[2] == "inside": os.kill(os.getpid(), signal.SIGKILL)
def third(db):
    os.kill(os.getpid(), signal.SIGKILL)
open_sqlite(directory, (*migrations.MIGRATIONS, second, third))
"""


@pytest.mark.parametrize(("where", "left"), [("inside", KNOWN), ("between", KNOWN + 1)])
def test_killed_in_the_middle(tmp_path, where, left):
    """kill -9 inside a migration undoes that one; the next opening makes it again, with its backup."""
    fill(tmp_path, "one", 3)
    process = child(KILLED, tmp_path, where)
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    assert version_of(tmp_path / FILE) == left

    def again(db):
        db.execute("ALTER TABLE summary ADD COLUMN colour TEXT")

    with open_sqlite(str(tmp_path), (*MIGRATIONS, again, lambda _: None)) as journal:
        assert [row.seq for row in journal.rows("one")] == [1, 2, 3]
    assert version_of(tmp_path / FILE) == KNOWN + 2
    assert version_of(tmp_path / f"{FILE}.v{KNOWN}.bak") == KNOWN


def test_several_migrate_at_once(tmp_path):
    """Of several processes that open an old journal, one migrates and the others find it done."""
    fill(tmp_path, "one", 3)
    code = """
def second(db): db.execute("CREATE TABLE extra (x)"); time.sleep(0.05)
while time.time() < float(sys.argv[2]): pass
with open_sqlite(directory, (*migrations.MIGRATIONS, second)) as journal:
    print(len(list(journal.rows("one"))))
"""
    start = time.time() + 0.2
    assert [finish(process) for process in [child(code, tmp_path, start) for _ in range(3)]] == ["3"] * 3


def test_reader_of_an_older_journal(tmp_path):
    """A reader that knows a newer shape reads an older journal in a copy, and leaves the file alone."""
    with open_journal(str(tmp_path)) as journal:
        new(journal, "one")
        with SqliteReader(str(tmp_path), (*MIGRATIONS, second)) as reader:
            assert [row.seq for row in reader.rows("one")] == [1]
            add(journal, "one", 1)
            assert [row.seq for row in reader.rows("one")] == [1, 2]
    assert version_of(tmp_path / FILE) == KNOWN


def test_loops_of_before_get_their_numbers_in_the_order_of_beginning(tmp_path):
    """A journal that knew no numbers has them after the migration; the next loop gets the next one."""
    with open_sqlite(str(tmp_path), MIGRATIONS[:1]) as old:
        old._writer.execute(
            "CREATE TABLE number (loop TEXT, repo TEXT, here INTEGER)"
        )  # the writer of today gives numbers, and seals
        old._writer.execute("ALTER TABLE summary ADD COLUMN hash TEXT")
        for at, name in ((3, "late"), (1, "early")):
            old.create(
                name, at=at, kind="c", v=1, body=b"{}", summary=SummaryRow(name, "/r", "ended", body=b"{}")
            )
        old._writer.execute("DROP TABLE number")
        old._writer.execute("ALTER TABLE summary DROP COLUMN hash")
    with open_journal(str(tmp_path)) as journal:
        new(journal, "newest", repo="/r")
        new(journal, "elsewhere", repo="/other")
        found = {(row.repo, row.number): row.loop for row in journal.summaries()}
        expected = {("/r", 1): "early", ("/r", 2): "late", ("/r", 3): "newest", ("/other", 1): "elsewhere"}
        assert found == expected
        assert [row.body for row in journal.summaries("/r") if row.number < 3] == [b"{}", b"{}"], "sealed"
        assert journal.loops_with_number(1) == ["elsewhere", "early"]
        assert journal.loops_with_number(1, "/r") == ["early"]
