"""Loops of a run in the background: handed over to the worker as any other, and waited for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from msgspec.json import decode

from ralph.app.place import journal_of
from ralph.app.records import read_loop
from ralph.clock import SystemClock
from ralph.core.decide.stints.wake import PASSES
from ralph.core.model.events import ResumeAsked
from ralph.errors import Busy
from ralph.shell.journal.store import JournalReader, SummaryRow
from ralph.shell.state.stints import Stint
from ralph.shell.worker.supervise import ActiveRow

POLL_SECONDS = 0.5


def host_loop(name: str, env: Mapping[str, str], stint: Stint | None, most: int, machine: int) -> None:
    """Hand a loop over to the worker, unless somebody drives it already."""
    from ralph.app.background.hand_over import hand_over

    paused = stint is None and read_loop(name, env).loop.phase == "paused"
    first = (ResumeAsked(author="worker"),) if paused else ()
    with suppress(Busy):
        hand_over(
            name, env, priority="medium", most=most, machine=machine, first=first, stint=stint, queue=True
        )


def wait_for_loops(names: list[str], env: Mapping[str, str]) -> None:
    """Until each has ended, or stopped for a person."""
    clock = SystemClock()
    with journal_of(env) as reader:
        while any(_at_work(reader, row) for row in reader.summaries(active=True) if row.loop in names):
            clock.sleep(POLL_SECONDS)


def _at_work(reader: JournalReader, row: SummaryRow) -> bool:
    found = decode(row.body, type=ActiveRow)
    if row.phase == "paused":
        return found.host.background and found.stopped_by in PASSES
    return found.host.background or reader.driver(row.loop) is not None
