"""Judging a session's tree: by a process of its own, so that a host's time limit cuts only the waiting.

Whoever wants an answer records what is to be judged, sees to it that a judge is at work, and reads the
record. A judge works off what is owed, newest tree first, and leaves. Killed, it owes the same as before.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.model.verdict import Stage
from ralph.core.session.answer_stop import owed
from ralph.core.session.record import Session
from ralph.errors import Busy
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.run_guards import run_guards
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import find_modules
from ralph.shell.run.site import open_site
from ralph.shell.session.ask_judge import ask_judge
from ralph.shell.session.question import Question, no_verdict, verdict_fact
from ralph.shell.session.stream import read_session, session_folder
from ralph.shell.state.directory import State
from ralph.shell.state.locks import acquire, holder, this_process


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
    modules = find_modules(site.store, order.base.tree, session_folder(state, name))
    judge, question, due = Judge(site, modules), Question(state, name, session, clock), owed(session)
    if due == "judge":
        return ask_judge(question, site, modules)
    if due == "guards":
        results = run_guards(judge, loop, loop.work.tree, question.is_dropped)
        if results is None:
            return question.read()
        if isinstance(results, tuple):
            return question.add(e.GuardsEnded(iteration=loop.iteration, tree=loop.work.tree, results=results))
        why = results.reading.summary
        return question.add(no_verdict(session, "guards", results.call.gate.name, results.reading.cause, why))
    stage: Stage = "baseline" if due == "baseline" else "final"
    tree = order.base.tree if due == "baseline" else loop.work.tree
    known = loop.proof.baseline if due == "baseline" else {}
    if due == "gates" and loop.proof.finals_tree == tree:
        known = loop.proof.finals
    gates = [gate for gate in order.criterion.gates if gate.name not in known]
    # What was quick at the base first: a red answer is the sooner there.
    gates.sort(key=lambda gate: one.seconds if (one := loop.proof.baseline.get(gate.name)) else 0.0)
    judge.omissions.allow_old_red(loop, loop.work.tree, judge.base_reading)
    for verdict in judge.patiently(tuple(gates), tree, stage, loop.proof.baseline, question.is_dropped):
        shares = judge.found.get(verdict.gate, ()) if stage == "baseline" else ()
        now = question.add(verdict_fact(session, verdict, shares, stage))
        if not question.is_open(now):
            return now
    return question.read()
