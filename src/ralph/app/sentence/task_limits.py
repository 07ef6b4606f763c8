"""Bounds in the words of a task: used as limits of the loop and said, or asked about. Never dropped.

A flag beats words. The task itself stays as it was typed: a bound that was taken from it only makes the loop
stricter, so that a limit which somebody has set is never raised by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ralph.app.words.format import safe
from ralph.core.criterion.named_tools import GREEN, named_class
from ralph.core.sentence import bounds
from ralph.core.sentence.bounds import Bound, Clause
from ralph.core.text.units import duration_words
from ralph.errors import AGAIN, UserError

_DAY = re.compile(r"(?:by|before) \w+day$", re.IGNORECASE)  # "a reminder, by Friday": no loop lasts for days


def with_limits(
    task: str,
    until: str,
    typed: Mapping[str, object],
    limits_set: Callable[[], dict[str, float]],
    *,
    tell: Callable[[str], None],
    ask: Callable[[str], str] | None,
) -> tuple[str, dict[str, object]]:
    """The criterion, and the settings by flag, with what task and criterion say about money, time and tries.

    `limits_set` gives the limits of the configuration, by flag; it is only called when words bound the loop.
    `tell` hears what was made of them; `ask` is a question to somebody who can name a limit, None for nobody.
    """
    typed = dict(typed)
    for text, criterion in ((task, False), (until, True)):
        clauses = bounds.find_bounds(text)
        taken = tuple(one for one in clauses if _bounds_loop(one, text, criterion=criterion))
        known = limits_set() if taken else {}
        for clause in taken:
            for one in clause.bounds:
                _take(typed, one, clause, known.get(one.flag), tell, ask)
        for clause in clauses:
            bounding = clause.firm or clause.bounds[0].about != "unclear"
            if clause not in taken and bounding and _ends(clause, text):
                tell(f'"{clause.text}" is left to the task; a limit of the loop is {clause.bounds[0].flag}')
        if criterion and taken:
            until = bounds.without(text, taken)
    return until, typed


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
    typed: dict[str, object],
    one: Bound,
    clause: Clause,
    known: float | None,
    tell: Callable[[str], None],
    ask: Callable[[str], str] | None,
) -> None:
    if typed.get(one.flag) is not None:
        return
    value = one.value
    if value is None:
        _ask_limit(typed, one, ask)
        return
    if known is not None and value > known:
        kept = _limit_text(one.about, known)
        tell(f'"{clause.text}" in the task is looser than the configuration: {one.flag} {kept} holds')
        return
    typed[one.flag] = _limit_text(one.about, value)
    tell(f'"{clause.text}" in the task is a limit of this loop: {one.flag} {typed[one.flag]}')


def _ask_limit(typed: dict[str, object], one: Bound, ask: Callable[[str], str] | None) -> None:
    """The limit that somebody names, or the default ones. Where nobody can, a refusal."""
    what = f"'{safe(one.text, 200)}' is not a usable limit"
    example = {"--max-cost": "5", "--max-time": "2h", "--max-tokens": "100000"}.get(one.flag, "20")
    if ask is None:
        raise UserError(
            what,
            code="E-BOUND",
            why="a loop is bound by iterations, time, dollars or tokens; "
            f"{one.flag} says it, and then these words are left to the task",
            next=f"{AGAIN} {one.flag} {example}",
        )
    answer = ask(f"{what}; {one.flag} (empty: the default limits)").strip()
    if answer:
        typed[one.flag] = answer


def _limit_text(about: str, value: float) -> str:
    return duration_words(int(value)) if about == "hours" else f"{value:g}"
