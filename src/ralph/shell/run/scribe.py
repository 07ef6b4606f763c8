"""The one writer of a loop's journal: decides, stamps, appends, tells the watcher."""

from __future__ import annotations

import msgspec

from ralph.clock import Clock
from ralph.core.decide.machine import decide, fold
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.errors import SetupError
from ralph.shell.journal.entries import Record
from ralph.shell.journal.record import summary_row
from ralph.shell.journal.store import JournalStore
from ralph.shell.ports import Watcher
from ralph.shell.run.activity import log_activity
from ralph.shell.state import directory

MAX_DISK_RETRIES = 30  # looks, a second apart, for space to come back before the loop is left for a resume


def record_start(journal: JournalStore, order: Order, now: float) -> tuple[e.LoopStarted, Loop]:
    """The first row of a new loop, and the loop that it makes."""
    event = e.LoopStarted(order=order, rules=e.RULES, at=now)
    loop, kind = fold((event,)), e.kind_of(event)
    row, body = summary_row(loop, now), e.encode(event)
    journal.create(order.loop, at=int(now * 1000), kind=kind, v=e.VERSIONS[kind], body=body, summary=row)
    return event, loop


class Scribe:
    def __init__(
        self, journal: JournalStore, name: str, record_: Record, clock: Clock, watcher: Watcher, root: str
    ) -> None:
        if record_.newer:
            raise SetupError(
                f"loop '{name}' was written by a newer Ralph",
                code="E-LOOP-NEWER",
                why="it holds events that this version does not know; continuing would be guessing",
                next="ralph version",
            )
        self._journal, self._name, self._clock, self._watcher = journal, name, clock, watcher
        self._root, self._mark = root, clock.monotonic()
        self._started = record_.entries[0].row.at / 1000 if record_.entries else clock.now()
        self._charged = 0.0  # since the newest call began
        for event in record_.events:
            self._charged = 0.0 if isinstance(event, e.AgentStarted) else self._charged + event.took
        self.loop = record_.loop
        self.seq = record_.entries[-1].row.seq if record_.entries else 0

    def append(self, event: e.AnyEvent, taken: tuple[int, ...] = ()) -> Loop:
        """The loop after this fact, once it is on disk.

        A call says how long it took, as it may have been taken over; what was charged in it is not twice.
        """
        now, mark = self._clock.now(), self._clock.monotonic()
        took = max(event.took - self._charged, mark - self._mark)
        event = msgspec.structs.replace(event, at=now, took=took)
        self._charged = 0.0 if isinstance(event, e.AgentStarted) else self._charged + took
        after = decide(self.loop, event)
        self._write(event, after, taken)
        self._mark, self.loop, self.seq = mark, after, self.seq + 1
        self._watcher.event(self.seq, event, after)
        if trouble := log_activity(event, after):
            self._watcher.note(trouble)
        return after

    def _write(self, event: e.AnyEvent, after: Loop, taken: tuple[int, ...]) -> None:
        kind, body = e.kind_of(event), e.encode(event)
        row = summary_row(after, self._started)
        waited = False
        for attempt in range(MAX_DISK_RETRIES + 1):
            try:
                self._journal.append(
                    self._name,
                    self.seq,
                    at=int(event.at * 1000),
                    kind=kind,
                    v=e.VERSIONS[kind],
                    body=body,
                    summary=row,
                    taken=taken,
                )
            except SetupError as full:
                if full.code != "E-DISK-FULL" or attempt == MAX_DISK_RETRIES:
                    raise
                if not directory.release_reserve(self._root):
                    if not waited:
                        self._watcher.note("the disk is full: waiting for space, nothing is lost")
                    waited = True
                    self._clock.sleep(1.0)
            else:
                return

    def inbox(self) -> list[tuple[int, str, bytes]]:
        return [(command.id, command.kind, command.body) for command in self._journal.inbox_open(self._name)]
