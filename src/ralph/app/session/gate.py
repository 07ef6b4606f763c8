"""The Stop gate: may the agent of a session stop, answered within the time that its host gives a hook."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.clock import Clock, SystemClock
from ralph.core.model.agent import Claim
from ralph.core.session.answer_stop import ENDINGS, MAX_REFUSALS, StopAnswer, answer_stop, judged_exit, owed
from ralph.core.session.hosts import without_session
from ralph.core.session.names import check_session_name, session_name
from ralph.core.session.record import Fact, HookAnswered, Session, SessionClaimed, SessionEnded, StopAsked
from ralph.shell.session.begin import begin_session
from ralph.shell.session.judging import is_judging, judge_session
from ralph.shell.session.stream import add_fact, alone, open_session, read_session
from ralph.shell.session.work_tree import keep_checkpoint, take_session_snapshot, unseen_changes
from ralph.shell.start.request import StartRequest
from ralph.shell.state.directory import open_state, state_dir
from ralph.shell.worker.spawn import ralph_argv, runner_log, spawn_detached

_POLL_SECONDS = 0.1
_RESPAWN_SECONDS = 5.0


def start_session(
    request: StartRequest, host: str, session: str, env: Mapping[str, str], *, seconds: float
) -> Session:
    """Begin, and wait so long for what the gates say of the base; a longer suite goes on by itself."""
    begin_session(request, host, session, env, SystemClock())
    return wait_for_judge(session_name(host, session), env, seconds, SystemClock())


def ask_stop(
    name: str,
    env: Mapping[str, str],
    *,
    claim: Claim | None = None,
    seconds: float,
    most: int = MAX_REFUSALS,
    event: str = "Stop",
) -> tuple[Session, StopAnswer]:
    """What stands in the work tree, judged as far as it can be in so many seconds; recorded both ways."""
    state, clock = open_state(state_dir(env), create=True), SystemClock()
    open_session(state, name)  # one without a record has no folder to be alone in
    with alone(state, name, "snapshot", clock):
        session = open_session(state, name)
        tree, unseen = take_session_snapshot(state, name, session)
        asked = StopAsked(claim=claim, tree=tree, left_out=unseen_changes(session, unseen))
        session, _ = add_fact(state, name, clock, lambda _: asked)
        keep_checkpoint(state, name, session, tree, clock)
    judged = wait_for_judge(name, env, seconds, clock)
    if judged.ended is not None:  # by the user, or by an answer that another hook has heard
        return judged, StopAnswer(False, "ended", (judged.ended.reason,))
    answer = answer_stop(judged, most)
    session, _ = add_fact(state, name, clock, lambda _: _answer_fact(answer, event, tree))
    if answer.why in ENDINGS:
        end = _end_fact(judged, answer)
        session, _ = add_fact(state, name, clock, lambda now: end if _is_same(now, judged) else None)
    return session, answer


def _is_same(now: Session, judged: Session) -> bool:
    """Is it still the task and the tree that was answered for? Another hook may have come in between."""
    same = (now.began, now.loop.work.tree) == (judged.began, judged.loop.work.tree)
    return now.active and same


def _answer_fact(answer: StopAnswer, event: str, tree: str) -> Fact:
    return HookAnswered(event=event, refused=answer.refused, why=answer.why, tree=tree, words=answer.words)


def _end_fact(session: Session, answer: StopAnswer) -> SessionEnded:
    found = judged_exit(session.loop) if answer.why in ("verified", "unproven") else None
    return SessionEnded(
        outcome=ENDINGS[answer.why],
        reason="; ".join(answer.words)[:1000],
        tree=session.loop.work.tree,
        grade=found.grade if found else None,
        unproven=(*found.unproven, *(f"nobody looked: {one}" for one in session.unseen)) if found else (),
    )


def wait_for_judge(name: str, env: Mapping[str, str], seconds: float, clock: Clock) -> Session:
    """The session once nothing is owed, or after so many seconds; somebody is at work on it until then."""
    state = open_state(state_dir(env), create=True)
    until, spawned = clock.monotonic() + seconds, -_RESPAWN_SECONDS
    while True:
        session = read_session(state, name)
        if not session.active or owed(session) is None or session.loop.proof.no_answers:
            return session
        now = clock.monotonic()
        if now - spawned >= _RESPAWN_SECONDS and not is_judging(state, name):
            argv = ralph_argv("session", "judge", name)
            spawn_detached(argv, without_session(env), runner_log(state.root, name))
            spawned = now
        if now >= until:
            return session
        clock.sleep(_POLL_SECONDS)


def run_judge(name: str, env: Mapping[str, str]) -> None:
    """Be the judge that `wait_for_judge` has started."""
    judge_session(open_state(state_dir(env), create=True), check_session_name(name), env, SystemClock())


def end_session(name: str, env: Mapping[str, str], reason: str) -> Session:
    """Stop judging a session; what was recorded stays."""
    state = open_state(state_dir(env), create=True)
    open_session(state, name)
    fact = SessionEnded(outcome="stopped", reason=reason)
    return add_fact(state, name, SystemClock(), lambda now: fact if now.active else None)[0]


def claim_in_session(name: str, env: Mapping[str, str], claim: Claim) -> Session:
    """What the agent says of its work: heard at its next stop, and never more than a claim."""
    state = open_state(state_dir(env), create=True)
    open_session(state, name)
    return add_fact(state, name, SystemClock(), lambda _: SessionClaimed(claim=claim))[0]
