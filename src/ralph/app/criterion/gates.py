"""The gates of a project: which a loop would have, which a change could concern, and judging with them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.clock import SystemClock
from ralph.core.criterion.gates_for_project import kinds_at
from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Verdict
from ralph.core.toolchains.kinds import Level, could_affect_gate, gate_kind
from ralph.errors import NothingToDo
from ralph.gates.seal import exec_argv
from ralph.shell.criterion.gates_here import gates_here, pick_gates, run_gates_here
from ralph.shell.git.project import Project, user_call
from ralph.shell.start.request import StartRequest


class GatesRequest(Struct, frozen=True, kw_only=True):
    cwd: str
    checks: tuple[str, ...] = ()  # further gates
    names: tuple[str, ...] = ()  # () = all
    level: Level | None = None
    changed: bool = False  # only gates that uncommitted changes could concern
    base: bool = False  # judge HEAD instead of the work tree

    @property
    def start(self) -> StartRequest:
        return StartRequest(task="", cwd=self.cwd, checks=self.checks)


class Judged(Struct, frozen=True):
    tree: str
    verdicts: tuple[Verdict, ...]
    passed: bool  # every required gate


class GateFacts(Struct, frozen=True):
    """One gate explained."""

    gate: Gate
    origin: str  # where it comes from
    argv: tuple[str, ...]  # what is really executed
    kind: str  # "" = not known


def list_gates(request: GatesRequest, env: Mapping[str, str]) -> tuple[Gate, ...]:
    """The gates that a loop here would have."""
    return gates_here(request.start, env, SystemClock().now())[2]


def explain_gate(request: GatesRequest, name: str, env: Mapping[str, str]) -> GateFacts:
    _, settings, gates = gates_here(request.start, env, SystemClock().now())
    gate = pick_gates(gates, (name,))[0]
    origin = settings.origins.get(f"gates.{name}.run")
    return GateFacts(
        gate,
        origin.where if origin else gate.origin,
        tuple(exec_argv(gate, "REPORT")),
        gate_kind(gate.name, gate.run),
    )


def judge_here(
    request: GatesRequest,
    env: Mapping[str, str],
    tell: Callable[[Gate, Verdict], None] = lambda _gate, _verdict: None,
) -> Judged:
    """A snapshot of the work tree (or HEAD) judged in a clean checkout, each verdict told as it comes in."""
    names = request.names
    if request.level or request.changed:
        names = _chosen_names(request, env)
    required: dict[str, bool] = {}

    def note(gate: Gate, verdict: Verdict) -> None:
        required[gate.name] = gate.required
        tell(gate, verdict)

    tree, verdicts = run_gates_here(
        request.start,
        env,
        names,
        head=request.base,
        token=secrets.token_hex(4),
        now=SystemClock().now(),
        attend=lambda _: False,
        told=note,
    )
    green = all(verdict.status == "pass" for verdict in verdicts if required[verdict.gate])
    return Judged(tree, tuple(verdicts), green)


def _chosen_names(request: GatesRequest, env: Mapping[str, str]) -> tuple[str, ...]:
    """The gates of a level that the uncommitted changes could concern, out of those that were named."""
    project, _, gates = gates_here(request.start, env, SystemClock().now())
    wanted, level = pick_gates(gates, request.names), request.level
    if level:
        kinds = kinds_at(level)
        # A gate whose kind nobody knows is the project's own matter, and part of the whole.
        wanted = tuple(
            gate
            for gate in wanted
            if (kind := gate_kind(gate.name, gate.run)) in kinds or (not kind and level == "full")
        )
    if request.changed:
        paths = _changed_files(project)
        wanted = tuple(gate for gate in wanted if could_affect_gate(gate.run, gate.cwd, paths))
    if not wanted:
        changed = request.changed
        raise NothingToDo(
            "no gate is concerned" if changed else f"there is no gate of level {level}",
            code="E-GATE-NOTHING",
            why="your work tree has no changes that a gate looks at" if changed else "see ralph gates list",
            next="ralph gates list",
        )
    return tuple(gate.name for gate in wanted)


def _changed_files(project: Project) -> list[str]:
    asked = (
        ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", project.head, "--"],
        ["ls-files", "-o", "--exclude-standard", "-z"],
    )
    out = b"".join(user_call(project, words).out for words in asked)
    return [os.fsdecode(path) for path in out.split(b"\0")[:-1]]
