"""May the agent of a session stop now, and what is still to be judged before that is known?"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.decide import opinion
from ralph.core.decide.after_judging import exit_answer
from ralph.core.decide.opinion import Refused
from ralph.core.model.actions import AskJudge, Finish, PublishResult, Wait
from ralph.core.model.loop import Loop
from ralph.core.prompt.facts import sentences_for_agent
from ralph.core.proof import exit_gate
from ralph.core.session.record import Ending, Session
from ralph.core.text.clean import one_line

MAX_REFUSALS = 5  # in a row, whatever the host would take
UNHELD = "the agent of this session was not sandboxed: it could write wherever you can"
Owed = Literal["baseline", "gates", "guards", "judge"]
Why = Literal[
    "verified", "unproven", "satisfied", "broken",  # it is over
    "blocked", "machine", "cap", "ended",  # allowed without that
    "judging", "proof", "red", "judge",  # refused
]  # fmt: skip
ENDINGS: dict[str, Ending] = {
    "verified": "verified",
    "unproven": "unproven",
    "satisfied": "satisfied",
    "broken": "broken",
}


class StopAnswer(Struct, frozen=True):
    refused: bool
    why: Why
    words: tuple[str, ...] = ()


def owed(session: Session) -> Owed | None:
    """What must be asked of gates and guards about the tree at hand; None = all is known."""
    loop = session.loop
    gates = {gate.name for gate in loop.sealed.criterion.gates}
    if gates - loop.proof.baseline.keys():
        return "baseline"
    if loop.work.tree == loop.sealed.base.tree:
        return None
    if loop.proof.finals_tree != loop.work.tree or gates - loop.proof.finals.keys():
        return "gates"
    if loop.proof.guards_tree != loop.work.tree:
        return "guards" if exit_answer(loop, loop.proof.finals, None).may_leave else None
    return "judge" if isinstance(hear_judge(loop, judged_exit(loop)), AskJudge) else None


def progress(session: Session) -> tuple[int, int]:
    """How many of how many questions on the tree at hand are answered: each gate, and the guards."""
    loop, due = session.loop, owed(session)
    total = len(loop.sealed.criterion.gates)
    if due == "baseline":
        return len(loop.proof.baseline), total
    done = len(loop.proof.finals) if loop.proof.finals_tree == loop.work.tree else 0
    return done + (due == "judge"), total + 1 + (loop.sealed.rubric is not None)


def answer_stop(session: Session, most: int = MAX_REFUSALS) -> StopAnswer:
    """By the record alone. `most` refusals in a row; after that the agent may go, unverified."""
    answer = _answer(session)
    if answer.refused and session.refusals.get("Stop", 0) >= most:
        return StopAnswer(False, "cap", answer.words)
    return answer


def _answer(session: Session) -> StopAnswer:
    loop = session.loop
    claim = loop.call.claim
    if claim is not None and claim.status == "BLOCKED":
        return StopAnswer(False, "blocked", (claim.recommendation or "no reason given",))
    criterion, baseline = loop.sealed.criterion, loop.proof.baseline
    due = owed(session)
    broken = "" if due == "baseline" else exit_gate.cannot_start(criterion, baseline)
    if broken:
        return StopAnswer(False, "broken", (broken,))
    if due is not None and loop.proof.no_answers:
        return StopAnswer(False, "machine", (loop.proof.no_answers[-1][2],))
    if due is not None:
        done, total = progress(session)
        what = "the base" if due == "baseline" else "this tree"
        return StopAnswer(True, "judging", (f"still judging {what}: {done} of {total} answers are in",))
    untouched = loop.work.tree == loop.sealed.base.tree and not loop.work.left_out
    if untouched and exit_gate.already_satisfied(criterion, baseline):
        return StopAnswer(False, "satisfied", (exit_gate.satisfied_words(criterion, baseline),))
    return _answer_judged(loop)


def _answer_judged(loop: Loop) -> StopAnswer:
    answer = judged_exit(loop)
    match hear_judge(loop, answer):
        case Refused(sentence=said):
            advice = loop.jury.opinion.suggestions[:5] if loop.jury.opinion else ()
            return StopAnswer(True, "judge", (said, *advice))
        case Finish(reason=why):
            return StopAnswer(False, "blocked", (why,))
        case Wait(why=why):
            return StopAnswer(False, "machine", (why,))
    if answer.verified:
        return StopAnswer(False, "verified", answer.unproven)
    if answer.ends_unproven:
        return StopAnswer(False, "unproven", answer.not_yet)
    told = sentences_for_agent(loop.with_proof(not_yet=answer.not_yet))
    words = tuple(one_line(line, 400) for line in told[:10])
    return StopAnswer(True, "proof" if answer.grade else "red", words)


def hear_judge(loop: Loop, answer: exit_gate.Exit) -> opinion.Next | None:
    """What a sealed judge still has to be asked, or has said against a tree that passed everything else."""
    if not answer.verified or answer.grade is None:
        return None
    if loop.jury.open and isinstance(asked := loop.todo[0], AskJudge):
        return asked  # by a process that is gone: taken up, not asked anew
    return opinion.before_leaving(loop, PublishResult(tree=loop.work.tree, grade=answer.grade))[1]


def judged_exit(loop: Loop) -> exit_gate.Exit:
    """What the exit gate says of the tree at hand; at most grade B, because nothing held the agent."""
    guards = loop.proof.guards if loop.proof.guards_tree == loop.work.tree else None
    finals = loop.proof.finals if loop.proof.finals_tree == loop.work.tree else loop.proof.baseline
    answer = exit_answer(loop, finals, guards)
    if answer.grade is None:
        return answer
    grade = "B" if answer.grade == "A" else answer.grade
    if grade != answer.grade and loop.sealed.criterion.min_grade == "A":
        short = f"{exit_gate.SHORT_OF}B and A is required: {UNHELD}"
        return replace(answer, grade=grade, verified=False, not_yet=(short,))
    return replace(answer, grade=grade, unproven=(*answer.unproven, UNHELD))
