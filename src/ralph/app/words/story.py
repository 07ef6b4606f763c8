"""The life of a loop as calls of the agent: what each did, cost and came to.

A fold over events, used by the screens (which keep only the newest call) and by the report (which keeps
all of them). Nothing here decides or prints whole screens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.words.format import MARKS, change_words, clock, cost_words, plural, safe
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.rubric import Opinion
from ralph.core.model.spend import Usage
from ralph.core.model.verdict import GuardResult, Verdict


class StoryCall(Struct, frozen=True):
    """One call and the judgement that followed it."""

    iteration: int
    call: int
    at: float = 0.0
    purpose: str = ""  # plan, item, close; "" = the task
    item: str = ""
    seconds: float = 0.0
    ended: str = ""  # "" while it goes on
    exit_code: int | None = None
    usage: Usage = Usage()
    claim: Claim | None = None
    fault: Fault | None = None
    denials: tuple[str, ...] = ()
    said: str = ""
    output: str = ""
    tree: str = ""
    commit: str = ""
    files: int = 0
    added: int = 0
    removed: int = 0
    verdicts: dict[str, Verdict] = {}
    guards: tuple[GuardResult, ...] = ()
    opinion: Opinion | None = None
    taken_back: bool = False
    published: bool = False
    plan: e.PlanRead | None = None


def update_call(call: StoryCall | None, event: e.AnyEvent) -> StoryCall | None:
    """The newest call after this event."""
    if isinstance(event, e.AgentStarted):
        return StoryCall(event.iteration, event.call, event.at, event.purpose, event.item)
    if call is None:
        return None
    match event:
        case e.AgentEnded():
            return _take(call, event, "seconds ended exit_code usage claim fault denials said output")
        case e.CheckpointMade():
            return _take(call, event, "tree commit files added removed plan")
        case e.GateEnded() if event.verdict.tree == call.tree:  # and not tests for the next item
            return replace(call, verdicts={**call.verdicts, event.verdict.gate: event.verdict})
        case e.GuardsEnded():
            return replace(call, guards=event.results)
        case e.JudgeEnded(role="judge", opinion=Opinion() as opinion):
            return replace(call, opinion=opinion)
        case e.WorkspaceRestored():
            return replace(call, taken_back=not call.published)
        case e.ResultPublished() | e.ItemPublished():
            return replace(call, published=True)
        case _:
            return call


def _take(call: StoryCall, event: e.AnyEvent, names: str) -> StoryCall:
    """The call with these fields as the event has them."""
    return replace(call, **{name: getattr(event, name) for name in names.split()})


def calls_of(events: Iterable[e.AnyEvent]) -> list[StoryCall]:
    calls: list[StoryCall] = []
    for event in events:
        after = update_call(calls[-1] if calls else None, event)
        if after is None:
            continue
        if isinstance(event, e.AgentStarted):
            calls.append(after)
        else:
            calls[-1] = after
    return calls


def is_settled(call: StoryCall, loop: Loop) -> bool:
    """Nothing more will be said about this call: the loop owes something else, or nothing."""
    owed = loop.owed
    if isinstance(owed, actions.RunAgent):
        return owed.call != call.call
    return owed is None or isinstance(owed, actions.Wait | actions.RunRole | actions.Finish)


def call_mark(call: StoryCall) -> str:
    if call.published or (call.plan is not None and call.plan.plan is not None):
        return "✔"
    if call.purpose == "close" and call.fault is None:
        return "·"
    if call.fault is not None and not call.verdicts:
        return "!"
    return "✘"


def gate_marks(verdicts: Iterable[Verdict], before: Mapping[str, int] | None = None) -> str:
    """Such as: tests 3→2 red  lint ✔"""
    return "  ".join(_gate_mark(one, (before or {}).get(one.gate, one.red)) for one in verdicts)


def _gate_mark(verdict: Verdict, before: int) -> str:
    name = safe(verdict.gate, 24)
    if not (verdict.red and verdict.status == "fail"):
        return f"{name} {MARKS[verdict.status]}"
    return f"{name} {red_words(verdict, before)}"


def red_words(verdict: Verdict, before: int) -> str:
    """2→1 red; a test that no longer runs is not red, and its going no progress: 1 red, 1 not run."""
    gone = f", {verdict.unseen} not run" if verdict.unseen else ""
    turn = f"{before}→" if not gone and before != verdict.red else ""
    return f"{turn}{verdict.red - verdict.unseen} red{gone}"


def judge_mark(opinion: Opinion) -> str:
    """Such as: 6.5✘"""
    score = "" if opinion.weighted is None else f"{opinion.weighted:.1f}"
    return f"{score}{MARKS[opinion.status]}"


def call_parts(call: StoryCall, reds: Mapping[str, int] | None = None) -> list[str]:
    """What the call came to, in pieces that a screen may drop from the right when it is narrow."""
    changed = change_words(call.files, call.added, call.removed) if call.files else "no change"
    if call.purpose in ("plan", "close"):
        changed = _plan_part(call)
    elif call.item:
        changed = f"{safe(call.item, 40)}{' verified' if call.published else ''}  {changed}"
    parts = [changed, gate_marks(call.verdicts.values(), reds)]
    found = sum(len(result.findings) for result in call.guards)
    if found:
        parts.append(plural(found, "finding"))
    if call.opinion is not None:
        parts.append(f"judge {judge_mark(call.opinion)}")
    if call.fault is not None:
        parts.append(f"fault {call.fault.kind}: {safe(call.fault.message, 60)}")
    parts += [clock(call.seconds), call_cost(call)]
    if call.purpose == "plan":  # it claims nothing, and what it changed besides is told above
        return [part for part in parts if part]
    if call.claim is not None:
        denied = call.claim.status == "COMPLETE" and not call.published and call.purpose != "close"
        refused = call.opinion is not None and call.opinion.status == "fail"
        if denied:
            parts.append("said done: the judge refused" if refused else "said done: refused")
        elif call.claim.status == "BLOCKED":
            parts.append("says it is blocked")
    if call.taken_back:
        parts.append("reverted")
    return [part for part in parts if part]


def _plan_part(call: StoryCall) -> str:
    """What a call that must not build left behind."""
    read = call.plan
    words = "closing call" if call.purpose == "close" else "no usable plan"
    if read is None:
        return words
    if read.plan is not None:
        words = f"plan with {plural(len(read.plan.items), 'item')}"
    elif read.found:
        words = f"found {plural(len(read.found), 'item')}"
    elif read.wrong:
        words = f"no usable plan: {safe(read.wrong[0].message, 80)}"
    return f"{words}, {plural(read.outside, 'other file')} thrown away" if read.outside else words


def call_cost(call: StoryCall) -> str:
    return cost_words(call.usage.cost, 0, 1, estimated=call.usage.estimated)


def call_line(call: StoryCall) -> str:
    return f"{call_mark(call)} it {call.iteration}  " + "  ".join(call_parts(call))
