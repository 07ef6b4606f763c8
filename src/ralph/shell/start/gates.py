"""The criterion of a new loop: gates from flags, configuration and what was found, sealed; and the grade."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable, Mapping

import msgspec

from ralph.core.criterion.named_tools import fitting_gates
from ralph.core.criterion.proposal import Check
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.loop import Loop
from ralph.core.prompt.facts import HIDDEN
from ralph.core.toolchains.kinds import proof_kinds
from ralph.errors import SetupError, UserError
from ralph.gates.seal import seal
from ralph.shell import config
from ralph.shell.config.grades import grade_for
from ralph.shell.config.values import current_quarantine
from ralph.shell.git.project import Project, committed_file, user_call
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.hidden_files import unseen
from ralph.shell.start.request import StartRequest, class_of


def seal_criterion(
    request: StartRequest,
    settings: config.Settings,
    project: Project,
    base: str,
    env: Mapping[str, str],
    now: float,
) -> tuple[Criterion, tuple[str, ...]]:
    """With warnings of quarantines that are over."""
    chosen, ask = class_of(request), request.plan
    alone, aims = chosen != "regression", proof_kinds(chosen)
    gates: tuple[Gate, ...] = ()
    if ask is None or ask.mode != "plan":  # a plan is held to its own rules
        gates = seal_gates(request, settings, project, base, env, alone_is_proof=alone, aims=aims)
    held, expired = current_quarantine(settings.guards.quarantine, now)
    criterion = Criterion(
        task_class=chosen,
        gates=gates,
        min_grade=grade_for(settings.min_grade, chosen),
        waivers=settings.guards.allow,
        allow_asked=tuple(filter(None, settings.guards.allow_asked.split(","))),
        until=request.until,
        confirm=int(settings.confirm),
        quarantine=held,
    )
    return criterion, expired


def seal_gates(
    request: StartRequest,
    settings: config.Settings,
    project: Project,
    base: str,
    env: Mapping[str, str],
    *,
    alone_is_proof: bool,
    aims: frozenset[str] = frozenset(),
) -> tuple[Gate, ...]:
    """`--check` is the proof; configured gates stay green, or are the proof where nothing else is.

    Of those, the ones that check what the task is about (`aims`), when there are such.
    """
    paths, cwd = _paths(project, base), project.prefix.rstrip("/") or "."
    content = _reader(project, base, paths)
    gates = _seal_checks(request.checks, paths, content, cwd, [])
    for text in request.hidden_checks:
        name, run = _name_check(text, [gate.name for gate in gates], "hidden")
        gate = seal(name, run, cwd=cwd, tree_paths=paths, proof=True, origin=HIDDEN)
        gates.append(unseen(gate, project.top, paths))
    gates += [_inferred_gate(check, paths, content) for check in request.inferred]
    alone = not gates and not any(spec.proof for spec in settings.gates.values())
    fitting = fitting_gates(request.until, request.task, {n: s.run for n, s in settings.gates.items()}, aims)
    for name, spec in settings.gates.items():
        if any(gate.name == name for gate in gates):
            continue
        table = msgspec.structs.asdict(spec)
        origin = HIDDEN if table.pop("hidden") else "config"
        table["proof"] = spec.required and (
            spec.proof or (alone and alone_is_proof and (not fitting or name in fitting))
        )
        gate = seal(name, table.pop("run"), tree_paths=paths, origin=origin, content=content, **table)
        gates.append(unseen(gate, project.top, paths) if origin == HIDDEN else gate)
    if not any(gate.required for gate in gates):
        raise UserError(
            "no check can prove this task",
            code="E-CHECK-NONE",
            why='expected a command that can fail, such as --check "npm test", or [gates.NAME] in ralph.toml',
            next="ralph help checks",
        )
    return tuple(_with_tool(gate, project, env) for gate in gates)


def seal_joining(
    checks: tuple[str, ...], loop: Loop, project: Project, cwd: str, env: Mapping[str, str]
) -> tuple[Gate, ...]:
    """Checks that join a loop: sealed as `--check` is at its start, against the same base."""
    known, base = loop.sealed.criterion, loop.sealed.base.commit
    paths = _paths(project, base)
    gates = _seal_checks(
        checks, paths, _reader(project, base, paths), cwd, [gate.name for gate in known.gates]
    )
    for gate in gates if loop.landing.result else ():
        made = _made_by_work(gate, project, base, loop.landing.result)
        if made:  # red at the base only because it is not there, or is another one there
            raise UserError(
                f"{made} is not in the base of this loop, or not as it is now",
                code="E-CHECK-MADE",
                why="it came with the work, and a check that the agent wrote does not prove that work",
                next="ralph resume --help",
            )
    return tuple(_with_tool(gate, project, env) for gate in gates)


def _made_by_work(gate: Gate, project: Project, base: str, result: str) -> str:
    """A file that this check executes or reads tests from, and that came with the work; "" = none."""
    from ralph.gates.guards._files.behind_command import follow_files, text_about
    from ralph.gates.judging_paths import is_test  # only where a check joins

    before, after = _paths(project, base), _paths(project, result)
    old, new = _reader(project, base, before), _reader(project, result, after)
    here = seal(gate.name, gate.run, cwd=gate.cwd, tree_paths=after)
    for path in follow_files(here, new, after):
        was, now = (text_about(gate.run, path, read) for read in (old, new))
        if path not in before or was != now:
            return path
    words = set(re.findall(r"[\w./-]+", gate.run))
    for path in sorted(after - before):
        stem = path.rpartition(".")[0] or path
        if is_test(path) and words & {path, stem, stem.replace("/", "."), posixpath.basename(stem)}:
            return path
    return ""


def _paths(project: Project, commit: str) -> frozenset[str]:
    listed = user_call(project, ["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit]).out
    return frozenset(os.fsdecode(path) for path in listed.split(b"\0")[:-1])


def _reader(project: Project, commit: str, paths: frozenset[str]) -> Callable[[str], bytes | None]:
    def content(path: str) -> bytes | None:
        return committed_file(project, commit, path) if path in paths else None

    return content


def _seal_checks(
    checks: tuple[str, ...],
    paths: frozenset[str],
    content: Callable[[str], bytes | None],
    cwd: str,
    taken: list[str],
) -> list[Gate]:
    gates: list[Gate] = []
    for text in checks:
        name, run = _name_check(text, [*taken, *(gate.name for gate in gates)])
        gates.append(seal(name, run, cwd=cwd, tree_paths=paths, proof=True, content=content))
    return gates


def _inferred_gate(check: Check, paths: frozenset[str], content: Callable[[str], bytes | None]) -> Gate:
    return seal(
        check.name,
        check.run,
        cwd=check.cwd,
        tree_paths=paths,
        proof=check.proof,
        read=check.read,
        minimum=check.minimum,
        maximum=check.maximum,
        fail_on="P2" if check.counted == "findings" else "P1",
        origin="inferred",
        content=content,
    )


def _name_check(text: str, taken: list[str], kind: str = "check") -> tuple[str, str]:
    """NAME=CMD, or a command that is given a name."""
    match = re.match(r"([a-z][a-z0-9_-]{0,30})=(.*\S.*)", text, re.DOTALL)
    if match and match.group(1) in taken:
        raise UserError(
            f'two checks are called "{match.group(1)}"', code="E-CHECK-NAME", next="ralph loop --help"
        )
    if match:
        return match.group(1), match.group(2)
    if not text.strip():
        raise UserError(
            "a check is empty, expected a command", code="E-CHECK-EMPTY", next="ralph loop --help"
        )
    name, number = kind, 1
    while name in taken:
        number += 1
        name = f"{kind}-{number}"
    return name, text


def _with_tool(gate: Gate, project: Project, env: Mapping[str, str]) -> Gate:
    """Pin the file that the command's first word means now."""
    own = [os.path.join(project.top, part) for part in gate.path]
    path = os.pathsep.join((*own, env.get("PATH", os.defpath)))
    cwd = os.path.normpath(os.path.join(project.top, gate.cwd))
    found = tools.resolve(gate.argv[0], path=path, cwd=cwd, repo=project.top, home=env.get("HOME", "/"))
    if isinstance(found, tools.MissingTool) or found.in_repo:
        return gate
    return msgspec.structs.replace(gate, tool=found.path, tool_sha=found.sha256)


def refuse_missing_tool(gates: tuple[Gate, ...], project: Project, env: Mapping[str, str]) -> None:
    """The refusal that the baseline would end with; what setup or the judged tree may bring is left out."""
    for gate in gates:
        outside = os.path.isabs(gate.argv[0]) and not gate.argv[0].startswith(project.top + "/")
        if not gate.required or gate.tool or gate.path or ("/" in gate.argv[0] and not outside):
            continue
        path, cwd = env.get("PATH", os.defpath), os.path.normpath(os.path.join(project.top, gate.cwd))
        found = tools.resolve(gate.argv[0], path=path, cwd=cwd, repo=project.top, home=env.get("HOME", "/"))
        if isinstance(found, tools.MissingTool):
            raise SetupError(
                f'gate "{gate.name}" cannot run: command not found: "{found.word}"',
                code="E-GATE-MISSING",
                why=found.why,
                next=found.hint or "ralph doctor",
            )
