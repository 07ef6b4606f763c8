"""A grade in words: what was seen that makes the proof as strong as it is, for the last card of a loop."""

from __future__ import annotations

from ralph.app.words.format import plural
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import GuardResult
from ralph.core.proof.grade import unwaived_red

_UNTOUCHED = "no test and no test config changed"  # how the guard "base_tests" begins then


def grade_words(loop: Loop) -> str:
    """Such as: red before, green three times, tests untouched."""
    guards = {one.guard: one for one in loop.proof.guards} if _is_of_tree(loop) else {}
    if loop.grade in ("C", "D"):
        left = unwaived_red(loop.sealed.criterion, loop.proof.finals.values())
        return f"{_not_worse(loop)}; {f'{len(left)} still red' if left else 'no check was red before'}"
    parts = ["red before"] if _users_witness(loop) else ["new tests fail on the old code"]
    times = _repeats(guards)
    parts.append(f"green {times}\N{MULTIPLICATION SIGN}" if times > 1 else "green")
    if "base_tests" in guards:
        same = guards["base_tests"].summary.startswith(_UNTOUCHED)
        parts.append("tests untouched" if same else "the old tests still hold")
    return ", ".join(parts)


def coverage_words(loop: Loop) -> str:
    """How many of the changed lines tests execute; "" where that was not asked."""
    found = [one for one in loop.proof.guards if one.guard == "diff_coverage"] if _is_of_tree(loop) else []
    if not found:
        return ""
    changed, executed = (found[0].counted.get(name, 0) for name in ("changed_lines", "executed_lines"))
    if changed and changed == executed and not found[0].counted.get("unwatched"):
        return "all changed lines are executed by tests"
    return found[0].summary


def _is_of_tree(loop: Loop) -> bool:
    return loop.proof.guards_tree == loop.work.tree


def _users_witness(loop: Loop) -> bool:
    """Was a check red before that is green now and is not the agent's own?"""
    base = loop.proof.baseline
    red = [one for one in loop.sealed.criterion.proof if one.name in base and base[one.name].status != "pass"]
    return bool(red) and not any("the agent's own" in text for text in loop.proof.unproven)


def _repeats(guards: dict[str, GuardResult]) -> int:
    return guards["repeat"].counted.get("repeats", 1) if "repeat" in guards else 1


def _not_worse(loop: Loop) -> str:
    counts = [one.counts for one in loop.newest_verdicts.values() if one.counts is not None]
    passed = sum(one.passed for one in counts)
    return f"nothing regressed ({plural(passed, 'test')})" if passed else "nothing regressed"
