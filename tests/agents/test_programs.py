"""MCP servers, hooks and plugins of a user's CLI: named, off in a loop, on when allowed."""

import json
import tomllib

import pytest

from ralph.agents import load
from ralph.agents._kit.folders import place
from ralph.agents._kit.programs import harmless_folders, keep_harmless
from ralph.agents.claude import CLI as CLAUDE
from ralph.agents.codex import CLI as CODEX
from ralph.agents.copilot import CLI as COPILOT
from ralph.agents.gemini import CLI as GEMINI
from ralph.agents.opencode import CLI as OPENCODE
from ralph.agents.qwen import CLI as QWEN

NONE = frozenset[str]()
SERVERS = {"mcpServers": {"github": {"command": "gh-mcp"}}}
HOOKS = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}


@pytest.mark.parametrize(
    ("cli", "number", "file", "content", "kinds"),
    [
        (CLAUDE, 0, "settings.json", {"model": "opus", **HOOKS}, ["hooks"]),
        (CLAUDE, 0, "settings.local.json", {"model": "opus", "enabledPlugins": {"x@y": True}}, ["plugins"]),
        (GEMINI, 0, "settings.json", {"theme": "x", **SERVERS, **HOOKS}, ["hooks", "mcp"]),
        (QWEN, 0, "settings.json", {"theme": "x", **SERVERS, **HOOKS}, ["hooks", "mcp"]),
        (COPILOT, 0, "config.json", {"theme": "x", **HOOKS}, ["hooks"]),
        (OPENCODE, 1, "opencode.json", {"model": "x", "mcp": {"a": {}}, "plugin": ["p"]}, ["mcp", "plugins"]),
    ],
)
def test_settings_stay_and_programs_go(cli, number, file, content, kinds):
    """The copy has everything but what starts a program, and that too when its kind is allowed."""
    folder, data = cli.folders[number], json.dumps(content).encode()
    left = json.loads(keep_harmless(folder, file, data, NONE))
    assert left == {key: value for key, value in content.items() if key in ("model", "theme")}
    assert json.loads(keep_harmless(folder, file, data, frozenset(kinds))) == content
    commented = b"// mine\n" + data
    assert json.loads(keep_harmless(folder, file, commented, NONE)) == left
    assert keep_harmless(folder, file, b"{not json", NONE) is None


CONFIG = """# mine
model = "gpt-5.5"  # [mcp_servers.fake]
notify = [
  "notify-send",
  "done",
]
approval_policy = "never"

[mcp_servers.docs]
command = "docs-mcp"
[mcp_servers.docs.env]
KEY = "x"

[profiles.fast]
model = "gpt-5-mini"

[[hooks.Stop]]
command = "x"

[tools]
web_search = true
"""


def test_tables_of_codex_go_and_its_other_settings_stay():
    """Comments and order stay; MCP servers, hooks and the notifier are left out; hooks.json goes."""
    folder = CODEX.folders[0]
    left = keep_harmless(folder, "config.toml", CONFIG.encode(), NONE).decode()
    whole = tomllib.loads(CONFIG)
    assert tomllib.loads(left) == {
        key: whole[key] for key in ("model", "approval_policy", "profiles", "tools")
    }
    assert left.startswith("# mine\n")
    assert "mcp_servers" in tomllib.loads(
        keep_harmless(folder, "config.toml", CONFIG.encode(), frozenset({"mcp"})).decode()
    )
    assert keep_harmless(folder, "hooks.json", b"{}", NONE) is None
    assert keep_harmless(folder, "hooks.json", b"{}", frozenset({"hooks"})) == b"{}"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {a = {command = "x"}}\nmodel = "m"\n',
        'model = "m"\nmcp_servers.a.command = "x"\n',
        'model = "m"\n"mcp_servers" = {a = {command = "x"}}\n',
        'model = "m"\n["mcp_servers".a]\ncommand = "x"\n',
        'model = """\n[mcp_servers.a]\n"""\n[mcp_servers.b]\ncommand = "x"\n',
        "model = [broken\n",
    ],
)
def test_no_spelling_of_a_table_gets_through(text):
    """What cannot be left out cleanly takes the whole file with it: no server starts by an odd spelling."""
    left = keep_harmless(CODEX.folders[0], "config.toml", text.encode(), NONE)
    assert left is None or "mcp_servers" not in tomllib.loads(left.decode())


def test_folders_whose_content_starts_by_itself_are_not_shown():
    """Extensions and plugins bring servers and hooks of their own; skills and commands do not."""
    for cli, number, hidden in ((CLAUDE, 0, "plugins"), (GEMINI, 0, "extensions"), (COPILOT, 0, "hooks")):
        folder = cli.folders[number]
        assert hidden not in harmless_folders(folder, NONE)
        assert "skills" in harmless_folders(folder, NONE)
        assert harmless_folders(folder, frozenset({"plugins", "hooks"})) == folder.shown


def test_what_is_there_is_named(tmp_path):
    """Servers and hooks by their names, also those beside the folder; a user without any hears of none."""
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    env = {"HOME": str(tmp_path), "PATH": str(program.parent)}
    assert load("claude").probe(env).programs == {}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps({"model": "x", **HOOKS}))
    (tmp_path / ".claude" / "plugins").mkdir()
    (tmp_path / ".claude.json").write_text(json.dumps({"numStartups": 3, **SERVERS}))
    assert load("claude").probe(env).programs == {"hooks": ["Stop"], "mcp": ["github"]}
    assert place(CLAUDE.folders[0], env) == (str(tmp_path / ".claude"), False)
