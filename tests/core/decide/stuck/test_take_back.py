"""Rule 10 and the rules around it, as stories: honest work stays, noise ends, and old records still fold."""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from builders import BASE
from msgspec.structs import replace

from ralph.core.decide.machine import decide, fold
from ralph.core.decide.stuck.take_back import GIVEN_UP, WORSE
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits
from ralph.errors import IllegalEvent

LONG = Limits(iterations=99)


def numbers(count: int, outline: str = "o", **order: Any) -> Loop:
    """So many iterations with one red test, whose error changes in nothing but a number."""
    loop = b.based(b.order(limits=LONG, **order), b.red(signature="0 != 9", outline=outline))
    for turn in range(1, count + 1):
        verdict = b.red(tree=f"n{turn}", signature=f"{turn} != 9", outline=outline)
        loop = b.iterate(loop, f"n{turn}", replace(verdict, red_digest="d1"))
    return loop


def owed(loop: Loop) -> Any:
    return loop.todo[0]


def test_a_number_that_comes_closer_is_kept_and_is_no_stall() -> None:
    """0 != 9, 1 != 9, 2 != 9: nothing is taken back, nothing is demanded, and it may go on."""
    loop = numbers(7)
    assert isinstance(owed(loop), actions.RunAgent)
    assert (loop.work.tree, loop.progress.redirect, loop.progress.breaker.state) == ("n7", "", "CLOSED")


def test_numbers_alone_do_not_keep_a_loop_alive() -> None:
    """Ten in a row that differ in numbers only, and never fewer red, are the same error after all."""
    loop = numbers(10)
    assert owed(loop) == actions.Finish(
        "stalled", "the same error 10 times in a row, only its numbers change"
    )
    # The probe after a resume knows it by its outline.
    probed = decide(b.close(loop), e.ResumeAsked())
    again = b.judge(b.work(probed, "p1"), b.red(tree="p1", signature="77 != 9", outline="o"))
    assert owed(again).outcome == "stalled"
    better = b.judge(b.work(probed, "p1"), b.red(tree="p1", signature="another", outline="x"))
    assert isinstance(owed(better), actions.RunAgent)


def test_whatever_is_said_twenty_times_without_fewer_red_is_enough() -> None:
    """Errors that are new each time bound themselves too, by the red that stays."""
    loop = b.based(b.order(limits=LONG), b.red())
    for turn in range(20):
        assert isinstance(owed(loop), actions.RunAgent), turn
        verdict = b.red(tree=f"n{turn}", signature=f"word {turn}", outline=f"word {turn}", red_digest="d")
        loop = b.iterate(loop, f"n{turn}", verdict)
    assert owed(loop) == actions.Finish("stalled", "20 iterations in a row made nothing more green")


def test_progress_beside_something_broken_counts_once() -> None:
    """Fewer red than ever is progress when it is reached, not for ever after: who then idles is stalled."""
    two = (b.gate(), b.gate("lint", proof=False))
    loop = b.based(b.order(*two), b.red(count=5), b.green("lint"))
    loop = b.iterate(loop, "t1", b.red(count=3), b.red("lint"))
    assert [one.progress for one in loop.progress.history] == [True]
    loop = b.work(loop, "t1")
    assert [one.progress for one in loop.progress.history] == [True, False]


FEATURE = b.order(task_class="implement-feature", min_grade="B")


@pytest.mark.parametrize("on_fail", ["auto", "keep", "revert"])
def test_green_work_that_lacks_a_witness_is_never_taken_back(on_fail: Any) -> None:
    """The next prompt says what is missing, and the tree is still there to add it to."""
    feature = b.based(replace(FEATURE, on_fail=on_fail), b.green(per_test=True))
    loop = b.conclude(b.guarding(feature, "t1", b.green(per_test=True)), b.guard())
    assert isinstance(owed(loop), actions.RunAgent)
    assert loop.work.tree == "t1"
    assert any("write a test" in sentence for sentence in loop.proof.not_yet)
    more = b.conclude(b.guarding(loop, "t2", b.green(tree="t2", per_test=True)), b.guard("t2"))
    assert more.progress.best is not None
    assert (more.work.tree, more.progress.best.tree) == ("t2", "t2")
    idle = b.work(more, "t2")
    assert "nothing has changed yet" not in idle.proof.not_yet


def test_red_after_green_goes_back_to_the_green_work_and_not_to_the_base() -> None:
    """Two worse iterations after one that only lacked a witness cost themselves, and not that one."""
    feature = b.based(FEATURE, b.green(per_test=True))
    loop = b.conclude(b.guarding(feature, "t1", b.green(per_test=True)), b.guard())
    loop = b.iterate(loop, "t2", b.red(tree="t2"))
    back = owed(b.judge(b.work(loop, "t3"), b.red(tree="t3", count=2)))
    assert isinstance(back, actions.RestoreWorkspace)
    assert (back.to.tree, back.why) == ("t1", WORSE)


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ({"count": 5}, {"count": 2}, True),
        ({"count": 5}, {"count": 5}, False),
        ({"count": 2}, {"count": 5}, False),
        ({"count": 1, "unloaded": 1}, {"count": 3}, True),
        ({"count": 3}, {"count": 1, "unloaded": 1}, False),
    ],
)
def test_who_is_on_the_way_back_to_green_keeps_the_work(first: Any, second: Any, kept: bool) -> None:
    """Failing tests are written on a green base, and the next iteration has fewer left: that is work."""
    loop = b.iterate(b.based(FEATURE, b.green(per_test=True)), "t1", b.red(**first))
    loop = b.judge(b.work(loop, "t2"), b.red(tree="t2", **second))
    assert isinstance(owed(loop), actions.RunAgent if kept else actions.RestoreWorkspace)


def test_who_turns_back_half_way_is_worse_again() -> None:
    """Five, two, three: the third is the second worse iteration that made nothing better."""
    loop = b.based(FEATURE, b.green(per_test=True))
    for number, count in enumerate((5, 2), 1):
        loop = b.iterate(loop, f"t{number}", b.red(tree=f"t{number}", count=count))
    back = owed(b.judge(b.work(loop, "t3"), b.red(tree="t3", count=3)))
    assert (back.to.tree, back.why) == (BASE, WORSE)


def test_what_was_set_aside_is_named_in_the_next_prompt() -> None:
    """Where it is kept, where the work went back to, and why."""
    loop = b.iterate(b.based(), "t1", b.red(count=4))
    loop = b.iterate(loop, "t2", b.red(tree="t2", count=5))
    assert loop.work.tree == BASE
    assert loop.progress.revert_note == (
        f"The work of iteration 2 was reverted to the state at the start: {WORSE}; "
        "it is kept as refs/ralph/fix-1/rejected/2"
    )


def test_an_emptied_folder_holds_no_work_to_keep() -> None:
    """Who deletes everything finds it there again; half of it is work like any other."""
    empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    loop = b.judge(b.work(b.based(), empty), b.red(tree=empty, count=4, unloaded=1))
    assert (owed(loop).to.tree, owed(loop).why) == (BASE, "it left no file at all")


def test_a_state_in_between_is_named_by_its_iteration() -> None:
    """Where the work went back to need not be the start."""
    loop = b.iterate(b.based(), "t1", b.red(count=2))
    for number in (2, 3):
        loop = b.iterate(loop, f"t{number}", b.red(tree=f"t{number}", count=4))
    assert loop.progress.revert_note.startswith(
        "The work of iteration 3 was reverted to the state after iteration 1: it was worse"
    )


def test_why_work_goes_back_in_words() -> None:
    """Each reason says enough for an agent that was not there."""
    accused = b.conclude(b.guarding(b.based()), b.guard("t1", "test_a"))
    assert owed(accused).why == "tests or checks were tampered with in it"
    reverting = b.judge(b.work(b.based(b.order(on_fail="revert")), "t1"), b.red(count=3))
    assert owed(reverting).why == "it did not pass, and this loop does not keep failed work"
    assert WORSE == (
        "it was worse than that for two iterations in a row (new failures, or tests that do not load)"
    )
    assert GIVEN_UP == "the item was given up"


def first_rules(*facts: e.AnyEvent, sealed: Any = None) -> Loop:
    begun = e.LoopStarted(order=sealed or b.order())
    assert begun.rules == 1
    return fold([begun, e.WorkspaceMade(path="/w"), *facts])


def test_a_record_of_the_first_rules_that_ended_satisfied_as_verified_still_folds() -> None:
    """What was written before there was a word for it is read as it was written."""
    green = e.GateEnded(iteration=0, verdict=b.at_base(b.green()))
    ended = e.LoopEnded(outcome="verified", reason="already satisfied: …")
    assert first_rules(green, ended).outcome == "verified"
    now = b.judge(b.started(), b.at_base(b.green()))
    with pytest.raises(IllegalEvent):
        decide(now, ended)


def test_a_record_of_the_first_rules_that_took_work_back_still_folds() -> None:
    """There the same error twice went back to the best; a loop that begins today keeps it."""
    facts: list[e.AnyEvent] = [e.GateEnded(iteration=0, verdict=b.at_base(b.red(count=3)))]
    for number in (1, 2):
        facts += [
            e.AgentStarted(iteration=number, call=number, agent="demo", prompt="p"),
            e.AgentEnded(iteration=number, call=number),
            e.CheckpointMade(iteration=number, tree=f"t{number}", commit=f"c{number}"),
            e.GateEnded(iteration=number, verdict=b.red(tree=f"t{number}", count=3)),
        ]
    back = e.WorkspaceRestored(iteration=2, tree=BASE)
    loop = first_rules(*facts, back)
    assert (loop.work.tree, isinstance(owed(loop), actions.RunAgent)) == (BASE, True)
    today = fold(facts, b.started())
    assert today.work.tree == "t2"
    with pytest.raises(IllegalEvent):
        decide(today, back)


def test_a_record_of_the_first_rules_that_stalled_in_turns_still_folds() -> None:
    """There six turns were a stall even when the first of them was progress."""
    loop = first_rules(
        e.GateEnded(iteration=0, verdict=b.at_base(b.red(count=9))), sealed=b.order(on_fail="keep")
    )
    for turn in range(6):
        tree = f"ab{turn % 2}"
        loop = b.iterate(loop, tree, b.red(tree=tree, count=5 + turn % 2))
    assert owed(loop) == actions.Finish("stalled", "the same two versions alternate (6 iterations)")
