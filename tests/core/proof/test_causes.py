"""Why a gate gave no answer: what is told of several that were struck at once."""

import builders as b

from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import MACHINE, TRIES, is_missing, sort_answers
from ralph.shell.gate_run.experiments.witness_calls import is_noticed

KILLED = {"status": "error", "cause": "killed", "doubt": True}


def told(*verdicts, settled):
    return [(verdict.gate, answered) for verdict, answered in sort_answers(verdicts, settled=settled)]


def test_one_kill_that_strikes_two_gates_makes_a_verdict_of_neither():
    """The first is told as no answer; of the second nothing is told, so that it is asked again."""
    struck = (b.red("t", **KILLED), b.red("lint", **KILLED), b.red("other"))
    assert told(*struck, settled=False) == [("t", False), ("other", True)]


def test_what_is_in_doubt_again_is_an_answer():
    """Asked once more on the same tree with the same end, it is the tree's own doing."""
    assert told(b.red("t", **KILLED), b.red("lint", **KILLED), settled=True) == [("t", True), ("lint", True)]


def test_a_machine_cause_is_never_an_answer():
    """However often it comes, and for each gate."""
    lost = {"status": "error", "cause": "keeper-lost"}
    struck = (b.red("t", **lost), b.red("lint", **lost))
    assert told(*struck, settled=True) == [("t", False), ("lint", False)]


def test_a_killed_call_notices_no_sabotage():
    """What was in doubt says nothing about the change that was broken on purpose."""
    reading = Reading("error", "killed by signal 15", cause="killed", doubt=True)
    assert not is_noticed(reading, {"t::a"}, Reading("pass", "1 passed", tests={"t::a": "pass"}))


def test_the_causes_have_the_names_that_journals_hold():
    """A cause under another name would make a verdict of what is none, in a record that is there already."""
    assert MACHINE == {
        "interrupted": "it was killed from outside",
        "keeper-lost": "its keeper process was lost",
        "spawn": "it could not be started",
        "disk": "the disk was full or failed",
        "frozen": "it was frozen past its time limit",
        "survivors": "its processes could not be stopped",
        "wrong-tree": "the checkout was not the tree to check",
    }
    assert TRIES == 3


def test_what_is_in_doubt_is_missing_until_it_is_settled():
    """Without a word about it nothing is settled."""
    doubted = b.red("t", **KILLED)
    assert (is_missing(doubted), is_missing(doubted, settled=True)) == (True, False)
