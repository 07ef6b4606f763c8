"""The judge and the reviewer in a loop: between a tree that passed everything else and its publication.

It is asked last, because it costs a call, and once for each tree: asking again could only be luckier. It may
hold a result back where it is required; it never raises a grade and never stands in for a gate. Trouble with
the judge's own agent is a fault and no opinion. What a rubric and an opinion are is in `rubric`.

The reviewer of a team (`core.model.team`) is asked on the same terms, always required and without scores,
before the judge. Each has its own state (`Jury`), and what one of them said of a tree is not asked again.

Like `next_item`, this says what comes next and `after_judging` (`leave`, `follow_judge`) does it.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.decide import failover
from ralph.core.decide.failover import FAULT_CAP, HEALED_BY_TIME, LIMIT_CAP
from ralph.core.model import rubric
from ralph.core.model.actions import AskJudge, Finish, PublishItem, PublishResult, Wait
from ralph.core.model.agent import Fault
from ralph.core.model.events import Event, JudgeEnded, JudgeStarted, SecondAnswer
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Outcome
from ralph.core.model.rubric import JUDGE, Jury, Opinion
from ralph.core.model.spend import add_side_calls, add_usage
from ralph.core.model.team.roles import REVIEWER, TaskStatus
from ralph.core.model.team.terms import Seat
from ralph.core.model.verdict import Checkpoint

Then = PublishResult | PublishItem | Finish  # the last of a plan, whose items were published one by one
HOUR = 3600.0
FIRST_WAIT = 1.0  # seconds after a fault for which `settle` names no other
HUMAN = frozenset({"auth", "credit", "upgraded", "missing", "request"})  # no time heals these
OBJECTION = rubric.NEAR + 1.0  # counts as a wide miss: the work is tried again twice, then a human decides
SEATS: tuple[Seat, ...] = ("reviewer", "judge")  # in the order in which they are asked
NAMES: dict[Seat, str] = {"judge": JUDGE, "reviewer": REVIEWER}


class Refused(Struct, frozen=True):
    """A required judge says no: the work goes back to the agent, with this sentence."""

    sentence: str
    whole: bool  # of a plan


Next = AskJudge | Wait | Then | Refused


def before_leaving(loop: Loop, then: Then) -> tuple[Loop, Next]:
    """What comes first: a question, or what follows from what was said of this tree."""
    return _hear(loop, then, SEATS)


def _hear(loop: Loop, then: Then, seats: tuple[Seat, ...]) -> tuple[Loop, Next]:
    """Each of them in turn, until one is to be asked or holds the result back."""
    for seat in seats:
        if not _is_seated(loop, seat, then):
            continue
        opinion = loop.jury_of(seat).opinion
        if opinion is None or opinion.tree != loop.work.tree:
            return _ask(loop, seat, then)
        loop, step = _act_on_opinion(loop, seat, opinion, then, again=True)
        if step is not then:
            return loop, step
    return loop, then


def _is_seated(loop: Loop, seat: Seat, then: Then) -> bool:
    """Is there somebody to ask about this?"""
    sealed = loop.rubric_of(seat)
    if sealed is None:
        return False
    if isinstance(then, PublishItem) and sealed.after != "item":
        # Only what it refused as the whole: an agent that leaves that as it is has mended nothing.
        said = loop.jury_of(seat).opinion
        if loop.rules < 8 or said is None or (said.tree, said.status) != (loop.work.tree, "fail"):
            return False
    if seat == "reviewer" and "reviewer" in loop.sealed.criterion.exceptions:
        return False  # a human has overruled it
    return not (isinstance(then, Finish) and then.grade is None)  # nothing was proven that it could judge


def _after(seat: Seat) -> tuple[Seat, ...]:
    return SEATS[SEATS.index(seat) + 1 :]


def judge_started(loop: Loop, event: JudgeStarted) -> Loop:
    owed, jury = _owed_question(loop, event), loop.jury_of(event.role)
    asked = (event.call, event.tree, bool(event.beside)) == (owed.call, owed.tree, owed.both)
    if jury.open or not asked:
        loop.refuse(event, "no such call was asked for")
    loop = loop.begin_calls(event.call, event.at, 1 + owed.both).charge(event.role, add_side_calls)
    if event.role == "reviewer":
        loop = loop.with_task(f"Review iteration {event.iteration}", "reviewer")
    if event.beside:
        loop = replace(loop, jury=replace(loop.jury, prompt=event.beside)).charge("judge", add_side_calls)
    return loop.with_jury(event.role, replace(jury, open=True, prompt=event.prompt))


def take_answer(loop: Loop, event: JudgeEnded) -> tuple[Loop, Next]:
    """The call has ended: what follows from its opinion, or from its fault."""
    owed, opinion, seat = _owed_question(loop, event), event.opinion, event.role
    jury = loop.jury_of(seat)
    if not jury.open or (event.call, event.tree) != (owed.call, owed.tree):
        loop.refuse(event, "no such call is open")
    if (event.beside is not None) != owed.both:
        loop.refuse(event, "both were asked, or one")
    jury = replace(jury, open=False)
    loop = loop.charge(seat, lambda spend: add_usage(spend, event.usage)).with_jury(seat, jury)
    if event.beside is not None:
        loop = _take_second(loop, event.beside, owed.tree)
    if event.fault is not None:
        return _act_on_fault(loop, seat, event.fault, owed.then)
    if opinion is None or opinion.tree != owed.tree:
        loop.refuse(event, "the opinion is of another tree, or there is none")
    tries = jury.tries + 1
    if opinion.status == "error" and tries < rubric.MAX_TRIES:
        return _ask(loop.with_jury(seat, replace(jury, tries=tries, trouble=opinion.why)), seat, owed.then)
    loop = _note_opinion(loop, seat, opinion)
    loop, step = _act_on_opinion(loop, seat, opinion, owed.then)
    return _hear(loop, owed.then, _after(seat)) if step is owed.then else (loop, step)


def _take_second(loop: Loop, answer: SecondAnswer, tree: str) -> Loop:
    """What the judge said beside the reviewer; where that is no opinion it is asked again in its turn."""
    loop = loop.charge("judge", lambda spend: add_usage(spend, answer.usage))
    opinion = answer.opinion
    if opinion is None or opinion.tree != tree or opinion.status == "error":
        return loop
    return _note_opinion(loop, "judge", opinion)


def _note_opinion(loop: Loop, seat: Seat, opinion: Opinion) -> Loop:
    jury = replace(loop.jury_of(seat), opinion=opinion, tries=0, trouble="", faults=0, limits_hit=0)
    if seat == "reviewer":
        done: TaskStatus = "completed" if opinion.status == "pass" else "failed"
        loop = loop.with_task(f"Review iteration {loop.iteration}", seat, done, opinion.suggestions)
    if opinion.status == "fail" and opinion.required:
        missed = OBJECTION if opinion.weighted is None else opinion.threshold - opinion.weighted
        loop = _with_best(loop, opinion) if opinion.weighted is not None else loop
        jury = replace(jury, gaps=(*jury.gaps, missed))
    elif opinion.status == "pass":
        jury = replace(jury, gaps=())
    return loop.with_jury(seat, jury)


def _ask(loop: Loop, seat: Seat, then: Then) -> tuple[Loop, Next]:
    """Owe the question; where it may not be asked now, wait or do without."""
    limits = replace(loop.limits, iterations=None)  # this iteration's call has been made
    spent = failover.limit_reached(replace(loop, limits=limits))
    wait = failover.hourly_wait(loop)
    ask = _question(loop, seat, then)
    why = spent.reason if spent is not None else wait.why if wait is not None else ""
    if why and not _sealed_rubric(loop, seat).required:
        return _skip(loop, seat, then, why)
    if spent is not None:
        return _give_up(loop, ask, spent.outcome, f"{spent.reason}; {NAMES[seat]} was not asked")
    return (loop, ask) if wait is None else _wait(loop, wait, ask)


def _question(loop: Loop, seat: Seat, then: Then) -> AskJudge:
    team = loop.sealed.team
    said = loop.jury.opinion
    both = seat == "reviewer" and team is not None and team.parallel and _is_seated(loop, "judge", then)
    both = both and (said is None or said.tree != loop.work.tree)  # nobody is asked twice about one tree
    return AskJudge(tree=loop.work.tree, call=loop.call.number + 1, then=then, role=seat, both=both)


def _skip(loop: Loop, seat: Seat, then: Then, why: str) -> tuple[Loop, Next]:
    opinion = rubric.skipped_opinion(_sealed_rubric(loop, seat), loop.work.tree, why)
    opinion = replace(opinion, iteration=loop.iteration, agent=_agent(loop))
    jury = replace(loop.jury_of(seat), opinion=opinion, tries=0, trouble="")
    return _hear(loop.with_jury(seat, jury), then, _after(seat))


def _wait(loop: Loop, wait: Wait, ask: AskJudge) -> tuple[Loop, Next]:
    time = loop.limits.time
    if time is not None and loop.elapsed_seconds + wait.seconds > time:
        return _give_up(loop, ask, "exhausted", f"{wait.why}; waiting would exceed the time limit")
    return loop.with_control(held_todo=(ask,), held_phase="judging"), wait


def _act_on_opinion(
    loop: Loop, seat: Seat, opinion: Opinion, then: Then, *, again: bool = False
) -> tuple[Loop, Next]:
    """Only where it is required does an opinion move anything, and only downwards."""
    if opinion.status in ("pass", "skipped") or not opinion.required:
        return loop, then
    if opinion.status == "error":
        return _give_up(loop, _question(loop, seat, then), "blocked", opinion.why)
    name, said = NAMES[seat], rubric.opinion_line(opinion)
    sentence = f"{name}: {said}"
    loop = replace(loop, grade=None)
    gaps = loop.jury_of(seat).gaps
    item = isinstance(then, PublishItem) and _sealed_rubric(loop, seat).after != "item"
    idle = again and (isinstance(then, Finish) or item)  # the whole was sent back, and nothing was changed
    if rubric.retries_used_up(gaps) or idle:
        why = f"{name} refused the work {len(gaps)} time{'s'[: len(gaps) != 1]}, the last time with {said}"
        reasons = "; ".join((opinion.summary, *opinion.suggestions[:3])).strip("; ")
        loop = loop.with_proof(not_yet=(sentence,))
        return loop, Finish("blocked", f"{why}. {reasons}".rstrip(". "))
    return loop, Refused(sentence, whole=isinstance(then, Finish))


def _act_on_fault(loop: Loop, seat: Seat, fault: Fault, then: Then) -> tuple[Loop, Next]:
    """As with the agent that works: what time heals is waited for, the rest is a human's."""
    why = f"{fault.kind}: {fault.message}"
    if fault.kind == "interrupted":  # each has a cause outside the loop
        return _ask(loop, seat, then)
    if not _sealed_rubric(loop, seat).required:
        return _skip(loop, seat, then, why)
    healed, before = fault.kind in HEALED_BY_TIME, loop.jury_of(seat)
    jury = replace(before, faults=before.faults + (not healed), limits_hit=before.limits_hit + healed)
    loop = loop.with_jury(seat, jury)
    ask = _question(loop, seat, then)
    if fault.kind in HUMAN or jury.faults >= FAULT_CAP or jury.limits_hit >= LIMIT_CAP:
        return _give_up(loop, ask, "blocked", f"{NAMES[seat]} cannot be asked: {why}")
    seconds = min(failover.BACK_OFF.get(fault.kind, FIRST_WAIT) * 2 ** max(0, _in_row(jury) - 1), HOUR)
    until = None
    if fault.reset_at is not None:
        seconds = max(1.0, fault.reset_at - loop.now)
        until = loop.now + seconds
    return _wait(loop, Wait(seconds=seconds, until=until, why=f"{NAMES[seat]}: {why}"), ask)


def _in_row(jury: Jury) -> int:
    return max(jury.faults, jury.limits_hit)


def _give_up(loop: Loop, ask: AskJudge, outcome: Outcome, why: str) -> tuple[Loop, Next]:
    """Nothing is wrong with the work: a resume asks the judge, not the agent."""
    jury = replace(loop.jury_of(ask.role), tries=0, faults=0, limits_hit=0)
    loop = loop.with_proof(not_yet=(f"{NAMES[ask.role]}: {why}",))
    loop = replace(loop.with_control(held_todo=(ask,), held_phase="judging"), grade=None)
    return loop.with_jury(ask.role, jury), Finish(outcome, why)


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


def _sealed_rubric(loop: Loop, seat: Seat) -> rubric.Rubric:
    sealed = loop.rubric_of(seat)
    assert sealed is not None
    return sealed


def _owed_question(loop: Loop, event: Event) -> AskJudge:
    owed = loop.owed
    if not isinstance(owed, AskJudge) or getattr(event, "role", owed.role) != owed.role:
        loop.refuse(event, "no judge was asked for")
    return owed
