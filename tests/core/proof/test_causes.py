"""Why a gate gave no answer: what is told of several that were struck at once."""

import builders as b

from ralph.core.model.verdict import Reading
from ralph.core.proof.causes import sort_answers
from ralph.shell.gate_run.run_guards import is_noticed

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
