"""Which item comes next: the decision table of build mode.

A board is a value: changing the state of items gives another board and leaves the first as it was. Items
are ranked once (priority of the item or of what waits for it, then the clearest spec, then the plan's order);
what is ready is found in one pass over all of them whenever a state changes.
A dependency is met when it is done or cancelled; an item in a circle never gets here (`plan_rules`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.plan.items import SETTLED, Board, Item, Plan, Ranked, State, Tally, order_of
from ralph.core.model.plan.plan_rules import check_plan
from ralph.errors import Bug, UserError

Kind = Literal["item", "plan", "done", "human", "stuck"]
MAX_NAMED = 10  # items listed in a choice that has none
BLOCKER = "other items wait for it"
FAILING = "a test that it serves fails"
PRIORITY = "it has the highest priority"
CLEAREST = "it has the clearest spec among those of its priority"
FIRST = "it comes first among equals"
NO_SPEC = "no spec says what it should do"


class ItemChoice(Struct, frozen=True):
    """The next item, or why there is none: planning is needed, all done, a human must act, all stuck."""

    kind: Kind
    item: Item | None = None
    rule: str = ""
    why: str = ""
    names: tuple[str, ...] = ()  # items that only a human can tick, or that are blocked; the first few
    count: int = 0


def board_of(
    plan: Plan, *, criteria: Iterable[str] | None = None, clarity: Mapping[str, int] | None = None
) -> Board:
    """The board of a sound plan. `criteria` None: there are no specs. `clarity`: criterion -> points."""
    wrong = [one for one in check_plan(plan, None) if plan.items]
    if wrong:
        raise UserError(
            f"the plan is not executable: {wrong[0].message}",
            code="E-PLAN-INVALID",
            next="cat IMPLEMENTATION_PLAN.md",
        )
    ranked = _rank(plan, None if criteria is None else frozenset(criteria), clarity or {})
    return _board(ranked, {item.id: item.state for item in ranked.items}, frozenset())


def _board(ranked: Ranked, states: dict[str, State], failing: frozenset[int]) -> Board:
    """One pass: how many of each there are, and what can be begun."""
    counts, spare, ready = Counter(states.values()), 0, []
    for rank, (item, required) in enumerate(zip(ranked.items, ranked.required, strict=True)):
        if states[item.id] != "open":
            continue
        if not required:
            spare += 1
        elif not item.human and not (item.after and any(states[one] not in SETTLED for one in item.after)):
            ready.append(rank)
    tally = Tally(len(states), counts["done"], counts["cancelled"], counts["blocked"], counts["open"], spare)
    return Board(ranked, states, tally, tuple(ready), failing)


def _rank(plan: Plan, criteria: frozenset[str] | None, clarity: Mapping[str, int]) -> Ranked:
    items = plan.items
    index = {item.id: number for number, item in enumerate(items)}
    priority = [item.priority for item in items]
    required = [not item.optional for item in items]
    for number in reversed(order_of(items)[0]):  # whoever waits comes before what it waits for
        for other in items[number].after:
            at = index[other]
            priority[at] = min(priority[at], priority[number] if required[number] else priority[at])
            required[at] = required[at] or required[number]
    missing = {one.name for one in plan.missing}
    weights = [(priority[n], -_clarity(item, clarity)) for n, item in enumerate(items)]
    order = sorted(range(len(items)), key=lambda n: (weights[n][0], items[n].priority, weights[n][1], n))
    before: dict[str, list[str]] = {item.id: [] for item in items}
    serves: dict[str, list[int]] = {}
    for rank, n in enumerate(order):
        for needed in items[n].after:
            before[needed].append(items[n].id)
        for one in items[n].serves:
            serves.setdefault(one, []).append(rank)
    return Ranked(
        items=tuple(items[n] for n in order),
        at={items[n].id: rank for rank, n in enumerate(order)},
        weight=tuple(weights[n] for n in order),
        before=tuple(tuple(before[items[n].id]) for n in order),
        serves={one: tuple(ranks) for one, ranks in serves.items()},
        required=tuple(required[n] for n in order),
        lacking=tuple(_lacks_spec(items[n], criteria, missing) for n in order),
    )


def _clarity(item: Item, clarity: Mapping[str, int]) -> int:
    """As clear as the least clear criterion it serves."""
    return min((clarity.get(one, 0) for one in item.serves), default=0)


def _lacks_spec(item: Item, criteria: frozenset[str] | None, missing: set[str]) -> bool:
    if item.chore or item.no_proof or criteria is None:
        return False
    return not item.serves or any(one not in criteria or one in missing for one in item.serves)


def with_state(board: Board, item: str, state: State) -> Board:
    """The same board with one item ticked, reopened, blocked or cancelled."""
    return with_states(board, {item: state})


def with_states(board: Board, states: Mapping[str, State]) -> Board:
    """The same with several, in one pass."""
    changed = {name: state for name, state in states.items() if state_of(board, name) != state}
    return _board(board.ranked, {**board.states, **changed}, board.failing) if changed else board


def with_failing(board: Board, names: Iterable[str]) -> Board:
    """The same board, told which criteria have a failing test, or which items broke."""
    ranked = board.ranked
    ranks: set[int] = set()
    for name in names:
        ranks.update(ranked.serves.get(name, ()))
        if name in ranked.at:
            ranks.add(ranked.at[name])
    return replace(board, failing=frozenset(ranks))


def choose(board: Board) -> ItemChoice:
    """The decision table."""
    if not board.ready:
        return _nothing(board)
    at, rule, why = _first(board)
    item = board.ranked.items[at]
    if board.ranked.lacking[at]:
        return ItemChoice("plan", item, "spec", NO_SPEC)
    return ItemChoice("item", item, rule, why)


def _first(board: Board) -> tuple[int, str, str]:
    for at in board.ready:
        if _is_blocking(board, at):
            return at, "blocker", BLOCKER
    for at in board.ready:
        if at in board.failing:
            return at, "failing", FAILING
    return board.ready[0], *_tie(board)


def _is_blocking(board: Board, at: int) -> bool:
    """Does something that is required and open wait for it?"""
    ranked = board.ranked
    return any(board.states[one] == "open" and ranked.required[ranked.at[one]] for one in ranked.before[at])


def _tie(board: Board) -> tuple[str, str]:
    """What decided among items of the same priority."""
    first, *others = (board.ranked.weight[at] for at in board.ready[:2])
    if not others or others[0][0] != first[0]:
        return "priority", PRIORITY
    return ("clearest", CLEAREST) if others[0][1] != first[1] else ("order", FIRST)


def _nothing(board: Board) -> ItemChoice:
    ranked = board.ranked
    needed = [rank for rank, required in enumerate(ranked.required) if required]
    left = [rank for rank in needed if board.states[ranked.items[rank].id] == "open"]
    stopped = [rank for rank in needed if board.states[ranked.items[rank].id] == "blocked"]
    human = [rank for rank in left if ranked.items[rank].human]
    if not left and not stopped:
        return ItemChoice("done", why="every required item is settled")
    if human:
        return _choice_of_none(ranked, "human", "only a human can tick what is left", human)
    return _choice_of_none(ranked, "stuck", "every item left is blocked or waits for one", stopped or left)


def _choice_of_none(ranked: Ranked, kind: Kind, why: str, ranks: list[int]) -> ItemChoice:
    names = tuple(ranked.items[at].id for at in ranks[:MAX_NAMED])
    return ItemChoice(kind, why=why, names=names, count=len(ranks))


def ready_besides(board: Board, item: str, most: int) -> tuple[Item, ...]:
    """What could be begun besides this item, in order; the first few."""
    found = (board.ranked.items[at] for at in board.ready[: most + 1])
    return tuple(one for one in found if one.id != item)[:most]


def state_of(board: Board, item: str) -> State:
    state = board.states.get(item)
    if state is None:
        raise Bug(f"item '{item}' is not in the plan")
    return state


def plan_with_states(plan: Plan, board: Board) -> Plan:
    """The plan with the states of the board."""
    return replace(plan, items=tuple(replace(item, state=board.states[item.id]) for item in plan.items))
