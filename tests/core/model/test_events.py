"""Facts as they stand in the journal: what is written can be read, what is unknown is refused."""

from __future__ import annotations

import builders as b
import laws
import msgspec
import pytest

from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop

SEEN = {type(row.event): row.event for row in laws.ROWS}


@pytest.mark.parametrize("kind", e.KINDS, ids=lambda kind: kind.__name__)
def test_every_event_comes_back_as_it_was(kind: type[e.Event]) -> None:
    """Encoding and decoding loses nothing, and the kind in the body is the kind of the row."""
    event = SEEN[kind]
    body = e.encode(event)
    assert e.decode(body) == event
    assert msgspec.json.decode(body)["kind"] == e.kind_of(event) == kind.__name__


def test_every_kind_has_a_version() -> None:
    """A reader can tell for each kind whether it is from a newer Ralph."""
    assert {**{kind.__name__: 1 for kind in e.KINDS}, "LoopStarted": e.RULES} == e.VERSIONS


@pytest.mark.parametrize(
    "body", [b'{"kind":"Unheard"}', b'{"kind":"Steered"}', b'{"kind":"Steered","text":1}', b"{}", b'{"kind":']
)
def test_what_is_not_known_is_refused(body: bytes) -> None:
    """Unknown kinds, missing fields, wrong types and torn bodies raise instead of being guessed at."""
    with pytest.raises(msgspec.DecodeError):
        e.decode(body)


def test_facts_and_loops_cannot_be_changed() -> None:
    """A fact, an action and a state are values: nobody edits them in place."""
    for value, field in (
        (e.Steered(text="x"), "text"),
        (actions.RunGuards(tree="t"), "tree"),
        (Loop(), "phase"),
    ):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(value, field, "y")


def test_a_new_loop_knows_nothing() -> None:
    """Before its first fact a loop holds no words at all, only where it stands."""
    words = {name: value for name, value in b.fields(Loop()).items() if isinstance(value, str) and value}
    assert words == {
        "phase": "new",
        "proof.stage": "baseline",
        "control.held_phase": "working",
        "control.stopped_by": "person",
        "host.priority": "medium",
    }


def test_a_loop_before_its_order_has_none() -> None:
    """What was agreed can be asked for from the first event on, never before it."""
    assert b.started().sealed == b.order()
    with pytest.raises(AssertionError):
        _ = Loop().sealed
