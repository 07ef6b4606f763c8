"""The journal as a port: its nouns, and what every store of them does for readers, runners and starters.

Rows follow each other in a stream: that of a loop, by its name, or that of a repository's backlog or a host's
session, by a key that no loop can have. Append, fence and hash chain are the same; lists know loops only.

These may be three processes, later on three machines: what one handle has written, every other handle reads.
Bodies are bytes; of phases only `ended` means something here. `open` chooses the store: SQLite (`writer`,
`reader`); the simulator brings its own (`memory`). Both pass tests/shell/journal/test_contract.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, Self

from msgspec import Struct, msgpack

from ralph.errors import Bug, Busy, JournalError, UserError

if TYPE_CHECKING:  # lists read without either
    from ralph.shell.state.locks import Holder
    from ralph.shell.state.stints import Stint

BODY_LIMIT = 64 * 1024
# Facts that hold a whole plan, what is tied to it, or what readers said of it: the fold needs them whole.
PLANS = frozenset(
    {
        *("BacklogItems", "LoopStarted", "CheckpointMade", "TestsTied", "GuardsEnded", "ReadersEnded"),
        "SessionStarted",
    }
)
PLAN_LIMIT = 16 * 1024 * 1024
# ":" is in no name of a loop: what these begin are streams of another kind.
_OF_REPOSITORY = "backlog:"
SESSIONS = "session:"
ENDED = "ended"  # the one phase that the journal must know: it takes no place at the table


class JournalRow(Struct, frozen=True):
    """One recorded fact."""

    loop: str
    seq: int
    at: int
    kind: str
    v: int
    body: bytes
    hash: str = ""


class SummaryRow(Struct, frozen=True):
    """What lists show of a loop: a cache, rebuilt from rows; the journal sets the last three."""

    loop: str
    repo: str
    phase: str
    outcome: str = ""
    body: bytes = b""
    seq: int = 0
    updated: int = 0
    number: int = 0  # in its repository, given when the loop began; 0 = this journal gives none


class Command(Struct, frozen=True):
    """Something asked of a runner from outside; it is open until the row that answers it is there."""

    id: int
    loop: str
    at: int
    kind: str
    body: bytes


class JournalReader(Protocol):
    """Never writes. Each call sees what is committed by then, also if there was no journal before."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None: ...

    def rows(self, loop: str, after: int = 0) -> Iterator[JournalRow]:
        """The rows of a loop after row `after`, proven by the hash chain; JournalError names a bad one."""
        ...

    def names(self) -> list[str]: ...

    def streams(self, prefix: str) -> list[str]:
        """The keys of all streams that begin with this."""
        ...

    def newest(self, stream: str) -> JournalRow | None:
        """The last row of a stream, not proven by those before it."""
        ...

    def summaries(
        self, repo: str | None = None, limit: int = -1, active: bool | None = None
    ) -> list[SummaryRow]:
        """Newest first; `active` True for loops that have not ended, False for those that have."""
        ...

    def stamp(self) -> int:
        """A number that is another one when somebody else has written since; only for comparing."""
        ...

    def loops_with_number(self, number: int, repo: str | None = None) -> list[str]:
        """The loops with this number in their repositories, the newest first; at most one of `repo`."""
        ...

    def number_of(self, loop: str) -> int:
        """The number of a loop in its repository; 0 where it has none."""
        ...

    def counts(self, repo: str | None = None) -> dict[tuple[str, str], int]:
        """How many loops there are for each phase and outcome."""
        ...

    def driver(self, loop: str) -> Holder | None:
        """Who drives the loop now. One that has neither ended nor paused and has nobody has crashed."""
        ...


class JournalStore(JournalReader, Protocol):
    """Writes too. Each method that writes is one transaction: all of it is kept on return, or none."""

    def create(
        self, loop: str, *, at: int, kind: str, v: int, body: bytes, summary: SummaryRow
    ) -> JournalRow:
        """Append the first row of a new loop, which the caller has been admitted to: one that nobody
        drives looks like a crashed one."""
        ...

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
        """Append row `expected_seq + 1`, and with it the summary and the commands it answers.

        A stream that is no loop's begins with its first append, after row 0; a loop's with `create`.

        Busy (E-JOURNAL-FENCED) when that is not the next row: of two writers one is refused."""
        ...

    def mend_summary(self, summary: SummaryRow, seq: int) -> None:
        """Put a summary that was made from a loop's rows up to `seq` in the place of one that was lost or
        changed; nothing when the loop has gone on since, for its newest row brought a summary of its own."""
        ...

    def inbox_put(self, loop: str, at: int, kind: str, body: bytes) -> int:
        """Leave a command for the runner of a loop; the id under which it will be taken."""
        ...

    def inbox_open(self, loop: str) -> list[Command]:
        """Commands that no row has answered yet, oldest first."""
        ...

    def admit(
        self, loop: str, *, at: int, repo: str = "", most: int | None = None, machine: int | None = None
    ) -> Stint:
        """The loop for this caller alone and, with `most`, a place among so many of `repo` at work; with
        `machine`, also among so many of all repositories.

        Looking and taking are one act, whoever asks at the same moment. A stint outlives the handle that
        gave it, and ends with the process that holds it, however that dies."""
        ...


def backlog_stream(repo: str) -> str:
    """The key of the stream of a repository's backlog."""
    from hashlib import sha256

    return f"{_OF_REPOSITORY}{sha256(repo.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}"


def row_hash(previous: str, row: JournalRow) -> str:
    """The hash of a row, over the one before it. Each part is led by its length: no two rows read alike."""
    from hashlib import sha256

    digest = sha256()
    for part in (previous, row.loop, str(row.seq), str(row.at), row.kind, str(row.v)):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    digest.update(len(row.body).to_bytes(8, "big"))
    digest.update(row.body)
    return digest.hexdigest()


def summary_hash(row: str, summary: SummaryRow) -> str:
    """Binds a summary to the row that it came with, by that one's hash: nobody changes it alone unnoticed."""
    from hashlib import sha256

    columns = (row, summary.loop, summary.repo, summary.phase, summary.outcome, summary.seq, summary.updated)
    return sha256(msgpack.encode((*columns, summary.body))).hexdigest()  # in one piece: lists prove thousands


def check_append(row: JournalRow, summary: SummaryRow | None) -> None:
    """What no store takes: it would be a bug of the caller."""
    check_size(row.body, row.kind)
    if summary is not None:
        check_size(summary.body, "summary")
        if summary.loop != row.loop:
            raise Bug(f"the summary of loop '{summary.loop}' was given for loop '{row.loop}'")


def check_size(body: bytes, what: str) -> None:
    most = PLAN_LIMIT if what in PLANS else BODY_LIMIT
    if len(body) > most:
        raise Bug(
            f"'{what}' has {len(body)} bytes, at most {most} go into the journal",
            code="E-JOURNAL-BODY",
            why="larger bytes are stored as a blob and named by hash",
        )


def check_seq(loop: str, last: int, expected_seq: int) -> None:
    """The fence: the caller writes only after the row that it believes to be last."""
    if expected_seq < 1 and not loop.startswith((_OF_REPOSITORY, SESSIONS)):
        raise Bug(f"loop '{loop}' must be created before anything is appended to it")
    if last != expected_seq:
        raise Busy(
            f"loop '{loop}' was written by another process: last row is {last}, expected {expected_seq}",
            code="E-JOURNAL-FENCED",
            why="another runner drives it; this one stops without writing",
            next="ralph status",
        )


def exists_error(loop: str) -> UserError:
    return UserError(f"loop '{loop}' exists already", code="E-LOOP-EXISTS", next=f"ralph status {loop}")


def no_loop_error(loop: str) -> UserError:
    return UserError(f"no loop '{loop}'", code="E-LOOP-UNKNOWN", next="ralph status --all")


def taken_error(loop: str, number: int) -> Bug:
    return Bug(f"command {number} of loop '{loop}' was taken before or never given")


def damaged_error(where: str, loop: str, seq: int, why: str) -> JournalError:
    return JournalError(
        f"the record of loop '{loop}' is damaged at row {seq}",
        code="E-JOURNAL-DAMAGED",
        at=where,
        why=f"{why}; other loops are not touched by this",
        next="ralph doctor",
    )
