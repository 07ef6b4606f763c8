"""Structs with parts: flat where they are stored or shown, in the order and under the names of old."""

from __future__ import annotations

import builders as b
import msgspec
import pytest
from msgspec import Struct

from ralph.app.report.loop_report import LoopReport
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.order import BoxTerms, Order, StartPoint
from ralph.core.model.parts import flat_fields, flat_names, flat_struct, from_flat
from ralph.core.prompt.facts import PromptFacts
from ralph.core.views.summary import Summary

# As journals have had them from the beginning: a name that goes or moves breaks the records of users.
ORDER = """loop task repo criterion limits agent agent_argv agent_settings agent_env model key price spares
    keep_session base_commit base_tree user_start head_commit head_branch branch on_fail sandbox network
    allow_write share setup setup_cwd history prefix with_changes protect other_checks config_digest warnings
    report_copy_to approve issue activity_log memory templates brief rubric judge team item"""
WHOLES = (LoopReport, Order, PromptFacts, Summary)
FULL = b.order(
    agent_argv=("a", "-x"), agent_env={"A": "1"}, model="m", user_start="u", network=False, setup="s"
)


@pytest.mark.parametrize("kind", WHOLES, ids=lambda kind: kind.__name__)
def test_no_two_parts_have_a_field_of_one_name(kind: type[Struct]) -> None:
    """In the flat object every field has its own place."""
    names = flat_names(kind)
    assert len(set(names)) == len(names)


def test_an_order_is_stored_under_its_old_names() -> None:
    """A journal shows no parts, and its fields stand where they always stood."""
    assert flat_names(Order) == tuple(ORDER.split())
    body = msgspec.json.decode(e.encode(e.LoopStarted(order=FULL)))
    assert [name for name in ORDER.split() if name in body["order"]] == list(body["order"])
    assert (body["order"]["agent"], body["order"]["agent_argv"]) == ("demo", ["a", "-x"])
    assert "box" not in body["order"]


def test_an_order_of_an_older_ralph_is_read_into_parts() -> None:
    """What was never written has its default; what is not an order is refused."""
    old = b'"loop":"l","task":"t","repo":"r","criterion":{"task_class":"custom","gates":[]},"limits":{}'
    read = e.decode(b'{"kind":"LoopStarted","order":{%s,"agent":"x","base_tree":"t0"},"at":2.0}' % old)
    assert isinstance(read, e.LoopStarted)
    assert (read.order.agent, read.order.base, read.order.box) == (
        SealedAgent("x"),
        StartPoint(tree="t0"),
        BoxTerms(),
    )
    assert (read.rules, read.at) == (1, 2.0)
    for wrong in (old, old + b',"agent":{}', old + b',"agent":"x","network":"yes"'):
        with pytest.raises(msgspec.ValidationError):
            e.decode(b'{"kind":"LoopStarted","order":{%s}}' % wrong)


def test_parts_come_back_as_they_were() -> None:
    """Flat and back again loses nothing; a default that the whole leaves out stays out."""
    assert from_flat(Order, flat_fields(FULL)) == FULL
    shown = msgspec.to_builtins(flat_struct(FULL))
    assert (shown["network"], shown["setup"]) == (False, "s")
    assert "share" not in shown
