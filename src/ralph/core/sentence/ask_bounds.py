"""A routed sentence whose task or criterion still holds words that bound money, time or tries. Pure.

What is clear is taken out and the rest is read again; what may belong to the task is asked about; what bounds
and is not understood is asked about too, with the flag that says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from ralph.core.sentence import bounds
from ralph.core.sentence.bounds import Clause
from ralph.core.sentence.intent import Route, RouteChoice, RouteQuestion, with_confidence

DEFAULT = "default"
_MEASURES = re.compile(
    r"\b(?:is|are|be|stays?|takes?|costs?|runs?|responds?|waits?|retries|retry|loads?|times? out|than)\s*$",
    re.IGNORECASE,
)


def route_with_bounds(text: str, found: Route, again: Callable[[str], Route]) -> Route:
    """The proposal with every bound of the sentence in it, or a question about it."""
    clauses = bounds.find_bounds(text)
    if not clauses:
        return found
    left = tuple(one for one in clauses if _is_still_there(one, found))
    taken = tuple(one for one in left if _loops(one, text, found))
    clear = tuple(one for one in taken if one.bounds[0].about != "unclear")
    unclear = tuple(one for one in taken if one.bounds[0].about == "unclear")
    if not taken:
        return found
    read = again(bounds.without(text, taken))
    if read.route == "none":
        if found.route == "none":
            return found
        read = found
    values = bounds.strictest(clear)
    ask = [*read.ask]
    ask += [_question(one.text, one.bounds[0].flag) for one in unclear]
    ask += [_question(one.text, one.flag) for clause in clear for one in clause.bounds if one.value is None]
    return with_confidence(
        replace(
            read,
            max_iterations=_least(read.max_iterations, values.get("tries")),
            timeout=_least(read.timeout, values.get("hours")),
            max_cost=_smaller(read.max_cost, values.get("money")),
            ask=tuple(ask),
        )
    )


def _is_still_there(one: Clause, found: Route) -> bool:
    """Is it still in what was understood, or was nothing understood?"""
    asked = any(
        one.text.endswith(choice.note) for q in found.ask if q.about == "place" for choice in q.choices
    )
    if asked:
        return False
    kept = f"{found.task or ''}\n{found.criterion or ''}"
    limits = {"tries": found.max_iterations, "hours": found.timeout, "money": found.max_cost}
    return found.route == "none" or any(
        part.text in kept or limits.get(part.about) is None for part in one.bounds
    )


def _loops(one: Clause, text: str, found: Route) -> bool:
    """Is it this loop that is bound? Inside a task only what stands at an edge of it."""
    task, criterion = found.task or "", found.criterion or ""
    if re.sub(r"^(?:work on|fix) ", "", task) == one.text:
        return True
    before, after = text[: one.start], text[one.end :].strip(" .!?)")
    if found.route in ("none", "control") and not after:
        return True
    if one.text in criterion and one.text not in task:
        return one.firm or (not after and not _MEASURES.search(before))
    if not one.firm:
        return False
    lead = before.rstrip(" ,;(:")
    return not after or not lead or re.match(r"[,;]?\s*(?:until|till|hasta)\b", after) is not None


def _question(text: str, flag: str) -> RouteQuestion:
    choices = (RouteChoice("a limit of your own"), RouteChoice("the default limits", DEFAULT))
    return RouteQuestion("bound", f"'{text}' is not a usable limit; say it with {flag}", choices)


def take_answer(found: Route, flag: str, words: str) -> Route | None:
    """The proposal with a limit that was typed ("2h", "$5", "20 tries"); None when that is no limit."""
    tries = (
        "max {} iterations" if flag == "--max-iterations" else "max {}" if flag == "--max-time" else "max ${}"
    )
    said = bounds.find_bounds(f"at most {words}") or bounds.find_bounds(tries.format(words.removeprefix("$")))
    values = bounds.strictest(said)
    if not values:
        return None
    return with_confidence(
        replace(
            found,
            max_iterations=_least(found.max_iterations, values.get("tries")),
            timeout=_least(found.timeout, values.get("hours")),
            max_cost=_smaller(found.max_cost, values.get("money")),
        )
    )


def _least(one: int | None, other: float | None) -> int | None:
    return one if other is None else int(other) if one is None else min(one, int(other))


def _smaller(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else min(one, other)
