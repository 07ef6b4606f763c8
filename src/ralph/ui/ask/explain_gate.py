"""One gate explained. For `ralph gates`; which gates are meant is decided in `app.criterion.gates`."""

from __future__ import annotations

import shlex

from ralph.app.criterion.gates import GateFacts
from ralph.app.words.format import safe, table
from ralph.core.toolchains.kinds import LEVEL_OF

READ_WORDS = {
    "exit": "its exit code is all that is known of it",
    "junit": "a JUnit report that it writes, test by test",
    "coverage": "a coverage report that it writes, against the minimum",
    "sarif": "a SARIF report that it writes, finding by finding",
}


def explain_lines(facts: GateFacts) -> list[str]:
    """One gate explained, a fact a line."""
    gate, kind = facts.gate, facts.kind
    read = READ_WORDS.get(gate.read, f"what {gate.read} tells, test by test or finding by finding")
    counts = (
        "proof: red before, green after" if gate.proof else "stays green" if gate.required else "advisory"
    )
    rows = [
        ("gate", gate.name),
        ("executes", safe(gate.run, 600)),
        ("really", safe(shlex.join(facts.argv), 600)),
        ("in", gate.cwd),
        ("from", facts.origin),
        ("kind", f"{kind}, level {LEVEL_OF[kind]}" if kind else "not known: part of the level full"),
        ("counts as", counts),
        ("read by", f"{gate.read}: {read}"),
        ("tool", safe(gate.tool) if gate.tool else "is in the repository, or is not installed"),
        ("network", "yes" if gate.network else "none"),
        ("at most", f"{gate.timeout:g} s"),
        ("judge it", f"ralph gates run {gate.name}"),
    ]
    if gate.own_files:
        rows.insert(8, ("its files", ", ".join(gate.own_files)))
    return table(rows)
