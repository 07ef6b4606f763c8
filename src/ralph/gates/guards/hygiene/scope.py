"""Guard "scope": what a checker looked at, at the base, it still looks at.

A linter that is green because it no longer reads the file shows nothing. Findings are planted into every
definition, at the base first: those that are reported there must be reported on the result, wherever the
definition stands by now. What was deleted is not asked for, unless it lives on as text, or stood where the
checker had found something: code that goes has no findings either. A checker that is read by its exit code
is only asked whether findings in what changed, and in what it named, still make it red.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import maxsize

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.toolchains.kinds import gate_kind
from ralph.gates.guards._base.asked_for import wants_removal
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import decode, name_some
from ralph.gates.guards._breaks.plant_finding import (
    LAST,
    PlantedFile,
    definitions,
    plant_findings,
    plant_uncalled,
)
from ralph.gates.judging_paths import is_config, is_test
from ralph.gates.readers import locates_findings
from ralph.gates.readers.findings.coverage_report import MAX_SHOWN_FILES

NAME = "scope"
CALLED = True
KINDS = guard_kinds(NAME, "let the checker look at that code as before, and fix what it reports", {
    "shrunk": ("asks", "a checker no longer looks at code that it looked at before"),
    "gone": ("asks", "code in which a checker had found something was removed, and the task does not say so",
        "keep what the code does, and fix what the checker reports"),
})  # fmt: skip
MAX_FILES = 60
_MAX_SHOWN = 3
_CUT = {"coverage": MAX_SHOWN_FILES, "golangci": 50}  # no more findings than that are told
_Seen = dict[tuple[str, str], set[str]]  # file and definition -> rules that were reported there


class ScopeRequest(Struct, frozen=True):
    """Files with findings in them, over the base and over the result."""

    base: dict[str, PlantedFile]
    result: dict[str, PlantedFile]
    left: int = 0  # files of the base for which there was no room


def scope_request(facts: GuardFacts, gate: Gate) -> ScopeRequest | None:
    """None: this gate is no checker, or nothing that it could look at changed."""
    final = facts.final.get(gate.name)
    if not gate.required or final is None or final.status != "pass" or not _is_checker(gate):
        return None
    if not facts.changes or not facts.base_paths:
        return None
    if gate.read == "exit":
        return _request_by_exit(facts, gate)
    before = {change.before: change.path for change in facts.changes if change.status != "A"}
    after = {change.path for change in facts.changes if change.status != "D"}
    gone = {change.path for change in facts.changes if change.status == "D"}
    first = {finding.path for finding in _findings(facts.base.get(gate.name))} | before.keys()
    ranked = sorted(facts.base_paths, key=lambda path: (path not in first, is_test(path), path))
    base = _plant(gate, ranked, facts.read_base)
    kept = [before.get(path, path) for path in base if path not in gone]
    result = _plant(gate, [*sorted(after), *kept], facts.read_result)
    endings = tuple({f".{path.rsplit('.', 1)[-1]}" for path in base})
    more = sum(path.endswith(endings) for path in ranked) if len(base) == MAX_FILES else 0
    return ScopeRequest(base, result, max(0, more - MAX_FILES)) if base and result else None


def _request_by_exit(facts: GuardFacts, gate: Gate) -> ScopeRequest | None:
    """The result, and the base with the work in it but not its settings, both with findings."""
    words = " ".join(finding.message for finding in _findings(facts.base.get(gate.name)))
    said = set(re.findall(r"[\w.@+/-]*[\w@+]", words.replace("./", "")))
    named = sorted(said & facts.base_paths)
    now = {change.before: change for change in facts.changes if change.status != "A"}
    unchanged = [path for path in named if path not in now]
    changed = [change for change in facts.changes if change.status != "D"]
    result = _plant(gate, [*(change.path for change in changed), *unchanged], facts.read_result)
    base = {path: result[path] for path in unchanged if path in result}
    for change in changed:
        planted, content = result.get(change.path), facts.read_result(change.path)
        if planted is not None or (change.status != "A" and not is_config(change.before)):
            base[change.before or change.path] = planted or PlantedFile(content or b"", {})
    return ScopeRequest(base, result) if result else None


def _is_checker(gate: Gate) -> bool:
    if gate.read == "exit":
        return gate_kind(gate.name, gate.run) in ("lint", "types")
    return locates_findings(gate.read) or gate.read == "coverage"


def _plant(gate: Gate, paths: list[str], read: Callable[[str], bytes | None]) -> dict[str, PlantedFile]:
    plant = plant_uncalled if gate.read == "coverage" else plant_findings
    made: dict[str, PlantedFile] = {}
    for path in dict.fromkeys(paths):
        if len(made) >= MAX_FILES:
            break
        content = read(path)
        if content is not None and (planted := plant(path, content)) is not None:
            made[path] = planted
    return made


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    blind: list[str] = []
    looked = 0
    for gate in facts.gates:
        said = facts.tried.scope.get(gate.name, {})
        asked = scope_request(facts, gate) if len(said) == 2 else None
        if asked is None:
            if gate.proof and gate.required and _is_checker(gate) and facts.confirm > 1:
                blind.append(f"{gate.name}: no finding could be planted, so what it looks at is not known")
            continue
        if gate.read == "exit":
            told = [said[stage].status == "pass" for stage in ("scope-base", "scope")]
            looked += not told[1]
            if told == [False, True]:
                files = sorted(asked.result)
                text = f"{gate.name}: no longer notices findings planted in {name_some(files)}"
                findings.append(Finding(f"scope.shrunk:{files[0]}", text, path=files[0]))
            elif told[1] and gate.proof:
                blind.append(f"{gate.name}: notices no planted finding: what it looks at is not known")
            continue
        if asked.left and gate.proof:
            blind.append(f"{gate.name}: nothing was planted in {asked.left} further files")
        if len(said["scope"].findings) >= _CUT.get(gate.read, maxsize):
            blind.append(f"{gate.name}: it does not report everything that it finds")
            continue
        before = _reported_sites(said["scope-base"], asked.base)
        after = _reported_sites(said["scope"], asked.result)
        looked += len(before)
        if not before and gate.proof:
            blind.append(f"{gate.name}: reports nothing planted at the base: what it looks at is not known")
        for path, rows in _find_lost(facts, asked, before, after).items():
            named = sorted(rows - {"", *(f"{name}{LAST}" for name in rows)})
            shown = ", ".join(named[:_MAX_SHOWN]) + (" and more" if len(named) > _MAX_SHOWN else "")
            what = shown or "this file"
            text = f"{gate.name}: no longer looks at {what} in {path}, as it did at the base"
            findings.append(Finding(f"scope.shrunk:{path}", text, path=path))
        for path, rows in _find_gone(facts, gate, before, asked).items() if gate.proof else ():
            text = f"{gate.name}: {name_some(sorted(rows))} was removed from {path}, and its findings with it"
            findings.append(Finding(f"scope.gone:{path}", text, path=path))
    good = f"checkers look at what they looked at ({looked} places)" if looked else "no checker to try"
    return guard_result(NAME, facts, findings, good=good, bad="it looks at less", blind="; ".join(blind))


def _findings(reading: Reading | None) -> tuple[Finding, ...]:
    return reading.findings if reading is not None else ()


def _reported_sites(reading: Reading, planted: dict[str, PlantedFile]) -> _Seen:
    """Which planted findings were reported, by rule; of coverage only the file is known."""
    seen: _Seen = {}
    for finding in reading.findings:
        sites = planted[finding.path].sites if finding.path in planted else {}
        if finding.key.startswith("coverage:") and sites:
            seen |= {(finding.path, name): {"coverage"} for name in sites.values()}
        elif finding.line in sites:
            rule = finding.key.removeprefix(f"{finding.path}:").partition(":")[0]
            seen.setdefault((finding.path, sites[finding.line]), set()).add(rule)
    return seen


def _find_lost(facts: GuardFacts, asked: ScopeRequest, before: _Seen, after: _Seen) -> dict[str, set[str]]:
    """Path in the result -> definitions that were looked at and are not, though they are there."""
    now = {change.before: change.path for change in facts.changes if change.status != "A"}
    gone = {change.path for change in facts.changes if change.status == "D"}
    lost: dict[str, set[str]] = {}
    for (path, name), rules in before.items():
        here = now.get(path, path)
        if path in gone and not name:
            continue
        stands = [
            one
            for one, planted in asked.result.items()
            if name in planted.sites.values() and (name or one == here)
        ]
        if here in stands:
            stands = [here]
        if any(rules <= after.get((one, name), set()) for one in stands):
            continue
        if stands:
            lost.setdefault(stands[0], set()).add(name)
        elif name and (kept := _as_text(facts, name)):
            lost.setdefault(kept, set()).add(name)
    return lost


def _find_gone(facts: GuardFacts, gate: Gate, before: _Seen, asked: ScopeRequest) -> dict[str, set[str]]:
    """Path at the base -> definitions that are nowhere any more; as many new ones are those, renamed."""
    said = facts.base.get(gate.name)
    found = _findings(said) if said is not None and said.status != "pass" else ()
    marked = {finding.path for finding in found if not is_test(finding.path)}
    unused = " ".join(one.message for one in found if re.search(r"unused|never|not used|dead", one.message))
    old, new = (
        {name for one in side.values() for name in one.sites.values()} for side in (asked.base, asked.result)
    )
    gone: dict[str, set[str]] = {}
    for path, name in sorted(one for one in before if one[0] in marked and one[1] in old - new):
        last = name.rpartition(".")[2]  # a function inside another one is its own business
        if last.startswith("_") or ("." in name and not name[0].isupper()) or name.endswith(LAST):
            continue
        meant = re.search(rf"\b{last}\b", unused) or wants_removal(facts.task, last)
        if not meant and not _as_text(facts, name):
            gone.setdefault(path, set()).add(name)
    return gone if len(old - new) > len(new - old) else {}


def _as_text(facts: GuardFacts, name: str) -> str:
    """A changed file in which a definition lives on without being one: in a string, under another ending."""
    last = re.escape(name.rsplit(".", 1)[-1])
    defined = re.compile(rf"\b(?:def|function|fn|func)\s+{last}\s*[(<]")
    for change in facts.changes:
        if change.status == "D":
            continue
        text = decode(facts.read_result(change.path))
        if defined.search(text) and name not in definitions(change.path, text):
            return change.path
    return ""
