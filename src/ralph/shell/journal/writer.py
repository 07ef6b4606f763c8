"""The journal: the append-only record of all loops, and the only store of truth.

One SQLite database in WAL mode, synced on every append. The primary key (loop, seq) is the fence: of two
writers that both think they drive a loop, one fails. What rows look like and how they are read is in
`rows`, readers that write nothing are in `reader`, the shape of the tables is in
`migrations`. A `Journal` belongs to the thread that opened it and must not be carried across a fork.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Self

from msgspec.structs import astuple, replace

from ralph.errors import Bug, Busy, JournalError, RalphError, SetupError, UserError
from ralph.shell.journal import rows as rows_
from ralph.shell.journal.migrations import MIGRATIONS, Migration, migrate, newer_version_error, version
from ralph.shell.journal.reader import Reader, export, read_journal, resolve
from ralph.shell.journal.rows import (
    BODY_LIMIT,
    FILE,
    PLAN_LIMIT,
    PLANS,
    Command,
    JournalRow,
    SummaryRow,
    sqlite_error,
)
from ralph.shell.state.directory import safe_name
from ralph.shell.state.directory import unusable_error as directory_unusable

__all__ = [
    "BODY_LIMIT",
    "FILE",
    "Command",
    "Journal",
    "JournalRow",
    "Reader",
    "SummaryRow",
    "export",
    "open_journal",
    "read_journal",
    "resolve",
]

_TIMEOUT_SECONDS = (
    30.0  # seconds to wait for another writer; a transaction takes milliseconds, a migration seconds
)
_WAL_LIMIT = 8 * 1024 * 1024


class Journal:
    """A writer. Each method that writes is one transaction: all of it is on disk on return, or none."""

    def __init__(self, db: sqlite3.Connection, path: str, newest: int) -> None:
        self._db = db
        self._path = path
        self._newest = newest
        self._file = os.stat(path)
        self._broken: RalphError | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with suppress(sqlite3.Error):  # what was acknowledged is safe without a clean close
            self._db.close()

    def create(
        self,
        loop: str,
        *,
        at: int,
        kind: str,
        v: int,
        body: bytes,
        summary: SummaryRow,
    ) -> JournalRow:
        """Append the first row of a new loop.

        Without a kernel lock a living loop is taken for a crashed one, hence the caller takes the new loop's
        lock before it calls this.
        """
        safe_name(loop)
        with self._transaction(loop):
            if rows_.last(self._db, loop)[0]:
                raise UserError(
                    f"loop '{loop}' exists already", code="E-LOOP-EXISTS", next=f"ralph resume {loop}"
                )
            return self._insert("", JournalRow(loop, 1, at, kind, v, body, ""), summary)

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
        """Append row `expected_seq + 1`, and with it the summary and the commands it answers."""
        with self._transaction(loop):
            previous = self._fence(loop, expected_seq)
            row = self._insert(previous, JournalRow(loop, expected_seq + 1, at, kind, v, body, ""), summary)
            for number in taken:
                change = "UPDATE inbox SET taken = ? WHERE id = ? AND loop = ? AND taken IS NULL"
                if self._db.execute(change, (row.seq, number, loop)).rowcount != 1:
                    raise Bug(f"command {number} of loop '{loop}' was taken before or never given")
            return row

    def put_summary(self, summary: SummaryRow) -> None:
        """Write a loop's summary anew, as folded from its rows up to `summary.seq`."""
        with self._transaction(summary.loop):
            self._fence(summary.loop, summary.seq)
            self._summarise(summary, summary.seq, summary.updated)

    def forget(self, loop: str, expected_seq: int) -> None:
        """Remove everything of a loop from the journal, for `ralph drop`."""
        with self._transaction(loop):
            self._fence(loop, expected_seq)
            self._db.execute("DELETE FROM event WHERE loop = ?", (loop,))
            self._db.execute("DELETE FROM summary WHERE loop = ?", (loop,))
            self._db.execute("DELETE FROM inbox WHERE loop = ?", (loop,))

    def inbox_put(self, loop: str, at: int, kind: str, body: bytes) -> int:
        """Leave a command for the runner of a loop; the id under which it will be taken."""
        _check_size(body, kind)
        with self._transaction(loop):
            if not rows_.last(self._db, loop)[0]:
                raise UserError(f"no loop '{loop}'", code="E-LOOP-UNKNOWN", next="ralph status --all")
            done = self._db.execute(
                "INSERT INTO inbox (loop, at, kind, body) VALUES (?, ?, ?, ?)", (loop, at, kind, body)
            )
            return int(done.lastrowid or 0)

    def inbox_open(self, loop: str) -> list[Command]:
        """Commands that no event has answered yet, oldest first."""
        self._usable()
        try:
            return rows_.inbox(self._db, loop, untaken=True)
        except sqlite3.Error as exc:
            raise self._close_on_failure(exc, loop) from exc

    def rows(self, loop: str, after: int = 0) -> Iterator[JournalRow]:
        """As `Reader.rows`, over the writer's own connection."""
        self._usable()
        return rows_.rows(self._db, self._path, loop, after)

    def _insert(self, previous: str, row: JournalRow, summary: SummaryRow | None) -> JournalRow:
        _check_size(row.body, row.kind)
        row = replace(row, hash=rows_.row_hash(previous, row))
        self._db.execute(
            "INSERT INTO event (loop, seq, at, kind, v, body, hash) VALUES (?, ?, ?, ?, ?, ?, ?)",
            astuple(row),
        )
        if summary is not None:
            if summary.loop != row.loop:
                raise Bug(f"the summary of loop '{summary.loop}' was given for loop '{row.loop}'")
            self._summarise(summary, row.seq, row.at)
        return row

    def _summarise(self, summary: SummaryRow, seq: int, updated: int) -> None:
        _check_size(summary.body, "summary")
        self._db.execute(
            "INSERT OR REPLACE INTO summary (loop, seq, repo, phase, outcome, updated, body)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (summary.loop, seq, summary.repo, summary.phase, summary.outcome, updated, summary.body),
        )

    def _fence(self, loop: str, expected_seq: int) -> str:
        """The hash of the last row, if that is the row the caller believes to be last."""
        seq, previous = rows_.last(self._db, loop)
        if expected_seq < 1:
            raise Bug(f"loop '{loop}' must be created before anything is appended to it")
        if seq != expected_seq:
            raise Busy(
                f"loop '{loop}' was written by another process: last row is {seq}, expected {expected_seq}",
                code="E-JOURNAL-FENCED",
                why="another runner drives it or it was dropped; this one stops without writing",
                next="ralph status",
            )
        return previous

    @contextmanager
    def _transaction(self, loop: str) -> Iterator[None]:
        self._usable()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._still_ours()
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as exc:
            self._roll_back()
            raise self._close_on_failure(exc, loop) from exc
        except BaseException:
            self._roll_back()
            raise

    def _still_ours(self) -> None:
        """A file that was moved away, or migrated by a newer Ralph meanwhile, must not be written."""
        seen = version(self._db)
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
        if not self._db.in_transaction:
            return
        try:
            self._db.execute("ROLLBACK")
        except sqlite3.Error as exc:
            self._close_on_failure(exc)

    def _close_on_failure(self, exc: sqlite3.Error, loop: str = "") -> RalphError:
        error = sqlite_error(exc, self._path, loop)
        if isinstance(error, SetupError) and error.code in ("E-DISK-IO", "E-STATE-READONLY"):
            # A failed sync may have dropped what it could not write: nothing after it can be trusted.
            self._broken = error
        return error

    def _usable(self) -> None:
        if self._broken is not None:
            old = self._broken
            raise type(old)(old.what, code=old.code, at=old.at, why=old.why, next=old.next)


def open_journal(state_dir: str, migrations: Sequence[Migration] = MIGRATIONS) -> Journal:
    """Open for writing; makes or migrates the database first. One process at a time does that."""
    path = os.path.join(state_dir, FILE)
    with _opening(state_dir):
        _make_file(path)
        db = sqlite3.connect(path, timeout=_TIMEOUT_SECONDS, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT}")
            db.execute("PRAGMA trusted_schema = OFF")
            migrate(db, path, migrations)
            return Journal(db, path, len(migrations))
        except sqlite3.Error as exc:
            db.close()
            raise sqlite_error(exc, path) from exc
        except BaseException:
            db.close()
            raise


@contextmanager
def _opening(state_dir: str) -> Iterator[None]:
    """Making the tables and switching to WAL is not safe for several at once; this lock makes it so."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(os.path.join(state_dir, "journal.lock"), flags, 0o600)
    except OSError as exc:
        raise directory_unusable(exc, state_dir) from exc
    try:
        until = time.monotonic() + _TIMEOUT_SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Busy(
                        f"the journal in '{state_dir}' is being opened by another process",
                        code="E-JOURNAL-BUSY",
                        next="ralph status",
                    ) from None
                time.sleep(0.002)
        yield
    finally:
        os.close(fd)


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


def _check_size(body: bytes, what: str) -> None:
    most = PLAN_LIMIT if what in PLANS else BODY_LIMIT
    if len(body) > most:
        raise Bug(
            f"'{what}' has {len(body)} bytes, at most {most} go into the journal",
            code="E-JOURNAL-BODY",
            why="larger bytes are stored as a blob and named by hash",
        )
