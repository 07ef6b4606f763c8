"""The last part of a verification: every gate run again here, and held against what was attested.

The result's gates first, then what proved the task once more over the base, where it must be red as it
was. Gates of a loop that was driven here are taken from its record; all others are foreign, run only in a
box and only once a human has agreed to their commands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ralph.core.attestation.redact import gate_of, matches_redacted
from ralph.core.attestation.statement import StatedVerdict, inventory
from ralph.core.model.gate import Gate
from ralph.core.model.order import BoxTerms, StartPoint
from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import is_missing
from ralph.core.text.clean import REDACTED
from ralph.gates.seal import exec_argv
from ralph.shell.attestation import find
from ralph.shell.attestation.rerun import Rerun, approval_for, leads_outside, rerun, why_not_run
from ralph.shell.attestation.verify_request import ProofCheck, Signed
from ralph.shell.config import approvals
from ralph.shell.git.project import user_call
from ralph.shell.sandbox.probe import find_protection
from ralph.shell.state.directory import config_dir, open_state, state_dir


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
    for one in _rerun_on_tree(signed, tuple(gates), made.tree):
        seen += 1
        name = one.gate.name
        reading = find.evidence(signed.case.found, signed.case.state, attested[name].reading)
        state, words = compare_verdict(one, attested[name], reading)
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
    wrong = why_not_run(gate)
    return ProofCheck(name, "fail", wrong) if wrong else gate


def _approval(signed: Signed) -> Iterator[ProofCheck]:
    """Foreign commands run only once a human has seen them."""
    request = signed.case.request
    folder = config_dir(signed.case.env)
    # As the statement names them, without places of this machine: the same bundle has one hash each time.
    gates = [gate_of(entry, {}) for entry in signed.made.predicate.gates if not entry.get("withheld")]
    setup, inside = _setup(signed)
    if leads_outside(inside):
        yield ProofCheck("setup", "fail", f"its folder '{inside[:80]}' is outside of the repository")
    needed = approval_for(signed.made.predicate.loop, gates, setup)
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
    for one in _rerun_on_tree(signed, proof, base.tree):
        name, said = f"{one.gate.name} at base", before.get(one.gate.name)
        now = one.verdict.status
        if said is None:
            yield ProofCheck(name, "note", f"{now}; not attested")
        elif now == "error" != said.status:  # it was not looked at here: that shows neither red nor green
            yield _check(one, name, "fail", f"no answer here ({one.verdict.summary or one.verdict.cause})")
        elif (said.status == "pass") != (now == "pass"):
            yield _check(one, name, "fail", f"{now} here, attested as {said.status}")
        else:
            yield _check(one, name, "pass", f"{now}, as attested")


def _rerun_on_tree(signed: Signed, gates: tuple[Gate, ...], tree: str) -> Iterator[Rerun]:
    case = signed.case
    box, base = _terms(signed)
    return rerun(
        signed.project,
        gates,
        tree,
        case.env,
        box=box,
        base=base,
        token=case.request.token,
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


_MAX_SHOWN = 3


class _GateEvidence(msgspec.Struct, frozen=True):
    gate: str
    tree: str
    argv: tuple[str, ...]
    run: str
    tool_sha256: str
    report_at: str
    ended: dict[str, Any]


def evidence_trouble(data: bytes, said: StatedVerdict, entry: Mapping[str, Any], *, evidence: bool) -> str:
    """Why stored bytes do not bear out a verdict, though they have the hash it names; "" when they do."""
    try:
        return _of_evidence(data, said, entry) if evidence else _of_reading(data, said)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        return f"its evidence cannot be read: {error}"


def _of_evidence(data: bytes, said: StatedVerdict, entry: Mapping[str, Any]) -> str:
    found = msgspec.json.decode(data, type=_GateEvidence)
    if (found.gate, found.tree) != (said.gate, said.tree):
        return "its evidence is of another gate or another tree"
    if found.ended.get("exit_code") != said.exit_code:
        return "its evidence has another exit code"
    if entry.get("withheld"):
        return ""
    gate = gate_of(entry, {})
    argv = exec_argv(gate, found.report_at)
    same = len(argv) == len(found.argv) and all(map(matches_redacted, argv, found.argv))
    if not same or not matches_redacted(gate.run, found.run):
        return "its evidence is of another command"
    if str(entry.get("tool_sha", "")) not in ("", found.tool_sha256):
        return "its evidence is of another tool"
    return ""


def _of_reading(data: bytes, said: StatedVerdict) -> str:
    reading = msgspec.json.decode(data, type=Reading)
    if reading.status != said.status or reading.counts != said.counts:
        return "its reading says something else than the verdict"
    return "" if said.inventory in ("", inventory(reading.tests)) else "its reading has other tests"


def compare_verdict(one: Rerun, said: StatedVerdict, before: bytes | None) -> tuple[str, str]:
    """State and words for one gate that was run again. `before` is the attested reading, where it is here."""
    now, reading = one.verdict, one.reading
    if is_missing(now, settled=True):
        return "fail", f"no answer here ({now.summary}), attested as {said.status}: verify it again"
    if now.status not in (said.status, "pass"):
        why = now.summary or now.cause
        return "fail", f"{now.status} here ({why}), attested as {said.status}"
    if now.status != said.status:
        return "pass", f"pass, attested as {said.status}"
    lost = _lost_tests(reading, before)
    if lost:
        more = f" and {len(lost) - _MAX_SHOWN} more" if len(lost) > _MAX_SHOWN else ""
        return "fail", f"attested as passing, not so here: {', '.join(lost[:_MAX_SHOWN])}{more}"
    then, here = said.counts, reading.counts
    if now.status == "pass" and then and (here is None or here.passed < then.passed):
        return "fail", f"{here.passed if here else 0} tests pass here, attested {then.passed}"
    return "pass", f"{now.status}, as attested: {now.summary}"


def _lost_tests(reading: Reading, before: bytes | None) -> list[str]:
    """Tests that were attested as passing and do not pass here."""
    if before is None:
        return []
    then = msgspec.json.decode(before, type=Reading).tests or {}
    here = reading.tests or {}
    return sorted(name for name, state in then.items() if state == "pass" and here.get(name) != "pass")
