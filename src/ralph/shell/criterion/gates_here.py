"""`ralph gates run`: the gates over a snapshot of the user's work tree, or over HEAD, never in place.

The same judge, boxes and checkouts as in a loop, with nothing journaled: what it leaves in the state
directory is removed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Verdict
from ralph.errors import UserError
from ralph.shell.config import Settings
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import find_modules
from ralph.shell.git.project import Project
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import open_store
from ralph.shell.git.trees import tree_of
from ralph.shell.ports import Attention
from ralph.shell.run.open import loop_folder, open_gate_site
from ralph.shell.start.gates import seal_gates
from ralph.shell.start.request import StartRequest, read_settings
from ralph.shell.state.directory import open_state, state_dir


def gates_here(
    request: StartRequest, env: Mapping[str, str], now: float
) -> tuple[Project, Settings, tuple[Gate, ...]]:
    """The gates that a loop started here would have."""
    project, settings = read_settings(request, env, now)
    return project, settings, seal_gates(request, settings, project, project.head, env, alone_is_proof=True)


def pick_gates(gates: tuple[Gate, ...], names: tuple[str, ...]) -> tuple[Gate, ...]:
    unknown = [name for name in names if name not in {gate.name for gate in gates}]
    if unknown:
        raise UserError(
            f'there is no gate "{unknown[0]}"',
            code="E-GATE-UNKNOWN",
            why=f"expected one of {', '.join(gate.name for gate in gates)}",
            next="ralph gates list",
        )
    return tuple(gate for gate in gates if not names or gate.name in names)


def run_gates_here(
    request: StartRequest,
    env: Mapping[str, str],
    names: tuple[str, ...],
    *,
    head: bool,
    token: str,
    now: float,
    attend: Attention,
    told: Callable[[Gate, Verdict], None],
) -> tuple[str, list[Verdict]]:
    """The tree that was judged, and each gate's verdict as it comes in."""
    project, settings, gates = gates_here(request, env, now)
    wanted = pick_gates(gates, names)
    state = open_state(state_dir(env), create=True)
    name = f"gates-{token}"
    folder = loop_folder(state, name)
    os.makedirs(folder, mode=0o700)
    try:
        store = open_store(project, os.path.join(folder, "store"))
        tree = tree_of(store, project.head) if head else user_tree(store, os.path.join(folder, "index"))[0]
        site = open_gate_site(store, name, wanted, tree, box=settings.box, state=state, env=env)
        judge = Judge(site, find_modules(store, tree, folder))
        verdicts = []
        for verdict in judge.patiently(wanted, tree, "baseline", {}, attend):
            told(site.order.criterion.gate(verdict.gate), verdict)
            verdicts.append(verdict)
        return tree, verdicts
    finally:
        remove_tree(folder)
