"""Bounds in the words of a task: used as limits of the loop and said, or asked about. Never dropped.

A flag beats words. The task itself stays as it was typed: a bound that was taken from it only makes the loop
stricter, so that a limit which somebody has set is never raised by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ralph.app.words.format import safe
from ralph.core.criterion.named_tools import GREEN, named_class
from ralph.core.sentence import bounds
from ralph.core.sentence.bounds import Bound, Clause
from ralph.core.text.units import duration_words
from ralph.errors import UserError

SETTLED = "limits_settled"  # a sentence was routed: its bounds are in the options already
_DAY = re.compile(r"(?:by|before) \w+day$", re.IGNORECASE)  # "a reminder, by Friday": no loop lasts for days


def with_limits(
    given: dict[str, Any],
    limits_set: Callable[[], dict[str, float]],
    *,
    tell: Callable[[str], None],
    ask: Callable[[str], str] | None,
) -> dict[str, Any]:
    """The options with what task and criterion say about money, time and tries.

    `limits_set` gives the limits of the configuration, by flag; it is only called when words bound the loop.
    `tell` hears what was made of them; `ask` is a question to somebody who can name a limit, None for nobody.
    """
    if given.get(SETTLED):
        return given
    given = dict(given)
    for name in ("task", "until"):
        text = given.get(name) or ""
        clauses = bounds.find_bounds(text)
        taken = tuple(one for one in clauses if _bounds_loop(one, text, criterion=name == "until"))
        known = limits_set() if taken else {}
        for clause in taken:
            for one in clause.bounds:
                _take(given, one, clause, known.get(one.flag), tell, ask)
        for clause in clauses:
            bounding = clause.firm or clause.bounds[0].about != "unclear"
            if clause not in taken and bounding and _ends(clause, text):
                tell(f'"{clause.text}" is left to the task; a limit of the loop is {clause.bounds[0].flag}')
        if name == "until" and taken:
            given["until"] = bounds.without(text, taken)
    return given


def _bounds_loop(one: Clause, text: str, *, criterion: bool) -> bool:
    """Is it the loop that is bound? What is not set off may be what the code is to do."""
    if bounds.is_hurried(one.bounds) or (not criterion and _DAY.search(one.text)):
        return False
    if one.firm:
        return True
    if not _ends(one, text) or one.bounds[0].about == "unclear":
        return False
    return criterion or named_class(text) in GREEN


def _ends(one: Clause, text: str) -> bool:
    return not text[one.end :].strip(" .!?)")


def _take(
    given: dict[str, Any],
    one: Bound,
    clause: Clause,
    known: float | None,
    tell: Callable[[str], None],
    ask: Callable[[str], str] | None,
) -> None:
    name = one.flag.removeprefix("--").replace("-", "_")
    if given.get(name) is not None:
        return
    value = one.value
    if value is None:
        _ask_limit(given, one, ask)
        return
    if known is not None and value > known:
        kept = _limit_text(one.about, known)
        tell(f'"{clause.text}" in the task is looser than the configuration: {one.flag} {kept} holds')
        return
    given[name] = _limit_text(one.about, value)
    tell(f'"{clause.text}" in the task is a limit of this loop: {one.flag} {given[name]}')


def _ask_limit(given: dict[str, Any], one: Bound, ask: Callable[[str], str] | None) -> None:
    """The limit that somebody names, or the default ones. Where nobody can, a refusal."""
    what = f"'{safe(one.text, 200)}' is not a usable limit"
    example = {"--max-cost": "5", "--max-time": "2h", "--max-tokens": "100000"}.get(one.flag, "20")
    if ask is None:
        short = "".join(char for char in given.get("task") or "" if char.isalnum() or char in " .,:-_/")[:60]
        raise UserError(
            what,
            code="E-BOUND",
            why="a loop is bound by iterations, time, dollars or tokens; "
            f"{one.flag} says it, and then these words are left to the task",
            next=f'ralph loop "{short}" {one.flag} {example}',
        )
    typed = ask(f"{what}; {one.flag} (empty: the default limits)")
    if typed.strip():
        given[one.flag.removeprefix("--").replace("-", "_")] = typed.strip()


def _limit_text(about: str, value: float) -> str:
    return duration_words(int(value)) if about == "hours" else f"{value:g}"
