"""One function for each kind of event: the loop before it and the event in, the loop after it out.

A handler may refuse an event that its phase allows but the loop's state does not (`_illegal`).
Which handler serves which phase is said in `machine.TABLE` and nowhere else.
"""

from __future__ import annotations

import msgspec.structs

from ralph.core.decide import after_judging, failover, grants, next_item, on_baseline, opinion, plan_facts
from ralph.core.decide.after_fault import after_fault
from ralph.core.decide.stuck import apply
from ralph.core.decide.stuck.take_back import forgiven, sentence_for_prompt
from ralph.core.decide.team import role_calls
from ralph.core.model import actions as a
from ralph.core.model import events as e
from ralph.core.model import spend
from ralph.core.model.agent import AgentSession, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.plan.completion import WINDOW
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.prompt import learnings
from ralph.core.proof import exit_gate

replace = msgspec.structs.replace
FORGETS = frozenset({"context", "request", "hollow", "protocol", "crash"})  # the conversation may be why
MAX_HALVINGS = 4  # of the prompt


def loop_started(loop: Loop, event: e.LoopStarted) -> Loop:
    order = event.order
    loop = loop.with_work(tree=order.base.tree, tree_before=order.base.tree, commit=order.base.commit)
    return replace(
        loop.with_landing(branch=order.branch),
        order=order,
        rules=event.rules,
        phase="baseline",
        limits=order.limits,
        build=next_item.initial_plan_state(order),
        todo=(a.MakeWorkspace(),),
    )


def workspace_made(loop: Loop, event: e.WorkspaceMade) -> Loop:
    if not isinstance(loop.owed, a.MakeWorkspace):
        loop.refuse(event, "no workspace was asked for")
    return on_baseline.take_baseline(loop.with_work(workspace=event.path))


def tests_tied(loop: Loop, event: e.TestsTied) -> Loop:
    """What the specs say of the judged tree is known: go on where that was asked for."""
    if loop.owed != a.TieTests(tree=event.tree):
        loop.refuse(event, "nobody asked which tests of this tree name a criterion")
    after = plan_facts.take_test_links(loop, event.tree, event.ties)
    go_on = after_judging.pause_or_call if loop.phase == "baseline" else after_judging.decide_on_fast_gates
    return go_on(after)


def agent_started(loop: Loop, event: e.AgentStarted) -> Loop:
    owed = loop.owed
    if loop.call.running or owed != a.RunAgent(event.iteration, event.call, event.using):
        loop.refuse(event, "no such call was asked for")
    loop = loop.begin_calls(event.call, event.at).with_call(
        agent=event.using,
        session=_session_for(loop, event),
        running=True,
        prompt=event.prompt,
        claim=None,
        fault=None,
    )
    loop = loop.with_proof(again=False).with_work(tree_before=event.tree or loop.work.tree_before)
    loop = loop.with_control(steers=(), steers_in_call=loop.control.steers)
    subject, role = after_judging.task_of_call(loop)
    return loop.with_task(subject, role).charge(role, spend.add_started_call)


def agent_ended(loop: Loop, event: e.AgentEnded) -> Loop:
    if not loop.call.running or event.call != loop.call.number:
        loop.refuse(event, "no such call is open")
    loop = apply.call_ended(loop, event)
    order, claim = grants.take_beforehand(loop.sealed, event.claim)
    loop = loop.with_call(
        running=False,
        claim=claim,
        fault=event.fault,
        denials=event.denials,
        session=_kept_session(loop, event),
        prompt_halvings=_prompt_halvings(loop, event.fault),
        cost=_bounded_cost(loop, event),
    )
    loop = loop.charge(
        after_judging.task_of_call(loop)[1], lambda spent: spend.add_call_usage(spent, event.usage)
    )
    agents = loop.agents
    name = failover.with_agent(loop.sealed, loop.call.agent, loop.build.mode).agent.name
    loop = loop.with_agents(
        learnings=learnings.add_notes(agents.learnings, event.learned),
        denials_in_row=agents.denials_in_row + 1 if event.denials else 0,
        programs={**agents.programs, name: event.program} if event.program else agents.programs,
    )
    todo = (a.TakeSnapshot(iteration=loop.iteration),)
    return replace(loop, order=order, build=_note_indication(loop, event), todo=todo)


def _note_indication(loop: Loop, event: e.AgentEnded) -> PlanState:
    """What the agent says of being finished, in the newest messages."""
    build = loop.build
    if event.indication is None or event.fault is not None:
        return build
    return build.with_closing(indications=(*build.closing.indications, event.indication)[-WINDOW:])


def _bounded_cost(loop: Loop, event: e.AgentEnded) -> float | None:
    """What the call cost, where that is bounded; one that stopped at its bound by itself has kept it."""
    kept = event.fault is not None and event.fault.kind == "budget"
    return None if kept or loop.limits.iteration_cost is None else event.usage.cost


def _session_for(loop: Loop, event: e.AgentStarted) -> AgentSession | None:
    """The conversation goes on with who had it: not with a spare, nor between a planner and a coder."""
    planner = loop.sealed.team is not None and "planner" in loop.sealed.team.roles and loop.has_plan
    return loop.call.session if event.using == loop.call.agent and not planner else None


def _kept_session(loop: Loop, event: e.AgentEnded) -> AgentSession | None:
    """The conversation that the next call goes on with; a fault that it may have caused ends it."""
    if not loop.sealed.keep_session or (event.fault is not None and event.fault.kind in FORGETS):
        return None
    return event.session or loop.call.session


def _prompt_halvings(loop: Loop, fault: Fault | None) -> int:
    if fault is None:
        return 0
    halvings = loop.call.prompt_halvings
    return min(MAX_HALVINGS, halvings + 1) if fault.kind == "context" else halvings


def checkpoint_made(loop: Loop, event: e.CheckpointMade) -> Loop:
    if not isinstance(loop.owed, a.TakeSnapshot) or event.iteration != loop.iteration:
        loop.refuse(event, "no snapshot was asked for")
    changed = event.tree != loop.work.tree_before
    fault = loop.call.fault
    loop = apply.record_changes(loop, event, changed=changed).with_work(left_out=event.left_out)
    if fault is not None and not changed:
        loop = loop.with_work(tree=event.tree, commit=event.commit, changed_lines=event.total_lines)
        return after_fault(loop, fault)
    if loop.build.mode in ("planning", "closing"):
        return after_judging.end_planning_call(loop, event)
    loop = loop.with_work(tree=event.tree, commit=event.commit, changed_lines=event.total_lines)
    loop = after_judging.mode_of(loop).take_notes(loop, event.plan, changed=changed)
    loop = loop.with_agents(faults_in_row=0, outages_in_row=0, cut_in_row=0).with_progress(revert_note="")
    if loop.control.abort_reason:
        return after_judging.finish(loop, a.Finish("aborted", loop.control.abort_reason))
    if event.tree == loop.proof.verdicts_tree and loop.work.protection <= loop.judged_in:
        return after_judging.decide_on_fast_gates(loop)
    if event.tree == loop.proof.verdicts_tree:  # a stronger box may show more of it: judged again, in full
        loop = loop.with_proof(finals_tree="", guards_tree="")
    loop = after_judging.judge_tree(loop)
    return after_judging.hold(loop) if loop.control.pause_now else loop


def gate_ended(loop: Loop, event: e.GateEnded) -> Loop:
    verdict = event.verdict
    owed = on_baseline.gates_still_owed(loop, event)
    if role_calls.on_trial(loop):
        return role_calls.trial_gate_ended(loop, verdict, owed)
    if owed.stage == "final":
        loop = loop.with_proof(finals={**loop.proof.finals, verdict.gate: verdict})
    else:
        loop = loop.with_proof(verdicts={**loop.proof.verdicts, verdict.gate: verdict})
    if owed.gates:
        return replace(loop, todo=(owed,))
    return (
        after_judging.decide_on_final_gates(loop)
        if owed.stage == "final"
        else after_judging.decide_on_fast_gates(loop)
    )


def guards_ended(loop: Loop, event: e.GuardsEnded) -> Loop:
    if loop.owed != a.RunGuards(tree=event.tree):
        loop.refuse(event, "no guards were asked for on this tree")
    if any(result.tree != event.tree for result in event.results):
        loop.refuse(event, "a guard looked at another tree")
    return after_judging.verify_or_settle(loop.with_proof(guards=event.results, guards_tree=event.tree))


def workspace_restored(loop: Loop, event: e.WorkspaceRestored) -> Loop:
    owed = loop.owed
    if not isinstance(owed, a.RestoreWorkspace) or event.tree != owed.to.tree:
        loop.refuse(event, "that is not the checkpoint that was asked for")
    to = owed.to
    said = sentence_for_prompt(loop, owed, event.iteration)
    loop = loop.with_work(tree=to.tree, commit=to.commit, changed_lines=to.changed_lines, left_out=())
    loop = loop.with_progress(revert_note=said)
    loop = forgiven(loop) if said else loop
    loop = plan_facts.restore_plan_state(loop)
    return after_judging.pause_loop(loop) if loop.control.pause_reason else after_judging.call_agent(loop)


def wait_over(loop: Loop, event: e.WaitOver) -> Loop:
    if not isinstance(loop.owed, a.Wait):
        loop.refuse(event, "nothing was waited for")
    held = loop.control.held_todo[0] if loop.control.held_todo else None
    if isinstance(held, a.AskJudge):  # the wait was for the judge's agent
        loop = loop.with_control(held_todo=(), held_phase="working", wait_until=None, wait_reason="")
        return after_judging.leave(replace(loop, phase="judging"), held.then)
    return after_judging.limit_or_call(loop.with_call(fault=None))


def judge_ended(loop: Loop, event: e.JudgeEnded) -> Loop:
    return after_judging.follow_judge(*opinion.take_answer(loop, event))


def result_published(loop: Loop, event: e.ResultPublished) -> Loop:
    owed = loop.owed
    if not isinstance(owed, a.PublishResult) or owed.tree != event.tree:
        loop.refuse(event, "no result was to be published")
    loop = loop.with_landing(branch=event.branch, result=event.commit)
    outcome, why = exit_gate.ending_of(loop.sealed.criterion, owed.grade, loop.proof.finals)
    return after_judging.finish(loop, a.Finish(outcome, why, grade=owed.grade))


def item_published(loop: Loop, event: e.ItemPublished) -> Loop:
    owed = loop.owed
    if not isinstance(owed, a.PublishItem) or (owed.item, owed.tree) != (event.item, event.tree):
        loop.refuse(event, "no such item was to be published")
    return after_judging.item_published(loop.with_landing(branch=event.branch), event.commit)


def loop_ended(loop: Loop, event: e.LoopEnded) -> Loop:
    owed = loop.owed
    if not isinstance(owed, a.Finish) or (owed.outcome, owed.grade) != (event.outcome, event.grade):
        loop.refuse(event, "the loop was not to be finished this way")
    return replace(
        loop.with_control(abort_reason=""),
        team=loop.team.drop_tasks(event.reason),
        phase="ended",
        outcome=event.outcome,
        reason=event.reason,
        grade=event.grade,
        todo=(),
    )


def landing_started(loop: Loop, event: e.LandingStarted) -> Loop:
    wanted = {"land": "", "undo": "landed"}[event.direction]
    underway = {"land": "landing", "undo": "undoing"}[event.direction]
    if loop.landing.state not in (wanted, underway) or loop.landing.was_dropped:
        loop.refuse(event, f"landing state is {loop.landing.state or 'none'}")
    return loop.with_landing(state=underway, old=event.old, new=event.new)


def landing_ended(loop: Loop, event: e.LandingEnded) -> Loop:
    underway = {"land": "landing", "undo": "undoing"}[event.direction]
    if loop.landing.state != underway:
        loop.refuse(event, f"landing state is {loop.landing.state or 'none'}")
    after = {("land", True): "landed", ("land", False): "", ("undo", True): "", ("undo", False): "landed"}
    return loop.with_landing(state=after[event.direction, event.done])


def loop_dropped(loop: Loop, event: e.LoopDropped) -> Loop:
    if loop.landing.state in ("landing", "undoing"):
        loop.refuse(event, "a landing is under way")
    return loop.with_landing(was_dropped=True)
