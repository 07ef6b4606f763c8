"""`ralph state`: a session's state by the types and fields of other loop runners.

What an agent writes is a claim. What Ralph knows (checks, guards, the task, stops) is read from the record
and cannot be written: a claim of the same name is shown under `claimed` only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ralph.app.words.format import iso, safe
from ralph.clock import SystemClock
from ralph.core.model.agent import Claim
from ralph.core.session.record import Session, SessionClaimed, StateNoted
from ralph.errors import UserError
from ralph.shell.session.stream import add_fact
from ralph.shell.state.directory import open_state, state_dir

_CONDITIONS = (
    "memory_search", "task_classified", "must_have_answered", "plan_approved", "implementation_complete",
    "correctness_passed", "quality_passed", "adversarial_passed", "retrospective_done",
)  # fmt: skip
_STAGES = ("correctness", "quality", "security")
# What may be claimed of each type.
FIELDS: dict[str, tuple[str, ...]] = {
    "loop": ("task", "iteration", "max_iterations", "validation_result", "last_error", "verified_done"),
    "orchestrator": ("phase", "iterations", "verified_done", *_CONDITIONS),
    "quality-gate": ("last_result", *_STAGES),
}
_COUNTERS = {"loop": "iteration", "orchestrator": "iterations"}
MAX_CHARS = 500


def note_state(
    name: str, env: Mapping[str, str], kind: str, values: Mapping[str, str], *, create: bool = False
) -> Session:
    """Record claims. Without `create` the state must be there."""
    unknown = [key for key in values if key not in FIELDS[kind]]
    if unknown:
        raise UserError(
            f"'{safe(unknown[0], 60)}' is no field of {kind}",
            code="E-STATE-FIELD",
            why=f"expected one of {', '.join(FIELDS[kind])}",
            next="ralph state --help",
        )
    cut = {key: safe(value, MAX_CHARS) for key, value in values.items()}
    return _add(name, env, kind, lambda _: StateNoted(type=kind, values=cut), create=create)


def delete_state(name: str, env: Mapping[str, str], kind: str) -> Session:
    return _add(name, env, kind, lambda _: StateNoted(type=kind, deleted=True))


def count_state(name: str, env: Mapping[str, str], kind: str) -> Session:
    """One more iteration, as the agent counts them."""
    counter = _COUNTERS.get(kind)
    if counter is None:
        raise UserError(f"{kind} counts nothing", code="E-STATE-FIELD", next="ralph state --help")

    def count_on(session: Session) -> StateNoted:
        value = _number(session.notes.get(kind, {}).get(counter, ""), 0) + 1
        return StateNoted(type=kind, values={counter: str(value)})

    return _add(name, env, kind, count_on)


def claim_complete(name: str, env: Mapping[str, str], kind: str) -> Session:
    """The agent says that it is done: heard at its next stop, judged by the checks."""
    session = note_state(name, env, kind, {} if kind == "quality-gate" else {"verified_done": "true"})
    if not session.active:
        return session
    claim = Claim(status="COMPLETE", exit_signal=True)
    state = open_state(state_dir(env), create=True)
    return add_fact(state, name, SystemClock(), lambda _: SessionClaimed(claim=claim))[0]


def _add(
    name: str,
    env: Mapping[str, str],
    kind: str,
    make: Callable[[Session], StateNoted],
    *,
    create: bool = False,
) -> Session:
    def check_and_make(session: Session) -> StateNoted:
        if not create:
            state_of(session, kind, SystemClock().now())
        return make(session)

    return add_fact(open_state(state_dir(env), create=True), name, SystemClock(), check_and_make)[0]


def state_of(session: Session, kind: str, now: float) -> dict[str, str]:
    found = session.note_of(kind, now)
    if found is None:
        old = kind in session.notes
        raise UserError(
            f"this session has no state of type {kind}",
            code="E-STATE-NONE",
            why=f"the one of {iso(session.noted.get(kind, 0.0))} is over 24 h old" if old else "",
            next="ralph state --help",
        )
    return found


def _number(text: str, other: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 10 else other


def validation(session: Session) -> str:
    """Passed only when Ralph verified it; failed when its checks or guards say no of what they saw last."""
    if session.ended is not None and session.ended.outcome == "verified":
        return "passed"
    stages = _stages(session)
    return "failed" if "failed" in stages.values() else "pending"


def _stages(session: Session) -> dict[str, str]:
    """Required checks, guards, and the guard for secrets: what each says of the newest judged tree."""
    proof, loop = session.loop.proof, session.loop
    gates = loop.order.criterion.gates if loop.order else ()
    finals = proof.finals if proof.finals_tree == loop.work.tree else {}
    # Untouched, it is what it was before: red there is red, green proves nothing.
    same = loop.order is not None and loop.work.tree in ("", loop.order.base.tree)
    seen = finals or (proof.baseline if same else {})
    judged = [seen[gate.name].status for gate in gates if gate.required and gate.name in seen]
    guards = proof.guards if proof.guards_tree == loop.work.tree else ()
    secrets = [one for one in guards if one.guard == "secrets" and one.applied]

    def word(seen: int, green: bool, whole: bool) -> str:
        return "pending" if not seen else "failed" if not green else "passed" if whole else "pending"

    whole = len(judged) == sum(gate.required for gate in gates) and seen is finals
    return {
        "correctness": word(len(judged), all(one == "pass" for one in judged), whole),
        "quality": word(len(guards), not any(one.findings for one in guards), whole=True),
        "security": word(len(secrets), not any(one.findings for one in secrets), whole=True),
    }


def state_json(session: Session, kind: str, session_id: str, now: float) -> dict[str, Any]:
    """The state with what Ralph knows in its place, and every claim beside it."""
    claimed, order = state_of(session, kind, now), session.loop.order
    verified = validation(session) == "passed"
    stages = _stages(session)
    times = {
        "created_at": iso(session.began) if session.began else None,
        "last_updated": iso(session.noted.get(kind, now)),
    }
    refused = "; ".join(session.said.words) if session.said and session.said.refused else ""
    body: dict[str, Any]
    if kind == "loop":
        body = {
            "task": safe(order.task, 2000) if order else claimed.get("task", ""),
            "iteration": session.stops if order else _number(claimed.get("iteration", ""), 0),
            "max_iterations": _number(claimed.get("max_iterations", ""), 25),
            "validation_result": validation(session),
            "last_error": claimed.get("last_error") or safe(refused, MAX_CHARS) or None,
            "verified_done": verified,
            **times,
        }
    elif kind == "orchestrator":
        said = {name: _truth(claimed.get(name, "")) for name in _CONDITIONS}
        known = {"correctness_passed": stages["correctness"], "quality_passed": stages["quality"]}
        said |= {name: {"passed": True, "failed": False}.get(word) for name, word in known.items()}
        said["implementation_complete"] = verified
        body = {
            "phase": claimed.get("phase", "init"),
            "verified_done": verified,
            "iterations": session.stops if order else _number(claimed.get("iterations", ""), 0),
            "conditions": said,
        }
    else:
        body = {
            "last_result": validation(session),
            "stages": {name: {"status": stages[name], "details": claimed.get(name, "")} for name in _STAGES},
        }
    return {"v": 1, "session_id": session_id, "type": kind, **body, "claimed": claimed}


def _truth(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.lower())
