"""What imported documents have in common: their words for priority, size and state, and how an import ends.

For `import_markdown` and `import_json`. A word that is not in a table is not guessed at: None or "" comes
back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.plan.items import HIGH, ID, LOW, MEDIUM, Item, Plan, Size, State, id_of, normal
from ralph.core.model.verdict import Finding
from ralph.core.text.markdown import plain

MAX_NAMED = 40  # lines that were not understood and are named one by one

_PRIORITIES = {
    HIGH: "p0 high highest critical urgent blocker must must-have",
    MEDIUM: "p1 medium normal should should-have major",
    LOW: "p2 p3 p4 low lowest minor could could-have trivial",
}
_SIZES: dict[Size, str] = {"S": "s xs small tiny", "M": "m medium moderate", "L": "l xl xxl large big huge"}
_STATES: dict[State, str] = {
    "open": "open todo to-do pending new planned ready in-progress in_progress wip failing failed review",
    "done": "done complete completed passing passed verified closed finished resolved",
    "blocked": "blocked on-hold waiting",
    "cancelled": "cancelled canceled dropped wontfix won't-fix obsolete rejected",
}
_FIRST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_'-]*")


def priority_word(text: str) -> int | None:
    word = _first(text)
    return next((rank for rank, words in _PRIORITIES.items() if word in words.split()), None)


def size_word(text: str) -> Size:
    word = _first(text)
    return next((size for size, words in _SIZES.items() if word in words.split()), "")


def state_word(text: str) -> State | None:
    word = "-".join(text.strip().lower().split())
    return next((state for state, words in _STATES.items() if word in words.split()), None)


def depends_in(text: str) -> tuple[str, ...]:
    """The ids in "US-001, US-002 and 3"."""
    found = (part.strip("`*_.() ") for part in re.split(r"[,;\s]+", text))
    return tuple(
        one for one in found if ID.fullmatch(one) and one.lower() not in ("and", "none", "n", "a", "na")
    )


def _first(text: str) -> str:
    found = _FIRST.search(text)
    return found[0].lower() if found else ""


class Imported(Struct, frozen=True):
    """The items, and what of the document is not in them."""

    plan: Plan
    unread: tuple[Finding, ...] = ()


def unread_line(path: str, line: int, text: str) -> Finding:
    words = plain(text, 80)
    return Finding(
        key=f"import:{line}:{words}", message=f"not understood: {words}", path=path, line=line, severity="P2"
    )


def finish_import(items: Iterable[Item], unread: list[Finding], path: str) -> Imported:
    """Unique ids, dependencies that exist, and no more complaints than somebody would read."""
    taken: dict[str, Item] = {}
    last: dict[str, int] = {}
    for item in items:
        name = item.id if item.id not in taken else id_of(item.id, taken, last)
        if name != item.id:
            unread.append(unread_line(path, 0, f"a second item '{item.id}', now called '{name}'"))
        taken[name] = replace(item, id=name)
    made = []
    for item in taken.values():
        lost = [other for other in item.after if other not in taken]
        unread += [unread_line(path, 0, f"'{item.id}' waits for '{one}', which is not there") for one in lost]
        made.append(replace(item, after=tuple(one for one in item.after if one in taken and one != item.id)))
    if len(unread) > MAX_NAMED:
        more = len(unread) - MAX_NAMED
        unread = [
            *unread[:MAX_NAMED],
            unread_line(path, unread[MAX_NAMED].line, f"and {more} more lines from here on"),
        ]
    return Imported(normal(Plan(items=tuple(made))), tuple(unread))
