"""What is asked of an agent that goes nowhere: rung by rung, never the same twice."""

from __future__ import annotations

from typing import get_args

import builders as b
import pytest

from ralph.core.decide.stuck.strategies import ESCALATE, RUNGS, already_asked, demand_text, next_rung
from ralph.core.model import actions
from ralph.core.model.agent import Claim
from ralph.core.model.breaker_state import Demand, Trouble
from ralph.core.model.loop import Loop
from ralph.core.prompt.facts import facts_of

NAMES = {
    "no-progress": ["replan", "split", "skip and return", "escalate"],
    "same-error": [
        "change the approach",
        "check the environment",
        "look for a known issue",
        "escalate",
    ],
    "test-loop": [
        "question the test's assumptions",
        "question the implementation",
        "shrink the scope",
        "escalate",
    ],
    "circular": ["analyse again", "an untried approach", "a minimal version", "escalate"],
}


@pytest.mark.parametrize("trouble", get_args(Trouble))
def test_the_rungs_come_in_order_and_the_last_stays(trouble: Trouble) -> None:
    """Each time the trouble comes up the next strategy is due; after the last one there is no other."""
    demands: tuple[Demand, ...] = ()
    seen = []
    for number in range(6):
        rung = next_rung(demands, trouble)
        seen.append(rung.strategy)
        demands = (*demands, Demand(number, trouble, rung.strategy))
    assert seen == [*NAMES[trouble], "escalate", "escalate"]
    assert RUNGS[trouble][-1] is ESCALATE


def test_troubles_and_items_have_ladders_of_their_own() -> None:
    """What was asked for another trouble or another item is not counted."""
    demands = (Demand(1, "circular", "analyse again"), Demand(2, "same-error", "x", "item-2"))
    assert next_rung(demands, "same-error").strategy == "change the approach"
    assert next_rung(demands, "circular").strategy == "an untried approach"
    assert next_rung(demands, "same-error", "item-2").strategy == "check the environment"
    assert already_asked(demands, "same-error", "item-2") == ("x",)


def test_a_demand_names_the_reason_the_strategy_and_what_was_asked_before() -> None:
    """The sentence ends without a full stop: the prompt goes on after it."""
    rung = RUNGS["same-error"][1]
    assert demand_text("why", rung, ("a", "b", "a")) == (
        f"why. Check the environment: {rung.text}. Already tried without success: a, b"
    )
    assert demand_text("why", rung, ()) == f"why. Check the environment: {rung.text}"


def same_error(count: int) -> Loop:
    loop = b.based(b.order(on_fail="keep"))
    for turn in range(count):
        loop = b.iterate(loop, f"t{turn + 1}")
    return loop


def test_the_same_error_climbs_the_ladder_until_it_is_stalled() -> None:
    """Twice, three and four times: three different demands in the prompts, then the loop ends."""
    redirects = [facts_of(same_error(count), (), (), "").redirect for count in range(1, 5)]
    assert redirects[0] == ""
    for redirect, strategy in zip(redirects[1:], NAMES["same-error"], strict=False):
        assert f". {strategy.capitalize()}: " in redirect
    ended = same_error(5)
    assert ended.todo[0] == actions.Finish("stalled", "the same error 5 times in a row")
    assert [one.strategy for one in ended.progress.breaker.demands] == NAMES["same-error"]


def test_two_idle_iterations_ask_for_a_new_plan() -> None:
    """Before standing still ends the loop at three, the third call is asked for something else."""
    loop = b.work(b.work(b.based(), b.BASE), b.BASE)
    assert loop.progress.redirect.startswith("2 iterations in a row changed nothing. Replan: ")


def test_getting_worse_is_answered_without_an_end() -> None:
    """A negative sum over three iterations redirects; alone it never ends a loop."""
    loop = b.based(b.order(on_fail="keep"), b.red(count=1))
    for turn in range(4):
        loop = b.iterate(loop, f"t{turn + 1}", b.red(tree=f"t{turn + 1}", count=4 + 3 * turn))
    assert sum(pulse.score for pulse in loop.progress.history[-3:]) < 0
    assert loop.progress.redirect.startswith("the last 3 iterations made things worse. ")
    assert isinstance(loop.todo[0], actions.RunAgent)


@pytest.mark.parametrize(("task_class", "told"), [("test-pass", True), ("coverage", False)])
def test_only_mending_tests_is_questioned_where_tests_are_not_the_task(task_class: str, told: bool) -> None:
    """Five iterations of nothing but tests, without progress: a demand, and no end."""
    loop = b.based(b.order(task_class=task_class, on_fail="keep"), b.red(count=2))
    for turn in range(5):
        one = b.red(tree=f"t{turn + 1}", count=2, signature=f"s{turn}", red_digest=f"d{turn}")
        loop = b.iterate(loop, f"t{turn + 1}", one, claim=Claim("IN_PROGRESS", work="TESTING"))
    assert ("changed only tests" in loop.progress.redirect) is told
    assert isinstance(loop.todo[0], actions.RunAgent)


def test_progress_takes_the_demand_back() -> None:
    """What got better is not nagged about what was."""
    loop = same_error(3)
    assert loop.progress.redirect
    assert b.iterate(loop, "t9", b.red(tree="t9", count=1)).progress.redirect == ""
