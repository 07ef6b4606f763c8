"""A model that refuses is told apart from a network that fails, in the very lines of the CLI."""

from __future__ import annotations

import json

import pytest
from streamkit import read as read_stream

from ralph.agents import FaultSeen

SYSTEM = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}


def lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def result(**more):
    row = {"type": "result", "subtype": "success", "is_error": True, "terminal_reason": "api_error"}
    return {**row, "result": "API Error: Claude Code is unable to respond to this request", **more}


def assistant(reason):
    return {"type": "assistant", "message": {"model": "m", "stop_reason": reason, "content": []}}


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ((SYSTEM, result(stop_reason="refusal")), "request"),
        ((SYSTEM, assistant("refusal"), result()), "request"),
        ((SYSTEM, assistant("end_turn"), result()), "network"),
        ((SYSTEM, assistant("refusal"), assistant("end_turn"), result()), "network"),
    ],
)
def test_a_refusal_is_no_network_fault(rows, kind):
    """It is not waited for, and the prompt is what has to change."""
    facts, *_ = read_stream("claude", lines(*rows))
    assert [fact.kind for fact in facts if isinstance(fact, FaultSeen)] == [kind]
