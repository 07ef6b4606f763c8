"""Plan and build mode: which call comes next, what proves an item, and when there is nothing left.

    planning -> building <-> building (one item an iteration) -> checking -> closing -> verified
        ^____________|  no spec tells what the item should do, it is stuck, or so many items were verified

The loop's machine stays as it is: an iteration is a call, a snapshot and a judgement. Here is what a plan
adds to it: the item that the call works on (`board`), what it is judged by (`terms`, `missing`), and
the way out (`_leave`), which is the proof of the whole and, beside it, the dual condition (`indicators`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec.structs

from ralph.core.decide.plan_facts import GOOD, MAX_NAMED, WHOLE, declared_words, is_mend_item, with_items
from ralph.core.decide.plan_facts import take_notes as take_notes  # noqa: PLC0414 - a part of this mode
from ralph.core.model.actions import Finish, PublishItem
from ralph.core.model.agent import Claim
from ralph.core.model.gate import Grade
from ralph.core.model.order import Order
from ralph.core.model.outcome import Outcome
from ralph.core.model.plan.board import board_of, choose, state_of, with_state
from ralph.core.model.plan.completion import Checked, Dual, dual_condition
from ralph.core.model.plan.items import HIGH, Item
from ralph.core.model.plan.plan_state import DoneItem, PlanState
from ralph.core.model.plan.test_link import CriterionTest, status_by_criterion
from ralph.core.model.verdict import Checkpoint
from ralph.core.proof import exit_gate

if TYPE_CHECKING:
    from ralph.core.model.loop import Loop

replace = msgspec.structs.replace
IN_ITEMS = True
PLANNING_CAP = 3  # planning calls in a row without a usable plan
CLOSING_CAP = 2
MEND = "mend"  # the item that Ralph adds when all others are verified and the whole is not
Next = Finish | Literal["call", "judge"]


def initial_plan_state(order: Order) -> PlanState:
    """Where a loop with a plan starts: by the plan that was found, or by making one."""
    brief = order.brief
    if brief is None:
        return PlanState()
    base = Checkpoint(0, order.base.tree, order.base.commit)
    if brief.plan is None or brief.planning:
        why = brief.planning or "there is no plan"
        return PlanState("planning", why=why, plan=brief.plan or PlanState().plan, base=base)
    done = {item.id: DoneItem(item.id) for item in brief.plan.items if item.state == "done"}
    board = board_of(brief.plan, criteria=brief.criteria, clarity=brief.clarity)
    return PlanState(mode="building", plan=brief.plan, board=board, done_items=done, base=base)


def next_step(loop: Loop, *, can_call: bool) -> tuple[Loop, Next]:
    """What the plan asks for now. The answer is the same however often it is asked for."""
    build, brief = loop.build, loop.sealed.plan_brief
    if build.planning.question and (build.mode == "planning" or brief.mode == "build"):
        return loop, Finish("blocked", f"the agent asks: {build.planning.question}")
    if build.mode == "planning":
        if build.planning.failures_in_row >= PLANNING_CAP:
            wrong = "; ".join(build.planning.problems[:MAX_NAMED]) or "it was not written"
            why = f"no usable plan after {build.planning.failures_in_row} planning calls: {wrong}"
            return loop, Finish("blocked", why)
        return loop, "call"
    if brief.mode == "plan":
        return loop, Finish("verified", _planned_words(build))
    assert build.board is not None
    choice = choose(build.board)
    if choice.kind == "item":
        assert choice.item is not None
        since = build.planning.items_since_plan
        if brief.replan_every and since >= brief.replan_every:
            return _plan_again(loop, f"{since} items were verified since the plan was made"), "call"
        return _select_item(loop, choice.item, choice.rule, choice.why), "call"
    if choice.kind == "plan":
        assert choice.item is not None
        if choice.item.id not in build.planning.replanned_items:
            return _plan_again(loop, f"{choice.item.id}: {choice.why}", choice.item.id), "call"
        loop = _block(loop, choice.item.id, f"{choice.why}, and planning found none: write one")
        return next_step(loop, can_call=can_call)
    if choice.kind == "done":
        return _leave(loop, can_call=can_call)
    blocked = build.blocked_items
    named = [f"{name} ({blocked[name]})" if name in blocked else name for name in choice.names]
    more = f" and {choice.count - len(named)} more" if choice.count > len(named) else ""
    loop = replace(loop, build=replace(build, item=None, why=""))
    return loop, Finish("blocked", f"{choice.why}: {', '.join(named)}{more}")


def exit_terms(loop: Loop) -> exit_gate.Terms:
    """What the tree at hand is held to: an item to nothing being worse, the whole to everything."""
    criterion = loop.sealed.criterion
    build, brief = loop.build, loop.sealed.plan_brief
    claim = Claim(status="COMPLETE")  # `missing_for_tick` asks for the agent's word where it is needed
    if build.item is not None and not is_mend_item(build.item):
        # Without specs there is no criterion by which to prove an item: the whole is held to the grade.
        bare = loop.rules > 2 and brief.criteria is None
        if build.item.no_proof:
            criterion = replace(criterion, min_grade="D")
        elif build.item.chore or bare:  # "D" sorts behind "C": a user who asks for less gets less
            criterion = replace(criterion, min_grade=max(criterion.min_grade, "C"))
        return exit_gate.Terms(criterion, "item", claim, last_word=False)
    # Of the whole the agent has said so: each item was held to its own terms.
    return exit_gate.Terms(criterion, "old" if brief.allow_red else "nothing", claim, last_word=True)


def already_done(loop: Loop) -> Finish | None:  # noqa: ARG001
    """That there is nothing left is for `next_step` to say."""
    return None


def to_publish(loop: Loop, grade: Grade) -> PublishItem | None:
    """The item at hand, unless its commit holds this very tree: it was lost, and is found again."""
    build, tree = loop.build, loop.work.tree
    if build.item is None or build.board is None:
        return None
    name = build.item.id
    there = state_of(build.board, name) == "done" and build.done_items[name].tree == tree
    return None if there else PublishItem(item=name, tree=tree, grade=grade)


def missing_for_tick(loop: Loop) -> tuple[str, ...]:
    """What stands between the item at hand and its tick, besides the gates."""
    build = loop.build
    if build.links.tree not in ("", loop.work.tree):
        return ()
    item, stands = build.item, status_by_criterion(build.links.tests)
    if item is None or is_mend_item(item):
        return tuple(_unproven_words(loop))
    wanted = [name for name in item.serves if stands.get(name, "untested") not in GOOD]
    sentences = [_criterion_words(name, build.links.tests) for name in wanted]
    if not item.serves and not build.item_touched:
        sentences.append(f"nothing has changed for {item.id} yet")
    if not item.serves and not _says_done(loop.call.claim):
        sentences.append(
            f"{item.id} serves no criterion: report TASKS_COMPLETED_THIS_LOOP: 1 when it is done"
        )
    for name, iteration in sorted(build.lost_items.items())[:MAX_NAMED]:
        if name != item.id and iteration:
            sentences.append(f"item {name} was verified and is no longer: iteration {iteration} broke it")
    return tuple(sentences)


def note_failed_try(loop: Loop, stalled: str, *, counts: bool) -> tuple[Loop, bool]:
    """An iteration was judged and is not good enough. True: back to the tree that is verified."""
    build, brief = loop.build, loop.sealed.plan_brief
    if build.item is None:
        return add_mend_item(loop, loop.proof.not_yet), False
    name = build.item.id
    tries = build.tries.get(name, 0) + counts
    loop = replace(loop, build=replace(build, tries={**build.tries, name: tries}))
    if tries < brief.attempts and not stalled:
        return loop, False
    first = loop.proof.not_yet[0] if loop.proof.not_yet else "it was not verified"
    why = stalled or f"{tries} attempts: {first}"
    if stalled and name not in build.planning.replanned_items and not is_mend_item(build.item):
        return _plan_again(loop, f"{name} is stuck: {stalled}", name), True
    return _block(loop, name, why), True


def _says_done(claim: Claim | None) -> bool:
    """Of one item: COMPLETE is said of everything, and an agent rightly does not while items are open."""
    return claim is not None and (claim.status == "COMPLETE" or claim.tasks > 0)


def _select_item(loop: Loop, item: Item, rule: str, why: str) -> Loop:
    build = loop.build
    if build.item is not None and build.item.id == item.id:
        return replace(loop, build=replace(build, mode="building", rule=rule, why=why))
    build = replace(build, mode="building", item=item, rule=rule, why=why, item_touched=False)
    return replace(loop, build=build)


def _plan_again(loop: Loop, why: str, item: str = "") -> Loop:
    build = loop.build
    replanned = build.planning.replanned_items | {item} if item else build.planning.replanned_items
    build = build.with_planning(items_since_plan=0, replanned_items=replanned)
    build = replace(build, mode="planning", why=why, item=None)
    return replace(loop.with_progress(counted=0), build=build)


def _block(loop: Loop, name: str, why: str) -> Loop:
    build = loop.build
    assert build.board is not None
    build = replace(
        build,
        board=with_state(build.board, name, "blocked"),
        blocked_items={**build.blocked_items, name: why},
        item=None,
        item_touched=False,
    )
    return replace(loop.with_progress(counted=0), build=build)


def _leave(loop: Loop, *, can_call: bool) -> tuple[Loop, Next]:
    """Every required item is settled: is the whole proven, and does the agent say that nothing is left?"""
    build = loop.build
    loop = replace(loop, build=replace(build, item=None, mode="checking", why=""))
    build = loop.build
    order = loop.sealed
    terms = exit_terms(loop)
    if loop.work.tree == order.base.tree and _links_are_known(loop):  # nothing was left to do
        red = exit_gate.red_sentences(
            terms.criterion, loop.proof.baseline, loop.proof.baseline, terms.tolerance
        )
        sentences = (*red, *_unproven_words(loop))
        if sentences:
            return _mended(loop, sentences, can_call=can_call)
        outcome: Outcome = "satisfied" if loop.rules > 1 else "verified"
        return loop, Finish(outcome, "nothing to do: every item is settled and every check is green")
    if not (loop.proof.finals_tree == loop.proof.guards_tree == loop.work.tree and _links_are_known(loop)):
        return loop, "judge"
    answer = exit_gate.decide_exit(
        terms.criterion,
        loop.proof.baseline,
        loop.proof.finals,
        loop.proof.guards,
        changed=True,
        claim=terms.claim,  # each item had its own; of the whole, the dual condition tells
        protection=loop.judged_in,
        generated=loop.proof.generated,
        tolerance=terms.tolerance,
        last_word=loop.rules > 2 and terms.last_word,
        left_out=loop.work.left_out,
    )
    sentences = (*(() if answer.ends_unproven else answer.not_yet), *_unproven_words(loop))
    if sentences:
        return _mended(loop, sentences, can_call=can_call)
    board = build.board
    assert board is not None
    checked = Checked(
        open_items=board.tally.open - board.tally.optional_open,
        failing=tuple(
            exit_gate.red_sentences(terms.criterion, loop.proof.baseline, loop.proof.finals, terms.tolerance)
        ),
        errors=(loop.call.fault.message,) if loop.call.fault is not None else (),
        remaining=tuple(finding.message for result in loop.proof.guards for finding in result.findings),
    )
    dual = dual_condition(build.closing.indications, checked)
    loop = replace(
        loop.with_proof(not_yet=(), unproven=(*answer.unproven, *declared_words(loop))),
        build=build.with_closing(dual=dual),
        grade=answer.grade,
    )
    if dual.holds or build.closing.calls >= CLOSING_CAP or not can_call:
        outcome = "verified" if answer.verified else "unproven"
        return loop, Finish(outcome, _verified_words(loop, dual), answer.grade)
    why = "every item is verified; the agent has not signalled that nothing is left"
    return replace(loop, build=replace(loop.build, mode="closing", why=why)), "call"


def _mended(loop: Loop, sentences: tuple[str, ...], *, can_call: bool) -> tuple[Loop, Next]:
    return next_step(add_mend_item(loop, sentences), can_call=can_call)


def add_mend_item(loop: Loop, sentences: tuple[str, ...]) -> Loop:
    """All items are ticked and the whole is not proven: one more item, Ralph's own, says what is missing."""
    build = loop.build
    board = build.board
    assert board is not None
    own = next(
        (one.id for one in board.ranked.items if is_mend_item(one) and state_of(board, one.id) == "done"), ""
    )
    if own:
        board = with_state(board, own, "open")
        return replace(loop.with_proof(not_yet=sentences), build=replace(build, board=board, item=None))
    stands = status_by_criterion(build.links.tests)
    open_criteria = tuple(name for name, status in stands.items() if status not in GOOD)
    item = Item(
        id=MEND, title=WHOLE, priority=HIGH, serves=open_criteria, chore=True, notes=sentences[:MAX_NAMED]
    )
    return replace(
        loop.with_proof(not_yet=sentences), build=replace(with_items(loop, build, (item,)), item=None)
    )


def _links_are_known(loop: Loop) -> bool:
    """It is known how the criteria stand on this very tree, and not only on one that was taken back."""
    build, brief = loop.build, loop.sealed.plan_brief
    return not brief.criteria or build.links.tree == loop.work.tree


def _unproven_words(loop: Loop) -> list[str]:
    build, brief = loop.build, loop.sealed.plan_brief
    if brief.criteria is None:
        return []
    stands = status_by_criterion(build.links.tests)
    wanted = [name for name in brief.criteria if stands.get(name, "untested") not in GOOD]
    return [_criterion_words(name, build.links.tests) for name in wanted]


def _criterion_words(name: str, ties: tuple[CriterionTest, ...]) -> str:
    tests = [tie for tie in ties if tie.criterion == name and tie.test]
    if not tests:
        return f"criterion {name}: no test names it"
    bad = next((tie for tie in tests if tie.status not in GOOD), tests[0])
    words = {"fail": "fails", "flaky": "is flaky", "skipped": "is skipped", "unseen": "was not run"}
    return f"criterion {name}: {bad.test} {words.get(bad.status, bad.status)}"


def _planned_words(build: PlanState) -> str:
    items = len(build.plan.items)
    words = f"the plan is valid: {items} {'item' if items == 1 else 'items'}"
    if build.plan.missing:
        words += f", missing specs: {', '.join(one.name for one in build.plan.missing[:MAX_NAMED])}"
    return words


def _verified_words(loop: Loop, dual: Dual) -> str:
    build = loop.build
    assert build.board is not None
    words = f"all {build.board.tally.done} items are verified"
    hands = [name for name, one in build.done_items.items() if one.iteration and not one.commit]
    if hands:
        words += f", {', '.join(hands[:MAX_NAMED])} confirmed by a human"
    if build.board.tally.optional_open:
        words += f", {build.board.tally.optional_open} optional items open"
    dropped = build.planning.dropped_items
    if dropped:
        more = f" and {len(dropped) - MAX_NAMED} more" if len(dropped) > MAX_NAMED else ""
        words += f", re-planning dropped {', '.join(dropped[:MAX_NAMED])}{more}"
    said = f"{dual.indicators} of {dual.needed} completion indicators"
    if dual.holds:
        return f"{words}; the agent signalled that nothing is left ({said})"
    calls = "call" if build.closing.calls == 1 else "calls"
    asked = f" in {build.closing.calls} closing {calls}" if build.closing.calls else ""
    signal = "a signal without enough of them" if dual.signal else "no signal"
    return f"{words}; the agent did not say{asked} that nothing is left ({said}, {signal})"
