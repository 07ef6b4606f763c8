"""Re-running the gates of a statement: the same judge, boxes and fresh checkouts as in a loop.

Nothing is journaled, and what it leaves in the state directory is removed again. What was sealed elsewhere
is foreign: its commands are shown and approved before this is called, and some things are never accepted.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from ralph.core.model.gate import Gate
from ralph.core.model.order import BoxTerms, StartPoint
from ralph.core.model.verdict import Reading, Verdict
from ralph.gates.readers import READERS
from ralph.gates.seal import COMMAND, SHELL
from ralph.shell.config.schema import escape_invisible
from ralph.shell.config.settings import Approval, AskedItem
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import find_modules
from ralph.shell.git.project import Project
from ralph.shell.git.store import open_store
from ralph.shell.ports import Attention
from ralph.shell.run.open import loop_folder, open_gate_site
from ralph.shell.state.directory import open_state, state_dir

Sandbox = Literal["auto", "require", "none"]
_VERSION = "ralph verify 1"
_LOADER = ("LD_", "DYLD_", "GLIBC_")  # these act on the sandbox's own program, outside of the box


class Rerun(msgspec.Struct, frozen=True):
    gate: Gate
    verdict: Verdict
    reading: Reading
    tool_sha: str


def why_not_run(gate: Gate) -> str:
    """Why a gate of a statement is not run at all, whoever signed it; "" when it may be."""
    try:
        words = tuple(shlex.split(gate.run))
    except ValueError:
        words = ()
    if not gate.argv or gate.argv not in (words, (*SHELL, gate.run)):
        return "what it executes is not the command it names"
    if leads_outside(gate.cwd):
        return f"its folder '{gate.cwd[:80]}' is outside of the repository"
    if gate.read not in READERS:
        return f"its reader '{gate.read[:80]}' is not known to this version"
    loader = [name for name in gate.env if name.upper().startswith(_LOADER)]
    if loader:
        return f"it sets {loader[0][:80]}, which would act outside of the box"
    if not 0 < gate.timeout <= 86400:
        return f"its time limit is {gate.timeout} s"
    return ""


def leads_outside(folder: str) -> bool:
    return os.path.isabs(folder) or ".." in folder.split("/")


def approval_for(loop: str, gates: Sequence[Gate], setup: str = "") -> Approval:
    """What a human has to agree to before foreign gates run: each command whole, nothing cut."""
    where = f"statement of {loop}"
    items = tuple(AskedItem(f"gates.{gate.name}", _words(gate), where) for gate in gates)
    if setup:
        items += (AskedItem("setup", escape_invisible(f"setup executes {setup} (with network)"), where),)
    plain = [_VERSION, setup, [msgspec.to_builtins(gate) for gate in gates]]
    digest = hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()
    return Approval(digest, "", items)


def _words(gate: Gate) -> str:
    more = [f"in {gate.cwd}"] if gate.cwd != "." else []
    more += ["with network"] if gate.network else ["without network"]
    more += [f"{name}={value}" for name, value in sorted(gate.env.items())]
    if gate.reporter[:1] == (COMMAND,):
        more += [f"in this form: {shlex.join(gate.reporter[1:])}"]
    elif gate.reporter:
        more += [f"arguments added: {shlex.join(gate.reporter)}"]
    more += [f"PATH begins with {os.pathsep.join(gate.path)}"] if gate.path else []
    return escape_invisible(f'gate "{gate.name}" executes {gate.run} ({", ".join(more)})')


def rerun(
    project: Project,
    gates: tuple[Gate, ...],
    tree: str,
    env: Mapping[str, str],
    *,
    box: BoxTerms,
    base: StartPoint,
    token: str,
    attend: Attention,
) -> Iterator[Rerun]:
    """Each gate over a fresh checkout of `tree`, as it comes in."""
    state = open_state(state_dir(env), create=True)
    name = f"verify-{token}"
    folder = loop_folder(state, name)
    os.makedirs(folder, mode=0o700)
    try:
        store = open_store(project, os.path.join(folder, "store"))
        site = open_gate_site(store, name, gates, tree, box=box, base=base, state=state, env=env)
        judge = Judge(site, find_modules(store, tree, folder))
        readings: dict[str, Reading] = {}
        for verdict in judge.patiently(gates, tree, "final", {}, attend, readings):
            executed = judge.executed(verdict)
            gate = site.order.criterion.gate(verdict.gate)
            yield Rerun(gate, verdict, readings[gate.name], executed.tool_sha if executed else "")
    finally:
        remove_tree(folder)
