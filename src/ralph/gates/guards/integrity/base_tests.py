"""Guard "base_tests": the base's tests and configs, run over the new source, agree with the result."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.proof.compare import compare, red_keys
from ralph.gates.guards._base.facts import GuardFacts

NAME = "base_tests"
_MAX_SHOWN = 5
_EMPTY = ("no-tests", "all-skipped")


def check(facts: GuardFacts) -> GuardResult:
    if facts.overlay is None:
        text = "no test and no test config changed: the final verdict is that of the base's tests"
        return GuardResult(NAME, facts.tree, applied=True, summary=text)
    findings = []
    judged = 0
    for gate in facts.gates:
        if not gate.required:
            continue
        over = facts.overlay.get(gate.name)
        if over is None:
            text = f"{gate.name}: the base's tests were not run over the new source"
            findings.append(Finding(f"base_tests.missing:{gate.name}", text))
            continue
        judged += 1
        red = _red(gate, facts.base.get(gate.name), over, facts.final.get(gate.name))
        if red:
            findings.append(Finding(f"base_tests.red:{gate.name}", f"{gate.name}: {red}"))
    good = f"the base's tests and configs agree over the new source ({judged} gates)"
    bad = "the base's tests and configs do not agree with the result"
    return GuardResult(
        NAME, facts.tree, applied=True, summary=bad if findings else good, findings=tuple(findings)
    )


def _red(gate: Gate, base: Reading | None, over: Reading, final: Reading | None) -> str:
    """Why the overlay speaks against the result; "" when it does not."""
    if over.status == "pass":
        return ""
    if base is not None and base.cause in _EMPTY and over.cause in _EMPTY:
        return ""  # the base has no tests of its own here, so there is nothing to hold against the result
    if gate.proof:
        # Red before and in the result itself: nothing that anybody hides, and an item of a plan may leave it.
        old = red_keys(base, gate.fail_on) if base is not None else frozenset()
        open_ = old & red_keys(final, gate.fail_on) if final is not None else frozenset()
        keys = sorted(red_keys(over, gate.fail_on) - open_)
    else:
        keys = list(compare(base, over, fail_on=gate.fail_on).new_red)
        if over.status == "error" and base is not None and base.status != "error" and not keys:
            keys = ["exit"]
    if not keys:
        return ""
    if keys == ["exit"]:
        return f"red with the base's tests and configs over the new source ({over.summary})"
    more = f" and {len(keys) - _MAX_SHOWN} more" if len(keys) > _MAX_SHOWN else ""
    return f"red with the base's tests and configs over the new source: {', '.join(keys[:_MAX_SHOWN])}{more}"
