"""The journal in memory, for worlds without a disk, such as the simulator's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from threading import RLock
from typing import Self

from msgspec import Struct, field
from msgspec.structs import replace

from ralph.shell.journal import store
from ralph.shell.journal.store import ENDED, Command, JournalRow, SummaryRow
from ralph.shell.state.directory import safe_name
from ralph.shell.state.locks import Holder, locked_error
from ralph.shell.state.stints import Stint, many_loops_error


class Memory(Struct):
    """What outlives a handle, as a file does; each handle takes the lock for one whole act."""

    rows: dict[str, list[JournalRow]] = field(default_factory=dict)
    summaries: dict[str, SummaryRow] = field(default_factory=dict)
    commands: dict[int, Command] = field(default_factory=dict)  # open ones only
    last_command: int = 0
    numbers: dict[str, tuple[str, int]] = field(default_factory=dict)  # repository, number there
    drivers: dict[str, Holder] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=dict)  # by repository
    lock: RLock = field(default_factory=RLock)


class MemoryJournal:
    """A `JournalStore`: a handle on a `Memory`."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing is held."""

    def rows(self, loop: str, after: int = 0) -> Iterator[JournalRow]:
        with self._memory.lock:
            found = list(self._memory.rows.get(loop, ()))
        if after > len(found):
            raise store.damaged_error("memory", loop, after, "the row is missing")
        return iter(found[after:])

    def names(self) -> list[str]:
        with self._memory.lock:
            return sorted(self._memory.summaries)

    def streams(self, prefix: str) -> list[str]:
        with self._memory.lock:
            return sorted(name for name in self._memory.rows if name.startswith(prefix))

    def newest(self, stream: str) -> JournalRow | None:
        with self._memory.lock:
            return next(reversed(self._memory.rows.get(stream, [])), None)

    def summaries(
        self, repo: str | None = None, limit: int = -1, active: bool | None = None
    ) -> list[SummaryRow]:
        with self._memory.lock:
            numbers = self._memory.numbers
            found = [
                replace(row, number=numbers[row.loop][1])
                for row in self._memory.summaries.values()
                if repo in (None, row.repo) and active in (None, row.phase != ENDED)
            ]
        found.sort(key=lambda row: (-row.updated, row.loop))
        return found if limit < 0 else found[:limit]

    def stamp(self) -> int:
        with self._memory.lock:
            return self._memory.last_command + sum(len(rows) for rows in self._memory.rows.values())

    def loops_with_number(self, number: int, repo: str | None = None) -> list[str]:
        with self._memory.lock:
            given = reversed(self._memory.numbers.items())
            return [name for name, (of, its) in given if its == number and repo in (None, of)]

    def number_of(self, loop: str) -> int:
        with self._memory.lock:
            return self._memory.numbers.get(loop, ("", 0))[1]

    def counts(self, repo: str | None = None) -> dict[tuple[str, str], int]:
        return Counter((row.phase, row.outcome) for row in self.summaries(repo))

    def driver(self, loop: str) -> Holder | None:
        return self._memory.drivers.get(loop)

    def create(
        self, loop: str, *, at: int, kind: str, v: int, body: bytes, summary: SummaryRow
    ) -> JournalRow:
        safe_name(loop)
        with self._memory.lock:
            if loop in self._memory.rows:
                raise store.exists_error(loop)
            row = self._insert("", JournalRow(loop, 1, at, kind, v, body), summary)
            others = [number for repo, number in self._memory.numbers.values() if repo == summary.repo]
            self._memory.numbers[loop] = (summary.repo, max(others, default=0) + 1)
            return row

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
        with self._memory.lock:
            rows, commands = self._memory.rows.get(loop, []), self._memory.commands
            store.check_seq(loop, len(rows), expected_seq)
            for at_, number in enumerate(taken):
                if number not in commands or commands[number].loop != loop or number in taken[:at_]:
                    raise store.taken_error(loop, number)
            previous = rows[-1].hash if rows else ""
            row = self._insert(previous, JournalRow(loop, len(rows) + 1, at, kind, v, body), summary)
            for number in taken:
                del commands[number]
            return row

    def mend_summary(self, summary: SummaryRow, seq: int) -> None:
        with self._memory.lock:
            rows = self._memory.rows.get(summary.loop)
            if not rows:
                raise store.no_loop_error(summary.loop)
            if rows[-1].seq == seq:
                self._memory.summaries[summary.loop] = replace(summary, seq=seq, updated=rows[-1].at)

    def inbox_put(self, loop: str, at: int, kind: str, body: bytes) -> int:
        store.check_size(body, kind)
        with self._memory.lock:
            if loop not in self._memory.rows:
                raise store.no_loop_error(loop)
            self._memory.last_command += 1
            number = self._memory.last_command
            self._memory.commands[number] = Command(number, loop, at, kind, body)
            return number

    def inbox_open(self, loop: str) -> list[Command]:
        with self._memory.lock:
            return [command for command in self._memory.commands.values() if command.loop == loop]

    def admit(
        self, loop: str, *, at: int, repo: str = "", most: int | None = None, machine: int | None = None
    ) -> Stint:
        with self._memory.lock:
            at_work = self._memory.places.setdefault(repo, set())
            others = sorted(at_work - {loop})
            everywhere = sorted(set().union(*self._memory.places.values()) - {loop})
            if most is not None and len(others) >= most:
                raise many_loops_error(others, most)
            if most is not None and machine is not None and len(everywhere) >= machine:
                raise many_loops_error(everywhere, machine, machine=True)
            if loop in self._memory.drivers:
                raise locked_error(loop, self._memory.drivers[loop], at)
            self._memory.drivers[loop] = Holder(since=at, what="runner")
            if most is not None:
                at_work.add(loop)
        return _MemoryStint(self._memory, loop, repo)

    def _insert(self, previous: str, row: JournalRow, summary: SummaryRow | None) -> JournalRow:
        store.check_append(row, summary)
        row = replace(row, hash=store.row_hash(previous, row))
        self._memory.rows.setdefault(row.loop, []).append(row)
        if summary is not None:
            self._memory.summaries[row.loop] = replace(summary, seq=row.seq, updated=row.at)
        return row


class _MemoryStint(Struct, frozen=True):
    memory: Memory
    loop: str
    repo: str

    def release(self) -> None:
        with self.memory.lock:
            self.memory.drivers.pop(self.loop, None)
            self.memory.places[self.repo].discard(self.loop)
