"""Guard "criteria": the tests that speak for criteria of the specs say something about the work.

A test that names a criterion and passes on the base source too shows nothing that was made. It may speak for
what was there before, in an iteration that only adds tests; it may not where the source changed with it, nor
where the criterion was once shown by a test that did fail without the work. Only for loops with specs: the
shell gives it the ties. Tests of the base itself are the business of the other guards.
"""

from __future__ import annotations

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds
from ralph.gates.guards._base.texts import name_some

NAME = "criteria"
CALLED = True
KINDS = guard_kinds(NAME, "write a test for the criterion that fails without the work", {
    "lost": ("not yet", "no test of a criterion fails without the work any longer"),
    "idle": ("not yet", "every test of a criterion passes without the work too"),
})  # fmt: skip
_MAX_SHOWN = 5


def check(facts: GuardFacts) -> GuardResult:
    asked = facts.criteria
    if asked is None:
        return GuardResult(NAME, facts.tree, applied=True, summary="there are no specs", integrity=False)
    tests: dict[str, list[str]] = {}
    for tie in asked.ties:
        if tie.status == "pass" and tie.test:
            tests.setdefault(tie.criterion, []).append(tie.test)
    known = {name for reading in facts.base.values() for name in reading.tests or ()}
    idle = _idle(facts)
    findings, counted, before = [], {}, []
    for criterion in dict.fromkeys(asked.wanted):
        some = tests.get(criterion, [])
        if any(test not in idle and test not in known for test in some):
            counted[criterion] = 1
        elif not some or any(test in known for test in some):
            continue
        elif criterion in asked.shown:
            text = f"criterion {criterion}: {some[0]} passes without the work too, which it once did not"
            findings.append(Finding(f"criteria.lost:{criterion}", text))
        elif asked.worked:
            text = f"criterion {criterion}: {some[0]} passes without the work too"
            findings.append(Finding(f"criteria.idle:{criterion}", text))
        else:
            before.append(criterion)
    summary = f"{len(counted)} criteria are shown by tests that fail without the work"
    if before:
        named = name_some(before, _MAX_SHOWN)
        summary = f"only said to have been there before, by tests that pass on the base too: {named}"
    return GuardResult(
        NAME,
        facts.tree,
        applied=not before,
        summary=summary,
        findings=tuple(findings),
        integrity=False,
        counted=counted,
    )


def _idle(facts: GuardFacts) -> set[str]:
    """Tests of the result that pass on the base source."""
    readings = (facts.tried.witness or {}).values()
    return {name for reading in readings for name, state in (reading.tests or {}).items() if state == "pass"}
