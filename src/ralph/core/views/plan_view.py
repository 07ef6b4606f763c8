"""What is told of a loop's plan in lists, screens and reports: a few numbers and words."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.loop import Loop
from ralph.core.model.plan.board import choose, state_of
from ralph.core.model.plan.plan_state import PlanState

MAX_ITEMS = 200  # listed in a report


class ItemLine(Struct, frozen=True):
    """One item of the plan as a report tells of it."""

    item: str
    title: str
    state: str
    serves: tuple[str, ...]
    iteration: int | None = None  # in which it was verified; 0 = before this loop
    commit: str = ""
    attempts: int = 0
    note: str = ""  # why it is blocked, which iteration broke it, or why nothing proves it
    no_proof: str = ""  # the reason that its plan gives


class PlanLine(Struct, frozen=True):
    """Where the plan stands."""

    mode: str  # planning, building, closing, checking; planned = a plan was all that was asked for
    item: str  # at hand
    why: str
    total: int
    done: int
    open: int
    blocked: int
    plans: int  # how often it was made
    missing_specs: tuple[str, ...]
    discarded: int  # files changed by calls that must not, thrown away
    closings: int
    newest: int = 0  # the iteration whose commit on the result branch holds every verified item; 0 = none
    human: tuple[str, ...] = ()  # open boxes that only a human can tick, once nothing else is left
    words: int | None = None  # completion indicators in the last iterations; None: not looked at yet
    words_needed: int | None = None
    signal: bool | None = None  # EXIT_SIGNAL, with its conditions checked
    conditions: dict[str, bool | None] = {}


def plan_line(loop: Loop) -> PlanLine | None:
    """None where the loop has no plan."""
    build, brief = loop.build, loop.sealed.plan_brief
    if not loop.has_plan:
        return None
    tally, dual = build.board.tally if build.board is not None else None, build.closing.dual
    return PlanLine(
        mode="planned" if build.mode != "planning" and brief.mode == "plan" else build.mode,
        item=build.item.id if build.item is not None else "",
        why=build.why,
        total=tally.total if tally else 0,
        done=tally.done if tally else 0,
        open=tally.open if tally else 0,
        blocked=tally.blocked if tally else 0,
        plans=build.planning.plans_accepted,
        missing_specs=tuple(one.name for one in build.plan.missing[:MAX_ITEMS]),
        discarded=build.planning.discarded_files,
        closings=build.closing.calls,
        newest=newest_item(loop),
        human=_humans(build),
        words=dual.indicators if dual else None,
        words_needed=dual.needed if dual else None,
        signal=dual.signal if dual else None,
        conditions={one.name: one.holds for one in dual.conditions} if dual else {},
    )


def newest_item(loop: Loop) -> int:
    """The newest iteration that verified an item; its commit, the result so far, holds the earlier ones."""
    base = loop.build.base
    return base.iteration if base is not None and loop.landing.result else 0


def _humans(build: PlanState) -> tuple[str, ...]:
    if build.board is None or build.board.ready or build.mode == "planning":
        return ()
    choice = choose(build.board)
    return choice.names if choice.kind == "human" else ()


def words(line: PlanLine) -> str:
    """Such as: building item login, 3 of 7 verified, 1 blocked"""
    parts = [f"{line.mode} {line.item}".rstrip()] if line.mode != "checking" else []
    if line.mode == "planned":
        parts.append(f"{line.total} items")
    elif line.total:
        parts.append(f"{line.done} of {line.total} items verified")
    if line.blocked:
        parts.append(f"{line.blocked} blocked")
    if line.missing_specs:
        parts.append(f"{len(line.missing_specs)} missing specs")
    return ", ".join(parts)


def item_lines(loop: Loop) -> tuple[ItemLine, ...]:
    """The first items of the plan, with what became of each."""
    build = loop.build
    if build.board is None:
        return ()
    found = []
    for item in build.plan.items[:MAX_ITEMS]:
        done = build.done_items.get(item.id)
        broke = build.lost_items.get(item.id)
        note = build.blocked_items.get(item.id, f"proof none: {item.no_proof}" if item.no_proof else "")
        if broke:
            note = f"iteration {broke} broke it"
        found.append(
            ItemLine(
                item=item.id,
                title=item.title,
                state=state_of(build.board, item.id),
                serves=item.serves,
                iteration=done.iteration if done else None,
                commit=done.commit if done else "",
                attempts=build.tries.get(item.id, 0) + (done is not None and done.iteration > 0),
                note=note,
                no_proof=item.no_proof,
            )
        )
    return tuple(found)
