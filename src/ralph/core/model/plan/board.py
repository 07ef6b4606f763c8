"""Which item comes next: the decision table of build mode, over a board that is cheap to change.

A board is a value: changing the state of an item gives another board and leaves the first as it was. Items
are ranked once (priority of the item or of what waits for it, then the clearest spec, then the plan's order);
what is ready, blocking or failing are sets of ranks, which are values too (`Ranks`). So a choice is a few
operations for any number of items, and ticking one costs what its own neighbours cost.
A dependency is met when it is done or cancelled; an item in a circle never gets here (`plan_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.plan.items import STATES, Board, Item, Plan, Ranked, Ranks, State, Tally, order_of
from ralph.core.model.plan.plan_rules import check_plan
from ralph.errors import Bug, UserError

Kind = Literal["item", "plan", "done", "human", "stuck"]
MAX_NAMED = 10  # items listed in a choice that has none
_WIDE = 8  # more neighbours than this are compared as one set of bits
_PART = 1024  # states that are copied together
_NAMES: dict[int, State] = {ord(state[0]): state for state in STATES}
_SETTLED = frozenset({"done", "cancelled"})
_OPEN = ord("o")
_MET = b"dc"  # the letters of what is settled


class ChoiceRule(Struct, frozen=True):
    """One row of the decision table: the rank it would take, -1 when it does not apply."""

    name: str
    first: Callable[[Board], int]
    why: str


RULES: tuple[ChoiceRule, ...] = (
    ChoiceRule("blocker", lambda board: first_common(board.ready, board.blocking), "other items wait for it"),
    ChoiceRule(
        "failing",
        lambda board: first_common(board.ready, board.failing) if board.failing else -1,
        "a test that it serves fails",
    ),
    ChoiceRule("priority", lambda board: next(first_of(board.ready, 1), -1), "it has the highest priority"),
)
CLEAREST = "it has the clearest spec among those of its priority"
FIRST = "it comes first among equals"
NO_SPEC = "no spec tells what it should do"


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
            f"the plan cannot be worked by: {wrong[0].message}",
            code="E-PLAN-INVALID",
            next="cat IMPLEMENTATION_PLAN.md",
        )
    ranked = _rank(plan, None if criteria is None else frozenset(criteria), clarity or {})
    letters = "".join(item.state[0] for item in ranked.items).encode()
    states = tuple(letters[at : at + _PART] for at in range(0, len(letters), _PART))
    room = len(letters)
    met = ranks_of((rank for rank, letter in enumerate(letters) if letter in _MET), room)
    open_ones = (rank for rank, letter in enumerate(letters) if letter == _OPEN)
    wanted = ranks_of((rank for rank in open_ones if ranked.required[rank]), room)
    ready = ranks_of((rank for rank in range(room) if _is_ready(ranked, states, met, rank)), room)
    blocking = ranks_of((rank for rank in range(room) if _is_blocking(ranked, wanted, rank)), room)
    return Board(ranked, states, _count(ranked, letters), met, wanted, ready, blocking)


def _count(ranked: Ranked, letters: bytes) -> Tally:
    spare = sum(letter == _OPEN and not need for letter, need in zip(letters, ranked.required, strict=True))
    numbers = {state: letters.count(state[0].encode()) for state in STATES}
    return Tally(
        len(letters), numbers["done"], numbers["cancelled"], numbers["blocked"], numbers["open"], spare
    )


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
    order.reverse()
    ranks = {number: rank for rank, number in enumerate(order)}
    after = tuple(tuple(ranks[index[other]] for other in items[n].after) for n in order)
    before: list[list[int]] = [[] for _ in items]
    serves: dict[str, list[int]] = {}
    for rank, n in enumerate(order):
        for needed in after[rank]:
            before[needed].append(rank)
        for one in items[n].serves:
            serves.setdefault(one, []).append(rank)
    return Ranked(
        items=tuple(items[n] for n in order),
        at={items[n].id: rank for rank, n in enumerate(order)},
        weight=tuple(weights[n] for n in order),
        after=after,
        before=tuple(map(tuple, before)),
        after_set={rank: ranks_of(some, len(items)) for rank, some in enumerate(after) if len(some) > _WIDE},
        before_set={
            rank: ranks_of(some, len(items)) for rank, some in enumerate(before) if len(some) > _WIDE
        },
        serves={one: tuple(ranks_) for one, ranks_ in serves.items()},
        required=bytes(required[n] for n in order),
        lacking=bytes(_lacks_spec(items[n], criteria, missing) for n in order),
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
    ranked = board.ranked
    at = _at(ranked, item)
    was = _state(board.states, at)
    if was == state:
        return board
    states = _put_state(board.states, at, state)
    was_met, is_met = was in _SETTLED, state in _SETTLED
    met = put(board.met, at, is_met)
    wanted = put(board.wanted, at, state == "open" and bool(ranked.required[at]))
    ready = put(board.ready, at, _is_ready(ranked, states, met, at))
    if was_met != is_met:
        for one in ranked.before[at]:
            ready = put(ready, one, is_met and _is_ready(ranked, states, met, one))
    blocking = board.blocking
    if wanted is not board.wanted:
        for one in ranked.after[at]:
            blocking = put(blocking, one, _is_blocking(ranked, wanted, one))
    counted = _move_in_tally(board, at, was, state)
    return Board(ranked, states, counted, met, wanted, ready, blocking, board.failing)


def _put_state(states: tuple[bytes, ...], at: int, state: State) -> tuple[bytes, ...]:
    part, place = divmod(at, _PART)
    old = states[part]
    new = old[:place] + state[0].encode() + old[place + 1 :]
    return (*states[:part], new, *states[part + 1 :])


def _state(states: tuple[bytes, ...], at: int) -> State:
    return _NAMES[states[at // _PART][at % _PART]]


def _move_in_tally(board: Board, at: int, was: State, state: State) -> Tally:
    tally = board.tally
    counts = {"done": tally.done, "cancelled": tally.cancelled, "blocked": tally.blocked, "open": tally.open}
    counts[was] -= 1
    counts[state] += 1
    spare = 0 if board.ranked.required[at] else (state == "open") - (was == "open")
    return Tally(tally.total, **counts, optional_open=tally.optional_open + spare)


def with_failing(board: Board, names: Iterable[str]) -> Board:
    """The same board, told which criteria have a failing test, or which items broke."""
    ranked = board.ranked
    ranks: set[int] = set()
    for name in names:
        ranks.update(ranked.serves.get(name, ()))
        if name in ranked.at:
            ranks.add(ranked.at[name])
    return replace(board, failing=ranks_of(ranks, len(ranked.items)) if ranks else ())


def choose(board: Board) -> ItemChoice:
    """The decision table."""
    ranked = board.ranked
    for rule in RULES:
        at = rule.first(board)
        if at >= 0:
            item = ranked.items[at]
            if ranked.lacking[at]:
                return ItemChoice("plan", item, "spec", NO_SPEC)
            name, why = (rule.name, rule.why) if rule.name != "priority" else _tie(board)
            return ItemChoice("item", item, name, why)
    return _nothing(board)


def _tie(board: Board) -> tuple[str, str]:
    """What decided among items of the same priority."""
    first, *others = (board.ranked.weight[at] for at in first_of(board.ready, 2))
    if not others or others[0][0] != first[0]:
        return "priority", RULES[-1].why
    return ("clearest", CLEAREST) if others[0][1] != first[1] else ("order", FIRST)


def _nothing(board: Board) -> ItemChoice:
    """No item is ready, so the time it takes to look closely does not matter."""
    ranked = board.ranked
    needed = [rank for rank in reversed(range(len(ranked.items))) if ranked.required[rank]]
    left = [rank for rank in needed if _state(board.states, rank) == "open"]
    stopped = [rank for rank in needed if _state(board.states, rank) == "blocked"]
    human = [rank for rank in left if ranked.items[rank].human]
    if not left and not stopped:
        return ItemChoice("done", why="every required item is settled")
    if human:
        return _choice_of_none(ranked, "human", "only a human can tick what is left", human)
    return _choice_of_none(ranked, "stuck", "what is left is blocked, or waits for what is", stopped or left)


def _choice_of_none(ranked: Ranked, kind: Kind, why: str, ranks: list[int]) -> ItemChoice:
    names = tuple(ranked.items[at].id for at in ranks[:MAX_NAMED])
    return ItemChoice(kind, why=why, names=names, count=len(ranks))


def ready_besides(board: Board, item: str, most: int) -> tuple[Item, ...]:
    """What could be begun besides this item, in order; the first few."""
    found = (board.ranked.items[at] for at in first_of(board.ready, most + 1))
    return tuple(one for one in found if one.id != item)[:most]


def state_of(board: Board, item: str) -> State:
    return _state(board.states, _at(board.ranked, item))


def plan_with_states(plan: Plan, board: Board) -> Plan:
    """The plan with the states of the board; it costs as much as the plan is long."""
    return replace(plan, items=tuple(replace(item, state=state_of(board, item.id)) for item in plan.items))


def _at(ranked: Ranked, item: str) -> int:
    at = ranked.at.get(item)
    if at is None:
        raise Bug(f"item '{item}' is not in the plan")
    return at


def _is_ready(ranked: Ranked, states: tuple[bytes, ...], met: Ranks, at: int) -> bool:
    if not ranked.required[at] or ranked.items[at].human or _state(states, at) != "open":
        return False
    wide = ranked.after_set.get(at)
    if wide is not None:
        return within(wide, met)
    return all(holds(met, one) for one in ranked.after[at])


def _is_blocking(ranked: Ranked, wanted: Ranks, at: int) -> bool:
    wide = ranked.before_set.get(at)
    if wide is not None:
        return meet(wide, wanted)
    return any(holds(wanted, one) for one in ranked.before[at])


_SHIFT = 10
_MASK = (1 << _SHIFT) - 1


def ranks_of(some: Iterable[int], room: int) -> Ranks:
    """The set of these, with room for ranks below `room`."""
    made = [0] * ((room >> _SHIFT) + 1)
    for at in some:
        made[at >> _SHIFT] |= 1 << (at & _MASK)
    return tuple(made)


def put(ranks: Ranks, at: int, there: bool) -> Ranks:
    part = at >> _SHIFT
    word, bit = ranks[part], 1 << (at & _MASK)
    if bool(word & bit) is there:
        return ranks
    return (*ranks[:part], word ^ bit, *ranks[part + 1 :])


def holds(ranks: Ranks, at: int) -> bool:
    return bool(ranks[at >> _SHIFT] >> (at & _MASK) & 1)


def within(ranks: Ranks, other: Ranks) -> bool:
    """Whether all of them are in the other set, too."""
    return all(word & there == word for word, there in zip(ranks, other, strict=True) if word)


def meet(ranks: Ranks, other: Ranks) -> bool:
    return any(word & there for word, there in zip(ranks, other, strict=True) if word)


def first_common(ranks: Ranks, other: Ranks) -> int:
    """The first of those that are in both; -1 for none."""
    for part in range(len(ranks) - 1, -1, -1):
        both = ranks[part] & other[part]
        if both:
            return (part << _SHIFT) + both.bit_length() - 1
    return -1


def first_of(ranks: Ranks, most: int) -> Iterator[int]:
    """The first few."""
    for part in range(len(ranks) - 1, -1, -1):
        word = ranks[part]
        while word and most > 0:
            at = word.bit_length() - 1
            yield (part << _SHIFT) + at
            word ^= 1 << at
            most -= 1
