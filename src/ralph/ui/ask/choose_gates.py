"""Gates by level and by what changed, and one gate explained. For `ralph gates`."""

from __future__ import annotations

import os
import shlex
from typing import Any

from ralph.app.words.format import safe, table
from ralph.clock import SystemClock
from ralph.core.criterion.gates_for_project import kinds_at
from ralph.core.toolchains.kinds import could_affect_gate, gate_kind
from ralph.core.toolchains.usual_checks import LEVEL_OF
from ralph.errors import NothingToDo

READ_WORDS = {
    "exit": "its exit code is all that is known of it",
    "junit": "a JUnit report that it writes, test by test",
    "coverage": "a coverage report that it writes, against the minimum",
    "sarif": "a SARIF report that it writes, finding by finding",
}


def chosen_names(request: Any, names: tuple[str, ...], level: str, *, changed: bool) -> tuple[str, ...]:
    """The gates of a level that the uncommitted changes could concern, out of those that were named."""
    from ralph.shell.criterion.gates_here import gates_here, pick_gates

    project, _, gates = gates_here(request, dict(os.environ), SystemClock().now())
    wanted = pick_gates(gates, names)
    if level:
        kinds = kinds_at(level)  # type: ignore[arg-type]
        # A gate whose kind nobody knows is the project's own matter, and part of the whole.
        wanted = tuple(
            gate
            for gate in wanted
            if (kind := gate_kind(gate.name, gate.run)) in kinds or (not kind and level == "full")
        )
    if changed:
        paths = _changed_files(project)
        wanted = tuple(gate for gate in wanted if could_affect_gate(gate.run, gate.cwd, paths))
    if not wanted:
        raise NothingToDo(
            "no gate is concerned" if changed else f"there is no gate of level {level}",
            code="E-GATE-NOTHING",
            why="your work tree has no changes that a gate looks at" if changed else "see ralph gates list",
            next="ralph gates run",
        )
    return tuple(gate.name for gate in wanted)


def _changed_files(project: Any) -> list[str]:
    from ralph.shell.git.project import user_call

    asked = (
        ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", project.head, "--"],
        ["ls-files", "-o", "--exclude-standard", "-z"],
    )
    out = b"".join(user_call(project, words).out for words in asked)
    return [os.fsdecode(path) for path in out.split(b"\0")[:-1]]


def explain_lines(request: Any, name: str) -> list[str]:
    from ralph.gates.seal import exec_argv
    from ralph.shell.criterion.gates_here import gates_here, pick_gates

    _, settings, gates = gates_here(request, dict(os.environ), SystemClock().now())
    gate = pick_gates(gates, (name,))[0]
    kind = gate_kind(gate.name, gate.run)
    origin = settings.origins.get(f"gates.{name}.run")
    read = READ_WORDS.get(gate.read, f"what {gate.read} tells, test by test or finding by finding")
    counts = (
        "proof: red before, green after" if gate.proof else "stays green" if gate.required else "advisory"
    )
    rows = [
        ("gate", gate.name),
        ("executes", safe(gate.run, 600)),
        ("really", safe(shlex.join(exec_argv(gate, "REPORT")), 600)),
        ("in", gate.cwd),
        ("from", origin.where if origin else gate.origin),
        ("kind", f"{kind}, level {LEVEL_OF[kind]}" if kind else "not known: part of the level full"),
        ("counts as", counts),
        ("read by", f"{gate.read}: {read}"),
        ("tool", safe(gate.tool) if gate.tool else "stands in the repository, or is not installed"),
        ("network", "yes" if gate.network else "none"),
        ("at most", f"{gate.timeout:g} s"),
        ("judge it", f"ralph gates run {gate.name}"),
    ]
    if gate.own_files:
        rows.insert(8, ("its files", ", ".join(gate.own_files)))
    return table(rows)
