"""What people and runners ask of a loop: a stint, a place in the queue, a note, a pause, a resume, an abort.

Like `on_event`: one function for each kind of event, and `machine.EVENTS` says in which phase it serves.
"""

from __future__ import annotations

import msgspec.structs

from ralph.core.decide import after_judging, failover, grants, on_baseline, plan_facts
from ralph.core.decide.stints.approval import refuse_start
from ralph.core.model import actions as a
from ralph.core.model import events as e
from ralph.core.model import spend
from ralph.core.model.agent import SealedAgent, Steer
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE, RESUMABLE
from ralph.core.model.rubric import reset_counts
from ralph.core.model.verdict import Checkpoint

replace = msgspec.structs.replace
CHOSEN = "you chose to go on from there"


def loop_queued(loop: Loop, event: e.LoopQueued) -> Loop:
    """What is owed waits, as it stands, for a runner that has a place."""
    if loop.phase != "queued":
        loop = replace(loop.with_control(held_todo=loop.todo, held_phase=loop.phase), phase="queued", todo=())
    return loop.with_host(
        background=True,
        priority=event.priority,
        queued_at=event.at,
        stints=0,
        needs=event.needs,
        most=event.most,
        env=event.env,
    )


def priority_asked(loop: Loop, event: e.PriorityAsked) -> Loop:
    return loop.with_host(priority=event.priority)


def stint_started(loop: Loop, event: e.StintStarted) -> Loop:
    """A runner has the loop. Whoever takes it up by hand also takes back a pause asked of the runner before.

    The worker takes a loop up because its runner died, and nobody said that the pause is over.
    """
    refuse_start(loop)
    if loop.phase == "queued":
        loop = _unhold(loop)
    loop = _note_protection(loop, event.protection).with_agents(cut_in_row=0)
    if event.hosted:
        count = loop.host.stints + 1
        return loop.with_host(background=True, queued_at=0.0, stints=count, stint_at=event.at)
    loop = loop.with_host(background=False, queued_at=0.0, stints=0, stint_at=0.0)
    return _go_on(loop)


def _note_protection(loop: Loop, level: str) -> Loop:
    """A judgement is as good as the weakest box it was made in, and one that was made stays what it was.

    So the commit that tells of it has the same bytes, whichever stint writes it.
    """
    loop = loop.with_work(protection=level)
    owed = (*loop.todo, *loop.control.held_todo)
    judged = any(isinstance(one, a.AskJudge | a.PublishResult | a.PublishItem | a.Finish) for one in owed)
    if judged or not loop.proof.protection:
        return loop
    return loop.with_proof(protection=min(loop.proof.protection, level))


def _go_on(loop: Loop) -> Loop:
    """Whatever was asked to stop it is over."""
    return loop.with_control(pause_reason="", pause_now=False, stopped_by="person")


def _unhold(loop: Loop) -> Loop:
    held, phase = loop.control.held_todo, loop.control.held_phase
    return replace(loop.with_control(held_todo=(), held_phase="working"), phase=phase, todo=held)


def user_approved(loop: Loop, event: e.Approved) -> Loop:
    return loop.with_control(approved={**loop.control.approved, event.point: event.commit})


def learnings_cleared(loop: Loop, event: e.LearningsCleared) -> Loop:
    kept = tuple(note for note in loop.agents.learnings if note not in event.notes)
    return loop.with_agents(learnings=kept)


def user_steered(loop: Loop, event: e.Steered) -> Loop:
    return loop.with_control(
        steers=(*loop.control.steers, Steer(text=event.text, at=event.at, author=event.author))
    )


def pause_asked(loop: Loop, event: e.PauseAsked) -> Loop:
    owed = loop.owed
    if loop.phase == "paused" and event.by in ("person", "limit") and not loop.todo:
        # Whoever stopped it first: from here on nobody wakes it.
        return replace(
            loop.with_control(stopped_by=event.by),
            reason=loop.reason if event.by == "person" else event.reason,
        )
    if loop.phase == "paused" or isinstance(owed, a.Finish):
        return loop  # it stands still already, or is about to for good
    now = event.now or loop.control.pause_now
    reason = event.reason or "paused by the user"
    loop = loop.with_control(pause_reason=reason, pause_now=now, stopped_by=event.by)
    if loop.phase in ("waiting", "queued"):  # of a queued loop, what is held stays held
        return after_judging.pause_loop(loop)
    if not loop.call.running and (now or isinstance(owed, a.RunAgent)):
        return after_judging.hold(loop)
    return loop


def raise_live(loop: Loop, event: e.ResumeAsked) -> Loop:
    """Asked of a loop that is at work or queued: more room, and a pause that was asked for is taken back."""
    if replace(event, at=0.0, took=0.0) != _only_room(event):
        loop.refuse(event, "only limits can be raised while it is at work")
    return _go_on(_with_room(loop, event))


def _only_room(event: e.ResumeAsked) -> e.ResumeAsked:
    return e.ResumeAsked(
        author=event.author,
        more_iterations=event.more_iterations,
        more_time=event.more_time,
        more_cost=event.more_cost,
        more_tokens=event.more_tokens,
    )


def _with_room(loop: Loop, event: e.ResumeAsked) -> Loop:
    limits = spend.raise_limits(
        loop.limits,
        iterations=event.more_iterations,
        time=event.more_time,
        cost=event.more_cost,
        tokens=event.more_tokens,
    )
    return replace(loop, limits=limits)


def _refuse_resume(loop: Loop, event: e.ResumeAsked) -> None:
    refuse_start(loop)
    if loop.phase == "ended" and loop.outcome not in RESUMABLE:
        loop.refuse(event, f"{loop.outcome} is final")
    if loop.phase == "ended" and (loop.landing.was_dropped or loop.landing.state):
        loop.refuse(event, "it was dropped or landed")
    if loop.todo:
        loop.refuse(event, "it is about to end")
    if event.gates and loop.has_plan:
        loop.refuse(event, "a plan is held to the gates that it began with")
    if {gate.name for gate in event.gates} & {gate.name for gate in loop.sealed.criterion.gates}:
        loop.refuse(event, "a gate of that name is in the order")
    if event.to is not None and (loop.has_plan or event.gates):
        loop.refuse(event, "a checkpoint cannot be chosen for a plan, nor together with a gate")


def resume_asked(loop: Loop, event: e.ResumeAsked) -> Loop:
    """Take a paused or an ended but resumable loop up again; raised limits come with the asking."""
    _refuse_resume(loop, event)
    held, held_phase, ended = loop.control.held_todo, loop.control.held_phase, loop.phase == "ended"
    loop = replace(_go_on(loop).with_control(held_todo=(), held_phase="working"), outcome=None, reason="")
    loop = _with_room(loop, event)
    if event.agent is not None:
        loop, held = _with_agent(loop, event.agent), _by_first_agent(held)
    loop = grants.grant(plan_facts.tick_human_items(loop, event.done), event)
    if "reviewer" in event.allow and held and isinstance(held[0], a.AskJudge):
        held = ()  # who was to be asked is overruled: the tree is judged again without
    if event.gates:
        loop = on_baseline.join_gates(loop, event.gates)
    if held and not event.gates and event.to is None:
        return replace(loop, phase=held_phase, todo=held)
    if ended:
        loop = _forget_counts(loop)
    if event.to is not None and loop.progress.best is not None:
        unmade = loop.rules > 6 and held and isinstance(held[0], a.RunAgent)  # its call was never begun
        return _go_back(replace(loop, iteration=loop.iteration - 1) if unmade else loop, event.to)
    if event.gates and not (ended and loop.progress.best is None):
        return on_baseline.take_missing_baseline(loop, held, held_phase)
    if loop.progress.best is None:
        return on_baseline.take_baseline(loop)
    whole = not loop.has_plan or (loop.rules > 8 and plan_facts.is_mend_item(loop.build.item))
    answered = ended and event.allow and whole and loop.work.tree != loop.sealed.base.tree
    return after_judging.judge_again(loop) if answered else after_judging.limit_or_call(loop)


def _forget_counts(loop: Loop) -> Loop:
    """A human looked at what ended it: every count starts anew, and so does the judgement."""
    loop = loop.with_agents(faults_in_row=0, outages_in_row=0, denials_in_row=0, programs={})
    loop = loop.with_call(cost=None)
    loop = loop.with_progress(integrity_hits=0, counted=0)
    loop = loop.with_proof(verdicts_tree="", finals_tree="", guards_tree="", doubted_tree="", no_answers=())
    loop = replace(loop, jury=reset_counts(loop.jury))
    loop = loop.with_team(open="", tries=0, review=reset_counts(loop.team.review))
    return plan_facts.reopen_blocked_items(loop)


def _with_agent(loop: Loop, agent: SealedAgent) -> Loop:
    """Another agent works from here on: nothing that is known of the ones before counts for it."""
    loop = loop.with_call(agent=0, session=None, prompt_halvings=0, fault=None)
    loop = loop.with_agents(
        programs={}, rest_until={}, failover_reason="", faults_in_row=0, outages_in_row=0, down_since=0.0
    )
    return replace(loop, order=replace(loop.sealed, agent=agent, spares=()))


def _by_first_agent(held: tuple[a.Action, ...]) -> tuple[a.Action, ...]:
    return tuple(replace(one, agent=0) if isinstance(one, a.RunAgent) else one for one in held)


def _go_back(loop: Loop, to: Checkpoint) -> Loop:
    """The work goes on from a checkpoint that a person chose: from here on that is the best there is."""
    ending = failover.limit_reached(loop)
    if ending is not None:
        return after_judging.finish(replace(loop, phase="working"), ending)
    # What is left behind has its checkpoint already, under a ref of its own.
    back = a.RestoreWorkspace(to=to, rejected=None, why=CHOSEN)
    return replace(loop.with_progress(best=to, counted=0), phase="working", todo=(back,))


def abort_asked(loop: Loop, event: e.AbortAsked) -> Loop:
    if loop.phase == "queued":
        loop = _unhold(loop)
    owed = loop.owed
    if isinstance(owed, a.Finish) and owed.outcome in DONE:
        return loop  # too late: the result is there
    reason = event.reason or "aborted by the user"
    loop = loop.with_control(abort_reason=reason)
    if loop.call.running or isinstance(owed, a.TakeSnapshot):
        return loop  # the shell stops the call; its tree is kept as a checkpoint first
    return after_judging.finish(loop, a.Finish("aborted", reason))
