"""An item's criteria as gates: each command of `verification`, PRD and convergence criteria, none dropped.

What cannot be a gate is an error of the item, and is said before any agent is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.backlog.desk import Desk, prd_of
from ralph.core.backlog.items import BacklogItem
from ralph.core.backlog.prd import Prd
from ralph.core.criterion.find_commands import item_command
from ralph.core.criterion.gates_for_project import plan_gates
from ralph.core.criterion.proposal import Check
from ralph.core.toolchains.classify_command import VEILED
from ralph.core.toolchains.kinds import gate_kind
from ralph.errors import UserError
from ralph.shell.criterion.survey import survey
from ralph.shell.git.project import Project

_KINDS = {"build_passes": "build", "tests_pass": "test"}


class ItemGates(Struct, frozen=True, kw_only=True):
    proofs: dict[str, str] = {}  # name -> command
    others: tuple[Check, ...] = ()  # must stay green
    configured: dict[str, str] = {}  # gates of the project that its criteria mean; every loop has them
    told: tuple[str, ...] = ()  # constraints that only the agent can keep
    notes: tuple[str, ...] = ()

    @property
    def commands(self) -> dict[str, str]:
        return self.proofs | {check.name: check.run for check in self.others} | self.configured


def commands_of(item: BacklogItem, prd: Prd | None) -> tuple[dict[str, str], dict[str, str]]:
    """Commands that prove an item, and those that its constraints ask for, each under its gate's name."""
    proofs = {f"verify-{number}": run for number, run in enumerate(item.verification, 1)}
    if prd is None:
        return proofs, {}
    named = [run for run in prd.commands if run not in item.verification]
    proofs |= {f"accept-{number}": run for number, run in enumerate(named, 1)}
    return proofs, {f"constraint-{number}": run for number, run in enumerate(prd.guards.values(), 1)}


def item_gates(desk: Desk, item: BacklogItem, project: Project, rev: str) -> ItemGates:
    """The gates of an item on a commit; what keeps it from having them is raised."""
    prd = prd_of(desk, item)
    proofs, guards = commands_of(item, prd)
    for run in proofs.values():
        why = item_command(run, desk.place.inside).rejected
        if why and why != VEILED:  # whoever approved it has seen all of it
            raise _no_gate(item, f"'{run[:200]}' proves nothing: {why}")
    if "acceptance_met" in item.criteria and not proofs:
        why = "acceptance_met needs a command under 'verification', or in the PRD's acceptance criteria"
        raise _no_gate(item, why)
    others = [Check(name=name, run=run, kind="custom", proof=False) for name, run in guards.items()]
    told = [one for one in prd.constraints if one not in prd.guards] if prd else []
    notes = [f"told to the agent, not checked: {one}" for one in told]
    configured: dict[str, str] = {}
    for name in filter(_KINDS.__contains__, item.criteria):
        kind = _KINDS[name]
        if own := configured_gates(desk, kind):
            configured |= own
            notes.append(f"{kind}: configured as {', '.join(f'[gates.{one}]' for one in own)}")
            continue
        check, note = project_check(desk, project, rev, kind, proof=kind == "test" and not proofs)
        others += [check] if check else []
        notes.append(note)
        if check is None and kind == "build":
            raise _no_gate(item, "build_passes: no build command was found; add [gates.build] to ralph.toml")
    if not proofs and not others and not configured:
        raise _no_gate(item, "it needs a criterion")
    return ItemGates(
        proofs=proofs, others=tuple(others), configured=configured, told=tuple(told), notes=tuple(notes)
    )


def lasting_commands(
    desk: Desk, project: Project, rev: str, items: Iterable[BacklogItem]
) -> Iterator[tuple[BacklogItem, list[str]]]:
    """What must stay green for each of these items once it passes."""
    kinds: dict[str, list[str]] = {}
    for item in items:
        runs = [*item.verification]
        if prd := prd_of(desk, item):
            runs += [*prd.commands, *prd.guards.values()]
        for name in filter(_KINDS.__contains__, item.criteria):
            if name not in kinds:
                kinds[name] = [*configured_gates(desk, _KINDS[name]).values()]
                check = kinds[name] or project_check(desk, project, rev, _KINDS[name], proof=False)[0]
                kinds[name] += [check.run] if isinstance(check, Check) else []
            runs += kinds[name]
        yield item, runs


def configured_gates(desk: Desk, kind: str) -> dict[str, str]:
    """How the project says that it is built or tested: name -> command."""
    gates = desk.settings.gates
    return {name: gate.run for name, gate in gates.items() if gate_kind(name, gate.run) == kind}


def project_check(
    desk: Desk, project: Project, rev: str, kind: str, *, proof: bool
) -> tuple[Check | None, str]:
    """How the project is built or tested, as found there."""
    plans = plan_gates(survey(project, rev, "", desk.env), "full")
    found = next((one for one in plans if one.kind == kind), None)
    if found is None:
        return None, f"{kind}: nothing was found, so nothing is checked"
    return replace(found.as_check(), name=kind, proof=proof), f"{kind}: {found.run} ({found.why})"


def _no_gate(item: BacklogItem, why: str) -> UserError:
    step = f"ralph backlog show {item.id}"
    return UserError(f"item '{item.id}' cannot be checked", code="E-BACKLOG-CRITERION", why=why, next=step)
