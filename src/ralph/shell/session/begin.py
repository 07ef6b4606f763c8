"""Starting to judge a session: task, criterion and gates sealed, the user's files pinned as the base.

The agent is the host's own and the work tree the user's, so the base is what stands in it now, changes that
are not committed included: they are not the agent's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.clock import Clock
from ralph.core.model.agent import SealedAgent
from ralph.core.model.order import Order, StartPoint
from ralph.core.session.names import session_name
from ralph.core.session.record import Session, SessionStarted
from ralph.errors import UserError
from ralph.shell.dependencies import shared
from ralph.shell.git.project import start_warnings
from ralph.shell.git.snapshot import resolve_commit, start_refs
from ralph.shell.git.store import open_store
from ralph.shell.git.workspace import remove_loop
from ralph.shell.sandbox.probe import find_protection
from ralph.shell.session.stream import add_fact, read_session, session_folder
from ralph.shell.start.gates import seal_criterion
from ralph.shell.start.request import StartRequest, read_settings, refuse_inside, refuse_request
from ralph.shell.state.directory import open_state, refuse_full_disk, state_dir


def begin_session(
    request: StartRequest, host: str, session: str, env: Mapping[str, str], clock: Clock
) -> Session:
    """The session with its sealed order; what could refuse a loop's gates refuses it here."""
    refuse_request(request, env)
    name, now = session_name(host, session), clock.now()
    project, settings = read_settings(request, env, now)
    refuse_inside(project, state_dir(env))
    base = resolve_commit(project, request.base) if request.base else project.head
    criterion, expired = seal_criterion(request, settings, project, base, env, now)
    state = open_state(state_dir(env), create=True)
    refuse_full_disk(state, settings.retention.min_free)
    _, shield = find_protection(settings.box.sandbox, settings.net == "on", state.root, env)
    _refuse_active(read_session(state, name))
    folder = session_folder(state, name)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    store = open_store(project, os.path.join(folder, "store"))
    remove_loop(project, name)  # of the time before, when a session is started again
    pinned = start_refs(
        store, name, request.base or None, with_changes=not request.base, date=int(now), scratch=folder
    )
    warned = (*start_warnings(project), *pinned.warnings)
    order = Order(
        loop=name,
        task=request.task,
        repo=project.top,
        criterion=criterion,
        limits=settings.limits,
        agent=SealedAgent(host),
        base=StartPoint(
            commit=pinned.base_commit,
            tree=pinned.base_tree,
            user_start=pinned.user_start_commit,
            head_commit=project.head,
            head_branch=(project.branch or "").removeprefix("refs/heads/"),
        ),
        box=shared.with_usable_shares(
            store, pinned.base_tree, replace(settings.box, network=settings.net == "on")
        ),
        prefix=project.prefix.rstrip("/"),
        with_changes=not request.base,
        protect=(*settings.paths.protect_paths, *request.protect),
        warnings=(*request.notes, *settings.warnings, *expired, *warned),
    )

    fact = SessionStarted(
        host=host, session=session, order=order, protection=shield.level, path=env.get("PATH", "")
    )
    return add_fact(state, name, clock, lambda before: _if_free(before, fact))[0]


def _if_free(session: Session, fact: SessionStarted) -> SessionStarted:
    _refuse_active(session)
    return fact


def _refuse_active(session: Session) -> None:
    if session.active:
        raise UserError(
            "this session works on a task already",
            code="E-SESSION-ACTIVE",
            why=session.loop.sealed.task[:200],
            next=f"ralph session stop --host {session.host} --session {session.id}",
        )
