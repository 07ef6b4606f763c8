"""Agents over the Agent Client Protocol: how they are started, and what is made of what they tell."""

import json
import os
import sys

import pytest
from streamkit import context, order, read

from ralph.agents import OVER_ACP, Said, ToolUsed, load
from ralph.agents.acp import adapter
from ralph.core.model.agent import AgentSession
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.start.agents import choose_agents

NAMED = [name for name in OVER_ACP if name != "acp"]
GOOSE = {"type": "session", "id": "s", "loaded": False, "agent": {"name": "goose"}}
OTHER = {"type": "session", "id": "s", "loaded": False, "agent": {"name": "other"}}


def lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def update(name, **fields):
    return {"type": f"acp.{name}", "update": {"sessionUpdate": name, **fields}}


def said(words, message=""):
    return update("agent_message_chunk", content={"type": "text", "text": words}, messageId=message)


def stop(reason="end_turn", **fields):
    return {"type": "stop", "reason": reason, "usage": None, "meta": None, **fields}


@pytest.mark.parametrize("name", NAMED)
def test_each_is_started_behind_the_bridge(name):
    """The bridge comes first, by its own copy; the agent's program is the one that is resolved and pinned."""
    launch = load(name).launch(order(name), context(boxed=True))
    assert launch.argv[:3] == (os.path.realpath(sys.executable), "-I", "-S")
    script, given = launch.argv[3:5]
    assert os.path.dirname(script) == "/call/given"
    compile(launch.files[script], script, "exec")
    assert launch.argv[launch.program] in launch.tools
    assert launch.argv[launch.program] == adapter._cli(OVER_ACP[name]).program
    assert launch.pin
    assert launch.stdin == "prompt"
    assert json.loads(launch.files[given])["workspace"] == "/repo"
    assert not set(launch.env) & {"SSH_AUTH_SOCK"}


@pytest.mark.parametrize(("boxed", "allow", "mode"), [(True, "all", "auto"), (False, "edits", "approve")])
def test_all_is_allowed_only_in_a_box(boxed, allow, mode):
    """Without a box the bridge allows edits of the workspace only, and goose is told to ask."""
    launch = load("acp-goose").launch(order("acp-goose"), context(boxed=boxed))
    assert json.loads(launch.files["/call/given/acp.json"])["allow"] == allow
    assert launch.env["GOOSE_MODE"] == mode


@pytest.mark.parametrize(
    ("name", "words", "variable", "asked"),
    [
        ("acp-gemini", ("-m", "big"), None, ""),
        ("acp-goose", (), "GOOSE_MODEL", ""),
        ("acp-opencode", (), None, "big"),
    ],
)
def test_the_model_is_named_in_the_agents_way(name, words, variable, asked):
    """By a flag, by a variable, or else by the protocol's own request."""
    launch = load(name).launch(order(name, model="big"), context(boxed=True))
    assert launch.argv[len(launch.argv) - len(words) :] == words
    assert variable is None or launch.env[variable] == "big"
    assert json.loads(launch.files["/call/given/acp.json"])["model"] == asked


def test_a_command_of_the_users():
    """Any program that speaks the protocol, by its command; it keeps the conversation it is told."""
    given = order("acp", agent_argv=("/opt/mine", "--acp"), agent_settings={"auth": "key"})
    launch = load("acp").launch(given, context(session=AgentSession("s-7")))
    assert launch.argv[launch.program :] == ("/opt/mine", "--acp")
    assert "/opt/mine" in launch.tools
    told = json.loads(launch.files["/call/given/acp.json"])
    assert (told["session"], told["auth"]) == ("s-7", "key")
    with pytest.raises(UserError, match="needs a command"):
        load("acp").launch(order("acp"), context())


def test_the_probe_says_that_it_is_weaker():
    """Nobody takes such an outcome for as good as that of the agent's own adapter."""
    for name in OVER_ACP:
        assert load(name).probe({"PATH": "/nowhere"}).features[:2] == ("acp", "weaker")


def test_words_are_of_one_message():
    """Pieces belong together until another message or a tool; the claim is looked for in the last one."""
    tool = update("tool_call", toolCallId="1", kind="execute", title="ls")
    data = lines(OTHER, said("one ", "a"), said("two", "a"), tool, said("three", "a"), stop())
    facts, ended = read("acp", data)
    assert [fact.text for fact in facts if isinstance(fact, Said)] == ["one ", "two", "three"]
    assert ended.said == "three"
    assert ended.fault is None


def test_a_tool_is_one_fact():
    """Agents tell of a tool in several updates: it counts once, with its file and the size of its change."""
    diff = [{"type": "diff", "path": "/w/a.py", "oldText": "a\nb\n", "newText": "a\nc\nd\n"}]
    data = lines(
        OTHER,
        update("tool_call", toolCallId="1", kind="edit", title="Edit a.py", locations=[{"path": "/w/a.py"}]),
        update(
            "tool_call_update", toolCallId="1", content=diff, locations=[{"path": "/w/a.py"}], kind="edit"
        ),
        update("tool_call_update", toolCallId="1", status="completed"),
        update("tool_call", toolCallId="2", title="shell · make", rawInput={"command": "make"}),
        update("tool_call_update", toolCallId="3", status="failed", title="web search", kind="fetch"),
        stop(),
    )
    facts, ended = read("acp", data)
    assert [fact for fact in facts if isinstance(fact, ToolUsed)] == [
        ToolUsed("edit", "/w/a.py", "", 2, 1),
        ToolUsed("shell", "", "make"),
        ToolUsed("fetch", "", "web search"),
    ]
    assert ended.fault is None


@pytest.mark.parametrize(
    ("session", "end", "tokens"),
    [
        (OTHER, {"usage": {"totalTokens": 50, "inputTokens": 40, "outputTokens": 10}}, 50),
        (OTHER, {"meta": {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 3}}}}, 10),
        (OTHER, {}, None),
        (OTHER, {"usage": {"totalTokens": 0}}, 0),
        (OTHER, {"usage": {"totalTokens": -5}}, None),
        ({**OTHER, "loaded": True}, {"usage": {"totalTokens": 50}}, None),
        (GOOSE, {"usage": {"totalTokens": 50}}, None),
    ],
)
def test_unknown_is_not_zero(session, end, tokens):
    """Figures of the last request only, or of older turns too, are no figures of this call."""
    facts = read("acp", lines(session, said("x"), stop(**end)))[1]
    assert facts.usage.tokens == tokens
    assert facts.usage.cost is None
    assert (facts.fault.kind if facts.fault else "") == ("hollow" if tokens == 0 else "")


def test_a_cost_is_a_difference():
    """What a conversation has cost in all is told; what this call added is counted, in dollars only."""
    rows = [
        update("usage_update", used=1, size=2, cost={"amount": n, "currency": "USD"}) for n in (0.5, 0.75)
    ]
    rows.append(update("usage_update", cost={"amount": 9, "currency": "EUR"}))
    base = AgentSession("s", cost=0.25)
    facts = read("acp", lines(OTHER, *rows, said("x"), stop()), session=base)[1]
    assert facts.usage.cost == pytest.approx(0.5)
    assert facts.session.cost == 0.75


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Network error: Stream decode error\n\nPlease resend.", "network"),
        ("Ran into this error: Server error: Server error (529 <unknown>) at x: y.\n\nPlease", "overload"),
        ("Ran into this error: Rate limit exceeded: slow.\n\nPlease retry", "limit"),
        ("All is well.", "hollow"),
    ],
)
def test_goose_reports_failures_as_words(words, kind):
    """A good end without the usage that goose always tells is none; only then its words are read."""
    assert read("acp-goose", lines(GOOSE, said(words), stop()))[1].fault.kind == kind
    told = stop(usage={"totalTokens": 5})
    assert read("acp-goose", lines(GOOSE, said(words), told))[1].fault is None
    assert read("acp", lines(OTHER, said(words), stop()))[1].fault is None


def test_a_refused_login_names_the_command():
    """Over the protocol too, the person is told how to log in."""
    error = {"type": "error", "stage": "session/prompt", "code": -32000, "message": "Authentication required"}
    fault = read("acp-goose", lines(GOOSE, error), 1)[1].fault
    assert fault.message == "Authentication required; log in with: goose configure"


def test_an_end_without_a_stop_is_no_success():
    """Exit 0 alone means nothing: the bridge's last word is missing."""
    assert read("acp", lines(OTHER, said("done")))[1].fault.kind == "protocol"


def settings(tmp_path, text="", agent=""):
    (tmp_path / "config.toml").write_text(text)
    flags = {"--agent": agent} if agent else {}
    return config.load(cwd=str(tmp_path), top=None, env={}, flags=flags, user_dir=str(tmp_path))


class Here:
    """As much of a project as the choice of an agent looks at."""

    prefix = ""

    def __init__(self, top):
        self.top = str(top)


@pytest.fixture
def chosen(tmp_path):
    """What is chosen where goose and `mine` are installed."""
    for name in ("goose", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path), "OPENAI_API_KEY": "k"}
    return lambda text="", agent="": choose_agents(settings(tmp_path, text, agent), Here(tmp_path), env)


def test_a_cli_over_acp_has_its_own_table(chosen):
    """The table of the CLI counts over ACP too, unless there is one for that way alone."""
    text = '[agents.goose]\nenv = {OPENAI_HOST = "http://h"}\nwrite = ["/data"]\n'
    (found,) = chosen(text, "acp-goose")
    assert (found.agent.name, found.agent.env, found.agent.settings) == (
        "acp-goose",
        {"OPENAI_HOST": "http://h"},
        {"write": "/data"},
    )
    assert not found.allow_list
    assert not found.reports_cost
    assert any("agent acp-goose: outcomes over ACP are weaker" in note for note in found.notes)
    (found,) = chosen(text + '[agents.acp-goose]\nwrite = ["/other"]\n', "acp-goose")
    assert (found.agent.env, found.agent.settings) == ({}, {"write": "/other"})


def test_a_command_that_speaks_acp(chosen, tmp_path):
    """One line of configuration brings in any agent; a protocol that nobody knows is refused."""
    text = '[agents.my]\ncommand = "mine --acp"\nsettings = {protocol = "acp"}\n'
    (found,) = chosen(text, "my")
    assert (found.agent.name, found.agent.argv) == ("acp", (str(tmp_path / "mine"), "--acp"))
    assert "agent my: outcomes over ACP are weaker" in found.notes[0]
    with pytest.raises(UserError) as unknown:
        chosen(text.replace('"acp"', '"smoke"'), "my")
    assert unknown.value.code == "E-AGENT-PROTOCOL"
    with pytest.raises(UserError) as bare:
        chosen("", "acp")
    assert bare.value.code == "E-AGENT-CMD"


def test_a_weaker_one_that_stands_in_is_told_too(chosen):
    """At the start of a loop it is said of every agent that it may come to."""
    first, second = chosen("", "goose,acp-goose")
    assert (first.agent.name, second.agent.name) == ("goose", "acp-goose")
    assert any("agent acp-goose: outcomes over ACP are weaker" in note for note in first.notes)


def test_nobody_gets_acp_unasked(chosen):
    """Without a name the agent's own adapter is taken."""
    assert chosen()[0].agent.name == "goose"


@pytest.mark.parametrize(
    ("name", "environ", "provider"),
    [
        ("claude", {}, "https://api.anthropic.com"),
        ("claude", {"ANTHROPIC_BASE_URL": "http://h:1"}, "http://h:1"),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}, ""),
        ("codex", {}, ""),
        ("codex", {"OPENAI_BASE_URL": "http://h:1/v1"}, "http://h:1/v1"),
        ("goose", {"OPENAI_HOST": "http://h:1"}, "http://h:1"),
        ("acp-goose", {"OPENAI_HOST": "http://h:1"}, "http://h:1"),
        ("gemini", {}, "https://generativelanguage.googleapis.com"),
    ],
)
def test_where_the_provider_is(tmp_path, name, environ, provider):
    """The address to look at while the network is down: by default, by variable, or unknown."""
    program = tmp_path / name.removeprefix("acp-")
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert load(name).probe({"PATH": str(tmp_path), "HOME": "/none", **environ}).provider == provider


def test_tokens_are_read_in_either_spelling():
    """Codex tells them twice, Gemini CLI in its own words only."""
    codex = {"inputTokens": 500, "outputTokens": 50, "totalTokens": 550, "cachedReadTokens": 0}
    quota = {"quota": {"token_count": {"inputTokens": 500, "outputTokens": 50}}}
    own = {"quota": {"token_count": {"input_tokens": 7, "output_tokens": 3}}}
    for fields, tokens in (({"usage": codex, "meta": quota}, 550), ({"meta": own}, 10)):
        assert read("acp-codex", lines(OTHER, said("x"), stop(**fields)))[1].usage.tokens == tokens
