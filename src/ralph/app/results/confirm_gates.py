"""The last part of a verification: every gate run again here, and held against what was attested.

The result's gates first, then what proved the task once more over the base, where it must be red as it
was. Gates of a loop that was driven here are taken from its record; all others are foreign, run only in a
box and only once a human has agreed to their commands. Here is also what a verification is asked and finds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from ralph.core.attestation.redact import gate_of
from ralph.core.attestation.statement import StatedVerdict, Statement
from ralph.core.model.gate import Gate
from ralph.core.model.order import BoxTerms, Sandbox, StartPoint
from ralph.core.proof.compare import red_keys
from ralph.core.proof.still_red import shown_keys
from ralph.core.text.clean import REDACTED
from ralph.shell.attestation import find, rerun
from ralph.shell.attestation.find import FoundProof
from ralph.shell.attestation.rerun import Rerun
from ralph.shell.config import approvals
from ralph.shell.git.project import Project, user_call
from ralph.shell.journal.entries import Record
from ralph.shell.ports import Attention
from ralph.shell.sandbox.probe import find_protection
from ralph.shell.state.directory import State, config_dir, open_state, state_dir


class ProofCheck(msgspec.Struct, frozen=True):
    name: str
    state: Literal["pass", "fail", "ask", "note"]  # ask: a human has to decide first
    words: str
    next: str = ""
    seconds: float = 0.0


class VerifyRequest(msgspec.Struct, frozen=True, kw_only=True):
    target: str
    cwd: str
    scratch: str = ""  # an empty folder, made and removed by `verify`
    proof: str = ""  # a file to hold the target against
    trust: tuple[str, ...] = ()  # files with public keys that count this once
    rerun: bool = True
    yes: bool = False  # foreign commands may be executed in a box
    agreed: bool = False  # somebody has just read them at a terminal, and said yes
    sandbox: Sandbox | None = None
    token: str = ""
    now: float = 0.0


class VerifyCase(msgspec.Struct, frozen=True):
    request: VerifyRequest
    env: Mapping[str, str]
    state: State
    found: FoundProof
    attend: Attention


class Signed(msgspec.Struct, frozen=True):
    """A case whose signature counts: from here on the statement is believed to be its signer's."""

    case: VerifyCase
    made: Statement
    project: Project  # where the source is
    record: Record | None  # of the loop, when it was driven here


def run_again(signed: Signed) -> Iterator[ProofCheck]:
    """One check for each gate of the result, then one for each proof over the base."""
    made, record = signed.made, signed.record
    gates: list[Gate] = []
    for entry in made.predicate.gates:
        found = _gate(signed, entry)
        if isinstance(found, Gate):
            gates.append(found)
        else:
            yield found
    if not gates:
        yield ProofCheck("re-run", "fail", "every gate is withheld, so there is nothing to see for oneself")
        return
    if record is None:
        yield from _approval(signed)
    attested = {said.gate: said for said in made.predicate.verdicts}
    entries = {str(gate["name"]): gate for gate in made.predicate.gates}
    seen = 0
    for one in _rerun_on_tree(signed, tuple(gates), made.tree, _left_out(made, made.predicate.verdicts)):
        seen += 1
        name = one.gate.name
        reading = find.evidence(signed.case.found, signed.case.state, attested[name].reading)
        state, words = rerun.compare_verdict(one, attested[name], reading)
        if one.tool_sha != entries[name].get("tool_sha", one.tool_sha):
            words += f"; its tool is another file here (sha256 {one.tool_sha[:12] or 'none'})"
        yield _check(one, name, state, words)
    if seen < len(gates):
        yield ProofCheck("re-run", "fail", f"{len(gates) - seen} of {len(gates)} gates gave no verdict")
    yield from _at_base(signed, tuple(gate for gate in gates if gate.proof))


def _check(one: Rerun, name: str, state: str, words: str) -> ProofCheck:
    # An advisory gate never blocked the loop, so it does not block its proof.
    state = "note" if state == "fail" and not one.gate.required else state
    return ProofCheck(name, state, words, seconds=one.verdict.seconds)  # type: ignore[arg-type]


def _gate(signed: Signed, entry: Mapping[str, Any]) -> Gate | ProofCheck:
    """The gate to run for an entry; a check that says why there is none."""
    name, record = str(entry["name"]), signed.record
    if record is not None:
        return msgspec.structs.replace(record.loop.sealed.criterion.gate(name), tool="", tool_sha="")
    if entry.get("withheld"):
        words = f"withheld ({entry['withheld']}): only committed to, so not run again"
        return ProofCheck(name, "note", words)
    home = os.path.normpath(signed.case.env.get("HOME") or "/")
    try:
        gate = gate_of(entry, {"repository": signed.project.top, "home": home})
    except msgspec.ValidationError as error:
        return ProofCheck(name, "fail", f"it cannot be read: {error}")
    wrong = rerun.why_not_run(gate)
    return ProofCheck(name, "fail", wrong) if wrong else gate


def _approval(signed: Signed) -> Iterator[ProofCheck]:
    """Foreign commands run only once a human has seen them."""
    request = signed.case.request
    folder = config_dir(signed.case.env)
    # As the statement names them, without places of this machine: the same bundle has one hash each time.
    gates = [gate_of(entry, {}) for entry in signed.made.predicate.gates if not entry.get("withheld")]
    setup, inside = _setup(signed)
    if rerun.leads_outside(inside):
        yield ProofCheck("setup", "fail", f"its folder '{inside[:80]}' is outside of the repository")
    needed = rerun.approval_for(signed.made.predicate.loop, gates, setup)
    held = request.yes and _is_held(signed)  # without a box a flag does not stand for a stranger's commands
    if held or request.agreed or approvals.is_approved(folder, needed.hash):
        return
    approvals.remember(folder, needed, request.now)
    words = ("these commands come from elsewhere and need your approval", *approvals.summary_lines(needed))
    yield ProofCheck("approval", "ask", "\n".join(words), f"ralph approve {needed.short}")


def _at_base(signed: Signed, proof: tuple[Gate, ...]) -> Iterator[ProofCheck]:
    """What proves the task was red before: seen again on the base, where the base is here."""
    made = signed.made
    base = made.predicate.base
    if base.tree == made.tree or not proof:
        return
    if user_call(signed.project, ["cat-file", "-e", f"{base.tree}^{{tree}}"], ok=None).code:
        words = f"commit {base.commit[:12]} is not here, so that it was red before is not seen"
        yield ProofCheck("base", "note", words)
        return
    before = {said.gate: said for said in made.predicate.baseline}
    still_red = {said.gate: said.still_red for said in made.predicate.verdicts}
    for one in _rerun_on_tree(signed, proof, base.tree, _left_out(made, made.predicate.baseline)):
        name, said = f"{one.gate.name} at base", before.get(one.gate.name)
        now = one.verdict.status
        wrong = set(still_red[one.gate.name]) - shown_keys(red_keys(one.reading, one.gate.fail_on))
        if said is None:
            yield ProofCheck(name, "note", f"{now}; not attested")
        elif now == "error" != said.status:  # it was not looked at here: that shows neither red nor green
            yield _check(one, name, "fail", f"no answer here ({one.verdict.summary or one.verdict.cause})")
        elif (said.status == "pass") != (now == "pass"):
            yield _check(one, name, "fail", f"{now} here, attested as {said.status}")
        elif wrong:
            yield _check(one, name, "fail", f"not red here, and left out as red before: {min(wrong)}")
        else:
            yield _check(one, name, "pass", f"{now}, as attested")


def _left_out(made: Statement, verdicts: tuple[StatedVerdict, ...]) -> dict[str, frozenset[str]]:
    """What the attested verdicts were made without: by a quarantine, or as red before the loop."""
    return {said.gate: frozenset((*made.predicate.quarantine, *said.still_red)) for said in verdicts}


def _rerun_on_tree(
    signed: Signed, gates: tuple[Gate, ...], tree: str, left_out: Mapping[str, frozenset[str]]
) -> Iterator[Rerun]:
    case, (box, base) = signed.case, _terms(signed)
    return rerun.rerun(
        signed.project,
        gates,
        tree,
        case.env,
        box=box,
        base=base,
        token=case.request.token,
        left_out=left_out,
        attend=case.attend,
    )


def _terms(signed: Signed) -> tuple[BoxTerms, StartPoint]:
    """In the loop's own repository as in the loop; elsewhere what is installed, or built for a bundle."""
    request, record = signed.case.request, signed.record
    sandbox = request.sandbox or (record.loop.sealed.box.sandbox if record else "require")
    if record is not None and record.loop.sealed.repo == signed.project.top:
        order = record.loop.sealed
        box = msgspec.structs.replace(order.box, sandbox=sandbox, network=True, allow_write=())
        return box, StartPoint(tree=order.base.tree)
    setup, inside = _setup(signed)
    setup = setup.replace("{{repository}}", signed.project.top)
    return BoxTerms(sandbox=sandbox, setup=setup, setup_cwd=inside), StartPoint()


def _is_held(signed: Signed) -> bool:
    env = signed.case.env
    root = open_state(state_dir(env), create=True).root
    return find_protection(_terms(signed)[0].sandbox, False, root, env)[0] is not None


def _setup(signed: Signed) -> tuple[str, str]:
    """The command that builds dependencies, and its folder; in the throw-away repository of a bundle only.

    In the user's own, what a stranger's tree builds would be kept for all loops with the same lockfiles.
    """
    if signed.case.found.project is not None:
        return "", "."
    if signed.record is not None:
        return signed.record.loop.sealed.box.setup, signed.record.loop.sealed.box.setup_cwd
    told = signed.made.predicate.environment
    return ("", ".") if REDACTED in told.setup else (told.setup, told.setup_cwd)
