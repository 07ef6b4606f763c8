"""How strong a proof is: A to D, and in words what it leaves open.

The table is design section 7. This module compares what was red at the base with what is green now;
whether the result is verified at all is `exit_gate`'s question.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from ralph.core.model.gate import STILL_RED, Criterion, Gate, Grade
from ralph.core.model.verdict import GuardResult, Verdict
from ralph.core.text.waiver_name import waiver_name

# At these levels the judged tree stands at the user's own path, so the files that were loaded are known.
BOXED = frozenset({"S2", "S3"})
_MEASURES = frozenset({"witness", "sabotage"})


OWN_WITNESS: Grade = "B"  # as good as it gets when the witness is the agent's own test


class TesterWord(Struct, frozen=True):
    """What is known of a tester whose tests were to be the witness."""

    sealed: bool  # they were red on the base, before any work, and are part of the judgement
    doubt: str = ""  # why they count no more than the agent's own


class Proof(Struct, frozen=True):
    grade: Grade
    witness: bool  # something the agent did not write was red and is green
    own: bool  # the agent's own tests were red on the base source, are green, and notice sabotage
    unproven: tuple[str, ...]
    idle: bool = False  # those tests execute nothing of the change, so they are no witness


def at_least(grade: Grade, minimum: Grade) -> bool:
    return grade <= minimum  # "A" sorts before "D"


def _witness(base: Verdict | None, now: Verdict) -> Literal["none", "exit", "test"]:
    """Is there a witness that the agent did not write, and was it read per test or by exit code?"""
    if base is None or base.status not in ("fail", "error") or now.status != "pass":
        return "none"
    if base.cause in ("no-tests", "all-skipped"):  # whatever is green now, the agent brought it
        return "none"
    if now.per_test and now.witness_count > 0:
        return "test"
    # It came to no judgement: what it would have said is open. Old records keep the grade that they have.
    if base.status == "error" and now.answered is not None:
        return "none"
    return "none" if now.per_test and base.per_test else "exit"


def prove(
    criterion: Criterion,
    baseline: dict[str, Verdict],
    now: dict[str, Verdict],
    guards: tuple[GuardResult, ...],
    protection: str,
    generated: tuple[str, ...] = (),
    tester: TesterWord | None = None,
) -> Proof:
    """Grade a result whose proof gates are green; the caller has seen to that."""
    open_points: list[str] = []
    seen = [(gate, _witness(baseline.get(gate.name), now[gate.name])) for gate in criterion.proof]
    witnesses = [gate for gate, kind in seen if kind != "none"]
    by_exit = [gate.name for gate, kind in seen if kind == "exit"]
    own, idle = _own(guards), _idle(guards)
    doubt = _tester_doubt(guards, tester)
    of_tester = bool(own) and not idle and doubt == "" and not witnesses
    grade: Grade
    if witnesses or of_tester:
        grade = "A"
        if by_exit:
            grade = "B"
            open_points.append(f"{_names(by_exit)}: read by exit code only, not per test")
        partly = [gate.name for gate in witnesses if gate.exit_parts]
        if partly:
            grade = "B"
            open_points.append(f"{_names(partly)}: parts of the command are read by exit code only")
        if weaker := _weaker(guards, protection):
            grade = "B"
            open_points += weaker
    elif own and not idle:
        grade = OWN_WITNESS
        open_points.append(f"the witness is the agent's own: {own}")
        open_points += [f"the tester's tests do not raise the grade: {doubt}"] if doubt else []
        open_points += [result.summary for result in guards if not result.applied]
    else:
        known = any(now[gate.name].per_test for gate in criterion.gates if gate.name in now)
        grade = "C" if known else "D"
        nothing = "no check that failed before passes now: this shows only that nothing got worse"
        open_points.append(idle if own else nothing)
        open_points += _without_judgement(criterion.proof, baseline)
        open_points += [result.summary for result in guards if result.guard in _MEASURES and result.counted]
        if not known:
            open_points.append("checks read by exit code only: which tests exist is unknown")
    open_points += _old_red(criterion.gates, baseline, now)
    open_points += [f"waived: {key} ({reason})" for key, reason in sorted(criterion.exceptions.items())]
    open_points += [f"in quarantine: {key} ({why})" for key, why in sorted(criterion.quarantine.items())]
    if generated:  # what they are made from is known for some kinds of file only
        open_points.append(
            f"{_names(list(dict.fromkeys(generated)))}: taken from your checkout, not built from this tree"
        )
    return Proof(
        grade=_lower_grade(grade, criterion, now, generated),
        witness=bool(witnesses) or of_tester,
        own=bool(own) and not witnesses and not idle and not of_tester,
        unproven=tuple(open_points),
        idle=bool(own and idle) and not witnesses,
    )


def may_stay_red(criterion: Criterion, key: str) -> bool:
    """By a user's word, because it was red before the loop?"""
    allowed = {waiver_name(name) for name in criterion.exceptions}
    return STILL_RED in allowed or waiver_name(f"{STILL_RED}:{key}") in allowed


def unwaived_red(criterion: Criterion, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """What was red before the loop and was left out of these verdicts without a user's word."""
    return tuple(key for one in verdicts for key in one.still_red if not may_stay_red(criterion, key))


def _lower_grade(
    grade: Grade, criterion: Criterion, now: dict[str, Verdict], generated: tuple[str, ...]
) -> Grade:
    """By what was left out of the judgement, whatever else is shown."""
    if unwaived_red(criterion, now.values()):
        return max(grade, "C")  # not everything that was asked for is green
    return max(grade, "B") if criterion.exceptions or criterion.quarantine or generated else grade


def _weaker(guards: tuple[GuardResult, ...], protection: str) -> list[str]:
    """What keeps a witness from an A, whoever wrote it."""
    found = [result.summary for result in guards if not result.applied]
    if protection not in BOXED:
        found.append(f"sandbox {protection or 'S0'}: which files the checks loaded is not proven")
    return found


def _without_judgement(proof: tuple[Gate, ...], baseline: dict[str, Verdict]) -> list[str]:
    """Checks that came to no judgement at the base: their turning green shows nothing."""
    found = []
    for gate in proof:
        base = baseline.get(gate.name)
        if base is None or base.status != "error" or base.cause in ("no-tests", "all-skipped"):
            continue
        said = base.summary or base.cause or base.status
        words = f"{gate.name} gave no result on the base ({said}), so passing now proves nothing"
        hint = "; to count a hang as a failure, give the check its own time limit, such as `timeout 60 …`"
        found.append(words + hint if base.cause == "timeout" else words)
    return found


def _own(guards: tuple[GuardResult, ...]) -> str:
    """How the agent's own tests show the change, in words; "" when they do not."""
    counted = {name: number for result in guards for name, number in result.counted.items()}
    if not counted.get("witness") or not counted.get("noticed"):
        return ""
    said = f"{counted['noticed']} of {counted.get('sabotaged', 0)} sabotages were noticed"
    tests = "1 test" if counted["witness"] == 1 else f"{counted['witness']} tests"
    return f"{tests} red on the base source and green now, {said}"


def _tester_doubt(guards: tuple[GuardResult, ...], tester: TesterWord | None) -> str | None:
    """Why the tester's tests are no better than the agent's own; "" = they are, None = there is no tester."""
    if tester is None:
        return None
    counted = {name: number for result in guards for name, number in result.counted.items()}
    if tester.doubt or not tester.sealed:
        return tester.doubt or None
    if counted.get("touched"):
        return f"{counted['touched']} files beside them that tests go by were changed with the work"
    if not counted.get("sealed"):
        return "none of them was red on the base source and is green now"
    if not counted.get("altered"):
        return "in none of them could the expected value be changed, to see whether it counts"
    return ""


def _idle(guards: tuple[GuardResult, ...]) -> str:
    """Does no test execute even one changed line? In words; "" when one does, or when that is not known.

    Such a test reads the source as text, or looks at something else that differs.
    """
    counted = {name: number for result in guards for name, number in result.counted.items()}
    changed = counted.get("changed_lines", 0)
    if not changed or counted.get("executed_lines") or counted.get("unwatched"):
        return ""
    return f"the agent's own tests execute none of the {changed} changed lines, so they show nothing of them"


def _old_red(gates: tuple[Gate, ...], baseline: dict[str, Verdict], now: dict[str, Verdict]) -> list[str]:
    """Red from before this loop that may stay, or the caller would not ask: named, never blocking."""
    found = []
    for gate in gates:
        verdict = now.get(gate.name)
        if verdict is None or verdict.status == "pass" or gate.name not in baseline:
            continue
        found.append(
            f"{gate.name} was red before this loop and still is ({verdict.summary or verdict.status})"
        )
    return found


def _names(names: list[str]) -> str:
    return ", ".join(names)
