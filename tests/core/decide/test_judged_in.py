"""Under which box a result was judged, when several stints had to do with it."""

from builders import based, conclude, green, guard, guarding, red
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.actions import PublishResult

FAILING, PASSING = red(per_test=True), green(per_test=True, witness_count=1)


def by_earlier_rules(loop):
    return replace(loop, rules=4)


def stint(level):
    return e.StintStarted(pid=2, host="h", version="1", protection=level)


def test_a_judgement_is_as_good_as_its_weakest_box():
    """Gates judged without a box do not become boxed because a later stint, with one, asks the guards."""
    loop = guarding(based(None, FAILING, protection="S0"), "t1", PASSING)
    loop = decide(loop, stint("S3"))
    assert (loop.work.protection, loop.judged_in) == ("S3", "S0")
    loop = conclude(loop, guard())
    assert loop.judged_in == "S0"
    assert isinstance(loop.todo[0], PublishResult)
    assert loop.todo[0].grade == "B"


def test_what_was_judged_stays_what_it_was():
    """A runner that dies before it records the result is followed by one that writes the same commit."""
    loop = conclude(guarding(based(None, FAILING, protection="S3"), "t1", PASSING), guard())
    owed = loop.todo[0]
    again = decide(loop, stint("S0"))
    assert (again.todo[0], again.judged_in) == (owed, "S3")
    assert isinstance(owed, PublishResult)
    assert owed.grade == "A"


def test_records_of_earlier_rules_fold_as_they_did():
    """A record from before this was noted: the same tree in a stronger box is not judged again."""
    old = by_earlier_rules(based(None, FAILING, protection="S0"))
    loop = decide(guarding(old, "t1", PASSING), stint("S3"))
    assert (loop.proof.protection, loop.judged_in) == ("", "S3")
