"""`ralph gates run`: the gates over a snapshot of the user's work tree, or over HEAD, never in place.

The same judge, boxes and checkouts as in a loop, with nothing journaled (`run.throwaway`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Verdict
from ralph.errors import UserError
from ralph.shell.config import Settings
from ralph.shell.git.project import Project
from ralph.shell.git.store import Store
from ralph.shell.git.trees import tree_of
from ralph.shell.ports import Attention
from ralph.shell.run.throwaway import open_judge, users_tree
from ralph.shell.start.gates import seal_gates
from ralph.shell.start.request import StartRequest, read_settings


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

    def find_tree(store: Store, scratch: str) -> str:
        return tree_of(store, project.head) if head else users_tree(store, scratch)

    by_name = {gate.name: gate for gate in wanted}
    verdicts = []
    with open_judge(f"gates-{token}", project, wanted, settings.box, env, find_tree) as (judge, tree):
        for verdict in judge.patiently(wanted, tree, "baseline", {}, attend):
            told(by_name[verdict.gate], verdict)
            verdicts.append(verdict)
    return tree, verdicts
