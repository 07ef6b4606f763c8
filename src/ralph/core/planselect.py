"""Which item comes next: the decision table of build mode, over a board that is cheap to change.

A board is a value: changing the state of an item gives another board and leaves the first as it was. Items
are ranked once (priority of the item or of what waits for it, then the clearest spec, then the plan's order);
what is open, ready, blocking or failing are sets of ranks, kept as the bits of integers. So a choice is a few
operations on integers for any number of items, and ticking one costs what its own neighbours cost.
A dependency is met when it is done or cancelled; an item in a circle never gets here (`plancheck`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.plan import Item, Plan, State
from ralph.core.plancheck import check_plan, order_of
from ralph.errors import Bug, UserError

Kind = Literal["item", "plan", "done", "human", "stuck"]
NAMED = 10  # items listed in a choice that has none
_WIDE = 8  # more neighbours than this are compared as one set of bits


class Ranked(Struct, frozen=True):
    """What does not change while a plan is worked on. Positions are ranks: 0 is the first to be chosen."""

    items: tuple[Item, ...]
    at: dict[str, int]
    weight: tuple[tuple[int, int], ...]  # (priority, unclearness): equal = a tie
    after: tuple[tuple[int, ...], ...]
    before: tuple[tuple[int, ...], ...]  # who waits for it
    after_bits: dict[int, int]  # the same as sets, for those with many neighbours
    before_bits: dict[int, int]
    serves: dict[str, tuple[int, ...]]
    required: int
    human: int
    lacking: int  # no spec tells what it should do


class Board(Struct, frozen=True):
    ranked: Ranked
    done: int = 0
    cancelled: int = 0
    blocked: int = 0
    ready: int = 0  # open, for an agent, and nothing to wait for
    blocking: int = 0  # something required and open waits for it
    failing: int = 0  # it would mend a test that fails

    @property
    def open(self) -> int:
        everything = (1 << len(self.ranked.items)) - 1
        return everything & ~(self.done | self.cancelled | self.blocked)


class Rule(Struct, frozen=True):
    """One row of the decision table: when any candidate is in the pool, the first of the pool is taken."""

    name: str
    pool: Callable[[Board, int], int]
    why: str


RULES: tuple[Rule, ...] = (
    Rule("blocker", lambda board, ready: ready & board.blocking, "other items wait for it"),
    Rule("failing", lambda board, ready: ready & board.failing, "a test that it serves fails"),
    Rule("priority", lambda _, ready: ready, "it has the highest priority"),
)
CLEAREST = "it has the clearest spec among those of its priority"
FIRST = "it comes first among equals"
NO_SPEC = "no spec tells what it should do"


class Choice(Struct, frozen=True):
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
            next="ralph plan --refresh",
        )
    ranked = _rank(plan, None if criteria is None else frozenset(criteria), clarity or {})
    states: dict[State, int] = dict.fromkeys(("open", "done", "blocked", "cancelled"), 0)
    for at, item in enumerate(ranked.items):
        states[item.state] |= 1 << at
    board = Board(ranked, done=states["done"], cancelled=states["cancelled"], blocked=states["blocked"])
    ready = blocking = 0
    wanted, met = board.open & ranked.required, board.done | board.cancelled
    for at in range(len(ranked.items)):
        ready |= _is_ready(board, at, board.open, met) << at
        blocking |= _is_blocking(ranked, at, wanted) << at
    return replace(board, ready=ready, blocking=blocking)


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
    ranks = {number: rank for rank, number in enumerate(order)}
    after = tuple(tuple(ranks[index[other]] for other in items[n].after) for n in order)
    before: list[list[int]] = [[] for _ in items]
    serves: dict[str, list[int]] = {}
    lacking = 0
    for rank, n in enumerate(order):
        for needed in after[rank]:
            before[needed].append(rank)
        for one in items[n].serves:
            serves.setdefault(one, []).append(rank)
        lacking |= _lacks_spec(items[n], criteria, missing) << rank
    return Ranked(
        items=tuple(items[n] for n in order),
        at={items[n].id: rank for rank, n in enumerate(order)},
        weight=tuple(weights[n] for n in order),
        after=after,
        before=tuple(map(tuple, before)),
        after_bits={rank: _bits(some) for rank, some in enumerate(after) if len(some) > _WIDE},
        before_bits={rank: _bits(some) for rank, some in enumerate(before) if len(some) > _WIDE},
        serves={one: tuple(ranks_) for one, ranks_ in serves.items()},
        required=_bits(rank for rank, n in enumerate(order) if required[n]),
        human=_bits(rank for rank, n in enumerate(order) if items[n].human),
        lacking=lacking,
    )


def _clarity(item: Item, clarity: Mapping[str, int]) -> int:
    """As clear as the least clear criterion it serves."""
    return min((clarity.get(one, 0) for one in item.serves), default=0)


def _lacks_spec(item: Item, criteria: frozenset[str] | None, missing: set[str]) -> bool:
    if item.chore or criteria is None:
        return False
    return not item.serves or any(one not in criteria or one in missing for one in item.serves)


def with_state(board: Board, item: str, state: State) -> Board:
    """The same board with one item ticked, reopened, blocked or cancelled."""
    ranked = board.ranked
    at = _at(ranked, item)
    bit = 1 << at
    done, cancelled, blocked = (
        there | bit if state == name else there & ~bit if there & bit else there
        for name, there in (("done", board.done), ("cancelled", board.cancelled), ("blocked", board.blocked))
    )
    made = replace(board, done=done, cancelled=cancelled, blocked=blocked)
    met, is_open = done | cancelled, made.open
    ready = _put(made.ready, at, _is_ready(made, at, is_open, met))
    for one in ranked.before[at]:
        ready = _put(ready, one, _is_ready(made, one, is_open, met))
    blocking, wanted = made.blocking, is_open & ranked.required
    for one in ranked.after[at]:
        blocking = _put(blocking, one, _is_blocking(ranked, one, wanted))
    return replace(made, ready=ready, blocking=blocking)


def with_failing(board: Board, names: Iterable[str]) -> Board:
    """The same board, told which criteria have a failing test, or which items broke."""
    ranked = board.ranked
    ranks: set[int] = set()
    for name in names:
        ranks.update(ranked.serves.get(name, ()))
        if name in ranked.at:
            ranks.add(ranked.at[name])
    return replace(board, failing=_bits(ranks))


def choose(board: Board) -> Choice:
    """The decision table."""
    ranked = board.ranked
    candidates = board.ready & ranked.required
    for rule in RULES:
        pool = rule.pool(board, candidates)
        if pool:
            at = _lowest(pool)
            item = ranked.items[at]
            if ranked.lacking >> at & 1:
                return Choice("plan", item, "spec", NO_SPEC)
            name, why = (rule.name, rule.why) if rule.name != "priority" else _tie(ranked, pool, at)
            return Choice("item", item, name, why)
    return _nothing(board)


def _tie(ranked: Ranked, pool: int, at: int) -> tuple[str, str]:
    """What decided among items of the same priority."""
    others = pool & ~(1 << at)
    second = ranked.weight[_lowest(others)] if others else (-1, 0)
    if second[0] != ranked.weight[at][0]:
        return "priority", RULES[-1].why
    return ("clearest", CLEAREST) if second[1] != ranked.weight[at][1] else ("order", FIRST)


def _nothing(board: Board) -> Choice:
    left = board.open & board.ranked.required
    stopped = board.blocked & board.ranked.required
    human = left & board.ranked.human
    if not left and not stopped:
        return Choice("done", why="every required item is settled")
    if human:
        return _stopped(board, "human", "only a human can tick what is left", human)
    return _stopped(board, "stuck", "what is left is blocked, or waits for what is", stopped or left)


def _stopped(board: Board, kind: Kind, why: str, ranks: int) -> Choice:
    names = tuple(board.ranked.items[at].id for at in some(ranks, NAMED))
    return Choice(kind, why=why, names=names, count=ranks.bit_count())


class Tally(Struct, frozen=True):
    total: int
    done: int
    cancelled: int
    blocked: int
    open: int
    optional_open: int  # of the open ones


def tally(board: Board) -> Tally:
    is_open = board.open
    return Tally(
        total=len(board.ranked.items),
        done=board.done.bit_count(),
        cancelled=board.cancelled.bit_count(),
        blocked=board.blocked.bit_count(),
        open=is_open.bit_count(),
        optional_open=(is_open & ~board.ranked.required).bit_count(),
    )


def state_of(board: Board, item: str) -> State:
    bit = 1 << _at(board.ranked, item)
    if board.done & bit:
        return "done"
    return "cancelled" if board.cancelled & bit else "blocked" if board.blocked & bit else "open"


def up_to_date(plan: Plan, board: Board) -> Plan:
    """The plan with the states of the board; it costs as much as the plan is long."""
    return replace(plan, items=tuple(replace(item, state=state_of(board, item.id)) for item in plan.items))


def some(ranks: int, most: int) -> Iterator[int]:
    """The first few of a set, in order."""
    while ranks and most > 0:
        at = _lowest(ranks)
        yield at
        ranks &= ranks - 1
        most -= 1


def _at(ranked: Ranked, item: str) -> int:
    at = ranked.at.get(item)
    if at is None:
        raise Bug(f"item '{item}' is not in the plan")
    return at


def _is_ready(board: Board, at: int, is_open: int, met: int) -> bool:
    ranked = board.ranked
    if not is_open >> at & 1 or ranked.human >> at & 1:
        return False
    wide = ranked.after_bits.get(at)
    if wide is not None:
        return not wide & ~met
    return all(met >> one & 1 for one in ranked.after[at])


def _is_blocking(ranked: Ranked, at: int, wanted: int) -> bool:
    wide = ranked.before_bits.get(at)
    if wide is not None:
        return bool(wide & wanted)
    return any(wanted >> one & 1 for one in ranked.before[at])


def _put(ranks: int, at: int, there: bool) -> int:
    return ranks | 1 << at if there else ranks & ~(1 << at)


def _lowest(ranks: int) -> int:
    return (ranks & -ranks).bit_length() - 1


def _bits(ranks: Iterable[int]) -> int:
    made = 0
    for at in ranks:
        made |= 1 << at
    return made
