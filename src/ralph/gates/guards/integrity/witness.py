"""Guard "witness": new or changed tests that are red on the base source, for a right reason, and green now.

It finds nothing wrong, it measures: without a check of the user's that was red first, this is the proof,
and the grade says so. `witness_request` names the tests that the shell puts over the base source.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import GuardResult, Reading
from ralph.core.proof.compare import COLLECT, compare
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.texts import name_some
from ralph.gates.guards._calls.of_tester import tests_of_tester
from ralph.gates.guards._files.known_tests import changed_tests, runs_doctests, with_tests_of
from ralph.gates.guards._files.overlay import is_judging_path, overlay_request
from ralph.gates.guards.integrity.repeat import is_repeated
from ralph.gates.judging_paths import is_config, is_test

NAME = "witness"
CALLED = True
_DOCUMENT = re.compile(r"\.(?:md|markdown|rst|adoc)$|(?:^|/)(?:LICENSE|AUTHORS|NOTICE|CHANGELOG|README)$")
_TESTS = re.compile(r"\btest(?:s|ing)?\b|\btest_|\bpytest\b", re.IGNORECASE)
_WRONG = re.compile(r"\b(?:SyntaxError|IndentationError|TabError)\b|fixture '[^'\n]*' not found")
_MISSING = re.compile(
    r"cannot import name '(?P<a>\w+)'|No module named '(?P<b>[\w.]+)'"
    r"|(?:module|type object) '[^'\n]*' has no attribute '(?P<c>\w+)'"
    r"|name '(?P<d>\w+)' is not defined|export named '(?P<e>\w+)'"
    r"|Cannot find (?:module|package) '(?P<f>[^'\n]+)'"
    r"|(?P<g>[\w.]+) is not a (?:function|constructor)|ReferenceError: (?P<h>\w+) is not defined"
)


class WitnessRequest(Struct, frozen=True):
    """The base's tree with these paths as in the result, or without them; and which of them are tests."""

    take: tuple[str, ...]
    drop: tuple[str, ...]
    tests: tuple[str, ...]
    edit: dict[str, bytes] = {}  # files of the base that hold the source too, with the result's tests in them


def shown_by_user(gate: Gate, base: Reading | None, final: Reading | None) -> bool:
    """Was this check red before and is green now, by something the agent did not write?

    One that came to no judgement at the base was not red: it may have been killed, or may have hung.
    """
    if not gate.proof or base is None or final is None or base.status != "fail" or final.status != "pass":
        return False
    if final.tests is not None and base.tests is not None:
        return bool(compare(base, final, fail_on=gate.fail_on).witness)
    return True


def needs_witness(facts: GuardFacts) -> bool:
    """Only where the user gave no witness, and more than documents changed; whatever the class is called."""
    if all(_DOCUMENT.search(change.path) and not is_test(change.path) for change in facts.changes):
        return False
    return not any(
        shown_by_user(gate, facts.base.get(gate.name), facts.final.get(gate.name)) for gate in facts.gates
    )


def witness_request(facts: GuardFacts) -> WitnessRequest | None:
    if not needs_witness(facts) and facts.criteria is None:
        return None
    known = set(changed_tests(facts).whole)
    take, drop, tests = [], [], []
    edit: dict[str, bytes] = {}
    for change in facts.changes:
        if change.before in changed_tests(facts).mixed:
            if (made := _with_new_tests(facts, change)) is not None:
                edit[change.before] = made
                tests.append(change.before)
            continue
        if not _is_testing(change, known):
            continue
        if change.status != "D":
            take.append(change.path)
            if change.path in known or (is_test(change.path) and "." in change.path.rsplit("/", 1)[-1]):
                tests.append(change.path)
        if change.status in ("D", "R"):
            drop.append(change.before)
    if not tests:
        return None
    return WitnessRequest(tuple(sorted(take)), tuple(sorted(drop)), tuple(sorted(tests)), edit)


def _with_new_tests(facts: GuardFacts, change: Change) -> bytes | None:
    """The base's version of a file that holds its tests, with those of the result; None = the same."""
    if change.status not in "MR":
        return None
    new, old = facts.read_result(change.path), facts.read_base(change.before)
    made = with_tests_of(change.before, old, new, doctests=runs_doctests(facts, change.before))
    return None if made == old else made


def _is_testing(change: Change, known: set[str]) -> bool:
    if is_config(change.path) and change.path.rsplit("/", 1)[-1] != "conftest.py":
        return False
    return is_judging_path(change.path, known, set()) or is_judging_path(change.before, known, set())


def check(facts: GuardFacts) -> GuardResult:
    if not needs_witness(facts):
        text = "not needed: the task is shown by a check of the user, or only documents changed"
        return GuardResult(NAME, facts.tree, applied=True, summary=text)
    if facts.tried.witness is None:
        text = "no test was added or changed that could show the new behaviour"
        return GuardResult(NAME, facts.tree, applied=True, summary=text)
    alone = {"alone": 1} if _tests_alone_were_asked(facts) else {}
    shown, why_not = witnesses(facts)
    if shown:
        named = name_some(shown)
        text = f"{len(shown)} new or changed tests are red on the base source and green now: {named}"
    else:
        text = f"no new or changed test shows the change: {why_not}"
    counted = {"witness": len(shown), **alone, **_count_sealed(facts, shown)}
    return GuardResult(NAME, facts.tree, applied=True, summary=text, counted=counted)


def _tests_alone_were_asked(facts: GuardFacts) -> bool:
    """Is the task about tests by its first line, and the work as well? Then no new test can show it."""
    about = _TESTS.search(facts.task.strip().partition("\n")[0])
    return about is not None and all(
        (is_test(change.path) and is_test(change.before)) or _DOCUMENT.search(change.path)
        for change in facts.changes
    )


def _count_sealed(facts: GuardFacts, shown: tuple[str, ...]) -> dict[str, int]:
    """Of the witnesses, those in files of the tester; and what else was changed that tests go by.

    Further test files are welcome: what turned green is also called alone, without them. A conftest, a
    helper or a setting is not: it could decide what the tester's tests say.
    """
    if not facts.sealed:
        return {}
    over = overlay_request(facts)
    paths = {*over.restore, *over.drop, *over.edit} if over is not None else set()
    touched = paths - facts.sealed.keys() - set(changed_tests(facts).whole)
    return {"sealed": len(_of_tester(facts, shown)), "touched": len(touched)}


def _of_tester(facts: GuardFacts, names: Iterable[str]) -> tuple[str, ...]:
    own = frozenset[str]().union(*(tests_of_tester(facts, gate) for gate in facts.gates))
    return tuple(name for name in names if name in own)


def witnesses(facts: GuardFacts) -> tuple[tuple[str, ...], str]:
    """Ids (or gates, where ids are not known) that show the change; else why none does."""
    added = added_words(facts)
    shown: list[str] = []
    why = unasked = "no check that proves the task or tells its tests ran them on the base source"
    for gate in facts.gates:
        over, final = (facts.tried.witness or {}).get(gate.name), facts.final.get(gate.name)
        if over is None or final is None or not is_repeated(gate, final):
            continue
        if final.status != "pass" and (final.status != "fail" or final.tests is None):
            continue  # beside old red, which an item of a plan may leave, its green tests still show it
        why = "they are green on the base source too" if why == unasked else why
        if over.status == "pass":
            why = _skipped_words(over, final) or why
            continue
        if over.status == "error" and over.cause in ("timeout", "killed", "memory"):
            why = (
                f"on the base source {gate.name} came to no end ({over.summary}), which may have any reason; "
                "a test with a time limit of its own would be red there"
            )
            continue
        if over.cause == "all-skipped":
            why = _skipped_words(over, final) or why
            continue
        if final.tests is None:
            text = " ".join(finding.message for finding in over.findings)
            if over.status == "fail" and right_reason(text, added):
                shown.append(gate.name)
            else:
                why = "they are red on the base source for another reason than the change"
            continue
        found, wrong = _by_test(facts, over, final, added)
        shown += found
        if not found and (skipped := _skipped_words(over, final)):
            why = skipped
        if wrong and not found:
            why = f"they are red on the base source for another reason than the change ({wrong})"
    # Where the tester's tests show the change, only they are asked what they notice.
    return tuple(sorted(_of_tester(facts, shown) or shown)), "" if shown else why


def _skipped_words(over: Reading, final: Reading) -> str:
    """Tests that are green now and were not executed on the base source; "" = none."""
    names = [
        name
        for name, state in (final.tests or {}).items()
        if state == "pass" and (over.tests or {}).get(name) == "skipped"
    ]
    if not names:
        return ""
    return f"skipped on the base source, so they say nothing about it: {name_some(names)}"


def _by_test(
    facts: GuardFacts, over: Reading, final: Reading, added: frozenset[str]
) -> tuple[list[str], str]:
    assert final.tests is not None
    said = {finding.key: finding.message for finding in over.findings}
    unloaded = {key.removeprefix(COLLECT): text for key, text in said.items() if key.startswith(COLLECT)}
    shown, wrong = [], ""
    for name, state in final.tests.items():
        if state != "pass":
            continue
        text = said.get(name, "") if (over.tests or {}).get(name) == "fail" else None
        if text is None and name not in (over.tests or {}):
            text = next(
                (told for where, told in unloaded.items() if _inside(facts, name, where, final)), None
            )
        if text is None:
            continue
        if right_reason(text, added):
            shown.append(name)
        else:
            wrong = text.strip().splitlines()[-1][:160] if text.strip() else "no reason was given"
    return shown, wrong


def _inside(facts: GuardFacts, name: str, where: str, final: Reading) -> bool:
    """Does this test stand in the file (or dotted module) that could not be loaded?"""
    if name in final.files:
        return final.files[name] == where
    if name.startswith((f"{where}::", f"{where}.", f"{where} > ")):
        return True
    if f"/{where}".endswith(f"/{name.partition(' > ')[0]}"):
        return True  # a runner that names files from the folder it was given: `uvu test` says "lite.js"
    text = facts.read_result(where)  # a runner that tells no files: its title stands in the text
    return text is not None and name.rsplit(" > ", 1)[-1].encode() in text


def right_reason(text: str, added: frozenset[str]) -> bool:
    """An assertion or any behaviour that differs; or a name that is missing because the change adds it."""
    missing = [next(word for word in hit.groups() if word) for hit in _MISSING.finditer(text)]
    if missing:  # looked at first: to JavaScript a missing export is a SyntaxError
        plain = (re.sub(r"\.[cm]?[jt]sx?\Z", "", word) for word in missing)
        return any(re.split(r"[./]", word)[-1] in added for word in plain)
    return not _WRONG.search(text)


def source_changes(facts: GuardFacts, statuses: str = "AMR") -> list[Change]:
    """What the agent changed of the source itself: neither tests nor settings. "D": what it deleted."""
    known = set(changed_tests(facts).whole)
    return [
        change
        for change in facts.changes
        if change.status in statuses
        and not is_judging_path(change.path, known, set())
        and not is_config(change.path)
    ]


def added_words(facts: GuardFacts) -> frozenset[str]:
    """Every word of lines (and file names) that the change adds to the source."""
    words: set[str] = set()
    for change in source_changes(facts):
        new = facts.read_result(change.path) or b""
        old = facts.read_base(change.before) or b"" if change.status != "A" else b""
        before = set(old.splitlines())
        words |= _words(line for line in new.splitlines() if line not in before)
        if change.status in "AR":
            words |= set(re.findall(r"\w+", change.path))
    return frozenset(words)


def _words(lines: Iterable[bytes]) -> set[str]:
    return {word for line in lines for word in re.findall(r"\w+", line.decode("utf-8", "replace"))}
