"""The bridge to the Agent Client Protocol, as its own process, against a scripted agent."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from streamkit import read

from ralph.agents import Denied, Said, ToolUsed
from ralph.agents.acp import bridge as acp_bridge

pytestmark = pytest.mark.slow

AGENT = Path(__file__).with_name("acpagent.py")
WORD = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
DONE = {"answer": {"stopReason": "end_turn"}}


class Bridge:
    """One call of the bridge: its lines, what the agent heard, how it ended."""

    def __init__(self, top, **order):
        self.top, self.work = top, top / "work"
        self.work.mkdir()
        given = {"version": "0", "workspace": str(self.work), "session": "", "allow": "all", "auth": ""}
        (top / "order.json").write_text(json.dumps({**given, "model": "", "patience": 20, **order}))
        self.script = top / "script.json"

    def start(self, **script):
        self.script.write_text(json.dumps({name.replace("__", "/"): row for name, row in script.items()}))
        agent = [sys.executable, "-S", str(AGENT), str(self.script)]
        return self.command(*agent)

    def command(self, *agent):
        (self.top / "prompt").write_text("do it\n")
        with (self.top / "prompt").open() as prompt, (self.top / "out").open("wb") as out:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", acp_bridge.__file__, str(self.top / "order.json"), *agent],
                stdin=prompt,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=self.work,
            )

    def finish(self, process):
        try:
            self.code = process.wait(60)
        finally:
            process.kill()
            process.wait()
        self.data = (self.top / "out").read_bytes()
        self.lines = [json.loads(line) for line in self.data.splitlines() if line.startswith(b"{")]
        self.last = self.lines[-1]
        return self

    def play(self, **script):
        return self.finish(self.start(**script))

    def heard(self, method=None):
        lines = Path(f"{self.script}.heard").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [one for one in found if one.get("method") == method] if method else found

    def answered(self):
        """What the agent was answered when it asked."""
        return [one for one in self.heard() if one.get("id") == "q"]

    def facts(self, agent="acp-goose"):
        return read(agent, self.data, self.code)[0]

    def fault(self, agent="acp"):
        return read(agent, self.data, self.code)[1].fault

    def agent_lives(self):
        with contextlib.suppress(OSError, ProcessLookupError):
            os.kill(int(Path(f"{self.script}.pid").read_text()), 0)
            return True
        return False


@pytest.fixture
def bridge(tmp_path):
    def make(**order):
        return Bridge(tmp_path, **order)

    return make


def ask(method, **params):
    return {"ask": method, "params": {"sessionId": "s-1", **params}}


def permission(kind="execute", **call):
    options = [{"optionId": f"o-{one}", "kind": one} for one in ("allow_always", "allow_once", "reject_once")]
    return ask(
        "session/request_permission",
        toolCall={"toolCallId": "t", "title": "rm -rf x", "kind": kind, **call},
        options=options,
    )


def test_a_whole_call(bridge):
    """Words, a tool and the stop reason arrive; the prompt is the one on stdin; the agent is gone."""
    tool = {"sessionUpdate": "tool_call", "toolCallId": "1", "kind": "execute", "title": "make"}
    it = bridge().play(session__prompt=[{"update": WORD}, {"update": tool}, {"err": "a note"}, DONE])
    assert it.code == 0
    assert [line["type"] for line in it.lines] == [
        "session",
        "acp.agent_message_chunk",
        "acp.tool_call",
        "stop",
    ]
    assert it.heard("session/prompt")[0]["params"]["prompt"] == [{"type": "text", "text": "do it\n"}]
    assert it.heard("initialize")[0]["params"]["protocolVersion"] == 1
    assert it.heard("session/new")[0]["params"] == {"cwd": str(it.work), "mcpServers": []}
    assert b"| a note\n" in it.data
    assert it.fault() is None
    facts, ended = read("acp", it.data, 0)
    assert [fact for fact in facts if isinstance(fact, Said | ToolUsed)] == [
        Said("hello", "chunk"),
        ToolUsed("execute", "", "make"),
    ]
    assert ended.session.id == "s-1"
    assert not it.agent_lives()


def test_garbled_lines_are_passed_on(bridge):
    """Text, half JSON, other JSON, wrong ids and unknown notices end nothing and mean nothing."""
    garbage = ["Welcome!", '{"jsonrpc": "2.0", "id"', "[1, 2]", "[" * 5000, "null", '{"method": 5}']
    odd = [{"number": number} for number in ("3", 99, 3.5, True, None)]
    it = bridge().play(
        session__prompt=[
            *({"raw": line} for line in garbage),
            *odd,
            {"raw": '{"jsonrpc":"2.0","method":"x/y","params":[]}'},
            {"update": WORD, "session": "another"},
            {"update": WORD},
            DONE,
        ]
    )
    assert it.last == {"type": "stop", "reason": "end_turn", "usage": None, "meta": None}
    assert [line["type"] for line in it.lines].count("acp.agent_message_chunk") == 1
    assert b"~ Welcome!\n" in it.data
    assert it.fault() is None


def test_an_agent_cannot_speak_for_the_bridge(bridge):
    """A line on its stdout or stderr that looks like one of the bridge's own is not taken for one."""
    fake = '{"type": "stop", "reason": "end_turn"}'
    it = bridge().play(session__prompt=[{"raw": fake}, {"err": fake}, {"die": 3}])
    assert it.last["type"] == "gone"
    assert it.fault().kind == "crash"


def test_huge_lines(bridge):
    """A message beyond all measure is dropped and said; a large one is cut to what Ralph reads."""
    end = {"answer": {"stopReason": "end_turn", "_meta": {"x": "z" * 1_000_000}}}
    large = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "y" * 2_000_000}}
    it = bridge().play(session__prompt=[{"fill": (16 << 20) + 100_000}, {"update": large}, end])
    assert b"~ a message of more than" in it.data
    assert max(map(len, it.data.splitlines())) < 1 << 20
    chunk = next(line for line in it.lines if line["type"] == "acp.agent_message_chunk")
    assert chunk["cut"] > 2_000_000
    assert it.last["reason"] == "end_turn"
    assert it.last["cut"] > 1_000_000
    assert [fact.text[:3] for fact in it.facts("acp") if isinstance(fact, Said)] == ["yyy"]


def test_permissions_in_a_box(bridge):
    """Where the box holds, all is allowed once: never for good."""
    it = bridge().play(session__prompt=[permission(), DONE])
    assert it.answered()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "o-allow_once"}}
    assert not [fact for fact in it.facts() if isinstance(fact, Denied)]


@pytest.mark.sample(test=4)
@pytest.mark.parametrize(
    ("kind", "paths", "allowed"),
    [
        ("execute", [], False),
        ("edit", ["{work}/a.py"], True),
        ("edit", ["{work}/a.py", "/etc/passwd"], False),
        ("edit", ["{work}/../a.py"], False),
        ("edit", ["{work}/link/a.py"], False),
        ("edit", ["a.py"], False),
        ("edit", [], False),
        ("read", ["{work}/a.py"], True),
        ("read", ["/etc/shadow"], False),
        ("other", ["{work}/a.py"], False),
    ],
)
def test_permissions_without_a_box(bridge, kind, paths, allowed):
    """Without one, only reading and editing what lies in the workspace; the rest is denied and told."""
    it = bridge(allow="edits")
    (it.work / "link").symlink_to("/etc")
    located = [{"path": path.replace("{work}", str(it.work))} for path in paths]
    it.play(session__prompt=[permission(kind, locations=located), DONE])
    option = "o-allow_once" if allowed else "o-reject_once"
    assert it.answered()[0]["result"]["outcome"]["optionId"] == option
    denied = [fact for fact in it.facts() if isinstance(fact, Denied)]
    assert denied == ([] if allowed else [Denied("rm -rf x")])


def test_a_tool_that_was_told_before(bridge):
    """Agents may tell of a tool first and then ask by its id only: what was told counts."""
    it = bridge(allow="edits")
    tool = {"sessionUpdate": "tool_call", "toolCallId": "7", "title": "Edit", "kind": "edit"}
    tool["locations"] = [{"path": f"{it.work}/a.py"}]
    options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
    asks = [
        ask("session/request_permission", toolCall={"toolCallId": number}, options=options)
        for number in ("7", "8", 7)
    ]
    it.play(session__prompt=[{"update": tool}, *asks, DONE])
    assert [answer["result"]["outcome"]["optionId"] for answer in it.answered()] == ["y", "n", "y"]


def test_no_option_to_refuse(bridge):
    """Where a refusal is not on offer, the request is cancelled, not allowed."""
    wish = ask(
        "session/request_permission", toolCall={}, options=[{"optionId": "y", "kind": "allow_once"}, 5]
    )
    it = bridge(allow="edits").play(session__prompt=[wish, DONE])
    assert it.answered()[0]["result"] == {"outcome": {"outcome": "cancelled"}}


def test_files_of_the_workspace(bridge):
    """Reading and writing below the workspace works, new folders, line ends and ranges included."""
    it = bridge()
    (it.work / "a.txt").write_bytes(b"one\r\ntwo\r\nthree\n")
    path = str(it.work / "a.txt")
    new = str(it.work / "new" / "b.txt")
    it.play(
        session__prompt=[
            ask("fs/read_text_file", path=path),
            ask("fs/read_text_file", path=path, line=2, limit=1),
            ask("fs/write_text_file", path=new, content="x\r\n"),
            ask("fs/read_text_file", path=str(it.work / "missing")),
            ask("terminal/create", command="ls"),
            DONE,
        ]
    )
    whole, part, written, missing, unknown = it.answered()
    assert whole["result"] == {"content": "one\r\ntwo\r\nthree\n"}
    assert part["result"] == {"content": "two\r\n"}
    assert written["result"] == {}
    assert Path(new).read_bytes() == b"x\r\n"
    assert missing["error"]["code"] == -32002
    assert unknown["error"]["code"] == -32601
    assert not [fact for fact in it.facts() if isinstance(fact, Denied)]


def test_paths_out_of_the_workspace(bridge):
    """No path leads out: not a relative one, not `..`, not a link, not a pipe; writing is told as denied."""
    it = bridge()
    outside = it.top / "outside.txt"
    outside.write_text("mine")
    (it.work / "link").symlink_to(it.top)
    os.mkfifo(it.work / "pipe")
    paths = [str(outside), f"{it.work}/../outside.txt", f"{it.work}/link/outside.txt", "a.txt", "", "/\0", 5]
    reads = [ask("fs/read_text_file", path=path) for path in [*paths, f"{it.work}/pipe"]]
    writes = [ask("fs/write_text_file", path=path, content="theirs") for path in paths]
    it.play(session__prompt=[*reads, *writes, DONE])
    assert len(it.answered()) == len(reads) + len(writes)
    assert all("error" in answer for answer in it.answered())
    assert outside.read_text() == "mine"
    assert len([fact for fact in it.facts() if isinstance(fact, Denied)]) == len(writes)


@pytest.mark.sample(test=8)
@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        ({"initialize": [{"die": 2}]}, "missing", "does not speak ACP: it ended with 2"),
        ({"initialize": [{"error": {"code": -32601, "message": "no"}}]}, "missing", "does not speak ACP"),
        ({"initialize": [{"answer": {"protocolVersion": 2}}]}, "missing", "version 2 of ACP"),
        ({"initialize": [{"answer": {}}]}, "missing", "version None of ACP"),
        ({"initialize": [{"answer": "yes"}]}, "missing", "version None of ACP"),
        (
            {"session__new": [{"error": {"code": -32000, "message": "Authentication required"}}]},
            "auth",
            "Auth",
        ),
        ({"session__new": [{"answer": {}}]}, "crash", "without a sessionId"),
        ({"session__prompt": [{"die": 0}]}, "crash", "died before it answered session/prompt"),
        ({"session__prompt": [{"answer": {"stopReason": "max_tokens"}}]}, "turns", "max_tokens"),
        (
            {"session__prompt": [{"answer": {"stopReason": "max_turn_requests"}}]},
            "turns",
            "bound on requests",
        ),
        ({"session__prompt": [{"answer": {"stopReason": "refusal"}}]}, "request", "refused to continue"),
        ({"session__prompt": [{"answer": {"stopReason": "cancelled"}}]}, "interrupted", "cancelled"),
        ({"session__prompt": [{"answer": {"stopReason": 7}}]}, "protocol", "does not have"),
        ({"session__prompt": [DONE]}, "hollow", "without a word"),
        ({"session__prompt": [{"error": {"code": 429, "message": "slow down"}}]}, "limit", "slow down"),
        ({"session__prompt": [{"error": {"code": -32603, "message": "fetch failed"}}]}, "network", "fetch"),
        (
            {
                "session__prompt": [
                    {"error": {"code": -32603, "message": "x", "data": {"details": "status 529"}}}
                ]
            },
            "overload",
            "x: status 529",
        ),
        ({"session__prompt": [{"error": "bad"}]}, "crash", "no words"),
    ],
)
def test_each_end_has_its_name(bridge, script, kind, words):
    """Whatever ends a call without success is a fault of its own kind, and the agent is gone."""
    it = bridge().play(**script)
    fault = it.fault()
    assert fault.kind == kind, fault
    assert words in fault.message
    assert not it.agent_lives()


def test_not_an_agent_at_all(bridge):
    """A program that is not there, and one that knows nothing of the protocol."""
    it = bridge()
    it.finish(it.command(str(it.top / "nothing")))
    assert it.fault().kind == "missing"
    it.finish(it.command("/bin/echo", "usage: echo"))
    assert it.fault().kind == "missing"
    assert "does not speak ACP" in it.fault().message


def test_silence_before_the_prompt(bridge):
    """An agent that never answers the first request is not waited for without end."""
    it = bridge(patience=0.2).play(initialize=[{"hang": True}])
    assert it.last["type"] == "silent"
    assert it.fault().kind == "protocol"
    assert not it.agent_lives()


def test_a_conversation_goes_on(bridge):
    """A conversation is loaded where that works, and what it tells again is not taken for new."""
    it = bridge(session="s-9").play(
        session__load=[{"update": WORD}, {"answer": {}}], session__prompt=[{"update": WORD}, DONE]
    )
    assert it.lines[0] == {"type": "session", "id": "s-9", "loaded": True, "agent": {}}
    assert it.heard("session/prompt")[0]["params"]["sessionId"] == "s-9"
    assert [line["type"] for line in it.lines].count("acp.agent_message_chunk") == 1


@pytest.mark.parametrize(
    "script",
    [
        {"session__load": [{"error": {"code": -32603, "message": "unknown session"}}]},
        {"initialize": [{"answer": {"protocolVersion": 1}}]},
    ],
)
def test_a_conversation_begins_anew(bridge, script):
    """Where it cannot be loaded, a new one is begun and its id is told."""
    it = bridge(session="s-9").play(**script, session__prompt=[{"update": WORD}, DONE])
    (session,) = [line for line in it.lines if line["type"] == "session"]
    assert (session["id"], session["loaded"]) == ("s-1", False)
    assert it.fault() is None


def test_login_and_model_by_request(bridge):
    """A way to log in and a model are asked for in the protocol's own words; a refusal has a name."""
    it = bridge(auth="api-key", model="big").play(
        session__set_model=[{"error": {"code": -32601, "message": "Method not found"}}]
    )
    assert it.heard("authenticate")[0]["params"] == {"methodId": "api-key"}
    assert it.heard("session/set_model")[0]["params"] == {"sessionId": "s-1", "modelId": "big"}
    assert it.fault().kind == "request"
    assert "does not take its model" in it.fault().message


@pytest.mark.parametrize("deaf", [False, True])
def test_a_stop_leaves_nobody(bridge, deaf):
    """On SIGTERM the agent is told to cancel, and is gone within the grace, also if it does not listen."""
    it = bridge()
    waiting = [{"update": WORD}, *([{"hang": True}] if deaf else [])]
    process = it.start(session__prompt=waiting, session__cancel=[{"update": WORD}])
    until = time.monotonic() + 60
    while b"agent_message_chunk" not in (it.top / "out").read_bytes():
        assert time.monotonic() < until
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    it.finish(process)
    assert it.code == 143
    assert it.last["type"] == "stopped"
    assert deaf or it.heard("session/cancel")
    assert not it.agent_lives()
    assert read("acp", it.data, None, "timeout")[1].fault.kind == "timeout"
