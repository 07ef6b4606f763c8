"""How each CLI is started: the prompt never as an argument, permissions bypassed only inside a box."""

import json

import pytest
from streamkit import CLIS, context, order

from ralph.agents import load
from ralph.core.model.agent import AgentSession
from ralph.core.model.gate import Criterion, Gate
from ralph.errors import SetupError

BYPASS = {
    "claude": "--dangerously-skip-permissions",
    "codex": "--dangerously-bypass-approvals-and-sandbox",
    "gemini": "yolo",
    "qwen": "yolo",
    "copilot": "--allow-all-tools",
    "opencode": "--auto",
}
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "aws-secret",
    "SSH_AUTH_SOCK": "/run/agent",
    "GIT_DIR": "/elsewhere",
    "LD_PRELOAD": "/evil.so",
    "RALPH_STATE_DIR": "/state",
}
GATES = (
    Gate("tests", "pytest -q", ("pytest", "-q"), proof=True),
    Gate("secret", "python3 /checks/it.py", ("python3",), origin="hidden"),
)


def launched(cli, boxed=True, session=None, settings=None, environ=None, keep=False, **fields):
    given = order(cli, agent_settings=settings or {}, criterion=Criterion("custom", GATES), keep_session=keep)
    base = {"PATH": "/usr/bin", "HOME": "/home/someone", **SECRETS, **(environ or {})}
    return load(cli).launch(given, context(boxed=boxed, session=session, environ=base, **fields))


@pytest.mark.parametrize("cli", CLIS)
def test_the_prompt_is_no_argument(cli):
    """The prompt comes on stdin or as a file: arguments are short, and visible to everybody."""
    launch = launched(cli)
    named = any("/call/prompt.md" in word for word in launch.argv)
    quoted = any("{prompt_json}" in text for text in launch.files.values())
    assert (launch.stdin == "prompt") + named + quoted == 1
    assert launch.tools == (launch.argv[0],)
    assert launch.pin


@pytest.mark.parametrize("cli", CLIS)
def test_only_its_own_variables_reach_it(cli):
    """An agent gets its provider's variables and the ordinary ones; nothing else of the user."""
    env = launched(cli).env
    assert not set(env) & set(SECRETS)
    assert env["RALPH_LOOP_ID"] == "ralph-x-12345678"
    assert "ANTHROPIC_API_KEY" not in launched("codex", environ={"ANTHROPIC_API_KEY": "k"}).env
    assert "OPENAI_API_KEY" not in launched("claude", environ={"OPENAI_API_KEY": "k"}).env


@pytest.mark.parametrize("cli", sorted(BYPASS))
def test_permissions_are_bypassed_only_in_a_box(cli):
    """Where no sandbox holds, the CLI's own list bounds it: edits and visible checks, never a hidden one."""
    assert BYPASS[cli] in launched(cli, boxed=True).argv
    unheld = launched(cli, boxed=False)
    assert BYPASS[cli] not in unheld.argv
    words = " ".join((*unheld.argv, *unheld.files.values(), *unheld.env.values()))
    assert "/checks/it.py" not in words
    if cli != "codex":  # it has a sandbox of its own instead
        assert "pytest -q" in words


def test_a_users_own_word_on_retries_stands():
    """What turns the CLI's retries down gives way to what the user has set."""
    assert launched("claude").env["CLAUDE_CODE_MAX_RETRIES"] == "2"
    mine = launched("claude", environ={"CLAUDE_CODE_MAX_RETRIES": "7"})
    assert mine.env["CLAUDE_CODE_MAX_RETRIES"] == "7"


@pytest.mark.parametrize("cli", ["claude", "codex", "gemini", "goose", "opencode", "copilot", "qwen"])
def test_a_conversation_goes_on(cli):
    """With a conversation from the call before, its id is among the arguments; without one it is not."""
    session = AgentSession("conversation-7", cli)
    assert "conversation-7" in launched(cli, session=session).argv
    assert "conversation-7" not in launched(cli).argv


def test_models_are_named_only_when_asked_for():
    """The model comes from the CLI's own settings unless the user names one."""
    for cli in CLIS:
        plain = load(cli).launch(order(cli), context())
        asked = load(cli).launch(order(cli, model="some-model"), context())
        assert "some-model" in asked.argv
        assert not {"--model", "-m"} & set(plain.argv)


def test_own_folders():
    """A CLI names its folders, where its variable has them, and with which allow-list."""
    (own,) = launched("claude").own
    assert (own.theirs, own.moved) == ("/home/someone/.claude", False)
    assert own.folder.variable == "CLAUDE_CONFIG_DIR"
    (own,) = launched("codex", environ={"CODEX_HOME": "/data/codex"}).own
    assert (own.theirs, own.moved) == ("/data/codex", True)
    (own,) = launched("gemini", environ={"GEMINI_CLI_HOME": "/data"}).own
    assert (own.theirs, own.moved) == ("/data/.gemini", True)


@pytest.mark.parametrize("cli", CLIS)
def test_no_conversation_and_no_wildcard_is_copied_in(cli):
    """The allow-lists name files, never whole folders of conversations; a login file has its tokens named."""
    for own in launched(cli).own:
        told = ("project", "session", "history", "sqlite", "tmp", "todo", "log", "state", "cache")
        for name in (*own.folder.files, *own.folder.shown):
            assert not any(word in name for word in told), name
            assert "/" not in name
            assert name.lstrip("*") == name or name.count(".") == 2
        for login in own.folder.logins:
            assert login.file not in own.folder.files
            assert login.tokens


def test_settings_go_into_a_file_of_the_call():
    """Settings that only a file can hold are written for this call, never into the user's home."""
    launch = launched("qwen")
    (path,) = launch.files
    assert path.startswith("/call/given/")
    assert path in launch.env.values()
    json.loads(launch.files[path])
    for boxed in (True, False):
        launch = launched("gemini", boxed, environ={"GEMINI_API_KEY": "k"}, settings={"max_turns": "3"})
        assert json.loads(launch.own[0].given["settings.json"])["model"] == {"maxSessionTurns": 3}


def test_gemini_keeps_the_users_settings(tmp_path):
    """In a box Gemini CLI finds the user's settings, comments and all, with ours among them."""
    folder = tmp_path / ".gemini"
    folder.mkdir()
    (folder / "settings.json").write_text(
        '{"security": {"auth": {"selectedType": "oauth-personal"}}, // mine: "//"\n'
        ' /* two */ "general": {"vimMode": true, "maxAttempts": 9}, "url": "http://x"}'
    )
    launch = launched("gemini", environ={"HOME": str(tmp_path), "GEMINI_API_KEY": "k"})
    told = json.loads(launch.own[0].given["settings.json"])
    assert told["security"] == {"auth": {"selectedType": "oauth-personal"}}
    assert told["general"]["vimMode"] is True
    assert told["general"]["maxAttempts"] == 2
    assert told["url"] == "http://x"


def test_a_budget_is_handed_on():
    """What the loop may still spend bounds the one call too, where the CLI can hold a bound."""
    assert "1.50" in launched("claude", cost_left=1.5).argv
    assert "0.01" in launched("claude", cost_left=0.0).argv  # 0 would mean without a bound
    assert "--max-budget-usd" not in launched("claude").argv


def test_codex_declares_a_provider_for_an_address():
    """With an address in the environment Codex gets a provider whose retries are turned down."""
    launch = launched("codex", environ={"OPENAI_BASE_URL": 'http://x/"v1"', "OPENAI_API_KEY": "k"})
    table = next(word for word in launch.argv if word.startswith("model_providers.ralph="))
    assert '"http://x/\\"v1\\""' in table
    assert "request_max_retries=0" in table
    assert "k" not in launch.argv


def test_users_words_are_added():
    """Arguments, tools and variables of the user's own settings reach the CLI."""
    settings = {"args": "--verbose\n--flag", "allow": "WebFetch", "env": "MY_*", "write": "/data"}
    launch = launched("claude", boxed=False, settings=settings, environ={"MY_VAR": "1"})
    assert launch.argv[-2:] == ("--verbose", "--flag")
    assert "WebFetch" in launch.argv
    assert launch.env["MY_VAR"] == "1"
    assert launch.writes == ("/data",)


@pytest.mark.parametrize("cli", CLIS)
def test_probe_tells_what_is_missing(cli, tmp_path):
    """A CLI that is missing says how to install it; one that is there, which words print its version."""
    nowhere = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    missing = load(cli).probe(nowhere)
    assert not missing.installed
    assert missing.hint
    program = tmp_path / launched(cli).argv[0]
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = load(cli).probe(nowhere)
    assert found.installed
    assert found.version_argv[0] == str(program)
    assert found.login in ("no", "unknown")


def test_probe_sees_a_login(tmp_path):
    """A key in the environment or the CLI's own file of credentials is a login."""
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert load("claude").probe({**env, "ANTHROPIC_API_KEY": "k"}).login == "yes"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text("{}")
    found = load("claude").probe(env)
    assert found.login == "yes"
    assert any(str(tmp_path / ".claude") in place for place in found.places)


@pytest.mark.parametrize(
    ("cli", "words"),
    [
        ("claude", ("--effort", "high")),
        ("codex", ("-c", 'model_reasoning_effort="high"')),
        ("copilot", ("--reasoning-effort", "high")),
        ("opencode", ("--variant", "high")),
        ("pi", ("--thinking", "high")),
        ("droid", ("-r", "high")),
    ],
)
def test_effort_is_asked_for_in_the_words_of_each_cli(cli, words):
    """Before what the user adds to the command line himself; nothing where nothing was asked for."""
    argv = " ".join(launched(cli, settings={"effort": "high", "args": "--own"}).argv)
    assert f"{' '.join(words)} --own" in argv
    assert " ".join(words) not in " ".join(launched(cli).argv)


def test_codex_over_acp_has_login_permissions_provider_and_model_as_variables():
    """Its server takes no words: what the CLI's own words say must not be lost."""
    given = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    boxed, free = (launched("acp-codex", boxed=boxed, environ=given).env for boxed in (True, False))
    assert (boxed["INITIAL_AGENT_MODE"], free["INITIAL_AGENT_MODE"]) == ("agent-full-access", "agent")
    assert json.loads(boxed["DEFAULT_AUTH_REQUEST"]) == {"methodId": "api-key"}
    config = json.loads(boxed["CODEX_CONFIG"])
    assert config["model_providers"]["ralph"]["base_url"] == given["OPENAI_BASE_URL"]
    assert config["model_provider"] == boxed["MODEL_PROVIDER"] == "ralph"
    assert "DEFAULT_AUTH_REQUEST" not in launched("acp-codex").env


def test_without_a_box_claude_starts_no_program_of_the_project():
    """Its hooks and servers would have the user's rights; in a box they are held by it."""
    words = launched("claude", boxed=False).argv
    assert "--strict-mcp-config" in words
    assert '{"disableAllHooks":true}' in words
    assert "--strict-mcp-config" not in launched("claude").argv


@pytest.mark.parametrize("cli", ["gemini", "qwen"])
def test_without_a_box_no_server_of_the_project_is_started(cli):
    """An allow-list that names none of them; in a box all of them may run."""
    servers = "--allowed-mcp-server-names none"
    assert servers in " ".join(launched(cli, boxed=False).argv)
    assert servers not in " ".join(launched(cli).argv)


def test_without_a_box_qwen_runs_no_hooks():
    """By settings that stand over the project's."""
    boxed, free = (json.loads(*launched("qwen", boxed=one).files.values()) for one in (True, False))
    assert ("disableAllHooks" in boxed, free["disableAllHooks"]) == (False, True)


@pytest.mark.parametrize("text", ['{"hooks": {}}', '// x\n{"hooksConfig": {"enabled": true}}', "{torn"])
def test_without_a_box_hooks_of_the_project_are_refused_for_gemini(tmp_path, text):
    """A project can turn them on over the user's settings, so there is no other way to keep them off."""
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text('{"ui": {"theme": "x"}}')
    assert launched("gemini", boxed=False, workspace=str(tmp_path)).argv
    (tmp_path / ".gemini" / "settings.json").write_text(text)
    with pytest.raises(SetupError, match="has hooks of gemini"):
        launched("gemini", boxed=False, workspace=str(tmp_path))
    assert launched("gemini", workspace=str(tmp_path)).argv
