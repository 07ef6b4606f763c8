"""Guard "altered": tests that were red and are green now turn red again when they expect something else.

Where one stays green, its answer is not computed: it equals everything, is read off the question, or is
not looked at. `altered_request` makes the files; the shell puts them over the result. An agent is told
nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.proof.compare import compare, turned_tests
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.test_files import places_of_tests
from ralph.gates.guards._calls.of_tester import tests_of_tester
from ralph.gates.guards._parts.script_language import language
from ralph.gates.guards._tests.alter import alter_tests
from ralph.gates.guards._tests.alter_calls import alter_calls
from ralph.gates.guards._tests.alter_go import alter_go
from ralph.gates.guards._tests.alter_shell import alter_shell

NAME = "altered"
CALLED = True
KINDS = guard_kinds(NAME, "compute the answer instead of taking it from the test", {
    "green": ("not yet", "a test that turned green stays green when it expects something else"),
})  # fmt: skip
_MAX_TESTS = 20  # tests of one gate


class AlterRequest(Struct, frozen=True):
    """Files of the result with other contents, and the tests that must fail then."""

    files: dict[str, bytes]
    tests: frozenset[str]


def altered_request(facts: GuardFacts) -> dict[str, AlterRequest]:
    """By gate. Empty where nothing that was red is green now, or nothing in it can be altered for certain."""
    found: dict[str, AlterRequest] = {}
    for gate in facts.gates:
        base, final = facts.base.get(gate.name), facts.final.get(gate.name)
        if not gate.required or base is None or final is None:
            continue
        fixed = compare(base, final, fail_on=gate.fail_on)
        if gate.read == "exit" and gate.proof and fixed.fixed:  # a script asks one thing after another
            request = _request(facts, {path: {"": ["exit"]} for path in gate.own_files})
        else:
            turned = turned_tests(base, final, fail_on=gate.fail_on)
            turned += sorted(tests_of_tester(facts, gate).difference(turned))
            request = _request(facts, places_of_tests(facts, gate, turned[:_MAX_TESTS]))
        if request is not None:
            found[gate.name] = request
    return found


def _request(facts: GuardFacts, places: dict[str, dict[str, list[str]]]) -> AlterRequest | None:
    contents: dict[str, bytes] = {}
    tests: set[str] = set()
    for path, functions in places.items():
        try:
            text = (facts.read_result(path) or b"").decode()
            if path.endswith((".py", "_test.go")):
                text, done = (alter_tests if path.endswith(".py") else alter_go)(text, functions)
            elif path.endswith((".sh", ".bash")):
                text, done = alter_shell(text)
            else:
                kind = "rs" if path.endswith(".rs") else "js" if language(path) else ""
                text, done = alter_calls(text, functions, kind) if kind else (text, frozenset())
        except (SyntaxError, ValueError, RecursionError):
            continue
        if done:
            contents[path] = text.encode()
            named = {name for function in done for name in functions[function]}
            # In Go the test tells for its parts, whose own ends say nothing.
            tests |= (
                {re.sub(r"(::[^/]*)/.*", r"\1", one) for one in named} if path.endswith("_test.go") else named
            )
    return AlterRequest(contents, frozenset(tests)) if contents else None


def _answer(told: Mapping[str, str], name: str) -> str:
    """A case with another value has another id (`x[1-3]`): then all cases of its function have to fail."""
    lead = name.partition("[")[0] + "["
    cases = {status for one, status in told.items() if one.startswith(lead)}
    return told.get(name) or next((status for status in ("pass", "fail") if status in cases), "")


def check(facts: GuardFacts) -> GuardResult:
    findings = []
    asked = sealed = 0
    of_tester = {gate.name: tests_of_tester(facts, gate) for gate in facts.gates}
    for gate_name, (request, reading) in facts.tried.altered.items():
        asked += len(request)
        told: Mapping[str, str] = reading.tests or {"exit": reading.status}
        turned = {name for name in request if _answer(told, name) == "fail"}
        sealed += len(turned & of_tester.get(gate_name, frozenset()))  # what did not run shows nothing
        green = sorted(name for name in request if _answer(told, name) == "pass")
        findings += [
            Finding(
                f"altered.green:{gate_name if name == 'exit' else name}",
                f"{gate_name}: {'it' if name == 'exit' else name} is green whatever value it expects",
            )
            for name in green
        ]
    good = f"{asked} tests that turned green are red when they expect something else"
    good = good if asked else "no test that turned green could be altered for certain"
    result = guard_result(NAME, facts, findings, good=good, bad="tests are green whatever they expect")
    return replace(result, counted={**result.counted, "altered": sealed}) if sealed else result
