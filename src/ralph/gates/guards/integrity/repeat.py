"""Guard "repeat": the final verdict comes out green as often as it was to, each time in a fresh box."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.proof.compare import red_keys
from ralph.core.proof.flaky import flaky_words
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import name_some
from ralph.gates.guards._calls.again import (
    NOT_IMITATED,
    find_lucky,
    find_runner_bound,
    find_unlike,
)
from ralph.gates.guards._calls.noted import find_noted

NAME = "repeat"
CALLED = True
KINDS = guard_kinds(NAME, "make the result the same each time", {
    "flaky": ("not yet", "a check passes once and fails once on the same tree"),
    "alone": ("asks", "a test that turned green fails whenever it runs alone",
        "make the test pass by itself, whatever ran before it"),
    "likeness": ("asks", "a test passes in Ralph's sandbox and fails in one that looks like your own clone",
        "make the result independent of where it runs"),
    "plain": ("asks", "a test passes under its runner and fails when an ordinary program calls it",
        "make the code do the same whether or not it is being tested"),
    "unended": ("asks", "a test is reported as passed, but never reached its end",
        "let each test run to its end, and let the runner report what happened"),
    "noted": ("asks", "a test passes, and fails when it records its own end",
        "make the result independent of the text of the tests"),
    "language": ("asks",
        "the change replaces parts of the language, libraries or tests while a test runs",
        "do not replace functions or settings of the language, of libraries or of the tests"),
})  # fmt: skip
MAX_LISTED = 20
ONCE = (
    "confirm = 1: the final verdict was not repeated or tried for turning red, and nobody watched what judges"
)


def is_repeated(gate: Gate, reading: Reading | None) -> bool:
    """Is this gate judged again? What proves the task, and what runs tests; a linter says the same twice."""
    return gate.required and (gate.proof or (reading is not None and reading.tests is not None))


def check(facts: GuardFacts) -> GuardResult:
    wanted = [gate for gate in facts.gates if is_repeated(gate, facts.final.get(gate.name))]
    again = {gate.name: _count_readings(facts, gate) for gate in wanted}
    findings = [
        finding
        for gate in wanted
        for look in (_flaky, find_lucky, find_unlike, find_runner_bound, find_noted)
        for finding in look(facts, gate)
    ]
    least = min(again.values(), default=1)
    short = [name for name, times in again.items() if times < facts.confirm]
    blind = []
    if facts.confirm < 2:
        blind.append(ONCE)
    elif short:
        blind.append(f"{', '.join(short)}: judged {least} times, not {facts.confirm}")
    if forgiven := _forgiven(facts, wanted):
        blind.append(f"flaky on the base too, so forgiven here: {name_some(forgiven)}")
    if uncalled := sorted(set().union(*facts.tried.uncalled.values())):
        blind.append(f"could not be called outside its runner: {name_some(uncalled)}")
    result = guard_result(
        NAME,
        facts,
        findings,
        good=f"green {least} times on the same tree{_more_words(facts)}",
        bad="not green each time on the same tree",
        blind="; ".join(blind),
    )
    return replace(result, integrity=False, counted={"repeats": least})


def _more_words(facts: GuardFacts) -> str:
    alone = min((len(readings) for readings in facts.tried.alone.values()), default=0)
    words = f", and what turned green {alone} times more by itself" if alone else ""
    bare = "" if all(seen.linked for seen in facts.tried.likeness.values()) else "network interfaces, "
    like = f"; once in an imitation of your own clone (not imitated: {bare}{NOT_IMITATED})"
    bound = sorted(frozenset().union(*facts.tried.bound.values()))
    inside = f"; not called outside its runner: {name_some(bound)}" if bound else ""
    return words + (like if facts.tried.likeness else "") + inside


def _count_readings(facts: GuardFacts, gate: Gate) -> int:
    """The final reading, its repeats, and the overlay: the base's tests over this source are a call too."""
    over = facts.tried.overlay is not None and gate.name in facts.tried.overlay
    return 1 + len(facts.tried.repeats.get(gate.name, ())) + over


def _forgiven(facts: GuardFacts, gates: list[Gate]) -> list[str]:
    """Tests whose failures were put down to the base: green readings that are flaky all the same."""
    found: set[str] = set()
    for gate in gates:
        readings = [*facts.tried.repeats.get(gate.name, ()), facts.final.get(gate.name)]
        readings.append((facts.tried.overlay or {}).get(gate.name))
        found.update(*(one.flaky for one in readings if one is not None and one.status == "pass"))
    return sorted(found)


def _flaky(facts: GuardFacts, gate: Gate) -> list[Finding]:
    base = facts.base.get(gate.name)
    known = set(base.flaky) if base is not None and not gate.proof else set()
    red: set[str] = set()
    for reading in facts.tried.repeats.get(gate.name, ()):
        final = facts.final.get(gate.name)
        before = red_keys(final, gate.fail_on) if final is not None else frozenset()
        red |= red_keys(reading, gate.fail_on) - before - known
    if red == {"exit"}:
        return [Finding(f"repeat.flaky:{gate.name}", f"{gate.name}: {flaky_words(red)} on the same tree")]
    return [
        Finding(f"repeat.flaky:{key}", f"{gate.name}: {flaky_words((key,))} on the same tree", path="")
        for key in sorted(red - {"exit"})[:MAX_LISTED]
    ]
