"""Guard "canary": tests that must fail do fail, and the runner is made of what it was made of at the base.

Nothing of this is told to an agent: what it knows of a canary it can spare.
"""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Finding, GuardResult
from ralph.gates.canary_text import canary_means
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import name_some
from ralph.gates.guards.integrity.repeat import is_repeated

NAME = "canary"
CALLED = True
KINDS = guard_kinds(NAME, "remove what changes how tests are run or reported", {
    "silent": ("accuses", "a test that must fail did not fail"),
    "unseen": ("accuses", "a test that must fail was not run, although it was at the base"),
    "runner": ("accuses or asks", "a part of the test runner is not what it was at the base"),
})  # fmt: skip
_ROOTS = ("", "src/", "lib/")


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    blind: list[str] = []
    sung = 0
    for gate in facts.gates:
        final = facts.final.get(gate.name)
        if not is_repeated(gate, final) or final is None or final.tests is None:
            continue  # what is read by its exit code or as findings has no tests to put one beside
        now = next((one.canary for one in facts.tried.repeats.get(gate.name, ()) if one.canary), None)
        base = facts.base.get(gate.name)
        before = base.canary if base is not None else None
        if now is None:
            blind.append(f"{gate.name}: no test that must fail could be run with it")
            continue
        ran = {final.files.get(name) for name, state in final.tests.items() if state == "pass"}
        found = list(_against(gate, before, now, collected=now.host in ran))
        changed = _changed_parts(before, now)
        if changed:
            own = all(_is_product(name, facts) for name in changed)
            why = "the runner is made of this project's own source, which was changed" if own else ""
            text = f"{gate.name}: {why or 'not what it was at the base'}: {name_some(changed)}"
            found.append(Finding(f"canary.runner:{gate.name}", text, asks=own))
        findings += found
        if not found and not now.red:
            where = "in another file than at the base" if before and before.red else "here and at the base"
            blind.append(f"{gate.name}: the tests that must fail were not run, {where}")
        sung += len(canary_means(gate.read).keys() & set(now.red))
    return guard_result(
        NAME,
        facts,
        findings,
        good=f"{sung} tests that must fail failed, and the runner is the base's"
        if sung
        else "nothing to try",
        bad="tests that must fail did not, or the runner is another",
        blind="; ".join(blind),
    )


def _against(gate: Gate, before: Canary | None, now: Canary, *, collected: bool) -> list[Finding]:
    """A kind that never failed at the base says nothing here."""
    means = canary_means(gate.read)
    known = before.red if before is not None else ()
    found = [
        Finding(
            f"canary.silent:{gate.name}:{kind}",
            f"{gate.name}: a test with {means[kind]} passed"
            if kind in means
            else f"{gate.name}: tests failed, and the runner ended as a success",
        )
        for kind in now.silent
        if before is None or kind in known
    ]
    found += [
        Finding(
            f"canary.unseen:{gate.name}:{kind}",
            f"{gate.name}: a test with {means.get(kind, kind)} was not run, and was at the base",
        )
        for kind in now.unseen
        if kind in known
        and (collected or not before or before.host in ("", now.host))  # another file may not be run at all
    ]
    return found


def _changed_parts(before: Canary | None, now: Canary) -> list[str]:
    """Functions of the runner whose code is not what it was at the base."""
    if before is None or not before.runner or not now.runner:
        return []
    return sorted(name for name, digest in before.runner.items() if now.runner.get(name, digest) != digest)


def _is_product(name: str, facts: GuardFacts) -> bool:
    """Is it a module that this project develops itself (pluggy, by its own tests), and that was worked on?"""
    module = name.partition(":")[0].replace(".", "/")
    files = {f"{root}{module}{end}" for root in _ROOTS for end in (".py", "/__init__.py")}
    return any(change.status == "M" and change.path in files for change in facts.changes)
