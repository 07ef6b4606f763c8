"""Guard "base_tests": the base's tests and configs, run over the new source, agree with the result.

What was red at the base and is green only without them accuses. What was green asks: the change may be meant
to make it otherwise, and nobody can see that from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.proof.compare import COLLECT, compare, lacked_network, red_keys
from ralph.core.toolchains.load import toolchains
from ralph.gates.guards._base.asked_for import names_path, wants_other_tests
from ralph.gates.guards._base.facts import NO_TESTS, GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.questions import gist, join_questions
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._files.behind_command import files_behind_gates, text_behind
from ralph.gates.guards._files.overlay import overlay_request
from ralph.gates.guards._files.removed import removed_on_request
from ralph.gates.guards._tests.moved import only_lost
from ralph.gates.guards._watch.attribution import find_misread, find_softened, judge_alone_turns, not_told
from ralph.gates.judging_paths import is_config, is_test

NAME = "base_tests"
CALLED = True
KINDS = guard_kinds(NAME, "change the source so that it passes the base's own tests and settings", {
    "red": ("accuses or asks", "a check fails on the new source when it uses the base's tests and settings"),
    "missing": ("accuses", "the base's tests were not run over the new source",
        "make the check run as it did on the base"),
    "softened": ("asks", "the change to a check's own files alone makes it pass, without the work",
        "restore them, or make them check at least as much as before"),
    "unread": ("asks", "tests no longer read a file that they compared with at the base",
        "let the tests read what they read at the base"),
    "still_red": ("asks", "what failed before the loop still fails, and the agent says that it is done",
        "make it pass, or narrow the check to what the task is about"),
    "looked_up": ("asks", "the product names a file that only the checks use, and may read its answers there",
        "compute the answers; keep data that the product needs apart from that of the tests"),
})  # fmt: skip
_COVERAGE = re.compile(r"\b(?:cov|coverage|coveragerc|nyc|c8)\b|\bcoverage\w*[tT]hreshold")
_TOO_LOW = re.compile(
    r"required (?:test )?coverage of|coverage failure|fail[-_ ]under|\bcoverage\b.*\bthreshold", re.IGNORECASE
)
_LAST = re.compile(r"\b\d+ passed\b")
_STILL = re.compile(r"#|set\s|export\s|cd\s|[\w./ -]+:(?!\S)|\.\w+|[\w-]+\s*[:?+]?=|\[|[{}\"]")


def check(facts: GuardFacts) -> GuardResult:
    findings = find_misread(facts) + find_softened(facts)
    if facts.tried.overlay is None:
        text = "no test and no test config changed: the final verdict is that of the base's tests"
        bad = "files that tests compare with are not used as at the base"
        return guard_result(NAME, facts, findings, good=text, bad=bad, blind=not_told(facts))
    judged = 0
    for gate in facts.gates:
        if not gate.required:
            continue
        over = facts.tried.overlay.get(gate.name)
        if over is None:
            text = f"{gate.name}: the base's tests were not run over the new source"
            findings.append(Finding(f"base_tests.missing:{gate.name}", text))
            continue
        judged += 1
        findings += _findings(facts, gate, over)
    text = f"the base's tests and settings pass on the new source ({judged} gates)"
    bad = "the base's tests and settings do not agree with the result"
    return guard_result(NAME, facts, findings, good=text, bad=bad, blind=not_told(facts))


def _findings(facts: GuardFacts, gate: Gate, over: Reading) -> list[Finding]:
    base = facts.base.get(gate.name)
    keys = _red(gate, base, over, facts.final.get(gate.name))
    if keys and _only_coverage(facts, gate, over):
        return []
    removed = removed_on_request(facts, gate)
    found = []
    for key in keys:
        if key == "exit":
            text = f"fails on the new source with the base's tests and settings ({over.summary})"
            asks = not _was_red(key, base, gate) or wants_other_tests(facts.task) or _no_verdict(base, over)
            asks = asks or _only_named_files(facts) or not judge_alone_turns(facts, gate.name, key)
            found.append(Finding(f"base_tests.red:{gate.name}", f"{gate.name}: {text}", asks=asks))
            continue
        if base is not None and _goes_with_product(key, base, facts, gate, removed):
            continue
        subject = key.removeprefix(COLLECT)
        whole = f"base_tests.red:{gate.name}"  # as one was waived before tests were named here
        text = f"{gate.name}: {subject} fails on the new source with the base's tests and settings"
        text += gist(over, key)
        asks = not _was_red(key, base, gate) or wants_other_tests(facts.task)
        asks = asks or not judge_alone_turns(facts, gate.name, key)
        name = whole if whole in facts.waivers else f"base_tests.red:{subject}"
        found.append(Finding(name, text, path=over.files.get(key, ""), asks=asks))
    return join_questions(found, (base.tests if base is not None else None) or (), facts)


def _red(gate: Gate, base: Reading | None, over: Reading, final: Reading | None) -> list[str]:
    """What the overlay holds against the result."""
    if over.status == "pass":
        return []
    if base is not None and base.cause in NO_TESTS and over.cause in NO_TESTS:
        return []  # the base has no tests of its own here, so there is nothing to hold against the result
    if gate.proof:
        # Red before and in the result itself: nothing that anybody hides, and an item of a plan may leave it.
        old = red_keys(base, gate.fail_on) if base is not None else frozenset()
        open_ = old & red_keys(final, gate.fail_on) if final is not None else frozenset()
        return sorted(red_keys(over, gate.fail_on) - open_)
    keys = list(compare(base, over, fail_on=gate.fail_on).new_red)
    if over.status == "error" and base is not None and base.status != "error" and not keys:
        return ["exit"]
    return keys


def _was_red(key: str, base: Reading | None, gate: Gate) -> bool:
    """Was it red before, or is it a file of which something was, and not for want of the network?"""
    if base is None:
        return True
    where, red = key.removeprefix(COLLECT), red_keys(base, gate.fail_on)
    return any((one == key or base.files.get(one) == where) and not lacked_network(base, one) for one in red)


def _no_verdict(base: Reading | None, over: Reading) -> bool:
    """Did the base come to no judgement either, for the same reason? Then nothing that was red was bent."""
    return base is not None and base.status == over.status == "error" and base.cause == over.cause


def _only_named_files(facts: GuardFacts) -> bool:
    """Did no file that judges change but those that the task names? A Makefile also makes the product."""
    over = overlay_request(facts)
    paths = {*over.restore, *over.drop, *over.edit} if over is not None else set()
    return bool(paths) and all(names_path(facts.task, path) and not is_test(path) for path in paths)


def _goes_with_product(
    key: str, base: Reading, facts: GuardFacts, gate: Gate, removed: Callable[[str], bool]
) -> bool:
    """A test of what the task wants taken away, or a file whose other tests stand in the result unchanged."""
    final = facts.final.get(gate.name)
    passing = {name for name, state in (final.tests or {}).items() if state == "pass"} if final else set()
    where = key.removeprefix(COLLECT)
    if not key.startswith(COLLECT):
        return (
            base.tests is not None and base.tests.get(key) == "pass" and key not in passing and removed(key)
        )
    tests = {name: state for name, state in (base.tests or {}).items() if base.files.get(name) == where}
    kept = only_lost(where, facts)
    return bool(tests) and all(
        (kept and name in passing) or (state == "pass" and removed(name)) for name, state in tests.items()
    )


def _says_too_low(over: Reading, said: str) -> bool:
    """Does coverage itself say so? Python's runner says it before its last line; what code prints at its end
    comes after that."""
    lines = [line for line in said.strip().splitlines() if line.strip()]
    if any(path.endswith(".py") for path in over.files.values()):
        before, last = "\n".join(lines[:-1]), lines[-1] if lines else ""
        return _LAST.search(last) is not None and _TOO_LOW.search(before) is not None
    return bool(_TOO_LOW.search(said))


def _has_several_commands(text: str) -> bool:
    """Lines of a script or recipe that execute something: the exit code may be any one's."""
    lines = (line.strip().lstrip("@-+") for line in text.splitlines())
    acting = [line for line in lines if line and not _STILL.match(line)]
    return len(acting) > 1


def _only_coverage(facts: GuardFacts, gate: Gate, over: Reading) -> bool:
    """Without the new tests too little is covered: that is what they were written for.

    Not where settings changed with them: those say what is measured.
    """
    red, base = red_keys(over, gate.fail_on), facts.base.get(gate.name)
    if over.status != "fail" or red != ({"coverage.total"} if gate.read == "coverage" else {"exit"}):
        return False
    if gate.read != "coverage":
        said = [
            text_behind(gate, facts.read_base),
            *(decode(facts.read_base(path)) for path in toolchains().paths.settings),
        ]
        green = [name for name, state in (base.tests or {}).items() if state == "pass"] if base else []
        seen = over.tests or {}
        if (
            not seen
            or any(seen.get(name) != "pass" for name in green)
            or not any(_COVERAGE.search(one) for one in said)
            or not any(_says_too_low(over, one.message) for one in over.findings if one.key == "exit")
            or any(sign in said[0] for sign in ("&&", "||", ";"))  # the exit code may be another command's
            or _has_several_commands(said[0].removeprefix(gate.run))
        ):
            return False
    request = overlay_request(facts)
    touched = {*request.restore, *request.drop} if request is not None else set()
    return not any(is_config(path) or path in files_behind_gates(facts) for path in touched)
