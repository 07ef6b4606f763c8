"""Guard "pinned": what was executed is what was sealed, by the very same tool."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds
from ralph.gates.seal import exec_argv

NAME = "pinned"
KINDS = guard_kinds(NAME, "do not touch the commands and tools of the checks", {
    "command": ("accuses", "the command that ran is not the sealed one"),
    "tool": ("accuses", "the tool is not the one that was sealed"),
    "unseen": ("accuses", "there is no record of what ran"),
})  # fmt: skip


def check(facts: GuardFacts) -> GuardResult:
    findings = [finding for gate in facts.gates for finding in _findings(gate, facts)]
    hashed = sum(1 for gate in facts.gates if gate.tool_sha)
    good = f"commands as sealed: {len(facts.gates)}; tools with the sealed hash: {hashed}"
    return GuardResult(
        NAME,
        facts.tree,
        applied=True,
        summary="a command or tool is not the sealed one" if findings else good,
        findings=tuple(findings),
    )


def _findings(gate: Gate, facts: GuardFacts) -> list[Finding]:
    seen = facts.executed.get(gate.name)
    if seen is None:
        if not gate.required:
            return []
        return [Finding(f"pinned.unseen:{gate.name}", f"{gate.name}: there is no record of what ran")]
    found = []
    if seen.argv != exec_argv(gate, seen.report):
        text = f"{gate.name}: the command that ran is not the sealed one"
        found.append(Finding(f"pinned.command:{gate.name}", text))
    if gate.tool_sha and seen.tool_sha != gate.tool_sha:
        text = f"{gate.name}: {gate.tool or gate.argv[0]} is not the tool that was sealed"
        found.append(Finding(f"pinned.tool:{gate.name}", text, path=gate.tool))
    return found
