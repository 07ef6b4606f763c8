"""Starting to judge a session: what could refuse it refuses it now, then its order is sealed and recorded."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.clock import Clock
from ralph.core.session.names import session_name
from ralph.core.session.record import Session, SessionStarted
from ralph.errors import UserError
from ralph.shell.git.snapshot import resolve_commit
from ralph.shell.sandbox.probe import find_protection
from ralph.shell.session.seal import Draft, seal_order
from ralph.shell.session.stream import add_fact, alone, read_session, session_folder
from ralph.shell.start.agents import choose_judge_beside, refuse_unboxed
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
    seated = choose_judge_beside(settings, project, env, host)
    for one in seated.choices:
        refuse_unboxed(one, shield.level, settings.box.sandbox)
    # Who starts the same session at the same moment waits, and is told that it works already.
    with alone(state, name, "snapshot", clock):
        _refuse_active(read_session(state, name))
        draft = Draft(name, host, criterion, seated, (*seated.notes, *expired), int(now))
        order, unseen = seal_order(draft, request, settings, project, session_folder(state, name))
        path, level = env.get("PATH", ""), shield.level
        fact = SessionStarted(
            host=host, session=session, order=order, protection=level, path=path, unseen=unseen
        )
        return add_fact(state, name, clock, lambda _: fact)[0]


def _refuse_active(session: Session) -> None:
    if session.active:
        raise UserError(
            "this session works on a task already",
            code="E-SESSION-ACTIVE",
            why=session.loop.sealed.task[:200],
            next=f"ralph session stop --host {session.host} --session {session.id}",
        )
