"""Guard "repeat": the final verdict comes out green as often as it was to, each time in a fresh box."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.proof.compare import red_keys
from ralph.core.proof.flaky import flaky_words
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result

NAME = "repeat"
CALLED = True
KINDS = guard_kinds(NAME, "make it come out the same each time", {
    "flaky": ("not yet", "green once and red once on the same tree"),
})  # fmt: skip
MAX_LISTED = 20


def is_repeated(gate: Gate, reading: Reading | None) -> bool:
    """Is this gate judged again? What proves the task, and what runs tests; a linter says the same twice."""
    return gate.required and (gate.proof or (reading is not None and reading.tests is not None))


def check(facts: GuardFacts) -> GuardResult:
    wanted = [gate for gate in facts.gates if is_repeated(gate, facts.final.get(gate.name))]
    again = {gate.name: _count_readings(facts, gate) for gate in wanted}
    findings = [finding for gate in wanted for finding in _flaky(facts, gate)]
    least = min(again.values(), default=1)
    short = [name for name, times in again.items() if times < facts.confirm]
    blind = ""
    if facts.confirm < 2:
        blind = "the final verdict was not repeated (confirm = 1)"
    elif short:
        blind = f"{', '.join(short)}: judged {least} times, not {facts.confirm}"
    result = guard_result(
        NAME,
        facts,
        findings,
        good=f"green {least} times on the same tree",
        bad="not green each time on the same tree",
        blind=blind,
    )
    return GuardResult(
        result.guard,
        result.tree,
        result.applied,
        result.summary,
        result.findings,
        integrity=False,
        counted={"repeats": least},
    )


def _count_readings(facts: GuardFacts, gate: Gate) -> int:
    """The final reading, its repeats, and the overlay: the base's tests over this source are a call too."""
    over = facts.overlay is not None and gate.name in facts.overlay
    return 1 + len(facts.repeats.get(gate.name, ())) + over


def _flaky(facts: GuardFacts, gate: Gate) -> list[Finding]:
    base = facts.base.get(gate.name)
    known = set(base.flaky) if base is not None and not gate.proof else set()
    red: set[str] = set()
    for reading in facts.repeats.get(gate.name, ()):
        final = facts.final.get(gate.name)
        before = red_keys(final, gate.fail_on) if final is not None else frozenset()
        red |= red_keys(reading, gate.fail_on) - before - known
    if red == {"exit"}:
        return [Finding(f"repeat.flaky:{gate.name}", f"{gate.name}: {flaky_words(red)} on the same tree")]
    return [
        Finding(f"repeat.flaky:{key}", f"{gate.name}: {flaky_words((key,))} on the same tree", path="")
        for key in sorted(red - {"exit"})[:MAX_LISTED]
    ]
