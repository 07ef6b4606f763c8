"""What of a session's record goes with it when it becomes a loop."""

from builders import green, order

from ralph.core.model import events as e
from ralph.core.session.as_loop import _rounds
from ralph.core.session.record import SessionStarted, StopAsked

BEGUN = SessionStarted(host="claude", session="s1", order=order(), protection="S2")


def checkpoint(tree):
    return e.CheckpointMade(iteration=1, tree=tree, commit=f"c-{tree}")


def test_an_earlier_task_proves_nothing_of_the_next():
    """Verdicts that were made for another task of the same session stay with that task."""
    before = [checkpoint("t1"), e.GateEnded(iteration=1, verdict=green(tree="t1"))]
    facts = [BEGUN, StopAsked(tree="t1"), *before, BEGUN]
    assert _rounds(facts) == []
    ((_, made, answers),) = _rounds([*facts, checkpoint("t2")])
    assert (made.tree, answers) == ("t2", [])


def test_a_round_is_a_checkpoint_with_its_answers():
    """What a gate said of another tree does not answer for this one."""
    own, other = (e.GateEnded(iteration=1, verdict=green(tree=tree)) for tree in ("t1", "t0"))
    ((_, made, answers),) = _rounds([BEGUN, checkpoint("t1"), other, own])
    assert (made.tree, answers) == ("t1", [own])
