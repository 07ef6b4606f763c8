"""The worker: looks at the journal, and starts a runner for each loop that should have one and has none.

What to do about a loop is decided in `core.decide.stints.wake`. Nothing that is known here matters: killed
and started again, a worker finds the same loops in the journal and the same locks in the kernel. Two runners
started for one loop are harmless as well: the loop's lock lets one of them in.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress

import msgspec

from ralph.clock import Clock
from ralph.core.decide.failover import FAULT_CAP
from ralph.core.decide.stints.wake import AT_WORK, Standing, in_order, wake
from ralph.core.model.loop import HostState
from ralph.core.model.outcome import Stopper
from ralph.errors import Busy, RalphError
from ralph.shell.journal import record
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.store import JournalReader, SummaryRow
from ralph.shell.worker.backlogs import BacklogHost
from ralph.shell.worker.spawn import ralph_argv, runner_log, spawn_detached

LOOK_SECONDS = 1.0  # between two looks at whether anything was written
LOCKS_SECONDS = 3.0  # between two looks at whether runners still live: a dead one writes nothing
TROUBLE_SECONDS = 10.0  # before the journal is looked at again when it could not be read
BUSY = 5  # exit code of a runner that found no place, or another runner


class ActiveRow(msgspec.Struct, frozen=True):
    """What the worker reads of a loop's row; the rest of it is for people."""

    host: HostState = HostState()
    stopped_by: Stopper = "person"


class StartedRunner(msgspec.Struct, frozen=True):
    process: subprocess.Popen[bytes]
    repo: str
    seq: int  # of the loop's last row when it was started


class Supervisor:
    def __init__(
        self,
        root: str,
        env: Mapping[str, str],
        clock: Clock,
        *,
        machine: int,
        stopping: Callable[[], bool],
        tell: Callable[[str], None],
        leave_paused: Callable[[str, str], None],
    ) -> None:
        self._root, self._env, self._clock = root, {**env, "RALPH_STATE_DIR": root}, clock
        self._machine, self._stopping, self._tell, self._leave = machine, stopping, tell, leave_paused
        self._rows: list[SummaryRow] = []
        self._read: dict[str, tuple[int, ActiveRow]] = {}  # by loop: the row that was decoded last
        self._runners: dict[str, StartedRunner] = {}
        self._backlogs = BacklogHost(root, env, clock, tell)
        # Runners that took nothing up, by the loop's newest row: how many, and when the next may try.
        self._failed: dict[tuple[str, int], tuple[int, float]] = {}
        # Loops whose place was not free yet, such as one whose last holder was still on its way out: theirs
        # is kept until the next try. Only once, so that one that is never let in holds nobody up.
        self._turned_away: set[str] = set()

    def run(self, linger: float | None = None) -> None:
        """Until told to stop; with `linger`, until nothing has been in the background for so long."""
        stamp, looked = -1, float("-inf")
        busy = self._clock.monotonic()
        with read_journal(self._root) as reader:
            while not self._stopping():
                now, pause = self._clock.monotonic(), LOOK_SECONDS
                try:
                    seen = reader.stamp()
                    if seen != stamp:
                        self._rows, stamp = reader.summaries(active=True), seen
                        looked = float("-inf")
                    if now - looked >= LOCKS_SECONDS:
                        looked = now
                        busy = now if self.look(reader) else busy
                except RalphError as trouble:
                    self._tell(f"{trouble.what} [{trouble.code}]")
                    stamp, pause = -1, TROUBLE_SECONDS
                if linger is not None and now - busy > linger:
                    return
                self._clock.sleep(pause)

    def look(self, reader: JournalReader) -> int:
        """Start what should be at work and is not; the number of loops and backlogs that are the worker's."""
        self._reap()
        at_work = Counter(one.repo for one in self._runners.values())
        idle: list[tuple[Standing, SummaryRow]] = []
        hosted = self._backlogs.look(reader)
        for row in self._rows:
            found = self._active(row)
            hosted += found.host.background and row.phase != "paused"
            if row.loop in self._runners:
                continue
            if row.phase in AT_WORK and reader.driver(row.loop) is not None:
                at_work[row.repo] += 1
            elif found.host.background:
                one = Standing(row.loop, row.phase, found.stopped_by, found.host, row.updated / 1000)
                idle.append((one, row))
        by_name = {one.loop: row for one, row in idle}
        for one in in_order([one for one, _ in idle]):
            try:
                self._care_for(one, by_name[one.loop], at_work, reader)
            except RalphError as trouble:  # of this one: the others are not kept waiting by it
                self._tell(f"{one.loop}: {trouble.what} [{trouble.code}]")
                self._put_off(one.loop, by_name[one.loop].seq)
        return hosted

    def _care_for(self, one: Standing, row: SummaryRow, at_work: Counter[str], reader: JournalReader) -> None:
        if at_work.total() >= self._machine or at_work[row.repo] >= one.host.most:
            return
        failures, not_before = self._failed.get((one.loop, row.seq), (0, 0.0))
        if self._clock.monotonic() < not_before:
            at_work[row.repo] += one.loop in self._turned_away
            return
        todo = wake(one, self._clock.now(), self._env.keys())
        if todo.what == "wait":
            at_work[row.repo] += 1
        elif failures >= FAULT_CAP and todo.what in ("start", "resume"):
            if one.phase in AT_WORK and one.stopped_by == "limit":
                self._put_off(one.loop, row.seq)  # its pause was asked for: asking again is no help
                return
            why = f"{failures} runners ended before they took it up; ralph worker logs tells why"
            self._stop(one.loop, why)
        elif todo.what == "stop":
            self._stop(one.loop, todo.why)
        elif todo.what in ("start", "resume") and reader.driver(one.loop) is None:
            self._start(row, resume=todo.what == "resume")
            at_work[row.repo] += 1

    def _active(self, row: SummaryRow) -> ActiveRow:
        known = self._read.get(row.loop)
        if known is None or known[0] != row.seq:
            try:
                found = msgspec.json.decode(row.body, type=ActiveRow)
            except (msgspec.DecodeError, UnicodeDecodeError):
                found = ActiveRow()  # of another version: nothing that is not understood is started
            known = self._read[row.loop] = (row.seq, found)
        return known[1]

    def _start(self, row: SummaryRow, *, resume: bool) -> None:
        with read_journal(self._root) as reader:
            kept = record.load(reader, row.loop).loop.host.env
        words = ("worker", "drive", row.loop, *(("--resume",) if resume else ()))
        env = {**self._env, **kept}
        process = spawn_detached(ralph_argv(*words), env, runner_log(self._root, row.loop))
        self._runners[row.loop] = StartedRunner(process, row.repo, row.seq)
        self._tell(f"{row.loop}: started pid {process.pid}{', resumed' if resume else ''}")

    def _reap(self) -> None:
        """Runners that have ended; one that left no fact behind counts as one that took nothing up."""
        for loop, one in list(self._runners.items()):
            code = one.process.poll()
            if code is None:
                continue
            del self._runners[loop]
            self._tell(f"{loop}: pid {one.process.pid} ended with {code}")
            self._put_off(loop, one.seq, failed=code != BUSY)

    def _put_off(self, loop: str, seq: int, *, failed: bool = True) -> None:
        """As long as it stands there: after a while, or never if it cannot even come to its pause."""
        count = self._failed.get((loop, seq), (0, 0.0))[0] + failed
        wait = LOCKS_SECONDS * 2**count if count <= FAULT_CAP else float("inf")
        if not failed and (loop, seq) not in self._failed:
            self._turned_away.add(loop)
        else:
            self._turned_away.discard(loop)
        self._failed[loop, seq] = (count, self._clock.monotonic() + wait)

    def _stop(self, loop: str, why: str) -> None:
        """Leave it paused, with the reason, for a person."""
        self._tell(f"{loop}: left paused: {why}")
        with suppress(Busy):  # somebody has it
            self._leave(loop, why)


def worker_lock(root: str) -> str:
    """Held by the one worker of a state directory."""
    return os.path.join(root, "worker.lock")
