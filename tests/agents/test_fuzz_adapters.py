"""Whatever a CLI prints, its parser survives it: cut, joined, garbled and deep lines."""

import json

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from streamkit import STREAMS, cases, read, recorded

from ralph.agents import CallFacts

ENDS = ("exited", "timeout", "idle", "stopped", "killed", "runner-lost", "spawn-error", "crashed")
TYPES = [
    "system", "assistant", "user", "result", "rate_limit_event", "thread.started", "item.completed",
    "error", "turn.failed", "turn.completed", "init", "message", "tool_use", "tool_result", "complete",
    "text", "step_finish", "step_start", "session.error", "assistant.message", "model.call_failure",
    "tool.execution_complete", "assistant.turn_retry", "session", "stop", "gone", "silent", "version",
    "permission", "file", "acp.agent_message_chunk", "acp.tool_call", "acp.tool_call_update",
    "acp.usage_update",
]  # fmt: skip
KEYS = [
    "type", "subtype", "message", "content", "text", "item", "part", "error", "result", "usage", "stats",
    "data", "role", "delta", "metadata", "status", "code", "is_error", "api_error_status", "modelUsage",
    "total_cost_usd", "permission_denials", "session_id", "thread_id", "sessionID", "rate_limit_info",
    "resetsAt", "retry_delay_ms", "error_status", "changes", "tokens", "cost", "reason", "toolRequests",
    "exitCode", "info", "update", "toolCallId", "kind", "rawInput", "locations", "stage", "exit", "agent",
]  # fmt: skip
LINES = {cli: [] for cli in STREAMS}
for cli_, case_ in cases():
    LINES[cli_] += [line for line in recorded(cli_, case_).splitlines() if line][:40]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["success", "error", "text", "tool_use", "stop", "init", "api_retry", "429", "\ud800"]),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)
events = st.builds(
    lambda kind, fields: {**fields, "type": kind},
    st.one_of(st.sampled_from(TYPES), scalars),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=6),
)


def check(cli: str, data: bytes, exit_code: int | None, how: str) -> None:
    live = read(cli, data, exit_code, how)[1]
    assert isinstance(live, CallFacts)
    assert len(live.said) <= 4001
    assert live.fault is not None or (how == "exited" and exit_code == 0)
    bulk = read(cli, data, exit_code, how, absorb=True)[1]
    assert (bulk.fault is None) == (live.fault is None)
    assert bulk.claim == live.claim


def printed(event: object) -> bytes:
    return json.dumps(event).encode("utf-8", "surrogatepass") + b"\n"


@pytest.mark.slow
@pytest.mark.parametrize("cli", STREAMS)
@settings(max_examples=examples(15))
@given(
    made=st.lists(events, max_size=6),
    noise=st.binary(max_size=60),
    exit_code=st.sampled_from([0, 1, 53, 137, 173, -9, None]),
    how=st.sampled_from(ENDS),
)
def test_any_events(cli, made, noise, exit_code, how):
    """Events of any shape never raise, and never make a success out of a failed process."""
    check(cli, noise.join(map(printed, made)), exit_code, how)


@pytest.mark.sample(check=3)
@pytest.mark.parametrize("cli", [cli for cli in STREAMS if LINES[cli]])
@settings(max_examples=examples(30))
@given(data=st.data())
def test_damaged_streams(cli, data):
    """Real lines that were cut, joined, doubled or overwritten are survived."""
    chosen = data.draw(st.lists(st.sampled_from(LINES[cli]), min_size=1, max_size=5))
    stream = bytearray(b"\n".join(chosen))
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, max(0, len(stream) - 1)))
        match data.draw(st.sampled_from(["cut", "byte", "join", "double"])):
            case "cut":
                del stream[at:]
            case "byte":
                stream[at : at + 1] = data.draw(st.binary(min_size=1, max_size=3))
            case "join":
                end = stream.find(b"\n", at)
                if end >= 0:
                    del stream[end]
            case "double":
                stream += stream[at : at + 200]
    check(cli, bytes(stream), 0, "exited")


@pytest.mark.parametrize("cli", STREAMS)
def test_deep_and_long_lines(cli):
    """Depth bombs, huge numbers and lines of megabytes are kept or passed over, within bounded memory."""
    deep = b'{"type":"result","message":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    many = b'{"type":"assistant","message":{"content":' + b'[{"a":' * 5_000 + b"1" + b"}]" * 5_000 + b"}}\n"
    number = b'{"type":"result","total_cost_usd":' + b"9" * 5_000 + b',"usage":{"input_tokens":1e400}}\n'
    long = b'{"type":"text","part":{"text":"' + b"x" * 3_000_000 + b'"}}\n'
    for data in (deep, many, number, long, b"{" * 200_000, b"\xff\xfe{\n{\xff}\n", b"\0" * 1000):
        assert read(cli, data, 1, "exited")[1].fault is not None
        read(cli, data, 0, "exited", absorb=True)
