"""The plan of a loop: items, what each one serves and waits for, and the specs that are missing.

Here: the data and what makes it well-formed. Its file is in `file`, its rules in `plan_rules`, the choice
of the next item in `board`, the text for a prompt in `for_item`. A plan is disposable: it can be made
again from the specs, so nothing here is evidence. Whether an item is done is decided by verdicts elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.text.clean import one_line

NAME = "IMPLEMENTATION_PLAN.md"
State = Literal["open", "done", "blocked", "cancelled"]
Size = Literal["", "S", "M", "L"]
MARKS: dict[State, str] = {"open": " ", "done": "x", "blocked": "!", "cancelled": "-"}
STATES: tuple[State, ...] = ("open", "done", "blocked", "cancelled")
SIZES: tuple[Size, ...] = ("", "S", "M", "L")
HIGH, MEDIUM, LOW = 0, 1, 2
LONGEST_LINE = 500
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
# Words that are tags of an item and therefore not ids.
TAG_WORDS = frozenset({"p0", "p1", "p2", "s", "m", "l", "human", "manual", "chore", "optional"})


class Item(Struct, frozen=True, omit_defaults=True):
    """One line of a plan: what one iteration works on."""

    id: str
    title: str
    priority: int = MEDIUM  # 0 high, 1 medium, 2 low
    size: Size = ""
    after: tuple[str, ...] = ()  # items that must be settled first
    serves: tuple[str, ...] = ()  # ids of criteria in the specs
    state: State = "open"
    optional: bool = False  # does not keep the loop from ending
    human: bool = False  # only a human can tick it
    chore: bool = False  # needs no spec
    no_proof: str = ""  # why nothing can prove it, as its plan declares; "" = it is proven as usual
    notes: tuple[str, ...] = ()


# "Proof: none because …" below an item; the reason is asked for.
_PROOF_NONE = re.compile(
    r"[*_]{0,2}proof\s*[:=][*_]{0,2}\s*[\"'`]?none[\"'`]?"
    r"(?:[\s,.;:\u2013\u2014-]*\bbecause:?(?:\s+|$)|\s*[,.;:\u2013\u2014-]+\s*|\s*$)(.*)",
    re.IGNORECASE,
)


def declared_reason(text: str) -> str | None:
    """Why nothing can prove an item, where a line declares that; "" without a reason, None = it does not."""
    found = _PROOF_NONE.fullmatch(text.strip())
    return None if found is None else line(found[1])


class MissingSpec(Struct, frozen=True, omit_defaults=True):
    """A spec, or the criterion of one, that is not there and must not be guessed."""

    name: str
    why: str = ""


class Plan(Struct, frozen=True, omit_defaults=True):
    items: tuple[Item, ...] = ()
    missing: tuple[MissingSpec, ...] = ()
    notes: tuple[str, ...] = ()
    specs: str = ""  # digest of the specs that it was made from
    code: str = ""  # digest of the code that it was made from


class Ranked(Struct, frozen=True):
    """What does not change while a plan is worked on. A rank is a position; the first one is chosen first."""

    items: tuple[Item, ...]
    at: dict[str, int]
    weight: tuple[tuple[int, int], ...]  # (priority, unclearness): equal = a tie
    before: tuple[tuple[str, ...], ...]  # who waits for it
    serves: dict[str, tuple[int, ...]]
    required: tuple[bool, ...]  # it must be settled
    lacking: tuple[bool, ...]  # no spec says what it should do


class Tally(Struct, frozen=True):
    total: int
    done: int
    cancelled: int
    blocked: int
    open: int
    optional_open: int  # of the open ones


class Board(Struct, frozen=True):
    ranked: Ranked
    states: dict[str, State]
    tally: Tally
    ready: tuple[int, ...] = ()  # ranks that are required, open, for an agent, and have nothing to wait for
    failing: frozenset[int] = frozenset()  # it would mend a test that fails


SETTLED = frozenset({"done", "cancelled"})  # whatever waits for it may begin


def is_settled(item: Item) -> bool:
    return item.state in SETTLED


def id_of(title: str, taken: Collection[str] = (), last: dict[str, int] | None = None) -> str:
    """A name for an item that has none, from its words alone, so that it is the same each time.

    `last` keeps the last number of each name between calls: thousands of items may have one title.
    """
    from ralph.core.text.markdown import slug  # only where an item has no name yet

    base = slug(title) or f"item-{_sha256(title.encode('utf-8', 'replace'))[:8]}"
    if base in TAG_WORDS:
        base = f"item-{base}"
    number = (last or {}).get(base, 1)
    made = base if number == 1 else f"{base}-{number}"
    while made in taken:
        number += 1
        made = f"{base}-{number}"
    if last is not None:
        last[base] = number
    return made


def normal(plan: Plan) -> Plan:
    """The plan as its file can hold it: one line a text, sound ids, items in the order of the groups."""
    items = sorted((normal_item(item) for item in plan.items), key=group_of)
    missing = [MissingSpec(_name(one.name), line(one.why)) for one in plan.missing]
    return Plan(
        items=tuple(items),
        missing=tuple(one for one in missing if one.name),
        notes=_lines(plan.notes),
        specs=_digest(plan.specs),
        code=_digest(plan.code),
    )


def normal_item(item: Item) -> Item:
    title = line(item.title)
    found = ID.fullmatch(item.id)
    made = item.id if found and item.id.lower() not in TAG_WORDS else id_of(item.id or title)
    return replace(
        item,
        id=made,
        title=title or made,
        priority=min(max(item.priority, HIGH), LOW),
        after=_ids(item.after),
        serves=_ids(item.serves),
        no_proof=line(item.no_proof),
        notes=_lines(item.notes),
    )


GROUPS = ("High", "Medium", "Low", "Optional", "Completed")
COMPLETED = len(GROUPS) - 1


def group_of(item: Item) -> int:
    """Index of the heading in GROUPS under which an item stands."""
    return COMPLETED if is_settled(item) else open_group_of(item)


def open_group_of(item: Item) -> int:
    """The same while it is not settled."""
    return COMPLETED - 1 if item.optional else item.priority


def line(text: str) -> str:
    return one_line(text, LONGEST_LINE)


def digest_of(texts: Mapping[str, str]) -> str:
    """One digest for a set of files, whatever order they came in."""
    lines = []
    for path in sorted(texts):
        body = _sha256(texts[path].encode("utf-8", "surrogatepass"))
        lines.append(f"{path.encode('utf-8', 'surrogatepass').hex()} {body}\n")
    return _sha256("".join(lines).encode())


def _sha256(data: bytes) -> str:
    from hashlib import sha256  # costs a start that needs none of it

    return sha256(data).hexdigest()


def stale(plan: Plan, *, specs: str, code: str) -> tuple[str, ...]:
    """Why the plan must be made anew: what it was made from is not what is there now."""
    found = []
    for what, then, now in (("specs", plan.specs, specs), ("code", plan.code, code)):
        if then and then != now:  # one written by hand says nothing of it
            found.append(f"the {what} changed since the plan was made")
    return tuple(found)


def _ids(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for one in given if ID.fullmatch(one)))


def _lines(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(made for made in map(line, given) if made)


def _name(text: str) -> str:
    return one_line(text.replace("`", ""), 120)


def _digest(text: str) -> str:
    return text if re.fullmatch(r"[0-9a-f]{1,128}", text) else ""


def order_of(items: Sequence[Item]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Indexes in an order in which nothing comes before what it waits for; with a circle there is none.

    The circle's ids stand as they wait: each for the next, the last for the first. Unknown ids are ignored.
    """
    at = {item.id: index for index, item in enumerate(items)}
    waits = {index: [at[one] for one in item.after if one in at] for index, item in enumerate(items)}
    try:
        return tuple(TopologicalSorter(waits).static_order()), ()
    except CycleError as found:
        circle = found.args[1][:0:-1]  # each before what waits for it, and the first again
        first = circle.index(min(circle))
        return (), tuple(items[index].id for index in (*circle[first:], *circle[:first]))
