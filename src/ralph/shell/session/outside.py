"""A loop made of a session: its own name, branch and agent, and a workspace with the session's work in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.session.record import Session
from ralph.shell.git.refs import RefChange, loop_ref, move_refs
from ralph.shell.git.workspace import make_workspace, restore_workspace
from ralph.shell.journal import record
from ralph.shell.journal.open import open_journal
from ralph.shell.ports import Quiet
from ralph.shell.run.scribe import Scribe, record_start
from ralph.shell.run.site import loop_folder, open_site
from ralph.shell.start.agents import choose_agents
from ralph.shell.start.prepare import loop_name, people_terms, result_branch
from ralph.shell.start.request import StartRequest, read_settings, refuse_request
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.state.stints import Stint

if TYPE_CHECKING:
    from ralph.shell.sandbox.site import Site


class BegunLoop(Struct, frozen=True):
    name: str
    stint: Stint
    max_loops: int
    max_loops_machine: int
    waits: bool  # for a person's yes to its start


def begin_from_session(
    session: Session,
    env: Mapping[str, str],
    clock: Clock,
    *,
    agent: str,
    agent_cmd: str,
    token: str,
    notes: tuple[str, ...],
    make_events: Callable[..., list[e.Event]],
) -> BegunLoop:
    """Record the loop, held by the caller. What could refuse it refuses it before anything is written."""
    old, now = session.loop.sealed, clock.now()
    flags: dict[str, object] = {} if agent_cmd else {"--agent": agent}
    request = StartRequest(task=old.task, cwd=old.repo, agent_cmd=agent_cmd, flags=flags)
    refuse_request(request, env)
    project, settings = read_settings(request, env, now)
    chosen = choose_agents(settings, project, env, command=agent_cmd)[0]
    name = loop_name(request, token)
    order = replace(
        old,
        loop=name,
        agent=replace(chosen.agent, model=settings.model),
        branch=result_branch(request, settings, project, name),
        limits=settings.limits,
        on_fail=settings.on_fail,
        people=people_terms(request, settings, project, env),
        warnings=(*old.warnings, *notes, "it began in a session whose agent was not sandboxed"),
    )
    state = open_state(state_dir(env), create=True)
    site = open_site(order, state, env, clock)
    events = make_events(order, site.workspace)
    pins = {"base": order.base.commit, "user-start": order.base.user_start or order.base.commit}
    pins |= {f"checkpoint/{one.iteration}": one.commit for one in events if isinstance(one, e.CheckpointMade)}
    with open_journal(state.root) as journal:
        stint = journal.admit(name, at=int(now * 1000))
        try:
            move_refs(project, [RefChange(loop_ref(name, what), oid, None) for what, oid in pins.items()])
            _fill_workspace(site, os.path.join(loop_folder(state, name), "git"), session)
            record_start(journal, order, now)
            scribe = Scribe(journal, name, record.load(journal, name), clock, Quiet(), state.root)
            for event in events:
                scribe.append(event)
        except BaseException:
            stint.release()
            raise
    places, waits = settings.places, "start" in settings.people.approve
    return BegunLoop(name, stint, places.max_loops, places.max_loops_machine, waits)


def _fill_workspace(site: Site, home: str, session: Session) -> None:
    """The loop's workspace, on the session's base and with what the session has made of it."""
    base, work = site.order.base.commit, session.loop.work
    history = site.order.box.history
    space = make_workspace(
        site.store, site.workspace, home, base, alternates=site.objects_at, history=history
    )
    restore_workspace(space, work.tree, work.commit)
