"""Guard "inventory": every test known at the base is still there and still means what it meant.

Three readings tell: the base, the result as it is, and the overlay (the base's tests over the new
source). A test whose base version passes over the new source may move or be renamed freely. One that was red
and is bent accuses; one that was green may be meant to say something else now, so it asks.
"""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading, TestState
from ralph.core.proof.compare import COLLECT, lacked_network
from ralph.gates.guards._base.asked_for import wants_other_tests
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.questions import gist, join_questions
from ralph.gates.guards._files.removed import removed_on_request
from ralph.gates.guards._tests.moved import find_moves, only_lost
from ralph.gates.guards._watch.attribution import judge_alone_turns

NAME = "inventory"
CALLED = True
KINDS = guard_kinds(NAME, "restore the test, and make the source pass it", {
    "deleted": ("accuses or asks", "a test of the base is gone"),
    "skipped": ("accuses or asks", "a test that ran at the base is skipped now", "remove the skip"),
    "weakened": (
        "accuses or asks", "a changed test passes, but its base version fails on the new source"),
    "fewer": ("asks", "fewer tests ran than at the base (where only counts are known)"),
    "unknown": ("accuses", "a check that listed its tests at the base no longer does",
        "make the check report its tests as it did on the base"),
})  # fmt: skip
_SENTENCES = {
    "deleted": "{id} was there at the base and is gone",
    "skipped": "{id} ran at the base and is skipped now",
    "weakened": "{id} passes as changed, but its version from the base fails on the new source",
}


class _Seen(Struct, frozen=True):
    base: str
    final: str  # "" = not there
    overlay: str | None  # None = no overlay was needed


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    looked = 0
    blind: list[str] = []
    for gate in facts.gates:
        base, final = facts.base.get(gate.name), facts.final.get(gate.name)
        if base is None or final is None:
            continue
        if base.tests:
            looked += len(base.tests)
            findings += _by_id(gate, base, final, facts)
        elif base.counts and final.counts:
            looked += 1
            findings += _by_count(gate, base, final)
        elif final.tests:
            looked += 1  # the base had no tests here: nothing can be missing
        else:
            blind.append(gate.name)
    if not looked:
        names = ", ".join(blind) or "none"
        text = f"the inventory is unknown: no gate tells its tests ({names})"
        return GuardResult(NAME, facts.tree, applied=False, summary=text)
    return guard_result(
        NAME, facts, findings, good="every base test is there", bad="tests of the base are missing or changed"
    )


def _by_count(gate: Gate, base: Reading, final: Reading) -> list[Finding]:
    before = base.counts.passed + base.counts.failed if base.counts else 0
    after = final.counts.passed + final.counts.failed if final.counts else 0
    if after >= before:
        return []
    text = f"{gate.name}: {after} tests ran, {before} did at the base"
    return [Finding(f"inventory.fewer:{gate.name}", text)]


def _by_id(gate: Gate, base: Reading, final: Reading, facts: GuardFacts) -> list[Finding]:
    if final.tests is None:
        if final.status != "pass":
            return []  # the gate itself is red and says why
        text = f"{gate.name}: it listed its tests at the base, and no longer does"
        return [Finding(f"inventory.unknown:{gate.name}", text)]
    over = (facts.tried.overlay or {}).get(gate.name)
    now, then = _view(final), _view(over) if over and over.tests is not None else None
    moved = find_moves(base, final, facts)
    removed = removed_on_request(facts, gate)
    findings = []
    for name, state in sorted((base.tests or {}).items()):
        path = base.files.get(name, "")
        # In an aborted collection the result is red by itself, and its overlay says nothing about the rest.
        shown = _state(name, path, now) or ("fail" if now.broken else "")
        older = _state(name, path, then) if then else None
        if then and older == "" and then.broken and path not in then.broken:
            older = None
        seen = _Seen(state, shown, older)
        what = _judge(seen)
        if what == "deleted" and (moved(name) or (state != "fail" and removed(name))):
            continue
        if what == "weakened" and then and path in then.broken and only_lost(path, facts):
            continue  # the base's file asks for what is gone; this test is the same, and passes
        if what:
            asks = older == "pass" if what == "skipped" else state != "fail" or wants_other_tests(facts.task)
            asks = asks or lacked_network(base, name)
            if what == "weakened":
                asks = asks or not judge_alone_turns(facts, gate.name, name)
            text = _SENTENCES[what].format(id=name) + (gist(over, name) if what == "weakened" else "")
            findings.append(Finding(f"inventory.{what}:{name}", text, path=path, asks=asks))
    return join_questions(findings, base.tests or (), facts)


class _View(Struct, frozen=True):
    tests: dict[str, TestState]
    files: frozenset[str]
    skipped: frozenset[str]  # files skipped as a whole: they stand in the report under their own name
    broken: frozenset[str]  # files that could not be loaded


def _view(reading: Reading) -> _View:
    tests = reading.tests or {}
    whole = (path for name, path in reading.files.items() if tests.get(name) == "skipped" and _is_file(name))
    broken = (f.key.removeprefix(COLLECT) for f in reading.findings if f.key.startswith(COLLECT))
    return _View(tests, frozenset(reading.files.values()), frozenset(whole), frozenset(broken))


def _is_file(name: str) -> bool:
    return name.endswith(".py") and "::" not in name


def _state(name: str, path: str, view: _View) -> str:
    if name in view.tests:
        return view.tests[name]
    if path and _is_file(name):  # skipped as a whole at the base: any test of it is more than that
        return "pass" if path in view.files else ""
    return "skipped" if path in view.skipped else ""


def _judge(seen: _Seen) -> str:
    """What to accuse of: "", deleted, skipped or weakened."""
    if seen.final == "fail":
        return ""  # the result shows it red by itself
    if seen.base == "skipped":
        return "" if seen.final or seen.overlay == "pass" else "deleted"
    if seen.final == "skipped":
        return "skipped"
    if seen.overlay is None:
        return "" if seen.final else "deleted"
    if seen.overlay == "pass":
        return ""
    if not seen.final:
        return "deleted"
    return "skipped" if seen.overlay == "skipped" else "weakened"
