"""What people are warned of: each warning at its number, and none that ends anything."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.decide.stuck.health import Health, alerts, health, risk
from ralph.core.decide.stuck.measure import calls_left
from ralph.core.decide.stuck.signs import is_getting_worse
from ralph.core.model.breaker_state import Breaker, Footprint
from ralph.core.model.loop import CallState, Loop
from ralph.core.model.spend import Limits, Usage
from ralph.core.model.verdict import Counts


def pulse(score: int = 1, files: int = 1, **more: Any) -> Footprint:
    return b.footprint(**{"score": score, "files": files, "progress": False, **more})


def loop_of(breaker: Breaker, *history: Footprint, **more: Any) -> Loop:
    return replace(b.based().with_progress(breaker=breaker, history=history), **more)


def rates(*passed: int) -> tuple[Footprint, ...]:
    return tuple(pulse(passed=count, failed=10 - count) for count in passed)


def reds(*counts: int) -> tuple[Footprint, ...]:
    return tuple(pulse(red=count) for count in counts)


def spoken(*counts: int | None) -> tuple[Footprint, ...]:
    return tuple(pulse(written=count) for count in counts)


STILL = "no file changed in 3 iterations"
NO_ITEM = "no item completed in 3 iterations"
FALLEN = "the share of passing tests has fallen 3 times in a row"
RISEN = "errors have risen 3 times in a row"
QUIET = "the agent says much less than two iterations ago (only a warning)"
TESTING = "5 iterations changed only tests"
WARNINGS: list[tuple[str, tuple[Footprint, ...], tuple[str, ...]]] = [
    ("nothing yet", (), ()),
    ("two without files", (pulse(files=0),) * 2, ()),
    ("three without files", (pulse(files=0),) * 3, (STILL,)),
    ("three without files, one before", (pulse(files=0),) * 2 + (pulse(), pulse(files=0)), ()),
    ("three on an item", (pulse(item="i"),) * 3, (NO_ITEM,)),
    ("an item done among three", (pulse(item="i"), pulse(item="i", items=1), pulse(item="j")), ()),
    ("an item only lately", (pulse(), pulse(item="i"), pulse(item="i")), ()),
    ("a task has no items", (pulse(),) * 3, ()),
    ("the rate falls", rates(9, 8, 7, 6), (FALLEN,)),
    ("the rate falls after it rose", rates(1, 7, 6, 5, 4), (FALLEN,)),
    ("the rate falls twice", rates(9, 9, 8, 7), ()),
    ("the rate falls and stands", rates(9, 8, 7, 7), ()),
    ("three rates only", rates(9, 8, 7), ()),
    ("an unknown rate", (*rates(9, 8, 7), pulse()), ()),
    ("no test at all", tuple(pulse(passed=0, failed=0) for _ in range(4)), ()),
    ("errors rise", reds(1, 2, 3, 4), (RISEN,)),
    ("errors rise twice", reds(1, 1, 2, 3), ()),
    (
        "worth less than nothing",
        (pulse(1), pulse(-1), pulse(-1)),
        ("the last 3 iterations scored -1 points in total",),
    ),
    ("worth nothing", (pulse(1), pulse(0), pulse(-1)), ()),
    ("two bad ones", (pulse(-3), pulse(-3)), ()),
    ("much less said", spoken(1000, 500, 300), (QUIET,)),
    ("not that much less", spoken(1000, 500, 301), ()),
    ("less, then more", spoken(1000, 100, 200), ()),
    ("not known what was said", spoken(1000, None, 100), ()),
    ("nothing was said", spoken(0, 0, 0), ()),
    ("five on tests", (pulse(testing=True),) * 5, (TESTING,)),
    ("four on tests", (pulse(testing=True),) * 4, ()),
    ("four of five on tests", (pulse(),) + (pulse(testing=True),) * 4, ()),
    ("five on tests, with progress", (pulse(testing=True),) * 4 + (pulse(testing=True, progress=True),), ()),
]


@pytest.mark.parametrize(
    ("history", "expected"), [row[1:] for row in WARNINGS], ids=[row[0] for row in WARNINGS]
)
def test_warnings(history: tuple[Footprint, ...], expected: tuple[str, ...]) -> None:
    """Each warning comes at its number and not before."""
    assert alerts(loop_of(Breaker(), *history)) == expected


@pytest.mark.parametrize(
    ("count", "item", "expected"),
    [
        (20, "", ()),
        (21, "", ("21 iterations on one task",)),
        (21, "auth", ("21 iterations on item auth",)),
    ],
)
def test_too_long_on_one_item(count: int, item: str, expected: tuple[str, ...]) -> None:
    """More than twenty."""
    breaker = Breaker(on_item=count, item=item)
    assert alerts(loop_of(breaker)) == expected


@pytest.mark.parametrize(
    ("used", "expected"),
    [(7, ()), (8, ("8 of 10 calls of this hour are used",)), (10, ("10 of 10 calls of this hour are used",))],
)
def test_the_hours_calls(used: int, expected: tuple[str, ...]) -> None:
    """A warning at four fifths of the calls an hour; calls of the hour before do not count."""
    times = (100.0, 5900.0) + (9000.0,) * used
    loop = loop_of(Breaker(), limits=Limits(calls_per_hour=10), call=CallState(times=times), now=9500.0)
    assert alerts(loop) == expected
    assert calls_left(loop) == 10 - used
    assert calls_left(replace(loop, limits=Limits())) is None
    assert alerts(replace(loop, limits=Limits())) == ()


RISKS = [
    (loop_of(Breaker()), (), "LOW"),
    (loop_of(Breaker(), pulse(1)), (), "LOW"),
    (loop_of(Breaker(), pulse(0)), (), "LOW"),
    (loop_of(Breaker(), pulse(-1)), (), "MEDIUM"),
    (loop_of(Breaker()), ("something",), "MEDIUM"),
    (loop_of(Breaker(watch=1)), (), "MEDIUM"),
    (loop_of(Breaker(), pulse(-3), pulse(1), pulse(1)), (), "HIGH"),
    (loop_of(Breaker(state="OPEN")), (), "HIGH"),
    (loop_of(Breaker(state="HALF_OPEN")), (), "HIGH"),
]


@pytest.mark.parametrize(("loop", "warned", "level"), RISKS)
def test_risk(loop: Loop, warned: tuple[str, ...], level: str) -> None:
    """High while it does not stand closed or the sum is negative; medium while something is amiss."""
    assert risk(loop, warned) == level


def test_health_of_a_new_loop() -> None:
    """Nothing is known, and nothing is made up."""
    assert health(b.based()) == Health()


def test_health_tells_all_of_the_breaker() -> None:
    """State, reason, since when, how often, how long it is watched, and the warnings."""
    breaker = Breaker(state="OPEN", why="limit: busy", since=3, opens=2, watch=1, on_item=21)
    assert health(loop_of(breaker)) == Health(
        state="OPEN",
        why="limit: busy",
        since=3,
        opens=2,
        watch=1,
        risk="HIGH",
        alerts=("21 iterations on one task",),
    )


def test_health_of_a_loop_at_work() -> None:
    """Score, tests, words and files of the iteration come from what was recorded of it."""
    loop = b.based(b.order(on_fail="keep"))
    verdict = b.red(tree="t1", count=2, counts=Counts(passed=5, failed=2, skipped=1))
    loop = b.iterate(loop, "t1", verdict, usage=Usage(tokens=9, written=4))
    newest = loop.progress.history[-1]
    assert (newest.passed, newest.failed, newest.skipped, newest.written) == (5, 2, 1, 4)
    assert (newest.score, newest.red, newest.state) == (1 + 3, 2, "CLOSED")
    assert health(loop).score == 4
    assert not is_getting_worse(loop.progress.history)


def test_work_that_is_undone_costs_a_point() -> None:
    """Going back to a tree that was there before is worth one less than another change."""
    loop = b.based(b.order(on_fail="keep"))
    for tree, count in (("t1", 3), ("t2", 3), ("t1", 3)):
        loop = b.iterate(loop, tree, b.red(tree=tree, count=count, signature=tree))
    assert [one.score for one in loop.progress.history] == [1, 1 + 2, 1 + 2 - 1]


def test_an_ended_loop_warns_of_nothing() -> None:
    """What it asks for is said instead."""
    found = health(b.outcome("stalled"))
    assert found.alerts == ()
    assert (found.state, found.since, found.opens, found.risk) == ("OPEN", 3, 1, "HIGH")
    assert found.ask.startswith("What would this task have to do differently")
    assert [turn.to for turn in found.trail] == ["OPEN"]
