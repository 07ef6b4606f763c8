"""What follows a judged iteration: leave, end, pause, take back, or call the agent again.

The order of the questions is the policy. An exit is looked for first, so that a limit reached in the
very iteration that finished the work does not hide the result; a human's word (abort, pause) comes
before Ralph's own reasons to go on.
"""

from __future__ import annotations

from typing import Protocol

import msgspec.structs

from ralph.core.decide import failover, grants, next_item, opinion, plan_facts, single_task
from ralph.core.decide.stuck import apply, measure, take_back
from ralph.core.model import actions as a
from ralph.core.model.events import CheckpointMade, PlanRead
from ralph.core.model.gate import MAKE_IT_GREEN, Gate, Grade
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Checkpoint, GuardResult, Verdict
from ralph.core.proof import exit_gate

replace = msgspec.structs.replace
DEAR_SECONDS = 2.0  # of one round of checks; checkouts of 10,000 files take about one


class Mode(Protocol):
    """What a plan decides otherwise than a single task: two modules with the same functions."""

    IN_ITEMS: bool  # work is missed, and the next call chosen, item by item

    def already_done(self, loop: Loop) -> a.Finish | None: ...
    def exit_terms(self, loop: Loop) -> exit_gate.Terms: ...
    def missing_for_tick(self, loop: Loop) -> tuple[str, ...]: ...
    def to_publish(self, loop: Loop, grade: Grade) -> opinion.Then | None: ...
    def take_notes(self, loop: Loop, read: PlanRead | None, *, changed: bool) -> Loop: ...
    def next_step(self, loop: Loop, *, can_call: bool) -> tuple[Loop, a.Finish | str]: ...


def mode_of(loop: Loop) -> Mode:
    if loop.has_plan:
        return next_item
    return single_task


def gate_names(loop: Loop) -> tuple[str, ...]:
    """What was red last comes first, then what is quick: a red answer is the sooner there."""

    def order(gate: Gate) -> tuple[bool, float]:
        seen = loop.newest_verdicts.get(gate.name)
        return (seen is None or seen.status == "pass", seen.seconds if seen is not None else 0.0)

    return tuple(gate.name for gate in sorted(loop.sealed.criterion.gates, key=order))


def finish(loop: Loop, action: a.Finish) -> Loop:
    return replace(apply.close_on_finish(loop, action), todo=(action,))


def decide_on_fast_gates(loop: Loop) -> Loop:
    """Fast verdicts are in for the tree at hand: go for the final judgement, or settle the iteration."""
    if needs_test_links(loop):
        return replace(loop, phase="judging", todo=(a.TieTests(tree=loop.work.tree),))
    answer = exit_answer(loop, loop.proof.verdicts, None)
    if answer.insists and loop.rules > 9:
        return _judge_in_full(loop.with_proof(insisted_tree=loop.work.tree))
    if answer.may_leave and loop.proof.finals_tree == loop.work.tree:
        # Judged in full before: asking again could only be luckier; a claim may be what was missing.
        return decide_on_final_gates(loop)
    if answer.may_leave and all(one.stage == "final" for one in loop.proof.verdicts.values()):
        finals = loop.proof.verdicts  # of checkouts made anew: they need not be asked again
        return decide_on_final_gates(
            loop.with_proof(stage="final", finals=finals, finals_tree=loop.work.tree)
        )
    return _judge_in_full(loop) if answer.may_leave else settle(loop, answer)


def _judge_in_full(loop: Loop) -> Loop:
    """In checkouts made anew; guards come after that."""
    todo = a.RunGates(stage="final", tree=loop.work.tree, gates=gate_names(loop))
    return replace(
        loop.with_proof(stage="final", finals={}, finals_tree=loop.work.tree), phase="judging", todo=(todo,)
    )


def judge_tree(loop: Loop) -> Loop:
    """Ask for the verdicts on what a call left behind."""
    tree = loop.work.tree
    todo = a.RunGates(stage="fast", tree=tree, gates=gate_names(loop), fresh=_fresh_pays(loop))
    level = loop.work.protection if loop.rules > 4 else ""  # by earlier rules the stint that decided counted
    return replace(
        loop.with_proof(stage="fast", verdicts={}, verdicts_tree=tree, protection=level),
        phase="judging",
        todo=(todo,),
    )


def _fresh_pays(loop: Loop) -> bool:
    """Is a green verdict likely, or dear enough, that it should count as final at once?

    A checkout made anew takes longer than one brought up to date, and judging a second time longer than both.
    """
    claim, seen = loop.call.claim, loop.newest_verdicts or loop.proof.baseline
    if claim is not None and claim.status == "COMPLETE":
        return True
    return sum(verdict.seconds for verdict in seen.values()) >= DEAR_SECONDS


def decide_on_final_gates(loop: Loop) -> Loop:
    """The fresh checkout has been judged. Guards cost a further gate call, so red ends it here."""
    answer = exit_answer(loop, loop.proof.finals, None)
    if answer.may_leave and loop.proof.guards_tree == loop.work.tree:
        return verify_or_settle(loop)
    if answer.may_leave:
        return replace(loop, phase="judging", todo=(a.RunGuards(tree=loop.work.tree),))
    return settle(loop, answer)


def verify_or_settle(loop: Loop) -> Loop:
    """Everything is in: the only path on which a loop becomes verified."""
    answer = exit_answer(loop, loop.proof.finals, loop.proof.guards)
    if answer.may_leave:
        assert answer.grade is not None
        loop = replace(loop.with_proof(not_yet=(), unproven=answer.unproven), grade=answer.grade)
        loop = loop.with_task(f"Implement iteration {loop.iteration}", "coder", "completed")
        then = mode_of(loop).to_publish(loop, answer.grade)
        # Nothing: the whole of a plan was looked at once more.
        return pause_or_call(loop) if then is None else leave(loop, then)
    return settle(loop, answer)


def leave(loop: Loop, then: opinion.Then) -> Loop:
    """The last step of the exit path: what everything else let pass, once the judge lets it pass too."""
    return follow_judge(*opinion.before_leaving(loop, then))


def follow_judge(loop: Loop, step: opinion.Next) -> Loop:
    match step:
        case opinion.Refused():
            return _send_back(loop, step)
        case a.Finish():
            return finish(loop, step)
        case a.Wait():
            return pause_loop(loop) if loop.control.pause_reason else wait_for(loop, step)
        case _:  # the question, or what may be published now
            return replace(loop, phase="judging", todo=(step,))


def _send_back(loop: Loop, refused: opinion.Refused) -> Loop:
    not_yet = (refused.sentence,)
    if refused.whole:  # every item is ticked: one more, of Ralph's own, says what is missing
        return pause_or_call(next_item.add_mend_item(loop.with_proof(not_yet=not_yet), not_yet))
    return settle(loop, exit_gate.Exit(verified=False, not_yet=not_yet, unproven=loop.proof.unproven))


def needs_test_links(loop: Loop) -> bool:
    """Is it still to be found out which tests of this tree speak for which criterion?"""
    return bool(loop.sealed.plan_brief.criteria) and loop.build.links.tree != loop.work.tree


def exit_answer(
    loop: Loop, now: dict[str, Verdict], guards: tuple[GuardResult, ...] | None
) -> exit_gate.Exit:
    """What the exit gate says of the tree at hand; `guards` is None while they have not been asked."""
    mode = mode_of(loop)
    terms = mode.exit_terms(loop)
    # By the first rules a make-it-green task could end on the base's own tree.
    unchanged_ok = loop.rules < 2 and terms.criterion.task_class in MAKE_IT_GREEN
    answer = exit_gate.decide_exit(
        terms.criterion,
        loop.proof.baseline,
        now,
        guards,
        changed=loop.work.tree != loop.sealed.base.tree,
        unchanged_ok=unchanged_ok,
        claim=terms.claim,
        protection=loop.judged_in,
        generated=loop.proof.generated,
        tolerance=terms.tolerance,
        last_word=loop.rules > 2 and terms.last_word,
        left_out=loop.work.left_out,
        tester=terms.tester,
    )
    missing = mode.missing_for_tick(loop)
    return replace(answer, verified=False, not_yet=(*answer.not_yet, *missing)) if missing else answer


def settle(loop: Loop, answer: exit_gate.Exit) -> Loop:
    """Not verified: note how far it got, then decide what comes next."""
    loop = _note_claim(loop.with_proof(not_yet=answer.not_yet, unproven=answer.unproven), answer)
    loop = loop.with_task(f"Implement iteration {loop.iteration}", "coder", "failed", answer.not_yet)
    accused = _is_accused(loop)
    loop, footprint = measure.measure_iteration(loop, accused=accused)
    if loop.proof.again:  # nobody was called since: this says nothing of how the work is going
        return pause_or_call(loop.with_progress(counted=0))
    reds, missing = measure.red_verdicts(loop, loop.newest_verdicts), mode_of(loop).missing_for_tick(loop)
    loop = apply.record_judgement(loop, footprint, reds, missing, accused=accused)
    if accused:
        known = tuple(tree for tree in loop.progress.accused_trees if tree != loop.work.tree)
        loop = loop.with_progress(
            integrity_hits=loop.progress.integrity_hits + 1, accused_trees=(*known, loop.work.tree)
        )
    ending = _ending(loop)
    if ending is not None:
        return finish(loop, ending)
    loop, missed = _missed(loop) if not footprint.cut else (loop, None)
    if isinstance(missed, a.Finish):
        return finish(loop, missed)
    back = missed or take_back.take_back(loop, accused=accused)
    if loop.control.pause_reason:  # what goes back goes all the same, before anything else is done
        return pause_loop(loop).with_control(held_todo=(back,) if back is not None else ())
    if back is not None:
        return replace(loop, phase="working", todo=(back,))
    return call_agent(loop)


def _missed(loop: Loop) -> tuple[Loop, a.Finish | a.RestoreWorkspace | None]:
    return _item_missed(loop) if mode_of(loop).IN_ITEMS else _task_missed(loop)


def _task_missed(loop: Loop) -> tuple[Loop, a.Finish | None]:
    """End as stalled, or ask for something else."""
    breaker, (track, trouble) = loop.progress.breaker, apply.diagnose(loop)
    if breaker.state == "OPEN":  # a probe did not help, or what it had overcome came back
        return apply.demand_after_reopening(loop), a.Finish("stalled", breaker.why)
    if track.kind == "stalled" and trouble is not None:
        return apply.open_on_stall(loop, trouble, track.why), a.Finish("stalled", track.why)
    return apply.set_redirect(loop), None


def _item_missed(loop: Loop) -> tuple[Loop, a.RestoreWorkspace | None]:
    """Ask for something else, plan again, or give the item up."""
    loop, stalled, counts = apply.review_missed_item(loop, apply.diagnose(loop)[0])
    loop, drop = next_item.note_failed_try(loop, stalled, counts=counts)
    if not drop:
        return loop, None
    loop = replace(loop, team=loop.team.take_back_tests())
    best = measure.verified_checkpoint(loop)  # also the best of it is no place to go back to
    return loop.with_progress(redirect="", best=best), take_back.to_verified(loop)


def _note_claim(loop: Loop, answer: exit_gate.Exit) -> Loop:
    """Remember the tree for which the agent says COMPLETE though proof is missing, or old red is left."""
    claim = loop.call.claim
    nothing_else = answer.grade is not None or (answer.still_red and loop.rules > 9)
    claimed = nothing_else and claim is not None and claim.status == "COMPLETE"
    return loop.with_proof(claimed_tree=loop.work.tree if claimed else "")


def _is_accused(loop: Loop) -> bool:
    """An integrity guard found something in this very tree, now or when it was looked at before."""
    if loop.proof.guards_tree != loop.work.tree:
        return loop.work.tree in loop.progress.accused_trees
    return any(result.integrity and result.findings for result in loop.proof.guards)


def pause_loop(loop: Loop) -> Loop:
    """Stop here without ending; what is owed is kept for the resume."""
    return replace(
        loop.with_control(pause_reason="", pause_now=False),
        phase="paused",
        reason=loop.control.pause_reason,
        todo=(),
    )


def hold(loop: Loop) -> Loop:
    """Pause at once and keep what is owed, to be taken up again as it stands."""
    return pause_loop(loop).with_control(held_todo=loop.todo, held_phase=loop.phase)


def _ending(loop: Loop) -> a.Finish | None:
    """A reason to end that does not depend on how the work is going."""
    claim = loop.call.claim
    if claim is not None and claim.status == "BLOCKED":
        asks = grants.question(loop) if claim.asks else claim.recommendation or "no reason given"
        return a.Finish("blocked", f"the agent asks: {asks}")
    if apply.is_denied_again(loop):
        return _denied(loop)
    if apply.is_accused_again(loop):
        return a.Finish("blocked", "tests or gates were tampered with twice; a human must review the tree")
    limit = failover.limit_reached(loop)
    if grants.asks_again(loop) or (limit is not None and grants.open_questions(loop)):
        return a.Finish("blocked", grants.question(loop))
    return limit


def _denied(loop: Loop) -> a.Finish:
    return a.Finish("blocked", f"permission was denied twice in a row: {', '.join(loop.call.denials)}")


def task_of_call(loop: Loop) -> tuple[str, str]:
    """What the agent's call is on the team's list, and whose it is."""
    if loop.build.mode == "planning":
        return "Plan the items", "planner"
    return (
        "Ask what is left" if loop.build.mode == "closing" else f"Implement iteration {loop.iteration}",
        "coder",
    )


def end_planning_call(loop: Loop, event: CheckpointMade) -> Loop:
    """A call that must not change anything but the plan has ended: the rest of it is thrown away."""
    task, planning = task_of_call(loop), loop.build.mode == "planning"
    take = plan_facts.take_plan if planning else plan_facts.take_closing
    before = replace(loop.checkpoint, tree=loop.work.tree_before)
    loop = loop.with_agents(faults_in_row=0, outages_in_row=0, cut_in_row=0).with_progress(revert_note="")
    loop = take(loop.with_call(fault=None), event.plan)
    wrong = loop.build.planning.problems if planning and loop.build.mode == "planning" else None
    loop = loop.with_task(*task, "completed" if wrong is None else "failed", wrong or ())
    if loop.control.abort_reason:
        return finish(loop, a.Finish("aborted", loop.control.abort_reason))
    if event.tree == before.tree:
        return pause_or_call(loop)
    outside = event.plan is not None and event.plan.outside > 0
    rejected = Checkpoint(iteration=loop.iteration, tree=event.tree, commit=event.commit) if outside else None
    todo = a.RestoreWorkspace(to=before, rejected=rejected)
    return replace(loop.with_work(tree=event.tree, commit=event.commit), todo=(todo,))


def item_published(loop: Loop, commit: str) -> Loop:
    """A verified item is on the result branch: from here on this tree is what work goes back to."""
    newest = measure.measure_checkpoint(loop, loop.checkpoint, loop.newest_verdicts)
    loop = plan_facts.tick_item(apply.item_done(loop, newest.red), commit, loop.grade)
    build = replace(loop.build, base=newest)
    loop = replace(loop.with_progress(best=newest, redirect="", revert_note=""), build=build)
    loop = loop.with_team(kept=loop.team.tests) if loop.team.sealed else loop
    return pause_or_call(loop)


def pause_or_call(loop: Loop) -> Loop:
    """Between two calls: a pause that was asked for comes first."""
    return pause_loop(loop) if loop.control.pause_reason else limit_or_call(loop)


def limit_or_call(loop: Loop) -> Loop:
    """A loop that is taken up, for the first time or again, meets its limits before it spends."""
    ending = failover.limit_reached(loop)
    if loop.build.mode == "planning" and apply.is_denied_again(loop):
        return finish(replace(loop, phase="working"), _denied(loop))
    loop, step = mode_of(loop).next_step(loop, can_call=ending is None)
    if isinstance(step, a.Finish):
        return leave(replace(loop, phase="working"), step)
    if step == "judge":
        return judge_again(loop)
    return _call(loop) if ending is None else finish(replace(loop, phase="working"), ending)


def judge_again(loop: Loop) -> Loop:
    """A tree that nobody changed since, as if a call had left it: of a whole plan, or after a user's word."""
    return judge_tree(loop).with_proof(finals_tree="")


def call_agent(loop: Loop) -> Loop:
    """On to the next call; with a plan, it says first which."""
    return limit_or_call(loop) if mode_of(loop).IN_ITEMS else _call(loop)


def wait_for(loop: Loop, wait: a.Wait) -> Loop:
    return replace(
        loop.with_control(wait_until=wait.until, wait_reason=wait.why), phase="waiting", todo=(wait,)
    )


def _call(loop: Loop) -> Loop:
    """Ask for the next agent call, or first wait for what makes one possible."""
    number = failover.first_awake_agent(loop)
    rest = failover.nobody_awake(loop) if number is None else failover.cool_down(loop)
    wait = rest or failover.hourly_wait(loop)
    if wait is not None:
        time = loop.limits.time
        if time is not None and loop.elapsed_seconds + wait.seconds > time:
            why = f"{wait.why}; waiting would exceed the time limit"
            return finish(replace(loop, phase="working"), a.Finish("exhausted", why))
        return wait_for(loop if rest is None else apply.open_for_wait(loop, rest.why), wait)
    if (role := failover.due_role(loop)) is not None:
        ground = (loop.build.base or loop.sealed.base).tree
        return _owe_call(loop, a.RunRole(role=role, call=loop.call.number + 1, tree=ground))
    iteration = loop.iteration + 1
    loop = apply.start_probe(loop, iteration)
    if readers := plan_facts.readers_due(loop):
        return _owe_call(loop, a.RunReaders(call=loop.call.number + 1, count=readers))
    loop = replace(loop.with_work(tree_before=loop.work.tree), iteration=iteration)
    return _owe_call(loop, a.RunAgent(iteration=iteration, call=loop.call.number + 1, agent=number or 0))


def _owe_call(loop: Loop, call: a.Action) -> Loop:
    return replace(loop.with_control(wait_until=None, wait_reason=""), phase="working", todo=(call,))
