"""The journal in SQLite: one database in WAL mode, synced on every append.

The primary key (loop, seq) is the fence: of two writers that both think they drive a loop, one fails. What
each method promises is in `store`, how rows are read in `rows`, readers that write nothing are in `reader`,
the shape of the tables is in `migrations`. A `SqliteJournal` belongs to the thread that opened it and must
not be carried across a fork.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from msgspec.structs import astuple, replace

from ralph.errors import Busy, JournalError, RalphError, SetupError
from ralph.shell.journal import rows as rows_
from ralph.shell.journal import store
from ralph.shell.journal.migrations import MIGRATIONS, Migration, migrate, newer_version_error, version
from ralph.shell.journal.presence import refuse_lost
from ralph.shell.journal.reader import SqliteReader
from ralph.shell.journal.rows import FILE, sqlite_error
from ralph.shell.journal.store import Command, JournalRow, SummaryRow
from ralph.shell.state.directory import safe_name
from ralph.shell.state.directory import unusable_error as directory_unusable
from ralph.shell.state.locks import behind_door
from ralph.shell.state.stints import Stint, take_stint

_TIMEOUT_SECONDS = (
    30.0  # seconds to wait for another writer; a transaction takes milliseconds, a migration seconds
)
_WAL_LIMIT = 8 * 1024 * 1024


class SqliteJournal(SqliteReader):
    """A `JournalStore`; it reads over the connection that it writes with."""

    def __init__(self, db: sqlite3.Connection, state_dir: str, newest: int) -> None:
        super().__init__(state_dir)
        self._writer = db
        self._newest = newest
        self._file = os.stat(self._path)
        self._broken: RalphError | None = None

    def close(self) -> None:
        with suppress(sqlite3.Error):  # what was acknowledged is safe without a clean close
            self._writer.close()

    def create(
        self, loop: str, *, at: int, kind: str, v: int, body: bytes, summary: SummaryRow
    ) -> JournalRow:
        safe_name(loop)
        with self._transaction(loop):
            if rows_.last(self._writer, loop)[0]:
                raise store.exists_error(loop)
            self._writer.execute(
                "INSERT INTO number (loop, repo, here)"
                " SELECT ?1, ?2, coalesce(max(here), 0) + 1 FROM number WHERE repo = ?2",
                (loop, summary.repo),
            )
            return self._insert("", JournalRow(loop, 1, at, kind, v, body), summary)

    def append(
        self,
        loop: str,
        expected_seq: int,
        *,
        at: int,
        kind: str,
        v: int,
        body: bytes,
        summary: SummaryRow | None = None,
        taken: tuple[int, ...] = (),
    ) -> JournalRow:
        with self._transaction(loop):
            seq, previous = rows_.last(self._writer, loop)
            store.check_seq(loop, seq, expected_seq)
            row = self._insert(previous, JournalRow(loop, seq + 1, at, kind, v, body), summary)
            for number in taken:
                change = "UPDATE inbox SET taken = ? WHERE id = ? AND loop = ? AND taken IS NULL"
                if self._writer.execute(change, (row.seq, number, loop)).rowcount != 1:
                    raise store.taken_error(loop, number)
            return row

    def mend_summary(self, summary: SummaryRow, seq: int) -> None:
        with self._transaction(summary.loop):
            row = rows_.newest(self._writer, summary.loop)
            if row is None:
                raise store.no_loop_error(summary.loop)
            if row.seq == seq:
                self._put_summary(row, summary)

    def inbox_put(self, loop: str, at: int, kind: str, body: bytes) -> int:
        store.check_size(body, kind)
        with self._transaction(loop):
            if not rows_.last(self._writer, loop)[0]:
                raise store.no_loop_error(loop)
            done = self._writer.execute(
                "INSERT INTO inbox (loop, at, kind, body) VALUES (?, ?, ?, ?)", (loop, at, kind, body)
            )
            return int(done.lastrowid or 0)

    def inbox_open(self, loop: str) -> list[Command]:
        """Commands that no event has answered yet, oldest first."""
        return self._ask(lambda db: rows_.open_commands(db, loop), [])

    def admit(
        self, loop: str, *, at: int, repo: str = "", most: int | None = None, machine: int | None = None
    ) -> Stint:
        return take_stint(self._root, loop, at, repo, most, machine)

    def _insert(self, previous: str, row: JournalRow, summary: SummaryRow | None) -> JournalRow:
        store.check_append(row, summary)
        row = replace(row, hash=store.row_hash(previous, row))
        self._writer.execute(
            "INSERT INTO event (loop, seq, at, kind, v, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
            astuple(row),
        )
        if summary is not None:
            self._put_summary(row, summary)
        return row

    def _put_summary(self, row: JournalRow, summary: SummaryRow) -> None:
        summary = replace(summary, seq=row.seq, updated=row.at)
        self._writer.execute(
            "INSERT OR REPLACE INTO summary (loop, repo, phase, outcome, body, seq, updated, hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*astuple(summary)[:-1], store.summary_hash(row.hash, summary)),
        )

    @contextmanager
    def _transaction(self, loop: str) -> Iterator[None]:
        self._usable()
        try:
            self._writer.execute("BEGIN IMMEDIATE")
            self._still_ours()
            yield
            self._writer.execute("COMMIT")
        except sqlite3.Error as exc:
            self._roll_back()
            raise self._close_on_failure(exc, loop) from exc
        except BaseException:
            self._roll_back()
            raise

    def _still_ours(self) -> None:
        """A file that was moved away, or migrated by a newer Ralph meanwhile, must not be written."""
        seen = version(self._writer)
        if seen != self._newest:
            raise newer_version_error(self._path, seen, self._newest)
        try:
            same = os.path.samestat(self._file, os.lstat(self._path))
        except OSError:
            same = False
        if not same:
            self._broken = JournalError(
                f"the journal '{self._path}' was moved or removed",
                code="E-JOURNAL-MOVED",
                why="what is written now would be lost",
                next="ralph doctor",
            )
            raise self._broken

    def _roll_back(self) -> None:
        if not self._writer.in_transaction:
            return
        try:
            self._writer.execute("ROLLBACK")
        except sqlite3.Error as exc:
            self._close_on_failure(exc)

    def _close_on_failure(self, exc: sqlite3.Error, loop: str = "") -> RalphError:
        error = sqlite_error(exc, self._path, loop)
        if isinstance(error, SetupError) and error.code in ("E-DISK-IO", "E-STATE-READONLY"):
            # A failed sync may have dropped what it could not write: nothing after it can be trusted.
            self._broken = error
        return error

    def _open(self) -> sqlite3.Connection:
        self._usable()
        return self._writer

    def _usable(self) -> None:
        if self._broken is not None:
            old = self._broken
            raise type(old)(old.what, code=old.code, at=old.at, why=old.why, next=old.next)


def open_sqlite(state_dir: str, migrations: Sequence[Migration] = MIGRATIONS) -> SqliteJournal:
    """Open for writing; makes or migrates the database first. One process at a time does that."""
    path = os.path.join(state_dir, FILE)
    with _opening(state_dir):
        refuse_lost(path)
        _make_file(path)
        try:
            db = sqlite3.connect(path, timeout=_TIMEOUT_SECONDS, isolation_level=None)
        except sqlite3.Error as exc:
            raise sqlite_error(exc, path) from exc
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
            db.execute("PRAGMA trusted_schema = OFF")
            migrate(db, path, migrations)
            return SqliteJournal(db, state_dir, len(migrations))
        except sqlite3.Error as exc:
            db.close()
            raise sqlite_error(exc, path) from exc
        except BaseException:
            db.close()
            raise


@contextmanager
def _opening(state_dir: str) -> Iterator[None]:
    """Making the tables and switching to WAL is not safe for several at once; this lock makes it so."""
    busy = Busy(
        f"the journal in '{state_dir}' is being opened by another process",
        code="E-JOURNAL-BUSY",
        next="ralph status",
    )
    with ExitStack() as stack:
        try:
            door = behind_door(os.path.join(state_dir, "journal.lock"), _TIMEOUT_SECONDS, busy)
            stack.enter_context(door)
        except OSError as exc:
            raise directory_unusable(exc, state_dir) from exc
        yield


def _make_file(path: str) -> None:
    """An empty file with the right mode, before SQLite would make one with the mode of the day.

    An existing one is only looked at: opening and closing it here would drop the locks that SQLite holds on
    it elsewhere in this process.
    """
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            directory = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        seen = os.lstat(path)
    except OSError as exc:
        raise directory_unusable(exc, path) from exc
    if not stat.S_ISREG(seen.st_mode) or seen.st_nlink != 1 or seen.st_uid != os.geteuid():
        raise rows_.unusable_error(path, "it is a link, not a plain file, or belongs to another user")
