"""Which commands make sense for a loop now. Screens, lists and reports all take them from here.

Only commands that exist are named: a test holds every line against the commands' own options.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

ALL_ASKED = "asked"  # in place of the id of a finding: all that a loop asks about now


class Next(NamedTuple):
    why: str
    command: str


class LoopStanding(Struct, frozen=True):
    """As much of a loop as the choice of next commands needs."""

    name: str
    word: str  # phase, outcome, or crashed
    changed: bool = False  # there is something to look at
    result: str = ""
    landing: str = ""
    dropped: bool = False
    best: int | None = None
    room: str = ""  # the flag of `resume` that raises the limit which ended it
    human: str = ""  # an item of the plan that only a human can do
    items: int = 0  # the iteration up to which items of the plan are verified
    planned: bool = False  # a plan was all that was asked for
    waivers: tuple[str, ...] = ()  # findings that a user's word would settle
    accused: tuple[str, ...] = ()  # findings that are no questions: a user who meant it may allow them
    approval: str | None = None  # what waits for a person's yes: its start, or that its result lands
    item: str = ""  # of the backlog: its result goes onto the backlog's branch, not into the user's


def next_steps(at: LoopStanding) -> tuple[Next, ...]:
    """Most useful first."""
    name = at.name
    report = Next("the whole story", f"ralph report {name}")
    if at.dropped:
        return (report,)
    if at.word == "satisfied":
        return (Next("go further", 'ralph loop TASK --check "a check that fails until it is done"'), report)
    if at.word == "verified" or at.landing in ("landing", "landed", "undoing"):
        return (*_landing(at), report)
    if at.word == "unproven":
        return (
            Next("see the change", f"ralph diff {name}"),
            *(_allow(at, "allow what was red before") if at.waivers else _prove(name)),
            Next("merge anyway", f"ralph merge {name} --unproven"),
            report,
            Next("throw it away", f"ralph discard {name}"),
        )
    if at.word in ("new", "queued", "baseline", "working", "judging", "waiting"):
        return (
            Next("watch", f"ralph logs {name} -f"),
            Next("leave a note", f'ralph steer {name} "…"'),
            Next("stop", f"ralph abort {name}"),
        )
    steps = [] if at.word == "aborted" else [_go_on(at)]
    if at.best:
        steps.append(Next("best so far", f"ralph diff {name} --iteration {at.best}"))
    elif at.changed:
        steps.append(Next("see the change", f"ralph diff {name}"))
    if at.word in ("blocked", "stalled", "exhausted") and at.accused:
        steps.append(Next("allow it, if you meant it", f"ralph resume {name} {_allow_flags(at.accused)}"))
    if at.word in ("crashed", "paused"):
        return (*steps, Next("give up", f"ralph abort {name}"))
    if at.items and not at.landing:
        steps.append(Next("merge verified items", f"ralph merge {name} --checkpoint {at.items}"))
    return (*steps, report, Next("throw it away", f"ralph discard {name}"))


def _landing(at: LoopStanding) -> tuple[Next, ...]:
    name = at.name
    if at.landing == "landed":
        return (Next("undo merge", f"ralph undo {name}"),)
    if at.landing == "landing":
        return (Next("finish merge", f"ralph merge {name}"),)
    if at.landing == "undoing":
        return (Next("finish undo", f"ralph undo {name}"),)
    if at.item:
        item = Next("see the item", f"ralph backlog show {at.item}")
        return (Next("see the change", f"ralph diff {name}"), item)
    if at.planned:
        return (Next("show plan", f"ralph plan --show {name}"),)
    if not at.result:
        return ()
    look = Next("see the change", f"ralph diff {name}")
    take = Next("take it into your branch", f"ralph merge {name}")
    if at.approval:
        take = Next("approve it", f"ralph approve {name}")
    return (look, take, Next("throw it away", f"ralph discard {name}"))


def _go_on(at: LoopStanding) -> Next:
    if at.word == "blocked" and at.human:
        return Next("when you have done it", f"ralph resume {at.name} --done {at.human}")
    if at.word == "blocked" and at.waivers:
        return _allow(at, "allow it and continue")[0]
    if at.word == "blocked":
        return Next("answer and continue", f'ralph resume {at.name} --steer "…"')
    if at.approval:
        return Next("approve its start", f"ralph approve {at.name}")
    more = f" {at.room}" if at.room else ""
    return Next("continue", f"ralph resume {at.name}{more}")


def _prove(name: str) -> tuple[Next, ...]:
    return (Next("prove it", f'ralph resume {name} --check "a check that fails without the change"'),)


def _allow(at: LoopStanding, why: str) -> tuple[Next, ...]:
    keys = at.waivers if len(at.waivers) == 1 else (ALL_ASKED,)
    return (Next(why, f"ralph resume {at.name} {_allow_flags(keys)}"),)


def _allow_flags(keys: tuple[str, ...]) -> str:
    return " ".join(f"--allow {shlex.quote(f'{key}=…')}" for key in keys)


def room_flag(iteration: int, limits: Mapping[str, Any], spend: Mapping[str, Any]) -> str:
    """The flag with which `ralph resume` gives an exhausted loop room again."""
    iterations, cost, tokens = limits["iterations"], limits["cost"], limits["tokens"]
    if iterations is not None and iteration >= iterations:
        return f"--max-iterations +{max(5, iterations // 3)}"
    if cost is not None and spend["cost"] is not None and spend["cost"] >= cost:
        return f"--max-cost +{cost:g}"
    if tokens is not None and spend["tokens"] is not None and spend["tokens"] >= tokens:
        return f"--max-tokens +{tokens}"
    return "--max-time +1h" if limits["time"] is not None else ""
