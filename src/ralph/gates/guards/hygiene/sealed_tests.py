"""Guard "sealed_tests": what a team's tester wrote stands in the result as it was written.

Those tests were made from the task by somebody who never saw the work, so the work does not decide what they
say. A coder that finds one of them wrong says so, and a user's word settles it.
"""

from __future__ import annotations

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result

NAME = "sealed_tests"
KINDS = guard_kinds(
    NAME,
    "restore it as the tester wrote it",
    {"changed": ("asks", "a test that the tester wrote was changed or removed")},
)


def check(facts: GuardFacts) -> GuardResult:
    findings = [
        Finding(
            f"{NAME}.changed:{path}",
            f"{path}, which the tester wrote, was {'removed' if now is None else 'changed'}",
            path=path,
            asks=True,
        )
        for path, written in sorted(facts.sealed.items())
        if (now := facts.read_result(path)) != written
    ]
    count = len(facts.sealed)
    good = f"{count} test files of the tester are unchanged" if count else "no tester wrote tests"
    return guard_result(NAME, facts, findings, good=good, bad="tests of the tester were changed")
