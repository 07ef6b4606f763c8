"""The exit gate: verdicts, guards and claim in, "verified" or the not-yet sentences out.

It is the only place that can say verified, and it says so from verdicts on one tree alone. A claim
opens nothing by itself: it is asked for only where no check was red first (grades C and D). The
sentences go to the screen and into the next prompt, so they name tests and never hidden details.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.model.agent import Claim
from ralph.core.model.gate import (
    MAKE_IT_GREEN,
    NEEDS_WITNESS,
    WITHOUT_WITNESS,
    Criterion,
    Gate,
    Grade,
)
from ralph.core.model.outcome import Outcome
from ralph.core.model.verdict import Finding, GuardResult, Verdict
from ralph.core.proof.grade import OWN_WITNESS, Proof, TesterWord, at_least, prove, unwaived_red
from ralph.core.text.clean import one_line

MAX_SHOWN = 5  # failing tests named in one sentence
MAX_LAST_WORDS = 120
SHORT_OF = "the proof is grade "  # begins a sentence whose reason is not for agents
STILL_RED_WAY = (
    "these failed before the loop as well: make them pass, "
    "or if they fail for a reason outside of this task, change nothing and say COMPLETE again"
)
NO_GATE = "no check is required, so nothing can prove this task"


# Which red may stay: of a task, what was red before and is no part of it; of one item of a plan, whatever was
# red before; of a whole plan, nothing, or (with --allow-baseline-red) tests by name that were red before.
Tolerance = Literal["task", "item", "old", "nothing"]


class Terms(Struct, frozen=True):
    """What the tree at hand is held to."""

    criterion: Criterion
    tolerance: Tolerance
    claim: Claim | None
    last_word: bool  # of the agent: what has only proof missing may leave as unproven
    tester: TesterWord | None = None  # of a team, whose tests may be the witness


class Exit(Struct, frozen=True):
    verified: bool
    not_yet: tuple[str, ...] = ()
    grade: Grade | None = None
    unproven: tuple[str, ...] = ()
    ends_unproven: bool = False  # all is green and the agent has said its last word: only proof is missing
    still_red: bool = False  # nothing stands in the way but what was red before the loop
    insists: bool = False  # and the agent has said its last word

    @property
    def may_leave(self) -> bool:
        return self.verified or self.ends_unproven


def already_satisfied(criterion: Criterion, baseline: dict[str, Verdict]) -> bool:
    """The task asks only for green, and what would prove it is green before any agent call."""
    from ralph.core.toolchains.kinds import (
        settles,  # asked once in a loop, and its tables take a while to load
    )

    return _all_green(criterion, baseline) and any(
        settles(criterion.task_class, gate) for gate in criterion.proof
    )


def satisfied_first(criterion: Criterion, baseline: dict[str, Verdict]) -> bool:
    """By the first rules, whatever was checked: that ended verified. Only their records still ask."""
    return criterion.task_class in MAKE_IT_GREEN and _all_green(criterion, baseline)


def _all_green(criterion: Criterion, baseline: dict[str, Verdict]) -> bool:
    proof = criterion.proof
    return bool(proof) and all(baseline[gate.name].status == "pass" for gate in proof)


def satisfied_words(criterion: Criterion, baseline: dict[str, Verdict]) -> str:
    """Why there is nothing to do, and which other checks are red all the same. Hidden ones are not named."""
    shown = [gate for gate in criterion.gates if gate.origin != "hidden"]
    green = [gate.name for gate in shown if gate.proof]
    words = (
        f"{_list(green[:MAX_SHOWN], len(green))} was green" if len(green) == 1 else "every proof was green"
    )
    red = [gate for gate in shown if baseline[gate.name].status not in ("pass", "skipped")]
    words += " before any agent call"
    if not red:
        return words
    named = [f"{gate.name} ({describe(gate, baseline[gate.name])})" for gate in red[:MAX_SHOWN]]
    return f"{words}; failing, but not part of this task: {_list(named, len(red))}"


def cannot_start(criterion: Criterion, baseline: dict[str, Verdict]) -> str:
    """Why no agent may be called: no required check, or one whose tool is missing, never turns green."""
    if not any(gate.required for gate in criterion.gates):
        return NO_GATE
    for gate in criterion.gates:
        verdict = baseline[gate.name]
        if gate.required and verdict.status == "error" and verdict.cause in ("missing", "sandbox"):
            return f'gate "{gate.name}" cannot run: {verdict.summary}'
    return ""


def decide_exit(
    criterion: Criterion,
    baseline: dict[str, Verdict],
    now: dict[str, Verdict],
    guards: tuple[GuardResult, ...] | None,
    *,
    changed: bool,
    unchanged_ok: bool = False,
    claim: Claim | None,
    protection: str,
    generated: tuple[str, ...] = (),
    tolerance: Tolerance = "task",
    last_word: bool = False,
    left_out: tuple[str, ...] = (),
    tester: TesterWord | None = None,
) -> Exit:
    """May this tree leave the loop? `guards` is None while only verdicts are in: then, may it still?

    `last_word`: the agent insists that it is done, or its class of task knows no witness; nor is there one
    where a task about tests changed tests alone. `left_out`: what the agent wrote that is in no tree, so
    nothing can be said of the work as a whole.
    """
    not_yet = red_sentences(criterion, baseline, now, tolerance)
    way = "remove it or add it to .gitignore"
    not_yet += [words if ": " in words else f"{words}: {way}" for words in left_out]  # which may name its own
    if not any(gate.required for gate in criterion.gates):
        not_yet.append(NO_GATE)
    if guards == ():
        not_yet.append("no guard has checked this tree")
    for result in guards or ():
        not_yet += [f"{result.guard}: {guard_words(finding)}" for finding in result.findings]
    claims_done = claim is not None and claim.status == "COMPLETE"
    if not_yet:
        old = changed and tolerance == "task" and _only_still_red(criterion, baseline, now, not_yet)
        not_yet += [STILL_RED_WAY] if old and claims_done else []
        not_yet += _deleted_sentences(criterion, now, not_yet)
        return Exit(verified=False, not_yet=tuple(not_yet), still_red=old, insists=old and last_word)
    if not changed and not unchanged_ok:
        return Exit(verified=False, not_yet=("nothing has changed yet",))
    proof = prove(criterion, baseline, now, guards or (), protection, generated, tester)
    left = unwaived_red(criterion, now.values())
    missing = _short_of(proof, criterion, claim)
    if tolerance == "task" and claims_done:
        last_word = last_word or any(result.counted.get("alone") for result in guards or ())
    hoped: Grade = "A" if tester is not None and tester.sealed and not tester.doubt else OWN_WITNESS
    if guards is None and changed and not _in_progress(claim) and at_least(hoped, criterion.min_grade):
        missing = ()  # the guards may find a witness among the agent's own tests
    if left:
        missing = (*missing, still_red_words(left))
        if not (guards is None or proof.witness or proof.own or criterion.task_class in WITHOUT_WITNESS):
            bare = f"{missing[-1]}, and no test that failed before shows the change"
            return Exit(verified=False, not_yet=(bare, STILL_RED_WAY), still_red=True)
    return Exit(
        verified=not missing,
        not_yet=missing,
        grade=proof.grade,
        unproven=proof.unproven,
        ends_unproven=bool(missing) and last_word and changed,
        still_red=bool(left),
    )


def still_red_words(keys: tuple[str, ...]) -> str:
    return f"failed before the loop and still red: {_list(list(keys[:MAX_SHOWN]), len(keys))}"


def _only_still_red(
    criterion: Criterion, baseline: dict[str, Verdict], now: dict[str, Verdict], sentences: list[str]
) -> bool:
    """Is each of these sentences about a check that is red for nothing but what it was red for before?

    Where the task is to make a check green, that is what it asks for.
    """
    if criterion.task_class in MAKE_IT_GREEN:
        return False
    blocking = [gate for gate in criterion.gates if gate.required and gate.name in now]
    blocking = [gate for gate in blocking if blocks(gate, baseline.get(gate.name), now[gate.name])]
    return len(blocking) == len(sentences) and all(
        _is_all_that_is_red(gate, baseline.get(gate.name), now[gate.name]) for gate in blocking
    )


def _is_all_that_is_red(gate: Gate, base: Verdict | None, now: Verdict) -> bool:
    """Is this gate red for nothing but what it was red for before, each by its name?"""
    if base is None or gate.hidden or gate.exit_parts or not (base.per_test and now.per_test):
        return False
    if now.status != "fail" or now.cause or base.status not in ("fail", "flaky"):
        return False
    deleted = bool(now.counts and now.counts.deleted)
    return not (now.new_red_count or now.unseen or deleted) and now.unloaded <= base.unloaded


def ending_of(criterion: Criterion, grade: Grade, final: dict[str, Verdict]) -> tuple[Outcome, str]:
    """The outcome of a published result, and why: green is not enough, the proof must be as asked for."""
    green = all(verdict.status == "pass" for verdict in final.values())
    said = "every check passed on this tree" if green else "what was green before is green on this tree"
    if left := unwaived_red(criterion, final.values()):
        return "unproven", f"nothing got worse, but not everything is green: {still_red_words(left)}"
    if at_least(grade, criterion.min_grade):
        return "verified", said
    asked = f"grade {criterion.min_grade} is required"
    return "unproven", f"{said}, but the proof is only grade {grade}: {asked}"


def guard_words(finding: Finding) -> str:
    """What a guard found, and the way out of it."""
    asked = " (a question)" if finding.asks else ""
    return f"{finding.message}{asked}: {finding.way}" if finding.way else finding.message


def _in_progress(claim: Claim | None) -> tuple[str, ...]:
    if claim is not None and claim.status == "IN_PROGRESS":
        return ("the agent says its work is still in progress",)
    return ()


def _short_of(proof: Proof, criterion: Criterion, claim: Claim | None) -> tuple[str, ...]:
    """What stands between a green tree and the exit."""
    sentences: list[str] = []
    if not at_least(proof.grade, criterion.min_grade):
        why = "; ".join(proof.unproven)
        sentences.append(f"{SHORT_OF}{proof.grade} and {criterion.min_grade} is required: {why}")
    if proof.own:
        sentences += _in_progress(claim)
    elif proof.witness:
        pass
    elif sentences and criterion.task_class in NEEDS_WITNESS and at_least(OWN_WITNESS, criterion.min_grade):
        seen = "no test executes the lines that changed" if proof.idle else "none of them failed before"
        sentences.append(
            f"all checks pass, but {seen}: "
            "write a test for the new behaviour that fails without it; "
            "if no test can show it, change nothing and say COMPLETE again"
        )
    elif not (claim and claim.status == "COMPLETE"):
        sentences.append(
            "all checks pass, but none of them failed before: "
            "write a test for the new behaviour, then say COMPLETE in the status block"
        )
    return tuple(sentences)


def red_sentences(
    criterion: Criterion, baseline: dict[str, Verdict], now: dict[str, Verdict], tolerance: Tolerance = "task"
) -> list[str]:
    """One sentence for each gate that blocks."""
    sentences = []
    for gate in criterion.gates:
        verdict = now.get(gate.name)
        if verdict is None:
            if gate.required:
                sentences.append(f"{gate.name}: not judged on this tree")
        elif gate.required and blocks(gate, baseline.get(gate.name), verdict, tolerance):
            sentences.append(f"{gate.name}: {describe(gate, verdict, baseline.get(gate.name))}")
    return sentences


def _deleted_sentences(criterion: Criterion, now: dict[str, Verdict], told: list[str]) -> list[str]:
    """Deleted tests by name, at once: guards that would say so may not be asked while a check is red."""
    sentences = []
    for gate in criterion.gates:
        verdict = now.get(gate.name)
        gone = verdict.counts.deleted if verdict and verdict.counts else ()
        names = [name for name in gone if not any(name in line for line in told)]
        if names:
            words = _list(names[:MAX_SHOWN], len(names))
            sentences.append(f"{gate.name}: you deleted tests of the base, restore them: {words}")
    return sentences


def blocks(gate: Gate, base: Verdict | None, verdict: Verdict, tolerance: Tolerance = "task") -> bool:
    """Does this verdict stand in the way of the exit?"""
    if verdict.status == "pass":
        return False
    if tolerance == "nothing" or base is None or base.status == "pass":
        return True
    if gate.proof and (tolerance == "task" or (tolerance == "old" and not verdict.per_test)):
        return True
    # Red before this loop and outside the criterion: only what is newly red blocks. What can no
    # longer be judged at all, and could be before, is worse than before.
    unjudged = ("error", "skipped")
    if base.status == "error" and verdict.status == "fail" and verdict.answered and not verdict.per_test:
        return True  # nobody knows what it would have said before: that is no licence to be red now
    return verdict.new_red_count > 0 or (verdict.status in unjudged and base.status not in unjudged)


def describe(gate: Gate, verdict: Verdict, base: Verdict | None = None) -> str:
    """A red verdict in one line: which tests, or why it could not be judged.

    `base` is what the gate said of the base commit: only where that tells what was red there is anything
    called newly red.
    """
    if verdict.status in ("error", "skipped"):
        return f"could not be judged ({verdict.summary or verdict.cause or verdict.status})"
    named = [finding.key for finding in verdict.findings[:MAX_SHOWN]]
    if named == ["exit"]:  # no test and no place has a name: what the check said last says more
        last = one_line(verdict.findings[0].message.rstrip().rpartition("\n")[2], MAX_LAST_WORDS)
        return verdict.summary if last in ("", verdict.summary) else f"{verdict.summary}: {last}"
    if not gate.proof and verdict.new_red and base is not None and _told_apart(base):
        named = list(verdict.new_red[:MAX_SHOWN])
        return f"{verdict.new_red_count} newly red: {_list(named, verdict.new_red_count)}"
    if verdict.red and named:
        seen = verdict.red - verdict.unseen
        gone = f"; of the tests of the base, {verdict.unseen} did not run" if verdict.unseen else ""
        return f"{seen} red: {_list(named, seen)}{gone}"
    return verdict.summary or verdict.status


def _told_apart(base: Verdict) -> bool:
    """Does this verdict on the base tell what was red there and what was not?"""
    return base.status == "pass" or (base.status in ("fail", "flaky") and base.per_test and not base.unloaded)


def _list(named: list[str], total: int) -> str:
    more = total - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
