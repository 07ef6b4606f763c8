"""An item's criteria as gates: each command of `verification`, PRD and convergence criteria, none dropped.

What cannot be a gate is an error of the item, and is said before any agent is called.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.backlog.desk import Desk, prd_of
from ralph.core.backlog.items import BacklogItem
from ralph.core.criterion.find_commands import item_command
from ralph.core.criterion.gates_for_project import plan_gates
from ralph.core.criterion.proposal import Check
from ralph.core.model.verdict import Verdict
from ralph.core.toolchains.kinds import gate_kind
from ralph.errors import UserError
from ralph.shell.config import Settings
from ralph.shell.criterion.survey import survey
from ralph.shell.git.project import Project
from ralph.shell.git.trees import tree_of
from ralph.shell.run.throwaway import open_judge
from ralph.shell.start.gates import seal_gates
from ralph.shell.start.request import StartRequest

_KINDS = {"build_passes": "build", "tests_pass": "test"}


class ItemGates(Struct, frozen=True, kw_only=True):
    proofs: dict[str, str] = {}  # name -> command
    others: tuple[Check, ...] = ()  # must stay green
    notes: tuple[str, ...] = ()

    @property
    def commands(self) -> dict[str, str]:
        return self.proofs | {check.name: check.run for check in self.others}


def commands_of(desk: Desk, item: BacklogItem) -> tuple[dict[str, str], dict[str, str]]:
    """Commands that prove an item, and those that its constraints ask for, each under its gate's name."""
    prd = prd_of(desk, item)
    proofs = {f"verify-{number}": run for number, run in enumerate(item.verification, 1)}
    named = [run for run in (prd.commands if prd else ()) if run not in item.verification]
    proofs |= {f"accept-{number}": run for number, run in enumerate(named, 1)}
    guards = prd.guards if prd else {}
    return proofs, {f"constraint-{number}": run for number, run in enumerate(guards.values(), 1)}


def item_gates(desk: Desk, item: BacklogItem, project: Project, rev: str) -> ItemGates:
    """The gates of an item on a commit; what keeps it from having them is raised."""
    proofs, guards = commands_of(desk, item)
    for run in proofs.values():
        why = item_command(run, desk.place.inside).rejected
        if why:
            raise _no_gate(item, f"'{run[:200]}' proves nothing: {why}")
    others = [Check(name=name, run=run, kind="custom", proof=False) for name, run in guards.items()]
    prd = prd_of(desk, item)
    notes = (
        []
        if prd is None
        else [f"told to the agent, not checked: {one}" for one in prd.constraints if one not in prd.guards]
    )
    if "acceptance_met" in item.criteria and not proofs:
        raise _no_gate(
            item, "acceptance_met needs a command under 'verification', or in the PRD's acceptance criteria"
        )
    for name in ("build_passes", "tests_pass"):
        if name in item.criteria:
            check, note = project_check(
                desk, project, rev, _KINDS[name], proof=name == "tests_pass" and not proofs
            )
            others += [check] if check else []
            notes.append(note)
            if check is None and name == "build_passes" and "configured" not in note:
                raise _no_gate(
                    item, "build_passes: no build command was found; add [gates.build] to ralph.toml"
                )
    if not proofs and not others:
        raise _no_gate(item, "it needs a criterion")
    return ItemGates(proofs=proofs, others=tuple(others), notes=tuple(notes))


def project_check(
    desk: Desk, project: Project, rev: str, kind: str, *, proof: bool
) -> tuple[Check | None, str]:
    """How the project itself builds or tests: its configured gate, else what is found."""
    own = [name for name, gate in desk.settings.gates.items() if gate_kind(name, gate.run) == kind]
    if own:
        return None, f"{kind}: configured as [gates.{own[0]}]"
    found = next(
        (one for one in plan_gates(survey(project, rev, "", desk.env), "full") if one.kind == kind), None
    )
    if found is None:
        return None, f"{kind}: nothing was found, so nothing is checked"
    return replace(found.as_check(), name=kind, proof=proof), f"{kind}: {found.run} ({found.why})"


def _no_gate(item: BacklogItem, why: str) -> UserError:
    return UserError(
        f"item '{item.id}' cannot be checked",
        code="E-BACKLOG-CRITERION",
        why=why,
        next=f"ralph backlog show {item.id}",
    )


def judge_commit(
    desk: Desk, project: Project, commit: str, commands: Mapping[str, str]
) -> dict[str, Verdict]:
    """These commands over a commit, each in a clean checkout; nothing is journaled here."""
    settings: Settings = replace(desk.settings, gates={})
    request = StartRequest(
        task="", cwd=desk.place.top, checks=tuple(f"{name}={run}" for name, run in commands.items())
    )
    gates = seal_gates(request, settings, project, commit, desk.env, alone_is_proof=True)
    name = f"backlog-{secrets.token_hex(4)}"
    with open_judge(
        name, project, gates, settings.box, desk.env, lambda store, _: tree_of(store, commit)
    ) as (judge, tree):
        return {one.gate: one for one in judge.patiently(gates, tree, "baseline", {}, lambda _: False)}
