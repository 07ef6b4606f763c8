"""What makes a call of a CLI a success, whose words count, and how totals become differences."""

import json

import pytest
from streamkit import read

from ralph.agents import Closed, FaultSeen, Raw, Retried, Said, Spent, ToolUsed
from ralph.agents._kit.faults import kind_of
from ralph.core.model.agent import AgentSession
from ralph.core.model.spend import Price, Usage
from ralph.shell.agent_call.prices import add_cost, listed_price, price_list
from ralph.shell.config.layers import BUILT_IN

BLOCK = (
    "---RALPH_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 1\n"
    "TESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: true\nRECOMMENDATION: none\n"
    "---END_RALPH_STATUS---"
)


def lines(*events):
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def says(text, parent=None):
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "parent_tool_use_id": parent, "message": {"content": content}}


def result(text="", cost=0.0, **fields):
    usage = {"m": {"inputTokens": 10, "outputTokens": 5, "cacheReadInputTokens": 3}}
    given = {
        "subtype": "success",
        "is_error": False,
        "result": text,
        "total_cost_usd": cost,
        "modelUsage": usage,
    }
    return {"type": "result", **given, **fields}


def test_success_needs_last_word_and_exit_code():
    """A call worked when its last event says so and the process exited with 0; neither alone is enough."""
    good = lines(says("hello"), result("hello"))
    assert read("claude", good, 0)[1].fault is None
    assert read("claude", good, 1)[1].fault.kind == "crash"
    assert read("claude", lines(says("hello")), 0)[1].fault.kind == "protocol"
    bad = lines(result("nothing works", is_error=True))
    assert read("claude", bad, 0)[1].fault.kind == "crash"


def test_an_error_inside_a_call_that_used_nothing_has_its_own_name():
    """Exit code 0 with an error inside and no tokens used would look like success: it is called hollow."""
    nothing = result("oh", is_error=True, modelUsage={})
    assert read("claude", lines(nothing), 0)[1].fault.kind == "hollow"
    empty = {"type": "complete", "total_tokens": 0}
    assert read("goose", lines(empty), 0)[1].fault.kind == "hollow"


def test_the_last_of_several_results_counts():
    """One call may print several results; what went wrong before a good last one was got over."""
    first = result("oops", is_error=True, api_error_status=529)
    assert read("claude", lines(first, result("fine")), 0)[1].fault is None
    assert read("claude", lines(result("fine"), first), 0)[1].fault.kind == "overload"


def test_only_the_agents_final_message_claims():
    """A status block counts in the agent's own last message: not earlier, nor from a sub-agent or a tool."""
    assert read("claude", lines(says(BLOCK), result(BLOCK)))[1].claim.status == "COMPLETE"
    assert read("claude", lines(says(BLOCK), says("Wait."), result("Wait.")))[1].claim is None
    assert read("claude", lines(says(BLOCK, parent="task-1"), says("Hm."), result("Hm.")))[1].claim is None
    quoted = {"type": "user", "message": {"content": [{"type": "tool_result", "content": BLOCK}]}}
    assert read("claude", lines(says("Hm."), quoted, result("Hm.")))[1].claim is None
    assert read("claude", BLOCK.encode() + b"\n" + lines(says("Hm."), result("Hm.")))[1].claim is None


def test_pieces_of_a_message_are_joined():
    """A message that comes in pieces is one message; a tool in between begins another."""
    pieces = [
        {"type": "message", "role": "assistant", "content": part, "delta": True} for part in ("Do", "ne.")
    ]
    tool = {"type": "tool_use", "tool_name": "read_file", "parameters": {"file_path": "a.py"}}
    end = {"type": "result", "status": "success", "stats": {"total_tokens": 5}}
    assert read("gemini", lines(*pieces, end))[1].said == "Done."
    assert read("gemini", lines(pieces[0], tool, pieces[1], end))[1].said == "ne."


def test_claims_in_pieces():
    """A status block that is cut into pieces by the stream is still one."""
    pieces = [
        {"type": "message", "role": "assistant", "content": BLOCK[at : at + 9], "delta": True}
        for at in range(0, len(BLOCK), 9)
    ]
    end = {"type": "result", "status": "success", "stats": {}}
    assert read("gemini", lines(*pieces, end))[1].claim.status == "COMPLETE"


def test_totals_become_differences():
    """Running totals are counted once: within a call, and over calls of one conversation."""
    facts, ended = read("claude", lines(result("a", 0.5), result("b", 0.75)))
    assert [fact.cost for fact in facts if isinstance(fact, Spent)] == [0.5, 0.25]
    assert ended.usage.cost == 0.75
    before = AgentSession("s", "claude", tokens=8, cost=0.5, fresh=5, cached=3, written=0)
    later = read("claude", lines(result("b", 0.75)), session=before)[1]
    assert later.usage == Usage(10, 0.25, 5, 0, 5)
    assert later.session.cost == 0.75


def test_totals_that_began_anew():
    """A total smaller than the one before it is a new beginning, not a refund."""
    before = AgentSession("s", "claude", cost=2.0)
    assert read("claude", lines(result("b", 0.75)), session=before)[1].usage.cost == 0.75


def test_lost_output_makes_usage_unknown():
    """Where part of the output was dropped, what was used is unknown."""
    assert read("claude", lines(result("a", 0.5)), dropped=1)[1].usage == Usage()


def test_a_hang_in_the_clis_own_retry_is_named_after_it():
    """A call that was ended while the CLI tried again by itself has the fault that it waited for."""
    retry = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}
    facts, ended = read("claude", lines(retry), None, "timeout")
    assert isinstance(facts[0], Retried)
    assert ended.fault.kind == "overload"
    assert read("claude", lines(retry, says("Back.")), None, "timeout")[1].fault.kind == "timeout"


def test_unknown_lines_are_kept():
    """What nobody understands is kept raw and changes nothing."""
    odd = lines({"type": "brand_new", "x": 1}, {"no": "type"}, {"type": 7}) + b'{"type": "assis\n' + b"{}\n"
    facts, ended = read("claude", odd + lines(result("fine")))
    assert sum(isinstance(fact, Raw) for fact in facts) == 5
    assert ended.fault is None


def test_prose_decides_nothing():
    """Words about limits and errors in a message are words."""
    words = "rate limit reached, 429, usage limit, authentication failed, VERIFIED_DONE"
    ended = read("claude", lines(says(words), result(words)))[1]
    assert (ended.fault, ended.claim) == (None, None)


def test_tools_tell_file_and_size():
    """An edit is shown with its file and the lines it adds and takes away."""
    used = {
        "type": "tool_use",
        "name": "Edit",
        "input": {"file_path": "a.py", "old_string": "x\ny", "new_string": "x\nz\nw"},
    }
    event = {"type": "assistant", "message": {"content": [used]}}
    assert read("claude", lines(event))[0] == [ToolUsed("Edit", "a.py", "", 2, 1)]
    write = {"tool": "write", "state": {"input": {"filePath": "b.py", "content": "1\n2\n"}}}
    assert (
        ToolUsed("write", "b.py", "", 2, 0) in read("opencode", lines({"type": "tool_use", "part": write}))[0]
    )


def test_aider_is_read_by_its_lines():
    """aider prints words only: tokens, an edit, an error of its client library."""
    told = b"Tokens: 1.5k sent, 20 received. Cost: $0.02 message, $0.05 session.\n"
    text = b"Warning: x\nAider v1\nModel: m\n\nHere it is.\n" + told
    facts, ended = read("aider", text + b"Applied edit to calc.py\n")
    assert ended.usage == Usage(1520, 0.02, 1500, None, 20)
    assert ended.fault is None
    assert ended.said.strip() == "Here it is."
    assert ToolUsed("edit", "calc.py") in facts
    error = b"Aider v1\nlitellm.AuthenticationError: bad key\n"
    assert read("aider", error)[1].fault.kind == "auth"
    assert read("aider", b"Aider v1\nhello\n")[1].fault.kind == "protocol"


def test_mini_is_read_by_its_trajectory():
    """mini-swe-agent tells how it ended in the file it leaves."""
    message = {
        "role": "assistant",
        "content": "I try.",
        "extra": {"response": {"usage": {"prompt_tokens": 9, "completion_tokens": 2}}},
    }
    good = {"info": {"exit_status": "Submitted", "submission": BLOCK}, "messages": [message]}
    ended = read("mini", b"", files=[("t.json", json.dumps(good).encode())])[1]
    assert (ended.fault, ended.claim.status, ended.usage.tokens) == (None, "COMPLETE", 11)
    for status, kind in (("LimitsExceeded", "turns"), ("litellm.RateLimitError", "limit"), ("Odd", "crash")):
        bad = json.dumps({"info": {"exit_status": status}, "messages": []}).encode()
        assert read("mini", b"", files=[("t.json", bad)])[1].fault.kind == kind
    assert read("mini", b"", 0)[1].fault.kind == "protocol"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (401, "", "auth"),
        (429, "", "limit"),
        (429, "insufficient_quota", "credit"),
        (529, "", "overload"),
        (503, "", "overload"),
        (502, "", "server"),
        (404, "", "request"),
        (413, "", "context"),
        (400, "context_length_exceeded", "context"),
        (200, "", None),
        (None, "", None),
    ],
)
def test_statuses_and_codes(status, code, kind):
    """A provider's answer has one name, whichever CLI handed it on."""
    assert kind_of(status, code) == kind


def test_prices():
    """A profile's price stands over the CLI's figure, that over the list price; computed is marked."""
    price = Price(fresh=3.0, written=15.0, cached=0.3)
    computed = add_cost(Usage(1_500_000, None, 1_000_000, 400_000, 100_000), price)
    assert computed.cost == pytest.approx(3.0 + 0.12 + 1.5)
    assert computed.estimated
    own = Usage(10, 0.5, 5_000_000, 0, 0)
    assert add_cost(own, price).cost == pytest.approx(15.0)
    assert add_cost(own, None, "gpt-5") == own
    assert add_cost(Usage(10, None, 1_000_000, 0, 100_000), None, "gpt-5").cost == pytest.approx(2.25)
    assert add_cost(Usage(10), price) == Usage(10)
    assert add_cost(Usage(None, None, 5, None, 5), None).cost is None
    assert add_cost(Usage(None, None, 5, None, 5), None, "no-such-model").cost is None


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("gpt-5.5", "gpt-5.5"),
        ("openai/gpt-5.5", "gpt-5.5"),
        ("GPT-5-codex-2026-01-31", "gpt-5-codex"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("MiniMax-M2", "minimax-m2"),
        ("gpt-5.5-nano", ""),
        ("", ""),
    ],
)
def test_list_prices_are_found_by_the_models_name(name, row):
    """Whoever sells it and whatever date it bears; a model that is not in the list has no price."""
    rows = price_list().models
    found = listed_price(name)
    assert (found and (found.fresh, found.cached, found.written)) == (rows[row] if row else None)


def test_built_in_profiles_have_the_list_prices_of_their_models():
    """Else Claude Code would count another provider's tokens by the prices of Claude's models."""
    for name, model in (("glm5", "glm-5"), ("minimax", "MiniMax-M2")):
        told = {key: BUILT_IN[name][f"price_{key}"] for key in ("input", "cached", "output")}
        price = listed_price(model)
        assert told == {"input": price.fresh, "cached": price.cached, "output": price.written}


def test_a_call_that_was_broken_off_tells_what_its_messages_used():
    """Claude without a result: each message once, as told last; the next total does not count it again."""

    def said(name, **usage):
        return {"type": "assistant", "message": {"id": name, "model": "claude-opus-5", "usage": usage}}

    told = [
        said("m1", input_tokens=10, output_tokens=1),
        said("m1", input_tokens=10, output_tokens=7),
        said("m2", input_tokens=2, cache_read_input_tokens=100, output_tokens=5),
    ]
    first = {"type": "system", "subtype": "init", "session_id": "s"}
    facts = read("claude", lines(first, *told), None, "timeout")[1]
    assert (facts.usage.tokens, facts.usage.fresh, facts.usage.cached, facts.usage.written) == (
        124,
        12,
        100,
        12,
    )
    assert (facts.usage.cost, facts.model, facts.session.tokens) == (None, "claude-opus-5", 124)
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "session_id": "s",
        "total_cost_usd": 0.5,
        "modelUsage": {"claude-opus-5": {"inputTokens": 20, "cacheReadInputTokens": 100, "outputTokens": 20}},
    }
    again = read("claude", lines(first, result), session=facts.session)[1]
    assert again.usage.tokens == 140 - 124


def test_facts_that_stop_a_call_are_marked():
    """Only what cannot get better by waiting asks for an end of the call."""
    mild = {"type": "error", "message": "Reconnecting... 1/5 (unexpected status 500)"}
    facts = read("codex", lines(mild))[0]
    assert facts == [Retried("server", "Reconnecting... 1/5 (unexpected status 500)")]
    lost = {"type": "error", "message": "Reconnecting... waiting for network (x)"}
    assert read("codex", lines(lost))[0] == [FaultSeen("network", lost["message"], stop=True)]
    limit = {
        "type": "error",
        "message": "Reconnecting... 1/1 (exceeded retry limit, last status: 429 Too Many)",
    }
    assert read("codex", lines(limit))[0] == [Retried("limit", limit["message"])]
    warning = {"type": "error", "message": "model metadata not found"}
    assert read("codex", lines(warning))[0] == []


def test_goose_is_not_fooled_by_its_own_sentences():
    """A model that says what goose says of errors is not taken for goose: its messages are marked."""
    said = "Ran into this error: Authentication error"
    own = {"role": "assistant", "id": "a", "content": [{"type": "text", "text": said}], "metadata": {}}
    models = {**own, "metadata": {"inference": {"provider": "x"}}}
    complete = {"type": "complete", "total_tokens": 5}
    assert read("goose", lines({"type": "message", "message": own}, complete))[1].fault.kind == "auth"
    facts, ended = read("goose", lines({"type": "message", "message": models}, complete))
    assert ended.fault is None
    assert Said(said, "a") in facts
    assert Closed(ok=True) in facts


@pytest.mark.parametrize("cli", ["amp", "cursor"])
def test_clis_that_copied_claudes_events(cli):
    """By their documentation: a session, what was said and done, one result; an error is no success."""
    begin = {"type": "system", "subtype": "init", "session_id": "T-1"}
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "make"}}
    work = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}, call]}}
    tool = {
        "type": "tool_call",
        "subtype": "started",
        "tool_call": {"writeToolCall": {"args": {"path": "a.py"}}},
    }
    good = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "T-1"}
    facts, whole = read(cli, lines(begin, work, *([tool] if cli == "cursor" else []), good))
    assert (whole.fault, whole.session.id, whole.message) == (None, "T-1", "Done.")
    assert ToolUsed("Bash", detail="make") in facts
    assert (ToolUsed("write", "a.py") in facts) is (cli == "cursor")
    bad = {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "error": "401 Unauthorized",
    }
    assert read(cli, lines(begin, bad), 1)[1].fault.kind == "auth"
    assert read(cli, lines(begin, work), 0)[1].fault.kind == "protocol"
