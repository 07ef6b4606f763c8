"""The scripted model server speaks the real protocols and resolves its intents against what is offered."""

import json
import subprocess

import pytest
from modelkit import serving
from wirekit import (
    ALL,
    PATHS,
    TEXT,
    anthropic,
    ask,
    called,
    counted,
    events,
    post,
    responses,
    said,
    schema,
)

pytestmark = pytest.mark.slow

WRITE = {"write": {"path": "a.txt", "text": "one\ntwo\n"}}


@ALL
def test_says_what_the_script_says_in_several_fragments(tmp_path, protocol):
    """A text arrives whole, in more than one piece, in each protocol's own stream."""
    with serving(tmp_path, {"replies": [{"say": "Hello, world."}]}) as model:
        status, headers, data = ask(model, protocol)
    assert status == 200
    assert headers["Content-Type"] == "text/event-stream"
    assert said(protocol, data) == "Hello, world."
    assert data.count(b"data: ") > 2 or protocol == "gemini"


def test_each_protocol_ends_its_stream_in_its_own_way(tmp_path):
    """Clients see a whole answer: message_stop, response.completed, [DONE], finishReason."""
    with serving(tmp_path, {"replies": [{"say": "x", "times": "forever"}]}) as model:
        a = events(ask(model, "anthropic")[2])
        r = events(ask(model, "responses")[2])
        c = ask(model, "chat")[2]
        g = events(ask(model, "gemini")[2])
    assert [a[0]["type"], a[-2]["delta"]["stop_reason"], a[-1]["type"]] == [
        "message_start",
        "end_turn",
        "message_stop",
    ]
    assert [r[0]["type"], r[-1]["type"]] == ["response.created", "response.completed"]
    assert [e["sequence_number"] for e in r] == list(range(len(r)))
    assert c.endswith(b"data: [DONE]\n\n")
    assert events(c)[-1]["choices"][0]["finish_reason"] == "stop"
    assert g[-1]["candidates"][0]["finishReason"] == "STOP"


def test_write_becomes_the_tool_that_the_client_offers(tmp_path):
    """One intent drives every client: the tool and the names of its arguments come from the request."""
    with serving(tmp_path, {"replies": [{**WRITE, "times": "forever"}]}) as model:
        seen = {protocol: called(protocol, ask(model, protocol)[2]) for protocol in PATHS}
    text = "one\ntwo\n"
    assert seen["anthropic"] == [("Write", {"file_path": "/w/project/a.txt", "content": text})]
    assert seen["chat"] == [
        ("developer__text_editor", {"command": "write", "path": "/w/project/a.txt", "file_text": text})
    ]
    assert seen["gemini"] == [("write_file", {"file_path": "/w/project/a.txt", "content": text})]
    [(name, patch)] = seen["responses"]
    assert name == "apply_patch"
    assert patch == "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch\n"


def test_edit_and_read_fall_back_to_what_there_is(tmp_path):
    """A client without an editing tool is driven through its shell."""
    edit = {"edit": {"path": "a.txt", "old": "one", "new": "two"}}
    with serving(tmp_path, {"replies": [edit, edit, {"read": {"path": "a b.txt"}}]}) as model:
        [(_, patch)] = called("responses", ask(model, "responses")[2])
        [(name, arguments)] = called("gemini", ask(model, "gemini")[2])
        [(reader, shown)] = called("gemini", ask(model, "gemini")[2])
    assert "*** Update File: a.txt\n@@\n-one\n+two\n" in patch
    assert name == "run_shell_command"
    (tmp_path / "a.txt").write_text("zero one\n")
    subprocess.run(["sh", "-c", arguments["command"]], check=True, cwd=tmp_path)
    assert (tmp_path / "a.txt").read_text() == "zero two\n"
    assert (reader, shown["command"]) == ("run_shell_command", "cat 'a b.txt'")


def test_tools_of_codex_are_also_found_inside_the_input(tmp_path):
    """The newest models of one client get one tool that runs code, listed in the input."""
    extra = {"type": "additional_tools", "tools": [{"type": "custom", "name": "exec"}]}
    body = responses(tools=[])
    body["input"].insert(0, extra)
    with serving(tmp_path, {"replies": [{"bash": "ls -l"}]}) as model:
        [(name, code)] = called("responses", post(model, "/v1/responses", body)[2])
    assert name == "exec"
    assert 'tools.exec_command({cmd: "ls -l"})' in code


@ALL
def test_several_tools_come_in_one_answer(tmp_path, protocol):
    """Parallel calls keep their order and have ids of their own."""
    both = {"say": "Both.", "tools": [{"bash": "true"}, {"bash": "false"}]}
    with serving(tmp_path, {"replies": [both]}) as model:
        data = ask(model, protocol)[2]
        [request] = model.requests()
    calls = called(protocol, data)
    assert [list(arguments.values()) for _, arguments in calls] == [["true"], ["false"]]
    assert len(request["calls"]) == 2
    assert said(protocol, data) == "Both."


def test_an_intent_no_tool_can_do_is_told(tmp_path):
    """A script that does not fit the client fails loudly, in the record as well."""
    with serving(tmp_path, {"replies": [WRITE]}) as model:
        status, _, data = ask(model, "anthropic", tools=[{"name": "Odd", "input_schema": {}}])
        [request] = model.requests()
    assert status == 500
    assert b"no tool runs a command" in data
    assert request["problem"] == "no tool runs a command"
    assert request["offered"] == ["Odd"]


def test_side_requests_have_their_own_lane(tmp_path):
    """Titles, JSON judgements and token counts never use up the script."""
    judged = {"type": "json_schema", "json_schema": {"schema": schema(ok={"type": "boolean"}, why=TEXT)}}
    script = {"replies": [{"say": "main"}], "side": [{"match": "title", "say": "A title"}]}
    with serving(tmp_path, script) as model:
        title = ask(model, "chat", tools=[], messages=[{"role": "user", "content": "a short title please"}])[
            2
        ]
        verdict = json.loads(ask(model, "chat", stream=False, response_format=judged)[2])
        counted = json.loads(post(model, "/v1/messages/count_tokens", anthropic())[2])
        main = ask(model, "chat")[2]
        lanes = [request["lane"] for request in model.requests()]
    assert said("chat", title) == "A title"
    assert json.loads(verdict["choices"][0]["message"]["content"]) == {"ok": False, "why": "scripted"}
    assert counted["input_tokens"] == 100
    assert said("chat", main) == "main"
    assert lanes == ["side", "side", "other", "main"]


def test_sub_agents_walk_their_own_lane(tmp_path):
    """Two sub-agents at once each begin at the first reply of their lane, and the main lane stands still."""
    script = {"replies": [{"say": "main"}], "sub": [{"say": "first"}, {"say": "second"}]}
    with serving(tmp_path, script) as model:
        path, make = PATHS["anthropic"]
        texts = [
            said("anthropic", post(model, path, make(), {"x-claude-code-agent-id": who})[2]) for who in "aba"
        ]
        main = said("anthropic", ask(model, "anthropic")[2])
    assert texts == ["first", "first", "second"]
    assert main == "main"


def test_a_new_conversation_takes_the_next_talk_but_a_retry_does_not(tmp_path):
    """After a fault the same conversation is tried again; a fresh context afterwards begins the next talk."""
    talks = [[{"error": 529}, {"say": "one"}, {"say": "never"}], [{"say": "two"}]]
    begun = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "y"},
        {"role": "user", "content": "z"},
    ]
    with serving(tmp_path, {"talks": talks}) as model:
        assert ask(model, "anthropic")[0] == 529
        assert said("anthropic", ask(model, "anthropic")[2]) == "one"
        assert said("anthropic", ask(model, "anthropic")[2]) == "two"
        over = said("anthropic", ask(model, "anthropic", messages=begun)[2])
        names = [request["reply"] for request in model.requests()]
    assert over == "Nothing is left to do."
    assert names == ["1.1", "1.2", "2.1", "over"]


@ALL
def test_usage_is_what_the_script_says(tmp_path, protocol):
    """Token counts are deterministic: the script's, unless a reply has its own."""
    usage = {"input": 7, "output": 3, "cached": 2}
    script = {"replies": [{"say": "a"}, {"say": "b", "usage": {"input": 1, "output": 1}}], "usage": usage}
    more = {"stream_options": {"include_usage": True}} if protocol == "chat" else {}
    with serving(tmp_path, script) as model:
        first, second = (events(ask(model, protocol, **more)[2]) for _ in range(2))
    assert counted(protocol, first) == (7, 3, 2)
    assert counted(protocol, second) == (1, 1, 0)


@ALL
def test_the_whole_answer_can_be_asked_for_without_a_stream(tmp_path, protocol):
    """Clients that fall back to plain JSON get the same answer."""
    path, make = PATHS[protocol]
    body = make() if protocol == "gemini" else make(stream=False)
    with serving(tmp_path, {"replies": [{"say": "whole"}]}) as model:
        status, _, data = post(model, path.replace("streamGenerateContent?alt=sse", "generateContent"), body)
    assert status == 200
    assert '"whole"' in data.decode() or said("gemini", b"data: " + data) == "whole"


def test_clients_without_tools_get_edits_in_the_text(tmp_path):
    """A client that parses its edits from prose is in the main lane and gets search-and-replace blocks."""
    system = {"role": "system", "content": "Answer with *SEARCH/REPLACE* blocks."}
    with serving(
        tmp_path, {"replies": [{"edit": {"path": "a.py", "old": "x = 1", "new": "x = 2"}}]}
    ) as model:
        data = ask(model, "chat", tools=[], messages=[system, {"role": "user", "content": "go"}])[2]
    assert said("chat", data).strip() == (
        "a.py\n```\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n```"
    )


def test_a_client_that_asks_once_gets_the_whole_conversation_in_one_answer(tmp_path):
    """Where edits are parsed from prose there is no second turn: all up to the next fault come at once."""
    replies = [
        {"say": "Looking.", "read": {"path": "a.py"}},
        {"edit": {"path": "a.py", "old": "x = 1", "new": "x = 2"}},
        WRITE,
        {"bash": "true"},
        {"say": "Done."},
        {"error": 500},
    ]
    messages = [{"role": "system", "content": "SEARCH/REPLACE"}, {"role": "user", "content": "go"}]
    with serving(tmp_path, {"replies": replies}) as model:
        text = said("chat", ask(model, "chat", tools=[], messages=messages)[2])
        status = ask(model, "chat", tools=[], messages=messages)[0]
    assert text.startswith("Looking.\nDone.\n")
    assert text.count("<<<<<<< SEARCH") == 2
    assert status == 500


def test_a_client_that_ends_by_a_command_gets_that_command(tmp_path):
    """Words alone never end such a client; its mark does."""
    tools = [{"type": "function", "function": {"name": "bash", "parameters": schema(command=TEXT)}}]
    messages = [{"role": "user", "content": "finish with: echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}]
    with serving(tmp_path, {"replies": [{"say": "Done."}]}) as model:
        data = ask(model, "chat", tools=tools, messages=messages)[2]
    assert called("chat", data) == [("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"})]
