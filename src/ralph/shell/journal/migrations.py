"""The shape of the journal's database, as an ordered list of small functions: one for each version.

Version n is what the first n functions made. A change of shape is a new function at the end; a function
that was ever released is never edited. Each is one transaction, and before it the database is copied.
How rows are read and appended is in `writer`.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress

from ralph.errors import JournalError
from ralph.shell.journal.store import SummaryRow, summary_hash

Migration = Callable[[sqlite3.Connection], None]

APPLICATION_ID = 0x52414C50  # "RALP": tells our database from any other SQLite file


def initial(db: sqlite3.Connection) -> None:
    # The hash stands before the body, so that reading the last hash never walks through a large body.
    # Not WITHOUT ROWID: that keeps whole rows in inner pages too, where damage reaches many loops at once.
    db.execute(
        "CREATE TABLE event (loop TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,"
        " kind TEXT NOT NULL, v INTEGER NOT NULL, hash TEXT NOT NULL, body BLOB NOT NULL,"
        " PRIMARY KEY (loop, seq))"
    )
    db.execute(
        "CREATE TABLE summary (loop TEXT PRIMARY KEY NOT NULL, seq INTEGER NOT NULL, repo TEXT NOT NULL,"
        " phase TEXT NOT NULL, outcome TEXT NOT NULL, updated INTEGER NOT NULL, body BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX summary_newest ON summary (updated)")
    db.execute("CREATE INDEX summary_counts ON summary (repo, phase, outcome)")
    db.execute(
        "CREATE TABLE inbox (id INTEGER PRIMARY KEY AUTOINCREMENT, loop TEXT NOT NULL, at INTEGER NOT NULL,"
        " kind TEXT NOT NULL, body BLOB NOT NULL, taken INTEGER)"
    )
    db.execute("CREATE INDEX inbox_open ON inbox (loop) WHERE taken IS NULL")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def add_numbers(db: sqlite3.Connection) -> None:
    """Each loop has a number that people can type, given once and never again, in the order of beginning."""
    db.execute("CREATE TABLE number (number INTEGER PRIMARY KEY AUTOINCREMENT, loop TEXT UNIQUE NOT NULL)")
    db.execute("INSERT INTO number (loop) SELECT loop FROM event WHERE seq = 1 ORDER BY at, loop")
    # Workers ask for these every second, beside thousands of loops that have ended.
    db.execute("CREATE INDEX summary_active ON summary (phase) WHERE phase != 'ended'")


def seal_summaries(db: sqlite3.Connection) -> None:
    """Each summary is bound to the row that it came with, so that one that was changed alone is noticed."""
    db.execute("ALTER TABLE summary ADD COLUMN hash TEXT NOT NULL DEFAULT ''")
    found = db.execute(
        "SELECT summary.loop, repo, phase, outcome, summary.body, summary.seq, updated, event.hash"
        " FROM summary JOIN event ON event.loop = summary.loop AND event.seq = summary.seq"
    ).fetchall()
    for *columns, row in found:
        seal = summary_hash(row, SummaryRow(*columns))
        db.execute("UPDATE summary SET hash = ? WHERE loop = ?", (seal, columns[0]))


def number_by_repository(db: sqlite3.Connection) -> None:
    """The number that people type counts the loops of one repository; those of before keep their order."""
    db.execute("ALTER TABLE number ADD COLUMN repo TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE number ADD COLUMN here INTEGER NOT NULL DEFAULT 0")
    found = db.execute(
        "SELECT number.loop, summary.repo FROM number JOIN summary ON summary.loop = number.loop"
        " ORDER BY number"
    ).fetchall()
    given: Counter[str] = Counter()
    for loop, repo in found:
        given[repo] += 1
        db.execute("UPDATE number SET repo = ?, here = ? WHERE loop = ?", (repo, given[repo], loop))
    db.execute("CREATE INDEX number_here ON number (here, repo)")


MIGRATIONS: tuple[Migration, ...] = (initial, add_numbers, seal_summaries, number_by_repository)


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check_ours(db: sqlite3.Connection, path: str, newest: int) -> int:
    """The version of the database, after making sure that it is a journal and not from a newer Ralph."""
    seen = version(db)
    mark = int(db.execute("PRAGMA application_id").fetchone()[0])
    filled = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if mark != APPLICATION_ID and (seen or filled):
        raise JournalError(
            f"'{path}' is not a journal of Ralph",
            code="E-JOURNAL-UNUSABLE",
            why="it is an SQLite database of some other program",
            next='export RALPH_STATE_DIR="$HOME/ralph-state"',
        )
    if seen > newest:
        raise newer_version_error(path, seen, newest)
    return seen


def newer_version_error(path: str, seen: int, newest: int) -> JournalError:
    return JournalError(
        f"the journal '{path}' has version {seen}, this Ralph knows {newest}",
        code="E-JOURNAL-NEWER",
        why="a newer Ralph wrote it; guessing what it means could lose work",
        next="pip install --upgrade ralphloop",
    )


def migrate(db: sqlite3.Connection, path: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the database to the newest version, one transaction and one backup at a time."""
    while check_ours(db, path, len(migrations)) < len(migrations):
        db.execute("BEGIN IMMEDIATE")  # from here on nobody else writes, so the backup misses nothing
        try:
            old = version(db)
            if old == 0:
                apply(db, old, migrations)  # a new journal: there is nothing to keep
            elif old < len(migrations):  # nobody else was quicker
                backup(path, f"{path}.v{old}.bak")
                apply(db, old, migrations[: old + 1])
            db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise


def apply(db: sqlite3.Connection, old: int, migrations: Sequence[Migration]) -> None:
    """Make the changes from version `old` on; the caller owns the transaction."""
    for number, change in enumerate(migrations[old:], start=old + 1):
        change(db)
        db.execute(f"PRAGMA user_version = {number}")


def backup(path: str, target: str) -> None:
    """A whole copy of what is committed, by SQLite's own means, whole or absent even after a crash."""
    aside = f"{target}.tmp"
    with suppress(FileNotFoundError):
        os.unlink(aside)
    os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(aside)) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a -wal that could get lost
    for name in (aside, None):
        fd = os.open(name or os.path.dirname(target), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        if name:
            os.replace(aside, target)
