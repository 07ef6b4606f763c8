"""Re-running the gates of a statement: the same judge, boxes and fresh checkouts as in a loop.

Nothing is journaled (`run.throwaway`). What was sealed elsewhere is foreign: its commands are shown and
approved before this is called, and some things are never accepted. Comparing is here too: evidence with the
verdict that names it, and a verdict made here with the one that was attested.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ralph.core.attestation.redact import gate_of, matches_redacted
from ralph.core.attestation.statement import StatedVerdict, inventory
from ralph.core.model.gate import Gate
from ralph.core.model.order import BoxTerms, StartPoint
from ralph.core.model.verdict import Counts, Reading, Verdict
from ralph.core.proof.causes import is_missing
from ralph.gates.readers import readers
from ralph.gates.seal import COMMAND, SHELL, exec_argv
from ralph.shell.config.schema import escape_invisible
from ralph.shell.config.settings import Approval, AskedItem
from ralph.shell.git.project import Project
from ralph.shell.ports import Attention
from ralph.shell.run.throwaway import open_judge

_VERSION = "ralph verify 1"
_MAX_SHOWN = 3
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
        return "what it runs is not the command it names"
    if leads_outside(gate.cwd):
        return f"its folder '{gate.cwd[:80]}' is outside of the repository"
    if gate.read not in readers():
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
        items += (AskedItem("setup", escape_invisible(f"setup runs {setup} (with network)"), where),)
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
    return escape_invisible(f'gate "{gate.name}" runs {gate.run} ({", ".join(more)})')


def rerun(
    project: Project,
    gates: tuple[Gate, ...],
    tree: str,
    env: Mapping[str, str],
    *,
    box: BoxTerms,
    base: StartPoint,
    token: str,
    left_out: Mapping[str, frozenset[str]],
    attend: Attention,
) -> Iterator[Rerun]:
    """Each gate over a fresh checkout of `tree`, as it comes in, without the tests that count for nothing."""
    by_name = {gate.name: gate for gate in gates}
    with open_judge(f"verify-{token}", project, gates, box, env, lambda *_: tree, base) as (judge, _):
        judge.omissions.allow(left_out)
        readings: dict[str, Reading] = {}
        for verdict in judge.patiently(gates, tree, "final", {}, attend, readings):
            gate = by_name[verdict.gate]
            yield Rerun(gate, verdict, readings[gate.name], judge.tool_of(verdict))


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
    if reading.status != said.status or _tests_counted(reading.counts) != _tests_counted(said.counts):
        return "its reading says something else than the verdict"
    return "" if said.inventory in ("", inventory(reading.tests)) else "its reading has other tests"


def _tests_counted(counts: Counts | None) -> tuple[int, int, int]:
    return (counts.passed, counts.failed, counts.skipped) if counts is not None else (0, 0, 0)


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
