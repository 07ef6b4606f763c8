"""Checking a proof: signature, trust, subject, evidence, and then every gate again from a clean checkout.

In that order, and no gate of a statement whose signature does not count is ever run. Each check is one
line; the first that fails, or that a human has to decide, is the last. What was not checked is said as a
note and never as a pass. Running gates again is in `confirm_gates`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from ralph.app.results.confirm_gates import ProofCheck, Signed, VerifyCase, VerifyRequest, run_again
from ralph.clock import SystemClock
from ralph.core.attestation.redact import gate_entry
from ralph.core.attestation.statement import StatedVerdict, Statement
from ralph.shell.attestation import bundle, bundle_source, find, make, trust
from ralph.shell.attestation.envelope import Sealed, signed_by
from ralph.shell.attestation.find import FoundProof
from ralph.shell.attestation.keys import Public
from ralph.shell.attestation.rerun import evidence_trouble
from ralph.shell.git.project import Project
from ralph.shell.journal.entries import Record
from ralph.shell.ports import Attention
from ralph.shell.state.directory import State, open_state, state_dir

__all__ = ["Outcome", "ProofCheck", "VerifyRequest", "outcome_json", "verify"]


class Outcome(msgspec.Struct, frozen=True):
    found: FoundProof
    sealed: Sealed | None
    checks: tuple[ProofCheck, ...]

    @property
    def verified(self) -> bool:
        return all(check.state in ("pass", "note") for check in self.checks)

    @property
    def exit_code(self) -> int:
        states = {check.state for check in self.checks}
        return 1 if "fail" in states else 3 if "ask" in states else 0


def outcome_json(outcome: Outcome, target: str) -> dict[str, Any]:
    """The same for programs."""
    made = outcome.sealed.statement if outcome.sealed else None
    return {
        "v": 1,
        "verified": outcome.verified,
        "exit_code": outcome.exit_code,
        "target": target,
        "kind": outcome.found.kind,
        "loop": made.predicate.loop if made else None,
        "grade": made.predicate.grade if made else None,
        "tree": made.tree if made else None,
        "commit": made.commit if made else None,
        "not_proven": list(made.predicate.not_proven) if made else None,
        "checks": [msgspec.to_builtins(check) for check in outcome.checks],
    }


SIGNING_SECONDS = 10.0


class _Choice(msgspec.Struct, frozen=True):
    """Of several envelopes, the one that counts, or the first with what speaks against it."""

    sealed: Sealed | None
    checks: tuple[ProofCheck, ...]


def verify(
    request: VerifyRequest,
    env: Mapping[str, str],
    *,
    tell: Callable[[ProofCheck], None] = lambda _: None,
    agree: Callable[[ProofCheck], bool] = lambda _: False,
    attend: Attention = lambda _: False,
) -> Outcome:
    """All checks, each told as it is made; a second time when `agree` says yes to foreign commands."""
    while True:
        with tempfile.TemporaryDirectory(prefix="ralph-verify-") as scratch:
            outcome = _verify_once(replace(request, scratch=os.path.realpath(scratch)), env, tell, attend)
        last = outcome.checks[-1] if outcome.checks else None
        if last is None or last.name != "approval" or request.agreed or not agree(last):
            return outcome
        request = replace(request, agreed=True)


def _verify_once(
    request: VerifyRequest, env: Mapping[str, str], told: Callable[[ProofCheck], None], attend: Attention
) -> Outcome:
    state = open_state(state_dir(env), create=False)
    found = _find(request, state)
    clock = SystemClock()
    while not found.candidates and _is_in_the_making(found, clock.now()):
        clock.sleep(0.1)
        found = _find(request, state)
    case = VerifyCase(request, env, state, found, attend)
    choice = _choose(case)
    made: list[ProofCheck] = []
    for check in _checks(case, choice):
        made.append(check)
        told(check)
        if check.state in ("fail", "ask"):
            break
    return Outcome(found, choice.sealed, tuple(made))


def _find(request: VerifyRequest, state: State) -> FoundProof:
    return find.find_proof(
        request.target, request.proof, state=state, cwd=request.cwd, scratch=request.scratch
    )


def _is_in_the_making(found: FoundProof, now: float) -> bool:
    """The runner signs after the loop's last fact: who asks right then waits for it."""
    if found.record is None or found.record.loop.outcome not in ("verified", "unproven"):
        return False
    return 0 <= now - found.record.entries[-1].row.at / 1000 < SIGNING_SECONDS


def _checks(case: VerifyCase, choice: _Choice) -> Iterator[ProofCheck]:
    yield from choice.checks
    assert choice.sealed is not None  # or the last check was a refusal, and nobody asked for more
    made = choice.sealed.statement
    check, project = _subject(case, made)
    yield check
    assert project is not None
    record = _own(case, made)
    yield from _gates(case, made, record)
    yield from _evidence(case, made)
    guards = len(made.predicate.guards)
    yield ProofCheck("guards", "note", f"{guards} attested, not run again" if guards else "none attested")
    if case.request.rerun:
        yield from run_again(Signed(case, made, project, record))
    else:
        yield ProofCheck("re-run", "note", "left out, as asked: nobody but the signer saw these gates pass")
    if made.predicate.outcome == "unproven":
        yield _unproven(made)


def _unproven(made: Statement) -> ProofCheck:
    name, left = made.predicate.loop, sum(len(said.still_red) for said in made.predicate.verdicts)
    words, way = f"green, but proven only to grade {made.predicate.grade}", f"resume {name} --check CMD"
    if left:
        words, way = f"{left} red before the loop and still red", f"status {name}"
    return ProofCheck("proof", "ask", f"DONE_UNPROVEN: {words}; you decide", f"ralph {way}")


def _choose(case: VerifyCase) -> _Choice:
    """The envelope whose signature holds and counts."""
    found, request = case.found, case.request
    if not found.candidates:
        name = "bundle" if found.kind == "bundle" else "attestation"
        return _Choice(None, (ProofCheck(name, "fail", found.trouble),))
    known = trust.trusted_keys(case.env)
    for path in request.trust:
        key = bundle.read_key(os.path.join(request.cwd, path))
        known[key.id] = trust.Trusted(key, os.path.basename(path), request.now)
    public = {keyid: one.key for keyid, one in known.items()}
    if found.offered is not None:
        public = {found.offered.id: found.offered, **public}
    refused: list[tuple[ProofCheck, ...]] = []
    for sealed in found.candidates:
        signer = signed_by(sealed, public)
        checks = (
            (_bad_signature_check(case, sealed, public),)
            if signer is None
            else _signature_checks(case, sealed, signer, known)
        )
        if checks[-1].state == "pass":
            return _Choice(sealed, checks)
        refused.append(checks)
    return _Choice(None, refused[0])


def _bad_signature_check(case: VerifyCase, sealed: Sealed, public: Mapping[str, Public]) -> ProofCheck:
    ids = ", ".join(keyid[:16] for keyid in sealed.signers)
    if any(keyid in public for keyid in sealed.signers):
        why = "it does not hold: the envelope was edited, or was not signed by that key"
        return ProofCheck("signature", "fail", f"key {ids}: {why}")
    step = f"ralph verify {case.request.target} --trust KEY.pem"
    return ProofCheck("signature", "ask", f"by key {ids}, which is not known here", step)


def _signature_checks(
    case: VerifyCase, sealed: Sealed, signer: Public, known: Mapping[str, trust.Trusted]
) -> tuple[ProofCheck, ...]:
    signature = ProofCheck("signature", "pass", f"Ed25519, by key {signer.short}")
    try:
        finished = make.seconds_of(sealed.statement.predicate.finished)
    except ValueError:
        return signature, ProofCheck("statement", "fail", "the time at which it was finished cannot be read")
    why = trust.why_untrusted(known.get(signer.id), finished)
    if not why:
        words = f"key {signer.short} is trusted as '{known[signer.id].name}'"
        return signature, ProofCheck("trust", "pass", words)
    if signer.id in known:
        return signature, ProofCheck("trust", "fail", why)
    path = os.path.join(case.request.cwd, case.request.proof or case.request.target)
    return signature, ProofCheck("trust", "ask", f"{why}: {signer.id}", f"ralph keys trust '{path}'")


def _subject(case: VerifyCase, made: Statement) -> tuple[ProofCheck, Project | None]:
    """Is what it speaks of what is here?"""
    found = case.found
    if found.project is None:
        file = os.path.join(found.folder, bundle.SOURCE)
        into = os.path.join(case.request.scratch, "repository")
        try:
            project = bundle_source.unpack(file, into, made.predicate.base.commit, made.commit, made.tree)
        except bundle_source.BadSource as bad:
            return ProofCheck("subject", "fail", f"the bundle's source: {bad}"), None
        words = f"the bundle's source is tree {made.tree[:12]}, commit {made.commit[:12]}"
        return ProofCheck("subject", "pass", words), project
    if made.tree != found.tree:
        seen = found.tree[:12] or "none that is here"
        words = f"it is about tree {made.tree[:12]}, {found.words} has tree {seen}"
        return ProofCheck("subject", "fail", words), None
    more = (
        f"; only the files are verified, not the commit: attested was commit {made.commit[:12]},"
        " so message, author and parents are not part of the proof (squashed or rebased since)"
    )
    words = f"tree {made.tree[:12]} is the tree of {found.words}"
    return ProofCheck("subject", "pass", words + (more if made.commit != found.commit else "")), found.project


def _own(case: VerifyCase, made: Statement) -> Record | None:
    """The record behind the statement, when the loop was driven here and came to the same tree."""
    record = case.found.record or find.record_of(case.state, made.predicate.loop)
    if (
        record is None
        or record.loop.outcome not in ("verified", "unproven")
        or record.loop.work.tree != made.tree
    ):
        return None
    return record if record.name == made.predicate.loop else None


def _gates(case: VerifyCase, made: Statement, record: Record | None) -> Iterator[ProofCheck]:
    """The statement names the gates that were sealed when the loop began, and no others."""
    if record is None:
        if case.found.kind == "loop":
            yield ProofCheck(
                "gates", "fail", f"the statement is not of {case.found.words} as it is recorded here"
            )
        return
    order = record.loop.sealed
    where = make.places(case.state, order.repo, case.env)
    sealed = {gate.name: gate_entry(gate, where)["sha256"] for gate in order.criterion.gates}
    told = {str(gate["name"]): gate.get("sha256") for gate in made.predicate.gates}
    swapped = sorted(name for name in sealed.keys() | told.keys() if sealed.get(name) != told.get(name))
    if swapped:
        words = f"{', '.join(swapped)}: not the gate that was sealed when the loop began"
        yield ProofCheck("gates", "fail", words)
    yield ProofCheck("gates", "pass", f"{len(told)} as sealed when the loop began")


def _evidence(case: VerifyCase, made: Statement) -> Iterator[ProofCheck]:
    """Every piece that is here has the hash the statement names, and bears out its verdict."""
    pieces = missing = 0
    for said, tree in _stated_verdicts(made):
        entry = next((gate for gate in made.predicate.gates if gate["name"] == said.gate), None)
        if entry is None or said.tree != tree:
            yield ProofCheck("evidence", "fail", f"{said.gate}: its verdict is of another tree or of no gate")
            return
        for digest in filter(None, (said.evidence, said.reading)):
            data = find.evidence(case.found, case.state, digest)
            if data is None:
                missing += 1
                continue
            pieces += 1
            trouble = evidence_trouble(data, said, entry, evidence=digest == said.evidence)
            if trouble:
                yield ProofCheck("evidence", "fail", f"{said.gate}: {trouble}")
    gone = f"; {missing} not here" if missing else ""
    if pieces:
        yield ProofCheck("evidence", "pass", f"{pieces} pieces, as the statement names them{gone}")
    else:
        yield ProofCheck("evidence", "note", f"none here{gone}")


def _stated_verdicts(made: Statement) -> Iterator[tuple[StatedVerdict, str]]:
    """Every verdict with the tree it must be of."""
    for said in made.predicate.verdicts:
        yield said, made.tree
    for said in made.predicate.baseline:
        yield said, made.predicate.base.tree
