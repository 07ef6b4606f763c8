"""What a loop remembers of its iterations, and how their results are ranked."""

from __future__ import annotations

import builders as b
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.decide.stuck import health, measure
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault
from ralph.core.model.events import RULES
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import Checkpoint


def test_only_so_many_footprints_are_kept() -> None:
    """A long loop remembers its newest iterations and no more."""
    loop = b.based(b.order(on_fail="keep", limits=Limits(iterations=30)), b.red(count=99))
    for turn in range(26):
        loop = b.iterate(loop, f"n{turn}", b.red(tree=f"n{turn}", count=90 - turn))
    assert [footprint.iteration for footprint in loop.progress.history] == list(range(3, 27))


def test_rank_orders_by_rule_31() -> None:
    """Most checks passing, then fewest red, then the smallest change."""
    a, c, d, f = (
        Checkpoint(1, "t", "c", *figures) for figures in ((2, 9, 9), (1, 3, 9), (1, 4, 1), (1, 4, 2))
    )
    assert sorted((f, d, c, a), key=measure.rank) == [a, c, d, f]


OUTSIDE = ("limit", "overload", "server", "network", "disk")


def alternating(turns: int, kind: str, rules: int = RULES) -> Loop:
    """Calls that each left another of two red versions, and ended this way."""
    started = b.based(b.order(on_fail="keep", limits=Limits(iterations=99)), b.red(count=3))
    loop = replace(started, rules=rules)
    for turn in range(turns):
        if loop.phase == "waiting":
            loop = decide(loop, e.WaitOver())
        if loop.phase != "working" or not isinstance(loop.todo[0], actions.RunAgent):
            break
        tree = ("one", "two")[turn % 2]
        fault = Fault(kind, "busy") if kind else None
        loop = b.iterate(loop, tree, b.red(tree=tree, count=4), fault=fault)
    return loop


@pytest.mark.parametrize("kind", OUTSIDE)
def test_a_call_that_something_else_ended_is_no_version(kind: str) -> None:
    """Refused again and again, a loop is not stuck: nothing counts what was cut."""
    loop = alternating(24, kind)
    assert loop.iteration == 24 + (loop.phase == "working")
    assert not isinstance(loop.todo[0], actions.Finish)
    assert all(one.cut and not one.worse for one in loop.progress.history)
    assert (loop.progress.recent, loop.progress.redirect, loop.progress.breaker.demands) == ((), "", ())
    assert not health.alerts(loop)


@pytest.mark.parametrize("kind", ["", "crash", "timeout", "idle", "interrupted"])
def test_what_the_agent_itself_ended_counts(kind: str) -> None:
    """An agent that goes in circles is stuck, however its own calls end; so is any by the earlier rules."""
    for rules, kinds in ((RULES, kind), (6, kind or "interrupted")):
        owed = alternating(24, kinds, rules).todo[0]
        assert isinstance(owed, actions.Finish), owed
        assert owed.outcome == "stalled"


@given(st.lists(st.sampled_from(["", *OUTSIDE]), max_size=16))
def test_cut_calls_change_nothing_of_what_the_others_come_to(ends: list[str]) -> None:
    """The rules see the same footprints with cut calls between them as without."""
    loop = b.based(b.order(on_fail="keep", limits=Limits(iterations=99)), b.red(count=30))
    for turn, kind in enumerate(ends):
        loop = decide(loop, e.WaitOver()) if loop.phase == "waiting" else loop
        fault = Fault(kind, "busy") if kind else None  # type: ignore[arg-type]
        count = 29 - turn if not kind else 30
        loop = b.iterate(loop, f"n{turn}", b.red(tree=f"n{turn}", count=count), fault=fault)
    own = [f"n{turn}" for turn, kind in enumerate(ends) if not kind]
    assert [one.tree for one in loop.progress.tries] == own
    assert loop.outcome is None


def test_better_half_done_work_is_progress() -> None:
    """What a cut call left is kept as the best when it is: fewer red than ever before is progress."""
    loop = b.based(b.order(), b.red(count=3))
    loop = b.iterate(loop, "t1", b.red(tree="t1", count=2), fault=Fault("interrupted", "busy"))
    assert [one.progress for one in loop.progress.recent] == [True]
    assert loop.progress.best is not None
    assert loop.progress.best.tree == "t1"
