"""Commands over a commit: what a loop would find there, without a loop."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.app.backlog.desk import Desk
from ralph.core.model.verdict import Verdict
from ralph.shell.config import Settings
from ralph.shell.git.project import Project
from ralph.shell.git.trees import tree_of
from ralph.shell.run.throwaway import open_judge
from ralph.shell.start.gates import seal_gates
from ralph.shell.start.request import StartRequest


def judge_commit(
    desk: Desk, project: Project, commit: str, commands: Mapping[str, str]
) -> dict[str, Verdict]:
    """These commands over a commit, each in a clean checkout; the project's own gates as configured."""
    own = {name: gate for name, gate in desk.settings.gates.items() if commands.get(name) == gate.run}
    settings: Settings = replace(desk.settings, gates=own)
    checks = tuple(f"{name}={run}" for name, run in commands.items() if name not in own)
    request = StartRequest(task="", cwd=desk.place.top, checks=checks)
    gates = seal_gates(request, settings, project, commit, desk.env, alone_is_proof=True)
    name = f"backlog-{secrets.token_hex(4)}"
    box, env = settings.box, desk.env
    with open_judge(name, project, gates, box, env, lambda at, _: tree_of(at, commit)) as (judge, tree):
        return {one.gate: one for one in judge.patiently(gates, tree, "baseline", {}, lambda _: False)}
