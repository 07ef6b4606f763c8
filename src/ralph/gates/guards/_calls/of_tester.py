"""Which tests of a gate are the tester's of a team: those in files that stand as it wrote them."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.narrow import module_file


def tests_of_tester(facts: GuardFacts, gate: Gate) -> frozenset[str]:
    final = facts.final.get(gate.name)
    # A file of the same name elsewhere could give its own tests the same ids.
    others = {_name(change.path) for change in facts.changes if change.path not in facts.sealed}
    kept = frozenset(
        path
        for path, text in facts.sealed.items()
        if facts.read_result(path) == text and _name(path) not in others
    )
    if final is None or not final.tests or not kept:
        return frozenset()
    return frozenset(
        name for name in final.tests if (final.files.get(name) or module_file(name, gate.cwd, kept)) in kept
    )


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1]
