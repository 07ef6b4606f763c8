"""The judge in a loop: it stands between a tree that passed everything else and that tree's publication.

It is asked last, because it costs a call, and once for each tree: asking again could only be luckier. It may
hold a result back where it is required; it never raises a grade and never stands in for a gate. Trouble with
the judge's own agent is a fault and no opinion. What a rubric and an opinion are is in `rubric`.

Like `next_item`, this says what comes next and `after_judging` (`leave`, `follow_judge`) does it.
"""

from __future__ import annotations

from typing import NoReturn

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.decide import failover
from ralph.core.decide.failover import FAULT_CAP, HEALED_BY_TIME, LIMIT_CAP
from ralph.core.model import rubric
from ralph.core.model.actions import AskJudge, Finish, PublishItem, PublishResult, Wait
from ralph.core.model.agent import Fault
from ralph.core.model.events import Event, JudgeEnded, JudgeStarted
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Outcome
from ralph.core.model.rubric import JUDGE, Jury, Opinion
from ralph.core.model.spend import add_side_calls, add_usage
from ralph.core.model.verdict import Checkpoint
from ralph.errors import IllegalEvent

Then = PublishResult | PublishItem | Finish  # the last of a plan, whose items were published one by one
HOUR = 3600.0
FIRST_WAIT = 1.0  # seconds after a fault for which `settle` names no other
HUMAN = frozenset({"auth", "credit", "upgraded", "missing", "request"})  # no time heals these


class Refused(Struct, frozen=True):
    """A required judge says no: the work goes back to the agent, with this sentence."""

    sentence: str
    whole: bool  # of a plan


Next = AskJudge | Wait | Then | Refused


def before_leaving(loop: Loop, then: Then) -> tuple[Loop, Next]:
    """What comes first: the question, or what follows from what the judge has said of this tree."""
    sealed = loop.sealed.rubric
    if sealed is None or (isinstance(then, PublishItem) and sealed.after != "item"):
        return loop, then
    if isinstance(then, Finish) and then.grade is None:
        return loop, then  # nothing was proven that it could judge
    opinion = loop.jury.opinion
    if opinion is not None and opinion.tree == loop.work.tree:
        return _act_on_opinion(loop, opinion, then, again=True)
    return _ask(loop, then)


def judge_started(loop: Loop, event: JudgeStarted) -> Loop:
    owed = _owed_question(loop, event)
    if loop.jury.open or (event.call, event.tree) != (owed.call, owed.tree):
        _illegal(loop, event, "no such call was asked for")
    return replace(
        loop.with_call(
            number=event.call, times=(*loop.call.times, event.at)[-(loop.limits.calls_per_hour or 1) :]
        ),
        spend=add_side_calls(loop.spend),
        jury=replace(loop.jury, open=True, prompt=event.prompt),
    )


def take_answer(loop: Loop, event: JudgeEnded) -> tuple[Loop, Next]:
    """The call has ended: what follows from its opinion, or from its fault."""
    owed, opinion = _owed_question(loop, event), event.opinion
    if not loop.jury.open or (event.call, event.tree) != (owed.call, owed.tree):
        _illegal(loop, event, "no such call is open")
    loop = replace(loop, spend=add_usage(loop.spend, event.usage), jury=replace(loop.jury, open=False))
    if event.fault is not None:
        return _act_on_fault(loop, event.fault, owed.then)
    if opinion is None or opinion.tree != owed.tree:
        _illegal(loop, event, "the opinion is of another tree, or there is none")
    tries = loop.jury.tries + 1
    if opinion.status == "error" and tries < rubric.MAX_TRIES:
        return _ask(replace(loop, jury=replace(loop.jury, tries=tries, trouble=opinion.why)), owed.then)
    jury = replace(loop.jury, opinion=opinion, tries=0, trouble="", faults=0, limits_hit=0)
    if opinion.status == "fail" and opinion.required and opinion.weighted is not None:
        loop = _with_best(loop, opinion)
        jury = replace(jury, gaps=(*jury.gaps, opinion.threshold - opinion.weighted))
    elif opinion.status == "pass":
        jury = replace(jury, gaps=())
    return _act_on_opinion(replace(loop, jury=jury), opinion, owed.then)


def _ask(loop: Loop, then: Then) -> tuple[Loop, Next]:
    """Owe the question; where it may not be asked now, wait or do without."""
    limits = replace(loop.limits, iterations=None)  # this iteration's call has been made
    spent = failover.limit_reached(replace(loop, limits=limits))
    wait = failover.hourly_wait(loop)
    ask = AskJudge(tree=loop.work.tree, call=loop.call.number + 1, then=then)
    why = spent.reason if spent is not None else wait.why if wait is not None else ""
    if why and not _sealed_rubric(loop).required:
        return _skip(loop, then, why)
    if spent is not None:
        return _give_up(loop, ask, spent.outcome, f"{spent.reason}; the judge was not asked")
    return (loop, ask) if wait is None else _wait(loop, wait, ask)


def _skip(loop: Loop, then: Then, why: str) -> tuple[Loop, Next]:
    opinion = rubric.skipped_opinion(_sealed_rubric(loop), loop.work.tree, why)
    opinion = replace(opinion, iteration=loop.iteration, agent=_agent(loop))
    return replace(loop, jury=replace(loop.jury, opinion=opinion, tries=0, trouble="")), then


def _wait(loop: Loop, wait: Wait, ask: AskJudge) -> tuple[Loop, Next]:
    time = loop.limits.time
    if time is not None and loop.elapsed_seconds + wait.seconds > time:
        return _give_up(loop, ask, "exhausted", f"{wait.why}; waiting would exceed the time limit")
    return loop.with_control(held_todo=(ask,), held_phase="judging"), wait


def _act_on_opinion(loop: Loop, opinion: Opinion, then: Then, *, again: bool = False) -> tuple[Loop, Next]:
    """Only where the judge is required does its opinion move anything, and only downwards."""
    if opinion.status in ("pass", "skipped") or not opinion.required:
        return loop, then
    if opinion.status == "error":
        return _give_up(loop, AskJudge(loop.work.tree, loop.call.number + 1, then), "blocked", opinion.why)
    sentence = f"{JUDGE}: {rubric.opinion_line(opinion)}"
    loop = replace(loop, grade=None)
    gaps = loop.jury.gaps
    idle = again and isinstance(then, Finish)  # it was sent back, and nothing was changed
    if rubric.retries_used_up(gaps) or idle:
        why = (
            f"the judge refused the work {len(gaps)} times, the last time with {rubric.opinion_line(opinion)}"
        )
        reasons = "; ".join((opinion.summary, *opinion.suggestions[:3])).strip("; ")
        loop = loop.with_proof(not_yet=(sentence,))
        return loop, Finish("blocked", f"{why}. {reasons}".rstrip(". "))
    return loop, Refused(sentence, whole=isinstance(then, Finish))


def _act_on_fault(loop: Loop, fault: Fault, then: Then) -> tuple[Loop, Next]:
    """As with the agent that works: what time heals is waited for, the rest is a human's."""
    why = f"{fault.kind}: {fault.message}"
    if fault.kind == "interrupted":  # each has a cause outside the loop
        return _ask(loop, then)
    if not _sealed_rubric(loop).required:
        return _skip(loop, then, why)
    healed = fault.kind in HEALED_BY_TIME
    jury = replace(
        loop.jury, faults=loop.jury.faults + (not healed), limits_hit=loop.jury.limits_hit + healed
    )
    loop = replace(loop, jury=jury)
    ask = AskJudge(tree=loop.work.tree, call=loop.call.number + 1, then=then)
    if fault.kind in HUMAN or jury.faults >= FAULT_CAP or jury.limits_hit >= LIMIT_CAP:
        return _give_up(loop, ask, "blocked", f"the judge cannot be asked: {why}")
    seconds = min(failover.BACK_OFF.get(fault.kind, FIRST_WAIT) * 2 ** max(0, _in_row(jury) - 1), HOUR)
    until = None
    if fault.reset_at is not None:
        seconds = max(1.0, fault.reset_at - loop.now)
        until = loop.now + seconds
    return _wait(loop, Wait(seconds=seconds, until=until, why=f"{JUDGE}: {why}"), ask)


def _in_row(jury: Jury) -> int:
    return max(jury.faults, jury.limits_hit)


def _give_up(loop: Loop, ask: AskJudge, outcome: Outcome, why: str) -> tuple[Loop, Next]:
    """Nothing is wrong with the work: a resume asks the judge, not the agent."""
    jury = replace(loop.jury, tries=0, faults=0, limits_hit=0)
    loop = replace(
        loop.with_proof(not_yet=(f"{JUDGE}: {why}",)).with_control(held_todo=(ask,), held_phase="judging"),
        grade=None,
        jury=jury,
    )
    return loop, Finish(outcome, why)


def _with_best(loop: Loop, opinion: Opinion) -> Loop:
    """Of green trees that it refused, the one it liked most is where the work goes on from."""
    before = loop.jury.opinion
    score = opinion.weighted or 0.0
    if (
        before is not None
        and before.weighted is not None
        and before.status == "fail"
        and score <= before.weighted
    ):
        return loop
    passing = sum(gate.required for gate in loop.sealed.criterion.gates)
    best = Checkpoint(loop.iteration, loop.work.tree, loop.work.commit, passing, 0, loop.work.changed_lines)
    return loop.with_progress(best=best)


def _agent(loop: Loop) -> str:
    judge = loop.sealed.judge
    return judge.name if judge is not None else loop.sealed.agent.name


def _sealed_rubric(loop: Loop) -> rubric.Rubric:
    sealed = loop.sealed.rubric
    assert sealed is not None
    return sealed


def _owed_question(loop: Loop, event: Event) -> AskJudge:
    owed = loop.todo[0] if loop.todo else None
    if not isinstance(owed, AskJudge):
        _illegal(loop, event, "no judge was asked for")
    return owed


def _illegal(loop: Loop, event: Event, why: str) -> NoReturn:
    raise IllegalEvent(f"{type(event).__name__} in phase {loop.phase}: {why}")
