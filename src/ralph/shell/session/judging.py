"""Judging a session's tree: by a process of its own, so that a host's time limit cuts only the waiting.

Whoever wants an answer records what is to be judged, sees to it that a judge is at work, and reads the
record. A judge works off what is owed, newest tree first, and leaves. Killed, it owes the same as before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Literal

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.model.verdict import Stage, Verdict
from ralph.core.proof.causes import is_missing
from ralph.core.session.answer_stop import owed
from ralph.core.session.record import Session
from ralph.core.text.clean import one_line
from ralph.errors import Busy
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.run_guards import run_guards
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import find_modules
from ralph.shell.run.site import open_site
from ralph.shell.session.stream import add_fact, read_session, session_folder
from ralph.shell.state.directory import State
from ralph.shell.state.locks import acquire, holder, this_process

_LOOK_SECONDS = 1.0


def judge_lock(state: State, name: str) -> str:
    return os.path.join(session_folder(state, name), "judge.lock")


def is_judging(state: State, name: str) -> bool:
    return holder(judge_lock(state, name)) is not None


def judge_session(state: State, name: str, env: Mapping[str, str], clock: Clock) -> None:
    """Be the judge of a session until nothing is owed, or a check gives no answer."""
    with suppress(Busy):  # there is one already: it reads the same record
        lock = acquire(judge_lock(state, name), this_process(int(clock.now() * 1000), "judge"))
        try:
            session = read_session(state, name)
            while session.active and owed(session) and not session.loop.proof.no_answers:
                session = _judge_due(state, name, session, env, clock)
        finally:
            remove_tree(os.path.join(session_folder(state, name), "checkouts"))
            lock.release()


def _judge_due(state: State, name: str, session: Session, env: Mapping[str, str], clock: Clock) -> Session:
    loop, order = session.loop, session.loop.sealed
    site = open_site(order, state, {**env, "PATH": session.path or env.get("PATH", "")}, clock)
    judge = Judge(site, find_modules(site.store, order.base.tree, session_folder(state, name)))
    due = owed(session)
    attend = _Attending(state, name, session, clock)
    if due == "guards":
        results = run_guards(judge, loop, loop.work.tree, attend)
        if results is None:
            return read_session(state, name)
        if isinstance(results, tuple):
            fact: e.Event = e.GuardsEnded(iteration=loop.iteration, tree=loop.work.tree, results=results)
        else:
            why = one_line(results.reading.summary, 400)
            fact = _no_verdict(session, "guards", results.call.gate.name, results.reading.cause, why)
        return _add_answer(state, name, session, fact, clock)
    stage: Stage = "baseline" if due == "baseline" else "final"
    tree = order.base.tree if due == "baseline" else loop.work.tree
    known = loop.proof.baseline if due == "baseline" else {}
    if due == "gates" and loop.proof.finals_tree == tree:
        known = loop.proof.finals
    gates = [gate for gate in order.criterion.gates if gate.name not in known]
    # What was quick at the base first: a red answer is the sooner there.
    gates.sort(key=lambda gate: one.seconds if (one := loop.proof.baseline.get(gate.name)) else 0.0)
    for verdict in judge.patiently(tuple(gates), tree, stage, loop.proof.baseline, attend):
        fact = _verdict_fact(session, verdict, judge, stage)
        now, _ = add_fact(
            state,
            name,
            clock,
            lambda now, fact=fact: fact if _same(now, session) else None,  # type: ignore[misc]
        )
        if not _same(now, session):
            return now
    return read_session(state, name)


def _add_answer(state: State, name: str, session: Session, fact: e.Event, clock: Clock) -> Session:
    """An answer to a question that nobody asks any more is not recorded."""
    return add_fact(state, name, clock, lambda now: fact if _same(now, session) else None)[0]


def _verdict_fact(session: Session, verdict: Verdict, judge: Judge, stage: Stage) -> e.Event:
    if is_missing(verdict, settled=True):
        return _no_verdict(session, stage, verdict.gate, verdict.cause, verdict.summary)
    shares = judge.found.get(verdict.gate, ()) if stage == "baseline" else ()
    return e.GateEnded(iteration=session.loop.iteration, verdict=verdict, shares=shares)


def _no_verdict(
    session: Session, stage: Stage | Literal["guards"], gate: str, cause: str, why: str
) -> e.Event:
    said = f'gate "{gate}" gave no answer: {why or cause}'
    loop = session.loop
    return e.NoVerdict(
        iteration=loop.iteration, stage=stage, tree=loop.work.tree, gate=gate, cause=cause, why=said
    )


def _same(now: Session, then: Session) -> bool:
    """Is it still the same question? A baseline outlives new work; a tree's verdicts do not."""
    if not now.active or now.began != then.began:
        return False
    return owed(then) == "baseline" or now.loop.work.tree == then.loop.work.tree


class _Attending:
    """Drops what is being judged when nobody asks for it any more."""

    def __init__(self, state: State, name: str, session: Session, clock: Clock) -> None:
        self._place, self._session, self._clock = (state, name), session, clock
        self._looked = clock.monotonic()

    def __call__(self, activity: object) -> bool:  # noqa: ARG002
        if self._clock.monotonic() - self._looked < _LOOK_SECONDS:
            return False
        self._looked = self._clock.monotonic()
        return not _same(read_session(*self._place), self._session)
