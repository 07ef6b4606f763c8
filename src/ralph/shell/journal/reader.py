"""Reading the journal without writing: works while a writer lives, with nothing alive, and for users who
may read the files but not write to the directory. Everything that shows something stands on this.

SQLite cannot open a WAL database read-only when it must make the -shm file and may not. Then the files
are copied to a private place and read there. (`immutable` would be quicker and wrong: it ignores the
-wal, in which the newest rows are.)
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Self, TypeVar

from ralph.clock import SystemClock
from ralph.errors import Busy, RalphError, SetupError, machine_error
from ralph.shell.journal import rows as rows_
from ralph.shell.journal.migrations import MIGRATIONS, Migration, apply, check_ours
from ralph.shell.journal.presence import refuse_lost
from ralph.shell.journal.rows import FILE, sqlite_error
from ralph.shell.journal.store import JournalRow, SummaryRow
from ralph.shell.state.locks import Holder, holder, lock_of_loop

T = TypeVar("T")
Stamp = tuple[tuple[int, int, int], ...]

_TIMEOUT_SECONDS = 10.0
_MAX_COPIES = 20
_ABSENT = (0, 0, 0)


class SqliteReader:
    """A `JournalReader`, opened on first use."""

    def __init__(self, state_dir: str, migrations: Sequence[Migration] = MIGRATIONS) -> None:
        self._root = state_dir
        self._path = os.path.join(state_dir, FILE)
        self._migrations = migrations
        self._db: sqlite3.Connection | None = None
        self._stamp: Stamp | None = None  # set when reading a copy: what it is a copy of

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._db is not None:
            with suppress(sqlite3.Error):  # what was acknowledged is safe without a clean close
                self._db.close()
            self._db = None

    def rows(self, loop: str, after: int = 0) -> Iterator[JournalRow]:
        db = self._open()
        return iter(()) if db is None else rows_.rows(db, self._path, loop, after)

    def names(self) -> list[str]:
        return self._ask(rows_.names, [])

    def streams(self, prefix: str) -> list[str]:
        return self._ask(lambda db: rows_.streams(db, prefix), [])

    def newest(self, stream: str) -> JournalRow | None:
        return self._ask(lambda db: rows_.newest(db, stream), None)

    def summaries(
        self, repo: str | None = None, limit: int = -1, active: bool | None = None
    ) -> list[SummaryRow]:
        return self._ask(lambda db: rows_.summaries(db, repo, limit, active), [])

    def stamp(self) -> int:
        return self._ask(lambda db: int(db.execute("PRAGMA data_version").fetchone()[0]), 0)

    def loops_with_number(self, number: int, repo: str | None = None) -> list[str]:
        return self._ask(lambda db: rows_.loops_with_number(db, number, repo), [])

    def number_of(self, loop: str) -> int:
        return self._ask(lambda db: rows_.number_of(db, loop), 0)

    def counts(self, repo: str | None = None) -> dict[tuple[str, str], int]:
        return self._ask(lambda db: rows_.counts(db, repo), {})

    def driver(self, loop: str) -> Holder | None:
        return holder(lock_of_loop(self._root, loop))

    def _ask(self, question: Callable[[sqlite3.Connection], T], empty: T) -> T:
        db = self._open()
        try:
            return empty if db is None else question(db)
        except sqlite3.Error as exc:
            raise self._failed(exc) from exc

    def _failed(self, exc: sqlite3.Error, loop: str = "") -> RalphError:
        return sqlite_error(exc, self._path, loop)

    def _open(self) -> sqlite3.Connection | None:
        """The connection, None while there is no journal yet."""
        if self._db is not None and self._stamp is not None and self._stamp != _stamp(self._path):
            self.close()
        try:
            if self._db is None:
                self._db, self._stamp = _connect(self._path, self._migrations)
            if self._db is not None and self._stamp is None:
                check_ours(self._db, self._path, len(self._migrations))
        except sqlite3.Error as exc:
            self.close()
            raise sqlite_error(exc, self._path) from exc
        return self._db


def _connect(path: str, migrations: Sequence[Migration]) -> tuple[sqlite3.Connection | None, Stamp | None]:
    """A connection, and the stamp of the source if it is a private copy; no connection without a journal."""
    refuse_lost(path)
    stamp = _stamp(path)
    if stamp[0] == _ABSENT:
        return None, None
    db = _read_only(path)
    if db is None:
        return _connect_to_copy(path, migrations)
    try:
        old = check_ours(db, path, len(migrations))
        if old == len(migrations):
            return db, None
        copy = _private(db, old, migrations) if old else None  # version 0: it is just being made
    except BaseException:
        db.close()
        raise
    db.close()
    return copy, stamp if copy else None


def _read_only(path: str) -> sqlite3.Connection | None:
    """A read-only connection that has proven to work, or None where SQLite cannot have one."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = None
    try:
        db = sqlite3.connect(
            f"file:{quoted}?mode=ro", uri=True, timeout=_TIMEOUT_SECONDS, isolation_level=None
        )
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except UnicodeDecodeError as exc:  # a damaged schema, quoted in SQLite's own message
        assert db is not None
        db.close()
        broken = sqlite3.DatabaseError("malformed database schema")
        broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise broken from exc
    except BaseException as exc:
        if db is not None:
            db.close()
        if getattr(exc, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
            return None
        raise
    return db


def _private(db: sqlite3.Connection, old: int, migrations: Sequence[Migration]) -> sqlite3.Connection:
    """A temporary database of our own (SQLite removes it), brought to the newest version there."""
    copy = sqlite3.connect("", isolation_level=None)
    try:
        db.backup(copy)
        apply(copy, old, migrations)
    except BaseException:
        copy.close()
        raise
    return copy


def _connect_to_copy(path: str, migrations: Sequence[Migration]) -> tuple[sqlite3.Connection, Stamp]:
    """Read a copy of the files. Nobody has the journal open then (or there would be a -shm), so it holds
    still; should somebody start meanwhile, the stamp tells and we copy again."""
    import shutil
    import tempfile

    for _ in range(_MAX_COPIES):
        stamp = _stamp(path)
        with tempfile.TemporaryDirectory(prefix="ralph-") as directory:
            target = os.path.join(directory, FILE)
            try:
                for suffix in ("", "-wal"):
                    if suffix == "" or os.path.exists(path + suffix):
                        shutil.copyfile(path + suffix, target + suffix)
            except FileNotFoundError:
                continue
            except OSError as exc:
                raise _unreadable(path, exc) from exc
            if stamp != _stamp(path):
                SystemClock().sleep(0.02)
                continue
            db = sqlite3.connect(target, isolation_level=None)
            try:
                # Exclusive: SQLite then needs no file but those it has open, and they may vanish under it.
                db.execute("PRAGMA locking_mode = EXCLUSIVE")
                old = check_ours(db, path, len(migrations))
                apply(db, old, migrations)
            except BaseException:
                db.close()
                raise
            return db, stamp
    raise Busy(
        f"the journal '{path}' changes faster than it can be copied",
        code="E-JOURNAL-BUSY",
        next="ralph status",
    )


def _stamp(path: str) -> Stamp:
    """What tells one state of the files from the next."""
    seen = []
    for name in (path, f"{path}-wal"):
        try:
            found = os.stat(name)
            seen.append((found.st_ino, found.st_size, found.st_mtime_ns))
        except FileNotFoundError:
            seen.append(_ABSENT)
        except OSError as exc:
            raise _unreadable(path, exc) from exc
    return tuple(seen)


def _unreadable(path: str, exc: OSError) -> SetupError:
    return machine_error(exc, os.fspath(exc.filename2 or path)) or SetupError(
        f"cannot read '{path}': {exc.strerror}",
        code="E-STATE-UNREADABLE",
        why="only its owner, or whom the owner lets, can look at these loops",
        next="ralph doctor",
    )
