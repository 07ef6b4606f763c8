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
               queued, waiting, paused

 * queued: what is owed waits for a runner that has a place; it was handed over to the worker.
 * baseline: the workspace is made and every gate judges the base commit.
 * working: one agent call is owed or open, then a snapshot of what it left; also taking back.
 * judging: gates on the snapshot in an incremental checkout (fast); when that could be enough, again
   in a fresh checkout (final), then the guards.
 * waiting: a limit or a provider's trouble; the loop goes on by itself.
 * paused, ended: the loop goes on only when a human asks.

Two rules keep this file honest. Everything that moves a loop from phase to phase stands in `EVENTS`:
a pair of phase and event that is not there is illegal, raises, and changes nothing; a handler that
lands in a phase its row does not name is a bug and raises too. And the machine does not know how
anything is done: no clock, no path, no process, no random number; times arrive in events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from ralph.core.decide import after_fault, on_baseline, opinion, plan_readers
from ralph.core.decide import on_event as h
from ralph.core.decide.stints import on_asked
from ralph.core.decide.team import role_calls
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Phase
from ralph.errors import Bug, IllegalEvent

Handler = Callable[[Loop, Any], Loop]


class Transition(NamedTuple):
    """What an event does in a phase: who handles it, and the phases it can lead to."""

    handler: Handler
    to: tuple[Phase, ...]


class EventRow(NamedTuple):
    """All that is known of a kind of event besides its fields."""

    group: Literal["agent", "gate", "loop"]  # in `ralph logs --kind`
    label: str  # before its words in the plain display; "" = the header has said it
    fold: dict[Phase, Transition]
    aside: bool = (
        False  # of people and runners: it can come between an effect and its record, and dates nothing
    )


_LIVE: tuple[Phase, ...] = ("baseline", "working", "judging", "waiting", "paused")
_AT_WORK: tuple[Phase, ...] = ("baseline", "working", "judging", "waiting")
_AFTER_JUDGING: tuple[Phase, ...] = ("judging", "working", "waiting", "paused")


def _while_live(handler: Handler, *also: Phase) -> dict[Phase, Transition]:
    """In every phase before the end, which stays unless the handler leads to one of the others."""
    return {phase: Transition(handler, tuple(dict.fromkeys((phase, *also)))) for phase in _LIVE}


EVENTS: dict[type[e.Event], EventRow] = {
    e.LoopStarted: EventRow("loop", "", {"new": Transition(h.loop_started, ("baseline",))}),
    e.StintStarted: EventRow(
        "loop",
        "",
        {**_while_live(on_asked.stint_started), "queued": Transition(on_asked.stint_started, _AT_WORK)},
        aside=True,
    ),
    e.LoopQueued: EventRow(
        "loop",
        "queued",
        {phase: Transition(on_asked.loop_queued, ("queued",)) for phase in (*_AT_WORK, "queued")},
        aside=True,
    ),
    e.PriorityAsked: EventRow(
        "loop",
        "priority",
        {phase: Transition(on_asked.priority_asked, (phase,)) for phase in (*_LIVE, "queued")},
        aside=True,
    ),
    e.WorkspaceMade: EventRow(
        "loop", "workspace", {"baseline": Transition(h.workspace_made, ("baseline", "working"))}
    ),
    e.GateEnded: EventRow(
        "gate",
        "gate",
        {
            "baseline": Transition(on_baseline.baseline_gate_ended, ("baseline", *_AFTER_JUDGING)),
            "judging": Transition(h.gate_ended, _AFTER_JUDGING),
        },
    ),
    e.NoVerdict: EventRow(
        "gate",
        "gate",
        {
            "baseline": Transition(after_fault.no_verdict, ("baseline", "paused")),
            "judging": Transition(after_fault.no_verdict, ("judging", "paused")),
        },
    ),
    e.TestsTied: EventRow(
        "gate",
        "criteria",
        {
            "baseline": Transition(h.tests_tied, ("working", "paused")),
            "judging": Transition(h.tests_tied, _AFTER_JUDGING),
        },
    ),
    e.ReadersStarted: EventRow(
        "agent", "readers", {"working": Transition(plan_readers.readers_started, ("working",))}
    ),
    e.ReadersEnded: EventRow(
        "agent",
        "readers end",
        {"working": Transition(plan_readers.readers_ended, ("working", "waiting", "paused"))},
    ),
    e.RoleStarted: EventRow("agent", "role", {"working": Transition(role_calls.role_started, ("working",))}),
    e.RoleEnded: EventRow(
        "agent", "role ended", {"working": Transition(role_calls.role_ended, _AFTER_JUDGING)}
    ),
    e.AgentStarted: EventRow("agent", "agent", {"working": Transition(h.agent_started, ("working",))}),
    e.AgentEnded: EventRow("agent", "agent ended", {"working": Transition(h.agent_ended, ("working",))}),
    e.CheckpointMade: EventRow(
        "agent", "checkpoint", {"working": Transition(h.checkpoint_made, _AFTER_JUDGING)}
    ),
    e.WorkspaceRestored: EventRow(
        "loop", "restored", {"working": Transition(h.workspace_restored, _AFTER_JUDGING)}
    ),
    e.GuardsEnded: EventRow("gate", "guards", {"judging": Transition(h.guards_ended, _AFTER_JUDGING)}),
    e.JudgeStarted: EventRow("agent", "judge", {"judging": Transition(opinion.judge_started, ("judging",))}),
    e.JudgeEnded: EventRow("gate", "judge said", {"judging": Transition(h.judge_ended, _AFTER_JUDGING)}),
    e.ItemPublished: EventRow("loop", "committed", {"judging": Transition(h.item_published, _AFTER_JUDGING)}),
    e.ResultPublished: EventRow("loop", "result", {"judging": Transition(h.result_published, ("judging",))}),
    e.WaitOver: EventRow(
        "loop", "wait over", {"waiting": Transition(h.wait_over, ("working", "waiting", "judging"))}
    ),
    e.Steered: EventRow(
        "loop",
        "steer",
        {
            **_while_live(on_asked.user_steered),
            "queued": Transition(on_asked.user_steered, ("queued",)),
            "ended": Transition(on_asked.user_steered, ("ended",)),
        },
        aside=True,
    ),
    e.PauseAsked: EventRow(
        "loop",
        "pause",
        {
            **_while_live(on_asked.pause_asked, "paused"),
            "queued": Transition(on_asked.pause_asked, ("paused",)),
        },
        aside=True,
    ),
    e.ResumeAsked: EventRow(
        "loop",
        "resume",
        {
            **{phase: Transition(on_asked.raise_live, (phase,)) for phase in (*_AT_WORK, "queued")},
            "paused": Transition(on_asked.resume_asked, _AT_WORK),
            "ended": Transition(on_asked.resume_asked, _AT_WORK),
        },
        aside=True,
    ),
    e.Approved: EventRow(
        "loop",
        "approved",
        {phase: Transition(on_asked.user_approved, (phase,)) for phase in (*_LIVE, "queued", "ended")},
        aside=True,
    ),
    e.LearningsCleared: EventRow(
        "loop", "forgotten", {"ended": Transition(on_asked.learnings_cleared, ("ended",))}, aside=True
    ),
    e.AbortAsked: EventRow(
        "loop",
        "abort",
        {**_while_live(on_asked.abort_asked), "queued": Transition(on_asked.abort_asked, _AT_WORK)},
        aside=True,
    ),
    e.LoopEnded: EventRow("loop", "ended", {phase: Transition(h.loop_ended, ("ended",)) for phase in _LIVE}),
    e.LandingStarted: EventRow("loop", "", {"ended": Transition(h.landing_started, ("ended",))}),
    e.LandingEnded: EventRow("loop", "", {"ended": Transition(h.landing_ended, ("ended",))}),
    e.LoopDropped: EventRow("loop", "", {"ended": Transition(h.loop_dropped, ("ended",))}),
}
TABLE: dict[tuple[Phase, type[e.Event]], Transition] = {
    (phase, kind): rule for kind, row in EVENTS.items() for phase, rule in row.fold.items()
}


def decide(loop: Loop, event: e.AnyEvent) -> Loop:
    """The loop after this fact, with what the shell owes it now. Raises IllegalEvent, changing nothing."""
    rule = TABLE.get((loop.phase, type(event)))
    if rule is None:
        raise IllegalEvent(f"{type(event).__name__} cannot happen in phase {loop.phase}")
    after = rule.handler(_charge_time(loop, event), event)
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
    loop = replace(loop, spend=spend, now=event.at)
    if EVENTS[type(event)].aside:
        return loop
    loop = replace(loop, last_work_at=event.at)
    # That there was no answer again is no step forward: a worker must come to the end of its tries.
    return loop.with_host(stints=0) if loop.host.stints and not isinstance(event, e.NoVerdict) else loop
