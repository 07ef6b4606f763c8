"""From a session to a loop in the background: task, gates, baseline, counts and evidence go with it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping

from ralph import __version__
from ralph.app.people.approve import leave_unapproved
from ralph.clock import SystemClock
from ralph.core.session.as_loop import loop_events
from ralph.core.session.hosts import without_session
from ralph.core.session.record import SessionEnded
from ralph.shell.session.outside import BegunLoop, begin_from_session
from ralph.shell.session.stream import add_fact, alone, open_session, session_facts
from ralph.shell.session.work_tree import keep_checkpoint, take_session_snapshot, unseen_changes
from ralph.shell.state import blobs
from ralph.shell.state.directory import open_state, state_dir


def continue_outside(
    name: str, env: Mapping[str, str], *, agent: str = "", agent_cmd: str = ""
) -> tuple[BegunLoop, dict[str, str]]:
    """The loop, held, and the environment it is to have. The session is over: no task is worked on twice."""
    state, clock = open_state(state_dir(env), create=True), SystemClock()
    clear = without_session(env)
    with alone(state, name, "snapshot", clock):  # to the end: two at once would make two loops of it
        session = open_session(state, name)
        tree, unseen = take_session_snapshot(state, name, session)
        session = keep_checkpoint(state, name, session, tree, clock)
        left_out = unseen_changes(session, unseen)
        prompt = blobs.put(state.blobs, session.loop.sealed.task.encode())
        begun = begin_from_session(
            session,
            clear,
            clock,
            agent=agent or session.host,
            agent_cmd=agent_cmd,
            token=secrets.token_hex(4),
            notes=tuple(f"left behind: {words}" for words in left_out),
            make_events=lambda order, workspace: loop_events(
                session,
                session_facts(state, name),
                order,
                prompt=prompt,
                workspace=workspace,
                pid=os.getpid(),
                version=__version__,
            ),
        )
        ended = SessionEnded(outcome="continued", reason="goes on outside", tree=tree, loop=begun.name)
        add_fact(state, name, clock, lambda now: ended if now.active else None)
    if begun.waits:
        leave_unapproved(begun.name, begun.stint, env)
    return begun, clear
