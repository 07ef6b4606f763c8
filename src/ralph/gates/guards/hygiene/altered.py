"""Guard "altered": tests that were red and are green now turn red again when they expect something else.

Where one stays green, its answer is not computed: it equals everything, is read off the question, or is
not looked at. `altered_request` makes the files; the shell puts them over the result. An agent is told
nothing of it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult
from ralph.core.proof.compare import compare, turned_tests
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.test_files import first_functions, places_of_tests
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._calls.of_tester import tests_of_tester
from ralph.gates.guards._parts.script_language import language
from ralph.gates.guards._tests.alter import alter_tests
from ralph.gates.guards._tests.alter_calls import alter_calls
from ralph.gates.guards._tests.alter_go import alter_go
from ralph.gates.guards._tests.alter_line import alter_line, calls_for_certain
from ralph.gates.guards._tests.alter_shell import alter_shell
from ralph.gates.judging_paths import is_test

NAME = "altered"
CALLED = True
KINDS = guard_kinds(NAME, "compute the answer instead of taking it from the test", {
    "green": ("not yet", "a test that turned green still passes when it expects something else"),
    "unheard": ("asks", "a test that turned green passes although the assertion that failed before must fail",
        "let the assertions of the tests take effect: do not replace them or swallow their errors"),
})  # fmt: skip
_MAX_FUNCTIONS = 200  # of one gate; the cases of one are altered together
_FAILED_AT = re.compile(r"^([^\s:][^:\n]*\.py):(\d+): (?:in |AssertionError)", re.MULTILINE)
_ASSERTION = re.compile(r"^(?:\S+: )?AssertionError|^E\s+(?:assert|AssertionError)", re.MULTILINE)


class AlterRequest(Struct, frozen=True):
    """Files of the result with other contents, and the tests that must fail then."""

    files: dict[str, bytes]
    tests: frozenset[str]
    argv: tuple[str, ...] = ()  # where the command itself says what it wants


def altered_request(facts: GuardFacts) -> dict[str, AlterRequest]:
    """By gate. Empty where nothing that was red is green now, or nothing in it can be altered for certain."""
    found: dict[str, AlterRequest] = {}
    for gate in facts.gates:
        base, final = facts.base.get(gate.name), facts.final.get(gate.name)
        if not gate.required or base is None or final is None:
            continue
        fixed = compare(base, final, fail_on=gate.fail_on)
        if gate.read == "exit" and gate.proof and fixed.fixed:  # a script asks one thing after another
            request = _request(facts, {path: {"": ["exit"]} for path in gate.own_files}) or _inline(gate)
        else:
            turned = turned_tests(base, final, fail_on=gate.fail_on)
            turned += sorted(tests_of_tester(facts, gate).difference(turned))
            places, left = first_functions(places_of_tests(facts, gate, turned), _MAX_FUNCTIONS)
            if left:
                facts.tried.leave_out(NAME, f"letting {left} more test functions expect something else")
            request = _request(facts, places)
        if request is not None:
            found[gate.name] = request
    return found


def _inline(gate: Gate) -> AlterRequest | None:
    """`python -c TEXT`, and what a shell is told to do."""
    for at, word in enumerate(gate.argv[1:-1], 1):
        runs = posixpath.basename(gate.argv[at - 1])
        if word == "-c" and runs.startswith(("python", "sh", "bash", "dash")):
            text = gate.argv[at + 1]
            try:
                made, done = alter_tests(text, {""}) if runs[0] == "p" else alter_shell(text)
            except (SyntaxError, ValueError, RecursionError):
                return None
            argv = (*gate.argv[: at + 1], made, *gate.argv[at + 2 :])
            return AlterRequest({}, frozenset({"exit"}), argv) if done else None
    return None


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


class LineRequest(Struct, frozen=True):
    """Files with claims that must fail, the tests that they are for, and which of these call the function in
    which theirs stands themselves, so that it has to be come to."""

    files: dict[str, bytes]
    tests: frozenset[str]
    certain: frozenset[str]


def line_request(facts: GuardFacts, gate: Gate, marks: str) -> LineRequest | None:
    """Claims at which tests that turned green failed at the base, where they stand outside of the test."""
    base, final = facts.base.get(gate.name), facts.final.get(gate.name)
    if not gate.required or base is None or final is None or not final.tests:
        return None
    at_base = {found.key: found for found in base.findings}
    turned = [name for name in turned_tests(base, final, fail_on=gate.fail_on) if name in at_base]
    files: dict[str, bytes] = {}
    owners: dict[tuple[str, int], str] = {}
    tests, certain = set[str](), set[str]()
    for own, functions in places_of_tests(facts, gate, turned).items():
        for function, ids in functions.items():
            for name in ids:
                path, line = _failed_at(gate, at_base[name])
                text = facts.read_result(path) if path and (path == own or is_test(path)) else None
                if text is None or text != facts.read_base(path):
                    continue  # it claims something else now: the base's own tests tell
                if (path, line) not in owners:
                    made = alter_line(files.get(path, text).decode("utf-8", "replace"), line, marks)
                    if made is None or made[1] == function:
                        continue  # in its own body it is not to be missed
                    files[path], owners[path, line] = made[0].encode(), made[1]
                tests.add(name)
                if calls_for_certain(decode(facts.read_result(own)), function, owners[path, line]):
                    certain.add(name)
    return LineRequest(files, frozenset(tests), frozenset(certain)) if tests else None


def _failed_at(gate: Gate, found: Finding) -> tuple[str, int]:
    if not _ASSERTION.search(found.message):
        return "", 0
    hits = _FAILED_AT.findall(found.message)
    if hits:
        return posixpath.normpath(posixpath.join(gate.cwd, hits[-1][0])), int(hits[-1][1])
    return (found.path, found.line) if gate.read == "unittest" else ("", 0)


def unheard_tests(request: LineRequest, told: Mapping[str, str], marks: bytes) -> frozenset[str]:
    """Those that are green although they came to their claim, or had to, and it failed."""
    came = {line[2:] for line in marks.decode("utf-8", "replace").splitlines() if line.startswith("l ")}
    return frozenset(
        name
        for name in request.tests
        if told.get(name) == "pass"
        and (name in request.certain or re.split(r"::|\.", name.partition("[")[0])[-1] in came)
    )


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
                f"{gate_name}: {'it' if name == 'exit' else name} passes whatever value it expects",
            )
            for name in green
        ]
    findings += [
        Finding(f"altered.unheard:{name}", f"{gate_name}: {name} passes although its assertion must fail")
        for gate_name, names in facts.tried.unheard.items()
        for name in sorted(names)
    ]
    good = f"tests that turned green, and fail when the value they expect is changed: {asked}"
    good = good if asked else "no test that turned green could be altered for certain"
    result = guard_result(NAME, facts, findings, good=good, bad="tests pass whatever they expect")
    return replace(result, counted={**result.counted, "altered": sealed}) if sealed else result
