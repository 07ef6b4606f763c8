"""The base is called twice at once where it can be, and what is made of it does not go by who ends first."""

from types import SimpleNamespace

import pytest

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Canary, Reading
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.gate_run.second_calls import SecondCalls

GREEN, RED = Reading("pass", "ok"), Reading("fail", "no")


def gate_called(name, **more):
    return Gate(name=name, run=name, argv=(name,), read="exit", tool="/bin/true", **more)


def second_calls(*, boxed=True):
    return SecondCalls(
        SimpleNamespace(boxed=boxed, store=None), lambda gate, what: f"{what}-{gate.name}", "t"
    )


def first_call(gate):
    return GateCall(gate, "t", "baseline", f"kept-{gate.name}")


@pytest.mark.parametrize(
    ("boxed", "exclusive", "made"), [(True, False, 1), (False, False, 0), (True, True, 0)]
)
def test_calls_that_could_meet_wait(boxed, exclusive, made):
    """Without a box two calls share ports and folders, and an exclusive gate wants the machine alone."""
    gate, twice = gate_called("tests", exclusive=exclusive), second_calls(boxed=boxed)
    ahead = twice.call_ahead((gate,))
    assert (len(ahead), len(twice.after_first(gate, GREEN))) == (made, 1 - made)
    assert all(call.reads and call.slot == "again-tests" for call in ahead)


@pytest.mark.parametrize("order", ["first", "second"])
def test_the_first_call_answers_first(order):
    """Whichever ends first, the plain one is heard first."""
    gate, twice = gate_called("tests"), second_calls()
    heard = [Heard(first_call(gate), GREEN), *(Heard(call, GREEN) for call in twice.call_ahead((gate,)))]
    told = twice.in_order(iter(heard if order == "first" else heard[::-1]))
    assert [answer.call.reads for answer in told] == [False, True]


@pytest.mark.parametrize("order", ["first", "second"])
def test_nobody_hears_a_call_that_nobody_wants(order):
    """Where the first call has said it all, the other one is no verdict of its own."""
    gate, twice = gate_called("tests"), second_calls()
    heard = [Heard(first_call(gate), RED), *(Heard(call, RED) for call in twice.call_ahead((gate,)))]
    told = []
    for answer in twice.in_order(iter(heard if order == "first" else heard[::-1])):
        told.append(answer.call.reads)
        twice.forget(gate)
    assert told == [False]


@pytest.mark.parametrize(
    ("second", "stage"),
    [
        (GREEN, None),
        (RED, "baseline"),  # flaky, or it minds being watched
    ],
)
def test_a_plain_call_tells_why_they_differ(second, stage):
    gate, twice = gate_called("tests"), second_calls()
    twice.call_ahead((gate,))
    call = twice.call_instead(gate, GREEN, second)
    assert (call and (call.stage, call.reads)) == (stage and (stage, False))


@pytest.mark.parametrize(
    ("canary", "again"),
    [
        (Canary(red=("a", "b")), False),
        (Canary(unseen=("a", "b")), True),  # the runner does not look there
        (Canary(silent=("a",), unseen=("b",)), True),
    ],
)
def test_a_wrong_guess_is_called_again(canary, again):
    """A place that the runner does not look at tells nothing: then the first call says where to put them."""
    gate, twice = gate_called("tests"), second_calls()
    twice.call_ahead((gate,))
    call = twice.call_instead(gate, GREEN, Reading("pass", "ok", canary=canary))
    assert (call is not None and call.reads) is again
    assert twice.call_instead(gate, GREEN, Reading("pass", "ok", canary=canary)) is None, "once"
