"""A check leaves the tree that it judges as it was.

What a check writes over is not what was judged. The stamps of all tracked files are compared after each call
(`shell.gate_run.watch_call`), so a file that is put back afterwards shows too. What the base's own calls
wrote is the project's habit and says nothing; no more do new files that judge nothing.
"""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.judging_paths import is_config, is_test

_CODE = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".go", ".rs", ".sh", ".toml")


def find_rewritten(facts: GuardFacts) -> list[Finding]:
    return [finding for gate in facts.gates for finding in _find_written(facts, gate)]


def _find_written(facts: GuardFacts, gate: Gate) -> list[Finding]:
    base, final = facts.base.get(gate.name), facts.final.get(gate.name)
    if final is None or not final.written:
        return []
    changed = {path for change in facts.changes for path in (change.path, change.old_path) if path}
    habit = set(base.written) if base is not None else set()
    found = []
    for path in final.written:
        if path in habit:
            continue
        judges = is_test(path) or is_config(path) or path in gate.own_files
        if path not in facts.base_paths and not judges:
            continue  # what a build makes, swept in by the work: nothing of the base was written over
        text = f"{gate.name}: {path} was written while the check ran, which did not happen on the base"
        # Formatters, and tools that fill in snapshots, write over what the work itself brought. What they
        # left alone at the base, they leave alone.
        known = base is not None and bool(base.tests)
        asks = not judges or path in changed or not known or not path.endswith(_CODE)
        found.append(Finding(f"protected.rewritten:{path}", text, path=path, asks=asks))
    return found
