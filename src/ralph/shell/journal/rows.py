"""How rows, summaries and commands are read from SQLite, and what its errors mean.

Pure reading over an open connection, shared by the writer (`writer`) and the readers (`reader`).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from ralph.errors import Bug, Busy, JournalError, RalphError, SetupError, machine_error
from ralph.shell.journal.store import (
    BODY_LIMIT,
    ENDED,
    Command,
    JournalRow,
    SummaryRow,
    damaged_error,
    row_hash,
    summary_hash,
)
from ralph.shell.state.directory import disk_full_error, free_bytes

FILE = "journal.db"
_PAGE = 64
_MAX_PATH = 500  # SQLite's own limit is 512, with what it appends
_EVENT = "SELECT loop, seq, at, kind, v, body, hash FROM event"
_SUMMARY = (
    "SELECT summary.loop, summary.repo, phase, outcome, summary.body, summary.seq, updated,"
    " coalesce(here, 0), event.hash, summary.hash FROM summary LEFT JOIN number ON number.loop = summary.loop"
    " LEFT JOIN event ON event.loop = summary.loop AND event.seq = summary.seq"
)
_LOST = (
    "SELECT event.loop, body, here, (SELECT max(at) FROM event AS e WHERE e.loop = event.loop) FROM event"
    " JOIN number ON number.loop = event.loop AND seq = 1 AND event.loop NOT IN (SELECT loop FROM summary)"
)
_LOST_WORD = "damaged"
_COUNTS = "SELECT phase, outcome, count(*) FROM summary"
_COMMAND = "SELECT id, loop, at, kind, body FROM inbox"


def rows(db: sqlite3.Connection, path: str, loop: str, after: int = 0) -> Iterator[JournalRow]:
    """The rows of a loop in order, each proven by the chain; stops with JournalError at the first bad one.

    Read in pages, so that neither memory nor the database is held while the caller works.
    """
    seq, promised = after, _expected_row_count(db, path, loop)
    previous = _hash_at(db, path, loop, after) if after else ""
    size = _PAGE
    while True:
        try:
            page = db.execute(
                f"{_EVENT} WHERE loop = ? AND seq > ? ORDER BY seq LIMIT ?", (loop, seq, size)
            ).fetchall()
        except sqlite3.Error as exc:
            if size == 1 or not _is_damage(exc):
                raise sqlite_error(exc, path, loop, seq + 1) from exc
            size = 1  # hand out every row before the bad one, and name that one
            continue
        for found in page:
            row = _prove_row(found, previous, loop, seq + 1, path)
            seq, previous = row.seq, row.hash
            yield row
        if len(page) < size:
            break
    if seq < promised:
        raise damaged_error(path, loop, seq + 1, f"the journal once held {promised} rows, {seq} are left")


def last(db: sqlite3.Connection, loop: str) -> tuple[int, str]:
    """Sequence and hash of the last row; (0, "") for a loop that does not exist."""
    found = db.execute(
        "SELECT seq, hash FROM event WHERE loop = ? ORDER BY seq DESC LIMIT 1", (loop,)
    ).fetchone()
    return (found[0], found[1]) if found else (0, "")


def newest(db: sqlite3.Connection, stream: str) -> JournalRow | None:
    found = db.execute(f"{_EVENT} WHERE loop = ? ORDER BY seq DESC LIMIT 1", (stream,)).fetchone()
    return JournalRow(*found) if found else None


def streams(db: sqlite3.Connection, prefix: str) -> list[str]:
    asked = "SELECT DISTINCT loop FROM event WHERE loop >= ? AND loop < ? ORDER BY loop"
    return [found[0] for found in db.execute(asked, (prefix, prefix + chr(0x10FFFF)))]


def names(db: sqlite3.Connection) -> list[str]:
    found = db.execute("SELECT loop FROM summary UNION SELECT loop FROM number ORDER BY loop")
    return [row[0] for row in found]


def summaries(
    db: sqlite3.Connection, repo: str | None = None, limit: int = -1, active: bool | None = None
) -> list[SummaryRow]:
    """Newest first; `active` True for loops that have not ended, False for those that have.

    One that was changed or lost alone comes without its body: nothing that it says can be believed.
    """
    wanted: list[str] = []
    values: list[str | int] = []
    if repo is not None:
        wanted.append("summary.repo = ?")
        values.append(repo)
    if active is not None:
        wanted.append(f"phase {'!=' if active else '='} '{ENDED}'")  # as the index of active ones has it
    where = f" WHERE {' AND '.join(wanted)}" if wanted else ""
    # With the plus sign SQLite sorts the few active ones, instead of walking through all by their time.
    order = "+updated" if active else "updated"
    found = db.execute(f"{_SUMMARY}{where} ORDER BY {order} DESC, summary.loop LIMIT ?", (*values, limit))
    proven = [_prove_summary(row) for row in found]
    if active is not True and (lost := _lost_summaries(db, repo)):
        proven = sorted(proven + lost, key=lambda row: -row.updated)[: limit if limit >= 0 else None]
    return proven


def _lost_summaries(db: sqlite3.Connection, repo: str | None) -> list[SummaryRow]:
    """Loops that have a number and rows and no summary, as far as they are known to be of that repository."""
    counts = "SELECT (SELECT count(*) FROM number) > (SELECT count(*) FROM summary)"
    if not db.execute(counts).fetchone()[0]:
        return []
    found = []
    for loop, body, number, at in db.execute(_LOST):
        try:
            where = msgspec.json.decode(body)["order"]["repo"]
        except (msgspec.DecodeError, KeyError, TypeError):
            where = repo or ""
        if repo in (None, where):
            found.append(SummaryRow(loop, where, ENDED, _LOST_WORD, updated=at, number=number))
    return found


def _prove_summary(found: tuple[Any, ...]) -> SummaryRow:
    *columns, row, seal = found
    summary = SummaryRow(*columns)
    try:
        sound = row is not None and summary_hash(row, summary) == seal
    except (AttributeError, TypeError, UnicodeEncodeError):  # a column holds something else
        sound = False
    return summary if sound else replace(summary, body=b"")


def loops_with_number(db: sqlite3.Connection, number: int, repo: str | None = None) -> list[str]:
    found = db.execute(
        "SELECT loop FROM number WHERE here = ?1 AND (?2 IS NULL OR repo = ?2) ORDER BY number DESC",
        (number, repo),
    )
    return [str(loop) for (loop,) in found]


def number_of(db: sqlite3.Connection, loop: str) -> int:
    found = db.execute("SELECT here FROM number WHERE loop = ?", (loop,)).fetchone()
    return int(found[0]) if found else 0


def counts(db: sqlite3.Connection, repo: str | None = None) -> dict[tuple[str, str], int]:
    """How many loops there are for each phase and outcome. Grouped as the index is: nothing is sorted."""
    where, values = ("", ()) if repo is None else ("WHERE repo = ?", (repo,))
    numbers: dict[tuple[str, str], int] = {}
    for phase, outcome, number in db.execute(f"{_COUNTS} {where} GROUP BY repo, phase, outcome", values):
        numbers[phase, outcome] = numbers.get((phase, outcome), 0) + number
    lost = len(_lost_summaries(db, repo))
    return numbers | {(ENDED, _LOST_WORD): lost} if lost else numbers


def open_commands(db: sqlite3.Connection, loop: str) -> list[Command]:
    found = db.execute(f"{_COMMAND} WHERE loop = ? AND taken IS NULL ORDER BY id", (loop,))
    return [Command(*row) for row in found]


def unusable_error(path: str, why: str) -> JournalError:
    where = os.path.dirname(path)
    return JournalError(
        f"the journal '{path}' cannot be used",
        code="E-JOURNAL-UNUSABLE",
        why=why,
        # All its files together: a -wal left behind would be read into the next journal.
        next=f"cd '{where}' && mkdir -p unusable && mv {FILE}* unusable/",
    )


def sqlite_error(exc: sqlite3.Error, path: str, loop: str = "", seq: int = 0) -> RalphError:
    """What an error of SQLite means; one without a code comes from Python's own decoding."""
    code: int = getattr(exc, "sqlite_errorcode", 0)
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return disk_full_error(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return Busy(
                f"the journal '{path}' is busy",
                code="E-JOURNAL-BUSY",
                why="another process has been writing to it for a long time",
                next="ralph status",
            )
        case sqlite3.SQLITE_CANTOPEN if len(os.fsencode(path)) > _MAX_PATH:
            return SetupError(
                "the path of the state directory is too long for SQLite",
                code="E-PATH-LONG",
                at=path,
                why=f"it has {len(os.fsencode(path))} bytes, expected at most {_MAX_PATH}",
                next='export RALPH_STATE_DIR="$HOME/ralph-state"',
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return _cannot_open_more(path) or SetupError(
                f"cannot open or write '{path}'", code="E-STATE-READONLY", why=str(exc), next="ralph doctor"
            )
        case sqlite3.SQLITE_IOERR if code == sqlite3.SQLITE_IOERR_SHMSIZE and free_bytes(path) < BODY_LIMIT:
            return disk_full_error(path)
        case sqlite3.SQLITE_IOERR:
            return SetupError(
                f"the disk under '{path}' answered with an error",
                code="E-DISK-IO",
                why=str(exc),
                next="ralph doctor",
            )
    if isinstance(exc, sqlite3.ProgrammingError):
        return Bug(f"the journal was used wrongly: {exc}")
    if loop and _is_damage(exc):
        return damaged_error(path, loop, seq, str(exc))
    return unusable_error(path, str(exc))


def _cannot_open_more(path: str) -> SetupError | None:
    """SQLite does not say why a file cannot be opened: is it that this process can open none?"""
    try:
        os.close(os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return machine_error(error, path)
    return None


def _is_damage(exc: sqlite3.Error) -> bool:
    code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
    return code == sqlite3.SQLITE_CORRUPT or (code == 0 and isinstance(exc, sqlite3.OperationalError))


def _expected_row_count(db: sqlite3.Connection, path: str, loop: str) -> int:
    """How many rows there must be: the summary was written in one transaction with the row it counts.

    This is what notices rows cut off at the end, which a chain alone cannot.
    """
    try:
        found = db.execute("SELECT seq FROM summary WHERE loop = ?", (loop,)).fetchone()
    except sqlite3.Error as exc:
        if _is_damage(exc):
            return 0  # a broken cache must not keep anyone from the record itself
        raise sqlite_error(exc, path, loop) from exc
    return found[0] if found and isinstance(found[0], int) else 0


def _hash_at(db: sqlite3.Connection, path: str, loop: str, seq: int) -> str:
    try:
        found = db.execute("SELECT hash FROM event WHERE loop = ? AND seq = ?", (loop, seq)).fetchone()
    except sqlite3.Error as exc:
        raise sqlite_error(exc, path, loop, seq) from exc
    if not found or not isinstance(found[0], str):
        raise damaged_error(path, loop, seq, "the row is missing")
    return found[0]


def _prove_row(found: tuple[object, ...], previous: str, loop: str, seq: int, path: str) -> JournalRow:
    try:
        row = JournalRow(*msgspec.convert(found, tuple[str, int, int, str, int, bytes, str]))
    except msgspec.ValidationError as exc:
        raise damaged_error(path, loop, seq, f"a column holds something else: {exc}") from exc
    if row.seq != seq:
        raise damaged_error(path, loop, seq, f"row {row.seq} follows row {seq - 1}")
    if row_hash(previous, row) != row.hash:
        raise damaged_error(path, loop, seq, "its hash does not match its content and the row before")
    return row
