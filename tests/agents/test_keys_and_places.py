"""Keys come from the environment or a command, and stay out of files."""

import os

import pytest

from ralph.core.model.agent import Fault, KeySource, SealedAgent
from ralph.core.model.spend import Price
from ralph.errors import SetupError, UserError
from ralph.shell import config
from ralph.shell.agent_call.ask_version import probe_all
from ralph.shell.agent_call.launch import fetch_key
from ralph.shell.start.agents import AgentChoice, choose_agents, key_of, price_of, refuse_unboxed


def settings(tmp_path, text="", flags=None, env=None):
    folder = tmp_path / "config"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(text)
    return config.load(cwd=str(tmp_path), top=None, env=env or {}, flags=flags or {}, user_dir=str(folder))


def test_a_key_from_a_variable():
    """The key goes under the name that the agent expects; without one the call is a login fault."""
    source = KeySource("ANTHROPIC_AUTH_TOKEN", variable="ZAI_API_KEY")
    assert fetch_key(source, {"ZAI_API_KEY": " k1 \n"}) == {"ANTHROPIC_AUTH_TOKEN": "k1"}
    missing = fetch_key(source, {})
    assert isinstance(missing, Fault)
    assert missing.kind == "auth"
    assert "ZAI_API_KEY" in missing.message
    assert fetch_key(None, {}) == {}


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("echo secret-key", "secret-key"),
        ("printf '%s' \"$STORED\"", "from-env"),
        ("false", None),
        ("echo two words", None),
        ("true", None),
        ("/nonexistent/command", None),
    ],
)
def test_a_key_from_a_command(command, key):
    """A command's one word is the key; anything else is a login fault that does not quote it."""
    env = {"PATH": os.environ["PATH"], "STORED": "from-env", "HOME": "/"}
    found = fetch_key(KeySource("KEY", command=command), env)
    if key:
        assert found == {"KEY": key}
    else:
        assert isinstance(found, Fault)
        assert found.kind == "auth"
        assert "two words" not in found.message


def test_built_in_profiles(tmp_path):
    """claude has 15 iterations, glm5 and minimax 30; none of them holds a key."""
    for name, most in (("claude", 15), ("glm5", 30), ("minimax", 30)):
        found = settings(tmp_path, flags={"--profile": name})
        assert found.limits.iterations == most
        assert found.agent == "claude"
        assert not any(
            value for key, value in found.agent_env("claude").items() if key.endswith(("KEY", "TOKEN"))
        )
    assert key_of(found.profiles["glm5"]) == KeySource("ANTHROPIC_AUTH_TOKEN", "ZAI_API_KEY")
    assert "minimax" in found.agent_env("claude")["ANTHROPIC_BASE_URL"]
    assert settings(tmp_path, flags={"--profile": "glm5", "--max-iterations": "3"}).limits.iterations == 3


def test_a_users_profile(tmp_path):
    """A profile of one's own bundles agent, model, environment, key and price; it goes over a built-in."""
    text = """
        [profiles.mine]
        agent = "codex"
        model = "m-1"
        key_command = "pass show key"
        key_as = "OPENAI_API_KEY"
        price_input = 3
        price_output = "15 USD"
        env = {OPENAI_BASE_URL = "http://x"}
        [profiles.glm5]
        model = "glm-6"
    """
    found = settings(tmp_path, text, {"--profile": "mine"})
    assert (found.agent, found.model) == ("codex", "m-1")
    mine = found.profiles["mine"]
    assert key_of(mine) == KeySource("OPENAI_API_KEY", "", "pass show key")
    assert price_of(mine) == Price(3.0, 15.0, None)
    other = settings(tmp_path, text, {"--profile": "glm5"})
    assert (other.model, other.limits.iterations) == ("glm-6", 30)


def test_no_key_stands_in_a_file(tmp_path):
    """A key in a configuration file is refused, and the message says where keys go instead."""
    for table in ("profiles.x", "agents.claude"):
        with pytest.raises(UserError) as caught:
            settings(tmp_path, f'[{table}]\nenv = {{ANTHROPIC_API_KEY = "sk-1234"}}\n')
        assert "key_from" in caught.value.why
        assert "sk-1234" not in caught.value.why
    settings(tmp_path, '[profiles.x]\nenv = {ANTHROPIC_API_KEY = "", MAX_OUTPUT_TOKENS = "5"}\n')


def test_a_repositorys_profile_needs_approval(tmp_path):
    """A profile that a repository brings is shown with its key command, and left out until it is approved."""
    (tmp_path / "ralph.toml").write_text('[profiles.x]\nagent = "claude"\nkey_command = "cat ~/.key"\n')
    found = config.load(cwd=str(tmp_path), top=str(tmp_path), env={}, flags={}, user_dir=str(tmp_path / "c"))
    assert "x" not in found.profiles
    assert found.project.approval is not None
    assert "cat ~/.key" in found.project.approval.items[0].words


def fake_cli(folder, name, says="1.2.3"):
    path = folder / name
    path.write_text(f"#!/bin/sh\necho {name} {says}\n")
    path.chmod(0o755)
    return path


class Here:
    """As much of a project as the choice of an agent looks at."""

    prefix = ""

    def __init__(self, top):
        self.top = str(top)


def test_the_choice_of_an_agent(tmp_path):
    """A named agent must be installed; without a name the first that is installed and logged in is taken."""
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    with pytest.raises(SetupError) as none:
        choose_agents(settings(tmp_path), Here(tmp_path), env)
    assert (none.value.code, none.value.exit_code) == ("E-AGENT-NONE", 4)
    assert "npm install -g @anthropic-ai/claude-code (claude)" in none.value.why
    assert "--agent demo" in none.value.next
    with pytest.raises(SetupError) as missing:
        choose_agents(settings(tmp_path, flags={"--agent": "codex"}), Here(tmp_path), env)
    assert missing.value.code == "E-AGENT-MISSING"
    fake_cli(tmp_path, "codex")
    fake_cli(tmp_path, "claude")
    keyed = {**env, "CODEX_API_KEY": "k"}
    (found,) = choose_agents(settings(tmp_path), Here(tmp_path), keyed)
    assert (found.agent.name, found.reports_cost) == ("codex", False)
    assert "codex" in found.notes[0]
    text = '[agents.claude]\nwrite = ["/data"]\nsettings = {max_turns = 5}\n'
    (named,) = choose_agents(settings(tmp_path, text, {"--agent": "claude"}), Here(tmp_path), env)
    assert (named.agent.name, named.reports_cost, named.agent.settings) == (
        "claude",
        True,
        {"write": "/data", "max_turns": "5"},
    )


def test_an_agent_without_bounds_needs_a_sandbox():
    """What can be bounded by nothing is refused where no sandbox holds, unless the user asked for none."""
    wild = AgentChoice(agent=SealedAgent("goose"), allow_list=False)
    with pytest.raises(SetupError) as caught:
        refuse_unboxed(wild, "S0", "auto")
    assert caught.value.code == "E-AGENT-UNHELD"
    refuse_unboxed(wild, "S2", "auto")
    refuse_unboxed(wild, "S0", "none")
    refuse_unboxed(AgentChoice(agent=SealedAgent("claude")), "S0", "auto")


def test_versions_are_asked_of_the_programs(tmp_path):
    """The version is what the program says, in an empty home and without keys."""
    path = fake_cli(tmp_path, "claude")
    path.write_text('#!/bin/sh\necho "2.1.5 $ANTHROPIC_API_KEY $HOME" >&2\n')
    env = {"PATH": f"{tmp_path}:/bin:/usr/bin", "HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k"}
    found = probe_all(["claude", "codex"], env)
    assert found["claude"].version == "2.1.5"
    assert not found["codex"].installed
