"""`ralph agents`: every way to an agent is listed with what it is worth, and a test needs a login."""

import json
import subprocess

import pytest


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH of our own, on which programs are put; an empty home and no key."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)

    def put(name, says):
        (folder / name).write_text(f"#!/bin/sh\necho {says}; echo called >> {tmp_path}/calls\n")
        (folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/local/bin:/usr/bin:/bin")

    return put


def test_acp_is_listed_as_weaker(ralph, programs, tmp_path):
    """The same program is there by its own adapter and over ACP, asked once for its version."""
    programs("goose", "1.52.0")
    config = tmp_path / "config" / "ralph"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        '[agents.mine]\ncommand = "mine --acp"\nsettings = {protocol = "acp"}\n'
    )
    code, out, _ = ralph("agents", "list", "--json")
    assert code == 0
    rows = {row["name"]: row for row in json.loads(out)["agents"]}
    assert rows["goose"]["version"] == rows["acp-goose"]["version"] == "1.52.0"
    assert "weaker" not in rows["goose"]["features"]
    assert rows["acp-goose"]["features"] == ["acp", "weaker", "resume"]
    assert rows["mine"]["features"] == ["acp", "weaker"]
    assert (tmp_path / "calls").read_text() == "called\n"
    code, out, _ = ralph("agents", "list")
    assert "weaker: outcomes over ACP are weaker" in out


def test_a_test_without_a_login_ends_early(ralph, programs, tmp_path):
    """Nothing is made or started, and the command to log in is the next step."""
    programs("claude", "2.1.0")
    code, out, err = ralph("agents", "test", "claude")
    assert code == 3
    assert "next  claude auth login" in err
    assert 'agent "claude" is not logged in' in err
    assert not out
    assert not (tmp_path / "calls").exists()


@pytest.fixture
def claude_here(programs, tmp_path, monkeypatch):
    """A repository, and a Claude Code that is logged in."""
    programs("claude", "2.1.0")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    repo = tmp_path / "repo"
    repo.mkdir()
    monkeypatch.chdir(repo)
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True)
    return repo


def test_words_for_the_agents_own_command_line(ralph, claude_here, monkeypatch):
    """`--agent-args` reaches the order word by word; with a command of one's own it is a mistake."""
    monkeypatch.chdir(claude_here)
    asked = ("loop", "make the tests pass", "--check", "true", "--agent-args", "--effort 'very high'")
    code, out, err = ralph(*asked, "--agent", "claude", "--dry-run", "--json")
    assert code == 0, err
    assert json.loads(out)["order"]["agent_settings"]["args"] == "--effort\nvery high"
    code, _, err = ralph(*asked, "--agent-cmd", "true", "--dry-run")
    assert (code, "--agent-args is for a named agent" in err) == (2, True)


def test_each_role_of_a_team_has_its_own_effort(ralph, claude_here, monkeypatch):
    """[team.ROLE] effort reaches that role's calls alone; what is typed is the coder's."""
    monkeypatch.chdir(claude_here)
    roles = {"planner": "max", "coder": "low", "reviewer": "high", "judge": "medium"}
    tables = "".join(f'[team.{role}]\neffort = "{level}"\n' for role, level in roles.items())
    (claude_here / "ralph.toml").write_text(tables)
    asked = ("loop", "make the tests pass", "--check", "true", "--agent", "claude", "--dry-run", "--json")
    code, out, err = ralph(*asked, "--team")
    assert (code, "ralph approve" in out + err) == (3, True), "a project's own wish needs a yes"
    (claude_here / "ralph.toml").unlink()
    path = claude_here.parent / "config" / "ralph" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(tables)
    order = json.loads(ralph(*asked)[1])["order"]
    assert (order.get("team"), order.get("agent_settings")) == (None, None), "without a team they do nothing"
    order = json.loads(ralph(*asked, "--team")[1])["order"]
    given = {role: terms["agent"]["settings"]["effort"] for role, terms in order["team"]["roles"].items()}
    assert given == {"planner": "max", "coder": "low", "reviewer": "high", "judge": "medium", "tester": "low"}
    assert (order["agent_settings"]["effort"], order["judge"]["settings"]["effort"]) == ("low", "medium")
    order = json.loads(ralph(*asked, "--team", "--effort", "xhigh")[1])["order"]
    assert order["agent_settings"]["effort"] == "xhigh"
    path.write_text('[team.reviewer]\neffort = "minimal"\n')
    code, out, err = ralph(*asked, "--team")
    assert (code, 'agent \\"claude\\" has no effort' in out + err) == (2, True), out + err
