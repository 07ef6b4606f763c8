"""The scripted model server fails in all the ways in which real providers do."""

import http.client
import json
import time

import pytest
from modelkit import serving
from wirekit import ALL, PATHS, ask, events, post, said

pytestmark = pytest.mark.slow


def test_errors_are_told_in_each_dialect_with_their_headers(tmp_path):
    """Status, headers and body are what the client's own provider would send."""
    limit = {
        "error": {"status": 429, "headers": {"retry-after": "7"}, "message": "slow down"},
        "times": "forever",
    }
    with serving(tmp_path, {"replies": [limit]}) as model:
        seen = {protocol: ask(model, protocol) for protocol in PATHS}
    bodies = {protocol: json.loads(data) for protocol, (_, _, data) in seen.items()}
    assert {status for status, _, _ in seen.values()} == {429}
    assert {headers["retry-after"] for _, headers, _ in seen.values()} == {"7"}
    assert bodies["anthropic"]["error"] == {"type": "rate_limit_error", "message": "slow down"}
    assert bodies["chat"]["error"]["code"] == bodies["responses"]["error"]["code"] == "rate_limit_exceeded"
    assert bodies["gemini"]["error"]["status"] == "RESOURCE_EXHAUSTED"
    assert bodies["gemini"]["error"]["details"][0]["retryDelay"] == "7s"


@ALL
def test_a_cut_stream_breaks_in_the_middle(tmp_path, protocol):
    """The connection ends inside the body: clients see a broken transfer, never a short answer."""
    script = {"replies": [{"say": "a long enough text to be cut", "cut": "body"}]}
    broken = (http.client.IncompleteRead, ConnectionError)
    with serving(tmp_path, script) as model, pytest.raises(broken) as caught:
        ask(model, protocol)
    if isinstance(caught.value, http.client.IncompleteRead):
        assert len(caught.value.partial) > 0


def test_a_cut_before_the_first_byte_closes_the_connection(tmp_path):
    """`cut: connect` looks like a server that died."""
    broken = (http.client.RemoteDisconnected, ConnectionError)
    with serving(tmp_path, {"replies": [{"cut": "connect"}]}) as model, pytest.raises(broken):
        ask(model, "chat")


def test_an_error_in_mid_stream_comes_after_the_first_words(tmp_path):
    """Half an answer, then the protocol's own error event, and no end of the message."""
    broken = {"say": "half of it", "midstream": {"status": 529, "message": "Overloaded"}, "times": "forever"}
    with serving(tmp_path, {"replies": [broken]}) as model:
        a = events(ask(model, "anthropic")[2])
        r = events(ask(model, "responses")[2])
        c = events(ask(model, "chat")[2])
    assert a[-1] == {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert (r[-1]["type"], r[-1]["response"]["error"]["code"]) == ("response.failed", "server_is_overloaded")
    assert c[-1]["error"]["message"] == "Overloaded"


def test_a_stall_sends_some_words_then_nothing_and_notes_who_left(tmp_path):
    """A hanging model is seen in the record at once, and so is the client that gives up."""
    with serving(tmp_path, {"replies": [{"say": "wait for it", "stall": -1}]}) as model:
        path, make = PATHS["chat"]
        with pytest.raises(TimeoutError):
            post(model, path, make(), timeout=0.2)
        assert len(model.requests("main")) == 1
        deadline = time.monotonic() + 5
        while not any("gone" in fact for fact in model.facts()):
            assert time.monotonic() < deadline
            time.sleep(0.02)


def test_a_slow_model_takes_its_time_between_events(tmp_path):
    """`pace` is the silence after each event."""
    with serving(tmp_path, {"replies": [{"say": "slow", "pace": 0.03}]}) as model:
        start = time.monotonic()
        data = ask(model, "chat")[2]
    assert time.monotonic() - start >= 0.03 * 3
    assert said("chat", data) == "slow"
