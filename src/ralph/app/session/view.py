"""Which session is meant, and what a person or an agent is shown of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ralph.app.words.format import iso, safe
from ralph.core.model.rubric import opinion_line
from ralph.core.proof import exit_gate
from ralph.core.session.answer_stop import MAX_REFUSALS, UNHELD, owed, progress
from ralph.core.session.hosts import HOST_FACTS
from ralph.core.session.names import session_name
from ralph.core.session.record import Session
from ralph.errors import UserError
from ralph.shell.journal.selection import project_top
from ralph.shell.session.stream import read_session, session_names
from ralph.shell.state.directory import open_state, state_dir


def this_session(env: Mapping[str, str], host: str = "", session: str = "") -> tuple[str, str]:
    """Host and id: as given, or of the agent that has started this command."""
    for name, facts in HOST_FACTS.items():
        told = env.get(facts.variable, "") if facts.variable else ""
        if told and host in ("", name) and session in ("", told):
            return name, told
    if host and session:
        return host, session
    raise UserError(
        "which session is meant is not known",
        code="E-SESSION-WHICH",
        why="this was not started by an agent that says so; a session is named by --host and --session",
        next="ralph session list",
    )


def find_session(env: Mapping[str, str], host: str = "", session: str = "") -> str:
    return session_name(*this_session(env, host, session))


def load_session(env: Mapping[str, str], name: str) -> Session:
    return read_session(open_state(state_dir(env), create=False), name)


def sessions_here(env: Mapping[str, str], cwd: str, *, every: bool = False) -> list[Session]:
    """Sessions of this repository that have or had a task, newest first."""
    state, top = open_state(state_dir(env), create=False), project_top(cwd)
    found = [read_session(state, name) for name in session_names(state)]
    mine = [one for one in found if one.loop.order is not None and (every or one.loop.sealed.repo == top)]
    return sorted(mine, key=lambda one: -one.began)


def headline(session: Session) -> str:
    """One line: where the session stands."""
    if session.ended is not None:
        end = session.ended
        words = {"verified": "VERIFIED_DONE", "unproven": "DONE_UNPROVEN", "satisfied": "NOTHING_TO_DO"}
        grade = f" ({end.grade})" if end.grade else ""
        named = words.get(end.outcome, end.outcome)
        return f"{named}{grade}" + (f" as loop {end.loop}" if end.loop else "")
    if session.loop.order is None:
        return "no task"
    due = owed(session)
    if due is not None and session.loop.iteration + session.stops > 0:
        done, total = progress(session)
        return f"judging, {done} of {total}"
    return "baseline, in the background" if due == "baseline" else "working"


def session_lines(session: Session) -> list[str]:
    loop = session.loop
    if loop.order is None:
        return [f"{session.host or '?'}  no task"]
    order = loop.sealed
    base, now = loop.proof.baseline, loop.proof.finals if loop.proof.finals_tree == loop.work.tree else {}
    lines = [
        f"{headline(session)}  {session.host} {session.id}",
        f"task      {safe(order.task, 300)}",
        f"class     {order.criterion.task_class}, at least grade {order.criterion.min_grade}",
    ]
    for gate in order.criterion.gates:
        if gate.hidden:
            continue
        before, after = base.get(gate.name), now.get(gate.name)
        states = [one.status if one else "not judged" for one in (before, after)]
        lines.append(f"check     {gate.name}: {safe(gate.run, 200)}  base {states[0]}, now {states[1]}")
    if order.rubric is not None:
        said = loop.jury.opinion
        lines.append(f"judge     {safe(opinion_line(said), 300) if said else 'not asked yet'}")
    lines.append(f"stops     {session.stops}, refused {session.refused} (at most {MAX_REFUSALS} in a row)")
    if session.said is not None:
        lines.append(f"last      {session.said.why}: {safe('; '.join(session.said.words), 600)}")
    if session.ended is not None and session.ended.outcome == "verified":
        lines += [f"open      {safe(one, 300)}" for one in session.ended.unproven]
    else:
        lines += [f"note      {safe(one, 300)}" for one in (*order.warnings, *session.unseen, UNHELD)]
    return lines


def session_json(session: Session) -> dict[str, Any]:
    loop, said = session.loop, session.said
    order = loop.order
    return {
        "host": session.host,
        "session": session.id,
        "state": headline(session),
        "active": session.active,
        "task": order.task if order else "",
        "repository": order.repo if order else "",
        "class": order.criterion.task_class if order else "",
        "gates": [gate.name for gate in order.criterion.gates if not gate.hidden] if order else [],
        "began": iso(session.began) if session.began else None,
        "stops": session.stops,
        "refused": session.refused,
        "refused_in_row": session.refusals.get("Stop", 0),
        "max_refusals": MAX_REFUSALS,
        "not_looked_at": list(session.unseen),
        "judged": list(progress(session)) if session.active else None,
        "last": {"refused": said.refused, "why": said.why, "words": list(said.words)} if said else None,
        "verified": session.ended is not None and session.ended.outcome == "verified",
        "ended": msgspec.to_builtins(session.ended) if session.ended else None,
    }


def context_for_agent(session: Session) -> str:
    """What an agent that joins or wakes up is told: task, criterion, last answer."""
    order = session.loop.sealed
    shown = [gate for gate in order.criterion.gates if not gate.hidden]
    lines = [
        f"Ralph judges this session. Task: {order.task}",
        "Done means that Ralph's own checks pass on what stands in the work tree: "
        + "; ".join(f"{gate.name}: {gate.run}" for gate in shown),
    ]
    if session.unseen:
        lines.append("Nobody looks at these, so leave them as they are: " + "; ".join(session.unseen))
    red = exit_gate.red_sentences(
        msgspec.structs.replace(order.criterion, gates=tuple(shown)),
        session.loop.proof.baseline,
        session.loop.proof.finals,
    )
    if session.loop.proof.finals and red:
        lines.append("When last judged: " + "; ".join(red))
    if session.said is not None and session.said.refused:
        lines.append("Ralph's last answer: " + "; ".join(session.said.words))
    return "\n".join(lines)[:6000]
