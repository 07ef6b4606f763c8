"""Which notes of ended loops are offered to later ones."""

from making import Maker, order, record_all
from msgspec.structs import replace

from ralph.app.people.memory import noted_by_loops
from ralph.core.model import events as e
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import Finding, GuardResult


def exhausted(found):
    """A loop that noted something, was looked at by an integrity guard, and used up its one iteration."""
    maker = Maker(order(limits=Limits(iterations=1))).begin().call()
    at = next(at for at, one in enumerate(maker.events) if isinstance(one, e.AgentEnded))
    maker.events[at] = replace(maker.events[at], learned=("put it into conftest",))
    maker.gates("fast", "pass", "pass").gates("final", "pass", "pass")
    tree = maker.loop.work.tree
    result = GuardResult("protected", tree, True, "looked", findings=found)
    return maker.add(e.GuardsEnded(iteration=1, tree=tree, results=(result,))).finish()


def offered(tmp_path, maker):
    record_all(tmp_path / "state", maker)
    noted = noted_by_loops({"RALPH_STATE_DIR": str(tmp_path / "state")}, None)
    return [one.offered for one in noted if "conftest" in one.lesson]


def test_an_accused_loop_teaches_nobody(tmp_path):
    """What was noted beside tampering is listed, and no later loop is told it."""
    maker = exhausted((Finding("protected.changed:x", "x"),))
    assert maker.loop.outcome == "exhausted"
    assert offered(tmp_path, maker) == [False]


def test_an_honest_loop_teaches_the_next(tmp_path):
    """Without an accusation the same note is offered."""
    maker = Maker(order(limits=Limits(iterations=1))).begin().call()
    at = next(at for at, one in enumerate(maker.events) if isinstance(one, e.AgentEnded))
    maker.events[at] = replace(maker.events[at], learned=("put it into conftest",))
    assert offered(tmp_path, maker.gates("fast", "fail", "pass").finish()) == [True]
