"""What follows a judged iteration: leave, end, pause, take back, or call the agent again.

The order of the questions is the policy. An exit is looked for first, so that a limit reached in the
very iteration that finished the work does not hide the result; a human's word (abort, pause) comes
before Ralph's own reasons to go on.
"""

from __future__ import annotations

import msgspec.structs

from ralph.core.decide import failover, grants, next_item, plan_facts
from ralph.core.decide.stuck import apply, signs, take_back
from ralph.core.model.actions import (
    Action,
    Finish,
    PublishItem,
    PublishResult,
    RestoreWorkspace,
    RunAgent,
    RunGates,
    RunGuards,
    RunReaders,
    TieTests,
)
from ralph.core.model.agent import Claim
from ralph.core.model.events import CheckpointMade
from ralph.core.model.gate import MAKE_IT_GREEN, Gate, Grade
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Checkpoint, Footprint, GuardResult, Verdict
from ralph.core.proof import exit_gate

replace = msgspec.structs.replace
INTEGRITY_CAP = 2  # iterations with integrity findings before a human must look
DENIAL_CAP = 2


def gate_names(loop: Loop) -> tuple[str, ...]:
    """What was red last comes first, then what is quick: a red answer is the sooner there."""

    def order(gate: Gate) -> tuple[bool, float]:
        seen = loop.newest.get(gate.name)
        return (seen is None or seen.status == "pass", seen.seconds if seen is not None else 0.0)

    return tuple(gate.name for gate in sorted(loop.sealed.criterion.gates, key=order))


def finish(loop: Loop, action: Finish) -> Loop:
    return replace(apply.close_on_finish(loop, action), todo=(action,))


def decide_on_fast_gates(loop: Loop) -> Loop:
    """Fast verdicts are in for `loop.tree`: go for the final judgement, or settle the iteration."""
    if needs_test_links(loop):
        return replace(loop, phase="judging", todo=(TieTests(tree=loop.tree),))
    answer = _answer(loop, loop.verdicts, None)
    if answer.verified and loop.final_tree == loop.tree:  # judged in full before: asking the same
        return decide_on_final_gates(
            loop
        )  # tree again could only be luckier; a claim may be what was missing
    if answer.verified:
        todo: Action = RunGates(stage="final", tree=loop.tree, gates=gate_names(loop))
        return replace(loop, phase="judging", stage="final", finals={}, final_tree=loop.tree, todo=(todo,))
    return settle(loop, answer)


def decide_on_final_gates(loop: Loop) -> Loop:
    """The fresh checkout has been judged. Guards cost a further gate call, so red ends it here."""
    answer = _answer(loop, loop.finals, None)
    if answer.verified and loop.guarded_tree == loop.tree:
        return verify_or_settle(loop)
    if answer.verified:
        return replace(loop, phase="judging", todo=(RunGuards(tree=loop.tree),))
    return settle(loop, answer)


def verify_or_settle(loop: Loop) -> Loop:
    """Everything is in: the only path on which a loop becomes verified."""
    answer = _answer(loop, loop.finals, loop.guards)
    if answer.verified:
        assert answer.grade is not None
        loop = replace(loop, not_yet=(), unproven=answer.unproven, grade=answer.grade)
        if loop.build is not None:
            return _publish_or_go_on(loop, plan_facts.to_publish(loop.build, loop.tree), answer.grade)
        return replace(loop, phase="judging", todo=(PublishResult(tree=loop.tree, grade=answer.grade),))
    return settle(loop, answer)


def _publish_or_go_on(loop: Loop, item: str, grade: Grade) -> Loop:
    """An item of the plan is verified, or the whole of it was looked at once more."""
    if item:
        return replace(loop, phase="judging", todo=(PublishItem(item=item, tree=loop.tree, grade=grade),))
    return pause_loop(loop) if loop.pausing else limit_or_call(loop)


def needs_test_links(loop: Loop) -> bool:
    """Is it still to be found out which tests of this tree speak for which criterion?"""
    build, brief = loop.build, loop.sealed.brief
    return build is not None and brief is not None and bool(brief.criteria) and build.tied_tree != loop.tree


def _answer(loop: Loop, now: dict[str, Verdict], guards: tuple[GuardResult, ...] | None) -> exit_gate.Exit:
    criterion, tolerance = next_item.exit_terms(loop)
    # Of an item, `next_item.missing_for_tick` asks for the agent's word where it is needed.
    claim = loop.claim if loop.build is None else Claim(status="COMPLETE")
    # By the first rules a make-it-green task could end on the base's own tree.
    unchanged_ok = loop.rules < 2 and criterion.task_class in MAKE_IT_GREEN
    answer = exit_gate.decide_exit(
        criterion,
        loop.baseline,
        now,
        guards,
        changed=loop.tree != loop.sealed.base_tree,
        unchanged_ok=unchanged_ok,
        claim=claim,
        protection=loop.protection,
        tolerance=tolerance,
    )
    missing = next_item.missing_for_tick(loop)
    return replace(answer, verified=False, not_yet=(*answer.not_yet, *missing)) if missing else answer


def settle(loop: Loop, answer: exit_gate.Exit) -> Loop:
    """Not verified: note how far it got, then decide what comes next."""
    loop = replace(loop, not_yet=answer.not_yet, unproven=answer.unproven)
    accused = _is_accused(loop)
    loop = _note_footprint(loop, accused=accused)
    loop = apply.record_judgement(loop, _reds(loop, loop.newest), accused=accused, base=base_checkpoint(loop))
    if accused:
        known = tuple(tree for tree in loop.accused if tree != loop.tree)
        loop = replace(loop, integrity=loop.integrity + 1, accused=(*known, loop.tree))
    ending = _ending(loop)
    if ending is not None:
        return finish(loop, ending)
    track, trouble = signs.diagnose(loop.history, loop.rules)
    back = None
    if loop.build is not None:
        loop, stalled, counts = apply.review_missed_item(loop, track)
        loop, drop = next_item.note_failed_try(loop, stalled, counts=counts)
        if drop:  # also the best of it is no place to go back to
            back, loop = (
                take_back.to_verified(loop),
                replace(loop, redirect="", best=_verified_checkpoint(loop)),
            )
    elif loop.breaker.state == "OPEN":  # a probe did not help, or what it had overcome came back
        return finish(apply.demand_after_reopening(loop), Finish("stalled", loop.breaker.why))
    elif track.kind == "stalled" and trouble is not None:
        return finish(apply.open_on_stall(loop, trouble, track.why), Finish("stalled", track.why))
    else:
        loop = apply.set_redirect(loop)
    back = back or take_back.take_back(loop, accused=accused)
    if loop.pausing:  # what goes back goes all the same, before anything else is done
        return replace(pause_loop(loop), held=(back,) if back is not None else ())
    if back is not None:
        return replace(loop, phase="working", todo=(back,))
    return call_agent(loop)


def _is_accused(loop: Loop) -> bool:
    """An integrity guard found something in this very tree, now or when it was looked at before."""
    if loop.guarded_tree != loop.tree:
        return loop.tree in loop.accused
    return any(result.integrity and result.findings for result in loop.guards)


def pause_loop(loop: Loop) -> Loop:
    """Stop here without ending; what is owed is kept for the resume."""
    return replace(
        loop,
        phase="paused",
        pausing="",
        pause_now=False,
        reason=loop.pausing,
        todo=(),
    )


def _ending(loop: Loop) -> Finish | None:
    """A reason to end that does not depend on how the work is going."""
    if loop.claim is not None and loop.claim.status == "BLOCKED":
        asks = grants.question(loop) if loop.claim.asks else loop.claim.recommendation or "no reason given"
        return Finish("blocked", f"the agent asks: {asks}")
    if loop.denied >= DENIAL_CAP:
        return _denied(loop)
    if loop.integrity >= INTEGRITY_CAP:
        return Finish("blocked", "tests or gates were tampered with twice; a human must review the tree")
    limit = limit_reached(loop)
    if grants.asks_again(loop) or (limit is not None and grants.open_questions(loop)):
        return Finish("blocked", grants.question(loop))
    return limit


def _denied(loop: Loop) -> Finish:
    return Finish("blocked", f"permission was denied twice in a row: {', '.join(loop.denials)}")


def limit_reached(loop: Loop) -> Finish | None:
    limits, spend = loop.limits, loop.spend
    if limits.iterations is not None and loop.iteration >= limits.iterations:
        return Finish("exhausted", f"{loop.iteration} of {limits.iterations} iterations used")
    if limits.time is not None and loop.elapsed >= limits.time:
        return Finish("exhausted", f"time limit of {limits.time:.0f} s reached")
    if limits.cost is not None and spend.cost is not None and spend.cost >= limits.cost:
        return Finish("exhausted", f"cost limit of {limits.cost:g} USD reached ({spend.cost:.2f})")
    if limits.tokens is not None and spend.tokens is not None and spend.tokens >= limits.tokens:
        return Finish("exhausted", f"token limit of {limits.tokens} reached ({spend.tokens})")
    return None


def base_checkpoint(loop: Loop) -> Checkpoint:
    """Where the loop began, measured like every checkpoint after it."""
    order = loop.sealed
    return _measure_checkpoint(loop, Checkpoint(0, order.base_tree, order.base_commit), loop.baseline)


def _measure_checkpoint(loop: Loop, checkpoint: Checkpoint, verdicts: dict[str, Verdict]) -> Checkpoint:
    required = [gate for gate in loop.sealed.criterion.gates if gate.required]
    reds = _reds(loop, verdicts)
    hidden = sum(red.unloaded for red in reds)
    count = sum(max(1, red.red) for red in reds)
    return replace(checkpoint, passing=len(required) - len(reds), red=count, unloaded=hidden)


def _reds(loop: Loop, verdicts: dict[str, Verdict]) -> list[Verdict]:
    required = (gate for gate in loop.sealed.criterion.gates if gate.required)
    return [verdicts[gate.name] for gate in required if _is_red(loop, gate, verdicts)]


def _note_footprint(loop: Loop, *, accused: bool) -> Loop:
    """Remember this iteration for the stall rules and, if it is the best so far, as the best checkpoint."""
    verdicts = loop.newest
    reds = _reds(loop, verdicts)
    newest = Checkpoint(loop.iteration, loop.tree, loop.commit, changed_lines=loop.lines)
    newest = _measure_checkpoint(loop, newest, verdicts)
    best = loop.best
    assert best is not None
    # What a guard keeps saying is an error that stays the same, also where every check is green.
    looked = accused or loop.guarded_tree == loop.tree
    guilt = "|".join(finding.key for result in loop.guards for finding in result.findings if looked)
    progress = not accused and _red(newest) < _least(loop, best)
    outlines = "|".join(f"{verdict.gate}:{verdict.outline}" for verdict in reds if verdict.outline)
    footprint = Footprint(
        iteration=loop.iteration,
        tree=loop.tree,
        before=loop.before,
        red_digest="|".join(f"{verdict.gate}:{verdict.red_digest}" for verdict in reds) + guilt,
        red=newest.red,
        signature="|".join(f"{verdict.gate}:{verdict.signature}" for verdict in reds) + guilt,
        progress=progress,
        outline=outlines + guilt if outlines else "",
        unloaded=newest.unloaded,
        worse=not progress and (_red(newest) > _red(best) or newest.passing < best.passing),
    )
    if not accused and (rank(newest) < rank(best) or _goes_on(loop, newest, best)):
        best = newest
    return replace(loop, history=(*loop.history, footprint)[-signs.MAX_KEPT :], best=best)


def _red(one: Checkpoint | Footprint) -> tuple[int, int]:
    """How red it is. What cannot be loaded hides any number of red tests, so it comes first."""
    return (one.unloaded, one.red)


def _goes_on(loop: Loop, newest: Checkpoint, best: Checkpoint) -> bool:
    """Both green, so that only a witness or a word is missing: the newest is what the next call builds on."""
    unseen = loop.jury.opinion is None  # a judge that saw them says which it liked more
    return loop.rules > 1 and unseen and newest.red == best.red == 0 and newest.tree != best.tree


def _least(loop: Loop, best: Checkpoint) -> tuple[int, int]:
    """The fewest red so far, also of a tree that broke something else and so is not the best."""
    if loop.rules < 2:
        return _red(best)
    return min([_red(best), *(_red(one) for one in loop.history if one.tree not in loop.accused)])


def _is_red(loop: Loop, gate: Gate, verdicts: dict[str, Verdict]) -> bool:
    """Old red that does not block is no error of this loop: it may stay the same for ever."""
    verdict = verdicts.get(gate.name)
    return verdict is not None and exit_gate.blocks(gate, loop.baseline.get(gate.name), verdict)


def rank(checkpoint: Checkpoint) -> tuple[int, int, int, int]:
    """Rule 31: most required checks passing, then fewest red, then the smallest diff."""
    return (-checkpoint.passing, *_red(checkpoint), checkpoint.changed_lines)


def _verified_checkpoint(loop: Loop) -> Checkpoint:
    base = loop.build.base if loop.build is not None else None
    return base if base is not None and base.passing >= 0 else base_checkpoint(loop)


def end_planning_call(loop: Loop, event: CheckpointMade) -> Loop:
    """A call that must not change anything but the plan has ended: the rest of it is thrown away."""
    assert loop.build is not None
    take = plan_facts.take_plan if loop.build.mode == "planning" else plan_facts.take_closing
    before = Checkpoint(loop.iteration, loop.before, loop.commit, changed_lines=loop.lines)
    loop = take(replace(loop, faults=0, limits_hit=0, reverted="", fault=None), event.plan)
    if loop.aborting:
        return finish(loop, Finish("aborted", loop.aborting))
    if event.tree == before.tree:
        return pause_loop(loop) if loop.pausing else limit_or_call(loop)
    outside = event.plan is not None and event.plan.outside > 0
    rejected = Checkpoint(iteration=loop.iteration, tree=event.tree, commit=event.commit) if outside else None
    todo = RestoreWorkspace(to=before, rejected=rejected)
    return replace(loop, tree=event.tree, commit=event.commit, todo=(todo,))


def item_published(loop: Loop, commit: str) -> Loop:
    """A verified item is on the result branch: from here on this tree is what work goes back to."""
    newest = Checkpoint(loop.iteration, loop.tree, loop.commit, changed_lines=loop.lines)
    newest = _measure_checkpoint(loop, newest, loop.newest)
    loop = plan_facts.tick_item(apply.item_done(loop, newest.red), commit, loop.grade)
    build = replace(loop.build, base=newest) if loop.build is not None else None
    # What another item took says nothing of the next one.
    history = loop.history if loop.rules < 2 else ()
    loop = replace(loop, build=build, best=newest, redirect="", reverted="", history=history)
    return pause_loop(loop) if loop.pausing else limit_or_call(loop)


def limit_or_call(loop: Loop) -> Loop:
    """A loop that is taken up, for the first time or again, meets its limits before it spends."""
    ending = limit_reached(loop)
    if loop.build is not None:
        if loop.build.mode == "planning" and loop.denied >= DENIAL_CAP:
            return finish(replace(loop, phase="working"), _denied(loop))
        loop, step = next_item.next_step(loop, can_call=ending is None)
        if isinstance(step, Finish):
            return finish(replace(loop, phase="working"), step)
        if step == "judge":
            return judge_again(loop)
    return _call(loop) if ending is None else finish(replace(loop, phase="working"), ending)


def judge_again(loop: Loop) -> Loop:
    """A tree that nobody changed since, as if a call had left it: of a whole plan, or after a user's word."""
    todo = RunGates(stage="fast", tree=loop.tree, gates=gate_names(loop))
    return replace(
        loop, phase="judging", stage="fast", verdicts={}, judged_tree=loop.tree, final_tree="", todo=(todo,)
    )


def call_agent(loop: Loop) -> Loop:
    """On to the next call; with a plan, it says first which."""
    return _call(loop) if loop.build is None else limit_or_call(loop)


def _call(loop: Loop) -> Loop:
    """Ask for the next agent call, or first wait for what makes one possible."""
    number = failover.first_awake_agent(loop)
    rest = failover.nobody_awake(loop) if number is None else failover.cool_down(loop)
    wait = rest or failover.hourly_wait(loop)
    if wait is not None:
        time = loop.limits.time
        if time is not None and loop.elapsed + wait.seconds > time:
            why = f"{wait.why}; waiting for that would pass the time limit"
            return finish(replace(loop, phase="working"), Finish("exhausted", why))
        loop = loop if rest is None else apply.open_for_wait(loop, rest.why)
        return replace(loop, phase="waiting", wait_until=wait.until, wait_why=wait.why, todo=(wait,))
    iteration = loop.iteration + 1
    loop = apply.start_probe(loop, iteration)
    readers = plan_facts.readers_due(loop)
    if readers:
        todo: tuple[Action, ...] = (RunReaders(call=loop.call + 1, count=readers),)
        return replace(loop, phase="working", wait_until=None, wait_why="", todo=todo)
    todo = (RunAgent(iteration=iteration, call=loop.call + 1, agent=number or 0),)
    return replace(
        loop, phase="working", iteration=iteration, before=loop.tree, wait_until=None, wait_why="", todo=todo
    )
