"""The machine: `decide(loop, event) -> Loop`.

Theory of operation
-------------------
A loop is a fold over facts. Each fact is appended to the journal first; then `decide` says what the
loop has become and what the shell owes it (`loop.todo`); then the shell does that and appends the
fact that it is done. Nothing else moves a loop. So a loop killed at any instant is taken up by
folding its journal again: the same facts give the same debt, and the shell asks of each action "did
it happen already?" before doing it.

    new -> baseline -> working <-> judging -> ended
                         |  ^
                         v  |
                   waiting, paused

 * baseline: the workspace is made and every gate judges the base commit.
 * working: one agent call is owed or open, then a snapshot of what it left; also taking back.
 * judging: gates on the snapshot in an incremental checkout (fast); when that could be enough, again
   in a fresh checkout (final), then the guards.
 * waiting: a limit or a provider's trouble; the loop goes on by itself.
 * paused, ended: the loop goes on only when a human asks.

Two rules keep this file honest. Everything that moves a loop from phase to phase stands in `TABLE`:
a pair of phase and event that is not there is illegal, raises, and changes nothing; a handler that
lands in a phase its row does not name is a bug and raises too. And the machine does not know how
anything is done: no clock, no path, no process, no random number; times arrive in events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec.structs import replace

from ralph.core.decide import after_fault, on_baseline, opinion, plan_readers
from ralph.core.decide import on_event as h
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Phase
from ralph.errors import Bug, IllegalEvent

Handler = Callable[[Loop, Any], Loop]


class Transition(NamedTuple):
    """What an event does in a phase: who handles it, and the phases it can lead to."""

    handler: Handler
    to: tuple[Phase, ...]


_LIVE: tuple[Phase, ...] = ("baseline", "working", "judging", "waiting", "paused")
_AFTER_JUDGING: tuple[Phase, ...] = ("judging", "working", "waiting", "paused")

TABLE: dict[tuple[Phase, type[e.Event]], Transition] = {
    ("new", e.LoopStarted): Transition(h.loop_started, ("baseline",)),
    ("baseline", e.WorkspaceMade): Transition(h.workspace_made, ("baseline", "working")),
    ("baseline", e.GateEnded): Transition(
        on_baseline.baseline_gate_ended, ("baseline", "working", "judging", "waiting", "paused")
    ),
    ("baseline", e.NoVerdict): Transition(after_fault.no_verdict, ("baseline", "paused")),
    ("baseline", e.TestsTied): Transition(h.tests_tied, ("working", "paused")),
    ("working", e.ReadersStarted): Transition(plan_readers.readers_started, ("working",)),
    ("working", e.ReadersEnded): Transition(plan_readers.readers_ended, ("working", "waiting", "paused")),
    ("working", e.AgentStarted): Transition(h.agent_started, ("working",)),
    ("working", e.AgentEnded): Transition(h.agent_ended, ("working",)),
    ("working", e.CheckpointMade): Transition(h.checkpoint_made, ("judging", "working", "waiting", "paused")),
    ("working", e.WorkspaceRestored): Transition(
        h.workspace_restored, ("working", "judging", "waiting", "paused")
    ),
    ("judging", e.GateEnded): Transition(h.gate_ended, _AFTER_JUDGING),
    ("judging", e.NoVerdict): Transition(after_fault.no_verdict, ("judging", "paused")),
    ("judging", e.GuardsEnded): Transition(h.guards_ended, _AFTER_JUDGING),
    ("judging", e.TestsTied): Transition(h.tests_tied, _AFTER_JUDGING),
    ("judging", e.ItemPublished): Transition(h.item_published, _AFTER_JUDGING),
    ("judging", e.JudgeStarted): Transition(opinion.judge_started, ("judging",)),
    ("judging", e.JudgeEnded): Transition(opinion.judge_ended, _AFTER_JUDGING),
    ("judging", e.ResultPublished): Transition(h.result_published, ("judging",)),
    ("waiting", e.WaitOver): Transition(h.wait_over, ("working", "waiting", "judging")),
    ("paused", e.ResumeAsked): Transition(h.resume_asked, ("baseline", "working", "judging", "waiting")),
    ("ended", e.ResumeAsked): Transition(h.resume_asked, ("baseline", "working", "waiting", "judging")),
    ("ended", e.Steered): Transition(h.user_steered, ("ended",)),
    ("ended", e.LandingStarted): Transition(h.landing_started, ("ended",)),
    ("ended", e.LandingEnded): Transition(h.landing_ended, ("ended",)),
    ("ended", e.LoopDropped): Transition(h.loop_dropped, ("ended",)),
    **{(phase, e.StintStarted): Transition(h.stint_started, (phase,)) for phase in _LIVE},
    **{(phase, e.Steered): Transition(h.user_steered, (phase,)) for phase in _LIVE},
    **{(phase, e.AbortAsked): Transition(h.abort_asked, (phase,)) for phase in _LIVE},
    **{(phase, e.LoopEnded): Transition(h.loop_ended, ("ended",)) for phase in _LIVE},
    **{(phase, e.PauseAsked): Transition(h.pause_asked, (phase, "paused")) for phase in _LIVE},
}


# Words of people and runners. They can come between an effect and its record, so they date nothing.
_ASIDE = (e.StintStarted, e.Steered, e.PauseAsked, e.ResumeAsked, e.AbortAsked)


def decide(loop: Loop, event: e.AnyEvent) -> Loop:
    """The loop after this fact, with what the shell owes it now. Raises IllegalEvent, changing nothing."""
    rule = TABLE.get((loop.phase, type(event)))
    if rule is None:
        raise IllegalEvent(f"{type(event).__name__} cannot happen in phase {loop.phase}")
    # Whichever fact led to a publication, the judge comes before it.
    after = opinion.ask_before_result(rule.handler(_charge_time(loop, event), event))
    if after.phase not in rule.to:
        raise Bug(
            f"{type(event).__name__} led from {loop.phase} to {after.phase}, which its rule does not name"
        )
    return after


def fold(facts: Iterable[e.AnyEvent], loop: Loop | None = None) -> Loop:
    """The loop that these facts make."""
    loop = loop or Loop()
    for event in facts:
        loop = decide(loop, event)
    return loop


def _charge_time(loop: Loop, event: e.AnyEvent) -> Loop:
    """Charge the time this fact took: to the work, to waiting, or (paused, ended) to nobody."""
    took, spend = max(0.0, event.took), loop.spend
    if loop.phase == "waiting":
        spend = replace(spend, waited=spend.waited + took)
    elif loop.phase in ("baseline", "working", "judging"):
        spend = replace(spend, seconds=spend.seconds + took)
    worked = loop.last_work_at if isinstance(event, _ASIDE) else event.at
    return replace(loop, spend=spend, now=event.at, last_work_at=worked)
