"""What facts do to a plan: a planning call ended, an item was published, tests were tied to criteria.

Each function takes the loop before and what became known, and gives the loop after. What is decided from
that is in `next_item`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

import msgspec.structs

from ralph.core.model.events import PlanRead
from ralph.core.model.gate import Grade
from ralph.core.model.plan.board import (
    board_of,
    plan_with_states,
    state_of,
    with_failing,
    with_state,
    with_states,
)
from ralph.core.model.plan.items import Board, Item, Plan, State, id_of
from ralph.core.model.plan.plan_rules import check_plan
from ralph.core.model.plan.plan_state import DoneItem, PlanState
from ralph.core.model.plan.test_link import CriterionTest, Status, merge_links, status_by_criterion
from ralph.core.plan.diff import carry_states

if TYPE_CHECKING:
    from ralph.core.model.loop import Loop

replace = msgspec.structs.replace
FOUND_CAP = 20  # items that one iteration may add
CRITERIA = "criteria"  # the guard that counts what is shown
NOTES_CAP = 20  # lines below each of them
WHOLE = "Make the whole green: every check, every criterion"  # title of the item "mend", by which it is known
MAX_NAMED = 5
HOUR = 3600.0
# "unknown": the runner tells no test ids; then a green gate is all there is, and the grade says so.
GOOD = frozenset({"pass", "unknown"})
# Where no spec can show that all was there before, a plan that asks for nothing is no way to be done.
NOTHING_LEFT = "the plan leaves nothing to do: expected at least one open item that is not optional"


def readers_due(loop: Loop) -> int:
    """How many calls are to read before this planning call; 0 when they have, or when none were asked for."""
    build, brief = loop.build, loop.sealed.plan_brief
    if build.mode != "planning" or build.planning.reader_notes:
        return 0
    cap, recent = loop.limits.calls_per_hour, [at for at in loop.call.times if at > loop.now - HOUR]
    room = brief.readers if cap is None else cap - len(recent) - 1  # one is left for the plan itself
    return max(0, min(brief.readers, room))


def take_plan(loop: Loop, read: PlanRead | None) -> Loop:
    """A planning call has ended: work by its plan if it is sound; whatever else it did is not kept."""
    build, brief = loop.build, loop.sealed.plan_brief
    read = read or PlanRead()
    told = []
    if read.outside:
        named = ", ".join(read.paths[:MAX_NAMED])
        told.append(f"planning may change only the plan: {read.outside} other files were discarded ({named})")
    claim = loop.call.claim
    asks = claim is not None and claim.status == "BLOCKED"
    build = build.with_planning(
        discarded_files=build.planning.discarded_files + read.outside,
        question=(claim.recommendation or "no reason given") if claim is not None and asks else "",
    )
    build = replace(build, prompt_notes=tuple(told))
    found = read.wrong if read.plan is None else check_plan(read.plan, None)
    if read.plan is None or found:  # a fact must be one that can be folded, whoever read the plan
        wrong = tuple(f"line {one.line}: {one.message}" for one in found)
        return replace(loop, build=_count_failure(build, *wrong))
    old, plan = _merge_replanned(build, read.plan)
    if leaves_nothing(loop, read.plan):
        return replace(loop, build=_count_failure(build, NOTHING_LEFT))
    there = {item.id for item in plan.items if item.state == "done"}
    same = {(item.id, item.title, item.serves) for item in old.items}
    lost = {
        one.id for one in plan.items if one.id in build.lost_items and (one.id, one.title, one.serves) in same
    }
    build = replace(
        build.with_planning(
            plans_accepted=build.planning.plans_accepted + 1,
            items_since_plan=0,
            failures_in_row=0,
            problems=(),
            reader_notes=(),
            dropped_items=_dropped_items(build.planning.dropped_items, old, plan),
        ),
        mode="building",
        why="",
        plan=plan,
        board=board_of(plan, criteria=brief.criteria, clarity=brief.clarity),
        done_items={name: build.done_items.get(name, DoneItem(name)) for name in there | lost},
        lost_items={name: build.lost_items[name] for name in lost},
        item=None,
    )
    return replace(loop.with_progress(counted=0), build=build)


def _count_failure(build: PlanState, *problems: str) -> PlanState:
    return build.with_planning(failures_in_row=build.planning.failures_in_row + 1, problems=problems)


def leaves_nothing(loop: Loop, plan: Plan) -> bool:
    """Would the loop be done by the word of whoever planned, with nothing to prove it?"""
    build, brief = loop.build, loop.sealed.plan_brief
    return (
        brief.mode == "build"
        and not brief.criteria
        and not any(map(_is_left, _merge_replanned(build, plan)[1].items))
    )


def _merge_replanned(build: PlanState, plan: Plan) -> tuple[Plan, Plan]:
    """The plan before, and the new one with what is kept of it."""
    old = build.plan if build.board is None else plan_with_states(build.plan, build.board)
    return old, keep_human_items(old, keep_declarations(old, carry_states(old, plan)))


def take_notes(loop: Loop, read: PlanRead | None, *, changed: bool) -> Loop:
    """A call that works on an item has ended: found work joins the plan, its ticks do not."""
    build = loop.build
    told = []
    if read is not None and read.ticked:
        named = ", ".join(read.ticked[:MAX_NAMED])
        told.append(f"ticking a box has no effect; Ralph ticks what it verified ({named})")
    build = replace(build, prompt_notes=tuple(told), item_touched=build.item_touched or changed)
    if read is not None and read.found:
        build = with_items(loop, build, read.found[:FOUND_CAP])
    return replace(loop, build=build)


def take_closing(loop: Loop, read: PlanRead | None) -> Loop:
    """A closing call has ended: it may name work that is left, and nothing else."""
    build = loop.build
    build = replace(build.with_closing(calls=build.closing.calls + 1), prompt_notes=())
    if read is not None:
        build = build.with_planning(discarded_files=build.planning.discarded_files + read.outside)
        if read.found:
            build = with_items(loop, replace(build, mode="building"), read.found[:FOUND_CAP])
    return replace(loop, build=build)


def take_test_links(loop: Loop, tree: str, ties: tuple[CriterionTest, ...]) -> Loop:
    """How the criteria stand on this tree: what was verified may be lost, or found again."""
    build = loop.build
    ties = merge_links(build.links.tests, ties)
    before, now = status_by_criterion(build.links.tests), status_by_criterion(ties)
    board, lost = _board_by_criteria(build, now, loop.iteration)
    if build.base is not None and tree == build.base.tree:
        build = build.with_links(base_tests=ties)
    told = build.prompt_notes
    others = _others(build, {name for name in now if now[name] in GOOD and before.get(name) not in GOOD})
    if others and loop.iteration:
        named = ", ".join(others[:MAX_NAMED])
        told = (*told, f"iteration {loop.iteration} also did the work of {named}: one item per iteration")
    # Iteration 0: it was ticked before this loop and is not proven, which is no iteration's fault.
    fresh = {name: number for name, number in lost.items() if number and name not in build.lost_items}
    told = (
        *told,
        *(f"iteration {iteration} broke {name}, which was verified" for name, iteration in fresh.items()),
    )
    build = replace(build.with_links(tests=ties, tree=tree), board=board, lost_items=lost, prompt_notes=told)
    return replace(loop, build=build)


def _board_by_criteria(
    build: PlanState, now: Mapping[str, Status], iteration: int
) -> tuple[Board | None, dict[str, int]]:
    """The board, and what was verified and is not proven, where the criteria stand like this."""
    board, lost = build.board, dict(build.lost_items)
    if board is None:
        return None, lost
    at, states = board.ranked.at, dict[str, State]()
    for name in build.done_items:
        item = board.ranked.items[at[name]]
        if all(now.get(one, "untested") in GOOD for one in item.serves):
            lost.pop(name, None)
            states[name] = "done"
        else:
            lost.setdefault(name, iteration)
            if state_of(board, name) != "blocked":  # also where it was never proven to begin with
                states[name] = "open"
    failing = [name for name, status in now.items() if status in ("fail", "flaky")]
    return with_failing(with_states(board, states), (*failing, *lost)), lost


def restore_plan_state(loop: Loop) -> Loop:
    """The workspace is back at a tree of which everything was verified: all stands as it stood there."""
    build = loop.build
    if build.base is None or loop.work.tree != build.base.tree:
        return loop
    board, lost = _board_by_criteria(build, status_by_criterion(build.links.base_tests), 0)
    build = replace(
        build.with_links(tests=build.links.base_tests, tree=loop.work.tree),
        board=board,
        lost_items=lost,
        item_touched=False,
    )
    return replace(loop, build=build)


def tick_item(loop: Loop, commit: str, grade: Grade | None) -> Loop:
    """The item at hand is verified and has its commit."""
    build = loop.build
    assert build.item is not None
    assert build.board is not None
    name = build.item.id
    done = DoneItem(name, loop.iteration, commit, loop.work.tree, grade)
    build = replace(
        build.with_planning(items_since_plan=build.planning.items_since_plan + 1).with_links(
            base_tests=build.links.tests,
            shown_criteria=build.links.shown_criteria.union(
                *(result.counted for result in loop.proof.guards if result.guard == CRITERIA)
            ),
        ),
        board=with_state(build.board, name, "done"),
        done_items={**build.done_items, name: done},
        lost_items={other: iteration for other, iteration in build.lost_items.items() if other != name},
        item=None,
        item_touched=False,
        base=loop.checkpoint,
    )
    return replace(loop.with_progress(counted=0).with_landing(result=commit), build=build)


def criteria_to_show(loop: Loop) -> tuple[str, ...]:
    """The criteria that this tree must show: of the item at hand and of all that was verified, or all."""
    build, brief = loop.build, loop.sealed.plan_brief
    if build.item is None or build.board is None:
        return brief.criteria or ()
    ranked = build.board.ranked
    done = (one for name in build.done_items for one in ranked.items[ranked.at[name]].serves)
    return tuple(dict.fromkeys((*build.item.serves, *done)))


def reopen_blocked_items(loop: Loop) -> Loop:
    """A human looked at what ended the loop: blocked items are tried again, every count starts anew."""
    build = loop.build
    board = build.board
    if board is not None:
        again = [name for name in build.blocked_items if board.states.get(name) == "blocked"]
        board = with_states(board, dict.fromkeys(again, "open"))
    at_hand = build.item if build.item is not None and build.item.id not in build.blocked_items else None
    build = replace(
        build.with_planning(failures_in_row=0, question=""),
        board=board,
        blocked_items={},
        tries={},
        item=at_hand,
    )
    return replace(loop, build=build.with_planning(replanned_items=frozenset()))


def is_mend_item(item: Item | None) -> bool:
    """Ralph's own item, which is held to the whole. Whoever else uses its name has an item like any other."""
    return item is not None and item.title == WHOLE and item.chore and not (item.optional or item.human)


def tick_human_items(loop: Loop, names: tuple[str, ...]) -> Loop:
    """Items that only a human can do, and has done."""
    build = loop.build
    if build.board is None:
        return loop
    board, done, lost = build.board, dict(build.done_items), dict(build.lost_items)
    for name in names:
        if name in board.ranked.at and board.ranked.items[board.ranked.at[name]].human:
            board = with_state(board, name, "done")
            done[name] = DoneItem(name, loop.iteration)
            lost.pop(name, None)
    return replace(loop, build=replace(build, board=board, done_items=done, lost_items=lost))


def with_items(loop: Loop, build: PlanState, found: tuple[Item, ...]) -> PlanState:
    """The same plan with more items; the board is made anew, which is rare."""
    brief = loop.sealed.plan_brief
    assert build.board is not None
    plan = plan_with_states(build.plan, build.board)
    known = {item.id for item in plan.items}
    new = []
    for item in found:
        name = id_of(item.title, known) if item.id in known else item.id
        after = _among(item.after, known)
        notes = item.notes[:NOTES_CAP]
        if item.no_proof:  # only a plan may say so, which people are shown
            notes = (*notes, f"without effect: proof none because {item.no_proof}")
        new.append(replace(item, id=name, after=after, state="open", no_proof="", notes=notes))
        known.add(name)
    plan = replace(plan, items=(*plan.items, *new))
    board = board_of(plan, criteria=brief.criteria, clarity=brief.clarity)
    return replace(build, plan=plan, board=board)


def keep_declarations(old: Plan, new: Plan) -> Plan:
    """What was said of an item's proof stays, whoever plans anew; a criterion that it serves needs one."""
    declared = {item.id: item.no_proof for item in old.items}
    items = tuple(
        replace(item, no_proof="" if item.serves else declared.get(item.id, item.no_proof))
        for item in new.items
    )
    return replace(new, items=items)


def declared_words(loop: Loop) -> tuple[str, ...]:
    """Items that were taken as done with nothing to prove them, why, and who says so."""
    build, brief = loop.build, loop.sealed.plan_brief
    given = {item.id for item in brief.plan.items if item.no_proof} if brief.plan is not None else set()
    return tuple(
        f"item {item.id}: proof none because {item.no_proof}"
        f" ({'declared in your plan' if item.id in given else 'declared by the agent in its own plan'})"
        for item in build.plan.items
        if item.no_proof and (done := build.done_items.get(item.id)) is not None and done.iteration
    )


def keep_human_items(old: Plan, new: Plan) -> Plan:
    """Boxes that only a human can tick stay: whoever plans cannot take a human's word away."""
    humans = {item.id: item for item in old.items if item.human and item.state != "cancelled"}
    kept = [replace(item, human=True) if item.id in humans else item for item in new.items]
    known = {item.id for item in kept}
    gone = [
        replace(item, after=_among(item.after, known)) for item in humans.values() if item.id not in known
    ]
    return replace(new, items=(*kept, *gone))


def _among(names: tuple[str, ...], known: Container[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in known)


def _dropped_items(before: tuple[str, ...], old: Plan, new: Plan) -> tuple[str, ...]:
    """What was to be done and is in the new plan neither by its name nor by its title."""
    ids, titles = {item.id for item in new.items}, {item.title for item in new.items}
    gone = (item.id for item in old.items if _is_left(item) and item.title not in titles)
    return tuple(name for name in dict.fromkeys((*before, *gone)) if name not in ids)


def _is_left(item: Item) -> bool:
    return item.state in ("open", "blocked") and not item.optional


def _others(build: PlanState, fresh: set[str]) -> list[str]:
    """Other open items whose last criterion has just turned green."""
    board = build.board
    if board is None or build.item is None:
        return []
    stands = status_by_criterion(build.links.tests)
    ranks = {at for name in fresh for at in board.ranked.serves.get(name, ())}
    found = []
    for at in sorted(ranks):
        item = board.ranked.items[at]
        whole = all(one in fresh or stands.get(one) in GOOD for one in item.serves)
        if item.id != build.item.id and whole and state_of(board, item.id) == "open":
            found.append(item.id)
    return found
