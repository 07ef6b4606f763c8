"""Driving a loop to its next pause or end, and what follows: its report, its signed proof, an exit code.

Whoever looks on is a `Watcher`; nothing here prints. A screen, a worker and a test drive loops the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from signal import SIGINT, SIGTERM

from msgspec import Struct

from ralph.app.people.notify import Notifier
from ralph.app.records import read_loop
from ralph.app.report.report_files import write_reports
from ralph.app.views.at_work import naming_loops
from ralph.clock import Clock, SystemClock
from ralph.core.model.events import AnyEvent
from ralph.core.model.loop import Loop
from ralph.errors import RalphError
from ralph.shell.ports import Activity, Watcher
from ralph.shell.run.open import SignalCount, drive_loop
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.state.stints import Stint

__all__ = ["Activity", "DriveRequest", "Driven", "SignalCount", "Stint", "drive", "exit_code", "write_papers"]

ENDINGS = {"verified": 0, "unproven": 3, "blocked": 3, "broken": 4, "satisfied": 6}


class DriveRequest(Struct, frozen=True, kw_only=True):
    """Which loop, with how much room on the disk, among how many, and what is recorded first."""

    name: str
    min_free: int = 0
    max_loops: int | None = None
    max_loops_machine: int | None = None
    hosted: bool = False  # by the worker: agent calls outlive a crash of this process
    first: tuple[AnyEvent, ...] = ()


class Papers(Struct, frozen=True):
    """What a loop left for people: paths, "" where there is none, and why not."""

    report: str = ""
    proof: str = ""
    trouble: str = ""


class Driven(Struct, frozen=True):
    loop: Loop
    exit_code: int
    papers: Papers


def drive(
    request: DriveRequest,
    env: Mapping[str, str],
    watcher: Watcher,
    *,
    stint: Stint | None = None,
    signals: SignalCount | None = None,
    tell: Callable[[str], None] | None = None,
    clock: Clock | None = None,
) -> Driven:
    """Drive until the loop stops. Its report is written whatever happens; `tell` hears if that failed."""
    signals, clock = signals or SignalCount(), clock or SystemClock()
    papers, told = Papers(), tell or watcher.note
    notifier = Notifier(watcher, env, told)
    try:
        with naming_loops(env):
            loop = drive_loop(
                request.name,
                env,
                notifier,
                min_free=request.min_free,
                most=request.max_loops,
                machine=request.max_loops_machine,
                hosted=request.hosted,
                stint=stint,
                first=request.first,
                signals=signals,
                clock=clock,
            )
    finally:
        papers = write_papers(request.name, env, clock)
        if papers.trouble:
            told(papers.trouble)
        notifier.close()
    return Driven(loop, exit_code(loop, signals), papers)


def exit_code(loop: Loop, signals: SignalCount) -> int:
    """For a loop that was driven just now; the table is in `errors`."""
    if loop.outcome is None and signals.number:
        return 130 if signals.number == SIGINT else 128 + SIGTERM
    return ENDINGS.get(loop.outcome or "", 1)


def write_papers(name: str, env: Mapping[str, str], clock: Clock) -> Papers:
    """Report and, for a verified loop, attestation on disk; both can be made again at any time."""
    state = open_state(state_dir(env), create=True)
    report = proof = ""
    try:
        record = read_loop(name, env)
        report, _ = write_reports(state, record)
        if record.loop.outcome in ("verified", "unproven") and record.loop.landing.result:
            from ralph.app.results.attest import attest

            proof = attest(record, env, clock)
    except RalphError as trouble:
        return Papers(report, proof, f"{trouble.what} ({trouble.why})")
    return Papers(report, proof)
