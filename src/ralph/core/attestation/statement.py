"""The statement of a verified loop: an in-toto Statement v1 whose predicate says what was proven, and how.

Pure: facts in, a value out; the same loop gives the same bytes. The tree is the first subject, so that the
proof survives a squash or a rebase; the commit is the second. What may be told of a loop is decided in
`redact`, signing is in `shell.attestation.envelope`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ralph.core.attestation.redact import gate_entry, redact_data, sha256
from ralph.core.model.gate import Grade, TaskClass
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Spend
from ralph.core.model.verdict import Counts, GuardResult, Status, Verdict

PAYLOAD_TYPE = "application/vnd.in-toto+json"
_RENAMED = {"type_": "_type", "predicate_type": "predicateType"}
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_HASH = re.compile(r"(?:[0-9a-f]{64})?")


class Subject(Struct, frozen=True):
    name: str
    digest: dict[str, str]


class Task(Struct, frozen=True):
    text: str
    sha256: str  # of the text as it was typed


class Base(Struct, frozen=True):
    commit: str
    tree: str


class StatedVerdict(Struct, frozen=True):
    """What one gate said: of the result, or of the base."""

    gate: str
    tree: str
    status: Status
    summary: str
    cause: str
    exit_code: int | None
    seconds: float
    counts: Counts | None
    per_test: bool
    inventory: str  # hash of every test id with its state; "" where ids are not known
    fixed: int  # red at the base, green now
    witnesses: int  # of those, the ones that the agent did not write
    evidence: str  # blob
    reading: str  # blob

    @property
    def still_red(self) -> tuple[str, ...]:
        return self.counts.still_red if self.counts is not None else ()


class Guarded(Struct, frozen=True):
    guard: str
    integrity: bool
    applied: bool
    summary: str
    findings: tuple[str, ...]
    counted: dict[str, int] = {}  # what it measured: witness, sabotaged, noticed, repeats


class Sandbox(Struct, frozen=True):
    level: str
    words: tuple[str, ...]


class Environment(Struct, frozen=True):
    """What the gates ran in. `digest` stands for all the other fields and the tools' hashes."""

    digest: str
    platform: str
    variables: tuple[str, ...]  # names only
    share: tuple[str, ...]
    setup: str  # the command that builds dependencies
    setup_cwd: str
    config: str


class StatedAgent(Struct, frozen=True):
    name: str
    model: str


class LoopPredicate(Struct, frozen=True):
    loop: str
    task: Task
    task_class: TaskClass
    until: str
    base: Base
    gates: tuple[dict[str, Any], ...]
    verdicts: tuple[StatedVerdict, ...]
    baseline: tuple[StatedVerdict, ...]
    guards: tuple[Guarded, ...]
    waivers: dict[str, str]
    grade: Grade | None  # None: the proof was green before any agent call
    not_proven: tuple[str, ...]
    reason: str
    sandbox: Sandbox
    environment: Environment
    agent: StatedAgent
    spend: dict[str, bool | int | float | None]
    iterations: int
    ralph: str
    started: str
    finished: str
    confirm: int = 1  # how often the final verdict was green
    quarantine: dict[str, str] = {}  # test id -> owner, expiry and reason
    outcome: Literal["verified", "unproven"] = "verified"  # unproven: green, and less proof than asked for


class Statement(Struct, frozen=True, kw_only=True, rename=_RENAMED):
    type_: Literal["https://in-toto.io/Statement/v1"]
    subject: tuple[Subject, ...]
    predicate_type: Literal["urn:ralph:proof:v1"]
    predicate: LoopPredicate

    @property
    def tree(self) -> str:
        return self.subject[0].digest["gitTree"]

    @property
    def commit(self) -> str:
        return self.subject[1].digest["gitCommit"]


class StatementFacts(Struct, frozen=True, kw_only=True):
    """What the loop itself does not hold: looked up by the shell."""

    started: str  # RFC 3339
    finished: str
    version: str
    words: tuple[str, ...] = ()
    inventories: dict[str, str] = {}  # by blob of a reading
    variables: tuple[str, ...] = ()
    platform: str = ""
    places: dict[str, str] = {}  # name -> absolute path on the user's machine
    secrets: tuple[str, ...] = ()


def statement(loop: Loop, facts: StatementFacts) -> Statement:
    """The statement of a loop that ended with a result; the caller has seen to that."""
    order = loop.sealed
    criterion = order.criterion
    made = Statement(
        type_="https://in-toto.io/Statement/v1",
        predicate_type="urn:ralph:proof:v1",
        subject=(
            Subject("tree", {"gitTree": loop.work.tree}),
            Subject("commit", {"gitCommit": loop.landing.result or order.base.commit}),
        ),
        predicate=LoopPredicate(
            loop=order.loop,
            task=Task(order.task, sha256(order.task.encode("utf-8", "surrogatepass"))),
            task_class=criterion.task_class,
            until=criterion.until,
            base=Base(order.base.commit, order.base.tree),
            gates=(),
            verdicts=_state_verdicts(loop, loop.proof.finals or loop.proof.baseline, facts),
            baseline=_state_verdicts(loop, loop.proof.baseline, facts),
            guards=tuple(
                map(_state_guard, loop.proof.guards if loop.proof.guards_tree == loop.work.tree else ())
            ),
            waivers=criterion.exceptions,
            grade=loop.grade,
            not_proven=loop.proof.unproven,
            reason=loop.reason,
            sandbox=Sandbox(loop.judged_in, facts.words),
            environment=_environment(loop, facts),
            agent=StatedAgent(order.agent.name, order.agent.model),
            spend=_spend(loop.spend),
            iterations=loop.iteration,
            ralph=facts.version,
            started=facts.started,
            finished=facts.finished,
            confirm=criterion.confirm,
            quarantine=criterion.quarantine,
            outcome="unproven" if loop.outcome == "unproven" else "verified",
        ),
    )
    told = redact_data(msgspec.to_builtins(made), facts.places, facts.secrets)
    fit: Statement = msgspec.convert(told, Statement)
    gates = tuple(gate_entry(gate, facts.places, facts.secrets) for gate in criterion.gates)
    return msgspec.structs.replace(fit, predicate=msgspec.structs.replace(fit.predicate, gates=gates))


def encode(made: Statement) -> bytes:
    return msgspec.json.encode(made, order="deterministic")


def parse(payload: bytes) -> Statement:
    """The statement in an envelope, ValueError when it is none of ours. Says nothing about who signed it."""
    found = msgspec.json.decode(payload, type=Statement)
    if [list(subject.digest) for subject in found.subject] != [["gitTree"], ["gitCommit"]]:
        raise ValueError("its subjects are not one git tree and one git commit")
    base = found.predicate.base
    if not all(_OID.fullmatch(oid) for oid in (found.tree, found.commit, base.commit, base.tree)):
        raise ValueError("a subject or the base is not the id of a git object")
    said = (*found.predicate.verdicts, *found.predicate.baseline)
    if not all(_HASH.fullmatch(digest) for one in said for digest in (one.evidence, one.reading)):
        raise ValueError("evidence is not named by a hash")
    names = [str(gate.get("name")) for gate in found.predicate.gates]
    if len(set(names)) < len(names) or sorted(one.gate for one in found.predicate.verdicts) != sorted(names):
        raise ValueError("gates and verdicts do not belong together")
    return found


def inventory(tests: Mapping[str, str] | None) -> str:
    """One hash for a set of test ids with their states; "" where ids are not known."""
    return sha256(msgspec.json.encode(sorted(tests.items()))) if tests is not None else ""


def _state_verdicts(
    loop: Loop, verdicts: dict[str, Verdict], facts: StatementFacts
) -> tuple[StatedVerdict, ...]:
    names = (gate.name for gate in loop.sealed.criterion.gates)
    return tuple(_state_verdict(verdicts[name], facts) for name in names if name in verdicts)


def _state_verdict(verdict: Verdict, facts: StatementFacts) -> StatedVerdict:
    return StatedVerdict(
        gate=verdict.gate,
        tree=verdict.tree,
        status=verdict.status,
        summary=verdict.summary,
        cause=verdict.cause,
        exit_code=verdict.exit_code,
        seconds=round(verdict.seconds, 3),
        counts=verdict.counts,
        per_test=verdict.per_test,
        inventory=facts.inventories.get(verdict.reading, ""),
        fixed=verdict.fixed_count,
        witnesses=verdict.witness_count,
        evidence=verdict.evidence,
        reading=verdict.reading,
    )


def _state_guard(result: GuardResult) -> Guarded:
    keys = tuple(finding.key for finding in result.findings)
    return Guarded(
        result.guard, result.integrity, result.applied, result.summary, keys, counted=result.counted
    )


def _spend(spend: Spend) -> dict[str, bool | int | float | None]:
    return {
        **({"cost_estimated": True} if spend.estimated else {}),
        "calls": spend.calls,
        "calls_of_unknown_cost": spend.blind,
        "cost_usd": spend.cost,
        "tokens": spend.tokens,
        "seconds": round(spend.seconds, 3),
        "waited": round(spend.waited, 3),
    }


def _environment(loop: Loop, facts: StatementFacts) -> Environment:
    order = loop.sealed
    tools = {gate.name: gate.tool_sha for gate in order.criterion.gates}
    seen: list[object] = [
        facts.platform,
        facts.variables,
        order.box.share,
        order.box.setup,
        order.box.setup_cwd,
    ]
    seen += [order.config_digest, tools]
    return Environment(
        digest=sha256(msgspec.json.encode(seen, order="deterministic")),
        platform=facts.platform,
        variables=facts.variables,
        share=order.box.share,
        setup=order.box.setup,
        setup_cwd=order.box.setup_cwd,
        config=order.config_digest,
    )
