"""The machine: `decide(loop, event) -> (loop, actions)`.

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

from ralph.core import afterwards, jury, noverdict, reading
from ralph.core import events as e
from ralph.core import handlers as h
from ralph.core.loop import Loop
from ralph.core.model import Phase
from ralph.errors import Bug, IllegalEvent

Handler = Callable[[Loop, Any], Loop]


class Rule(NamedTuple):
    """What an event does in a phase: who handles it, and the phases it can lead to."""

    handler: Handler
    to: tuple[Phase, ...]


class Step(NamedTuple):
    loop: Loop
    actions: tuple[e.Action, ...]


_LIVE: tuple[Phase, ...] = ("baseline", "working", "judging", "waiting", "paused")
_AFTER_JUDGING: tuple[Phase, ...] = ("judging", "working", "waiting", "paused")

TABLE: dict[tuple[Phase, type[e.Event]], Rule] = {
    ("new", e.LoopStarted): Rule(h.loop_started, ("baseline",)),
    ("baseline", e.WorkspaceMade): Rule(h.workspace_made, ("baseline", "working")),
    ("baseline", e.GateEnded): Rule(h.baseline_gate_ended, ("baseline", "working", "paused")),
    ("baseline", e.NoVerdict): Rule(noverdict.no_verdict, ("baseline", "paused")),
    ("baseline", e.TestsTied): Rule(h.tests_tied, ("working", "paused")),
    ("working", e.ReadersStarted): Rule(reading.started, ("working",)),
    ("working", e.ReadersEnded): Rule(reading.ended, ("working", "waiting", "paused")),
    ("working", e.AgentStarted): Rule(h.agent_started, ("working",)),
    ("working", e.AgentEnded): Rule(h.agent_ended, ("working",)),
    ("working", e.CheckpointMade): Rule(h.checkpoint_made, ("judging", "working", "waiting", "paused")),
    ("working", e.WorkspaceRestored): Rule(h.workspace_restored, ("working", "judging", "waiting", "paused")),
    ("judging", e.GateEnded): Rule(h.gate_ended, _AFTER_JUDGING),
    ("judging", e.NoVerdict): Rule(noverdict.no_verdict, ("judging", "paused")),
    ("judging", e.GuardsEnded): Rule(h.guards_ended, _AFTER_JUDGING),
    ("judging", e.TestsTied): Rule(h.tests_tied, _AFTER_JUDGING),
    ("judging", e.ItemPublished): Rule(h.item_published, _AFTER_JUDGING),
    ("judging", e.JudgeStarted): Rule(jury.started, ("judging",)),
    ("judging", e.JudgeEnded): Rule(jury.ended, _AFTER_JUDGING),
    ("judging", e.ResultPublished): Rule(h.result_published, ("judging",)),
    ("waiting", e.WaitOver): Rule(h.wait_over, ("working", "waiting", "judging")),
    ("paused", e.ResumeAsked): Rule(h.resume_asked, ("baseline", "working", "judging", "waiting")),
    ("ended", e.ResumeAsked): Rule(h.resume_asked, ("baseline", "working", "waiting", "judging")),
    ("ended", e.Steered): Rule(h.steered, ("ended",)),
    ("ended", e.LandingStarted): Rule(afterwards.landing_started, ("ended",)),
    ("ended", e.LandingEnded): Rule(afterwards.landing_ended, ("ended",)),
    ("ended", e.LoopDropped): Rule(afterwards.loop_dropped, ("ended",)),
    **{(phase, e.StintStarted): Rule(h.stint_started, (phase,)) for phase in _LIVE},
    **{(phase, e.Steered): Rule(h.steered, (phase,)) for phase in _LIVE},
    **{(phase, e.AbortAsked): Rule(h.abort_asked, (phase,)) for phase in _LIVE},
    **{(phase, e.LoopEnded): Rule(h.loop_ended, ("ended",)) for phase in _LIVE},
    **{(phase, e.PauseAsked): Rule(h.pause_asked, (phase, "paused")) for phase in _LIVE},
}


# Words of people and runners. They can come between an effect and its record, so they date nothing.
_ASIDE = (e.StintStarted, e.Steered, e.PauseAsked, e.ResumeAsked, e.AbortAsked)


def decide(loop: Loop, event: e.AnyEvent) -> Step:
    """The loop after this fact, and what the shell owes it now. Raises IllegalEvent, changing nothing."""
    rule = TABLE.get((loop.phase, type(event)))
    if rule is None:
        raise IllegalEvent(f"{type(event).__name__} cannot happen in phase {loop.phase}")
    # Whichever fact led to a publication, the judge comes before it.
    after = jury.before_result(rule.handler(_clocked(loop, event), event))
    if after.phase not in rule.to:
        raise Bug(
            f"{type(event).__name__} led from {loop.phase} to {after.phase}, which its rule does not name"
        )
    return Step(after, after.todo)


def fold(facts: Iterable[e.AnyEvent], loop: Loop | None = None) -> Loop:
    """The loop that these facts make."""
    loop = loop or Loop()
    for event in facts:
        loop = decide(loop, event).loop
    return loop


def _clocked(loop: Loop, event: e.AnyEvent) -> Loop:
    """Charge the time this fact took: to the work, to waiting, or (paused, ended) to nobody."""
    took, spend = max(0.0, event.took), loop.spend
    if loop.phase == "waiting":
        spend = replace(spend, waited=spend.waited + took)
    elif loop.phase in ("baseline", "working", "judging"):
        spend = replace(spend, seconds=spend.seconds + took)
    worked = loop.worked if isinstance(event, _ASIDE) else event.at
    return replace(loop, spend=spend, now=event.at, worked=worked)
