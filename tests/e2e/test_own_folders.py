"""A CLI's own folders in the user's home: whatever an agent does, they stay as they were but for tokens."""

import json
import os
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest
from kit import CHECK, HERE, TASK, Place, search_path

from ralph.core.model.events import AgentEnded

pytestmark = pytest.mark.slow
SOON = int(time.time() * 1000) + 60_000
HOUR = 3_600_000
OTHER = "words-of-another-conversation"

# What a user has: the login, settings, and conversations about other work.
LOGINS = {
    "claude": {
        ".claude/.credentials.json": {
            "claudeAiOauth": {"accessToken": "a", "refreshToken": "r", "expiresAt": SOON, "scopes": ["x"]},
            "mcpOAuth": {"server": {"accessToken": OTHER}},
        }
    },
    "codex": {
        ".codex/auth.json": {
            "OPENAI_API_KEY": None,
            "tokens": {"id_token": "i", "access_token": "a", "refresh_token": "r", "account_id": "me"},
            "last_refresh": "2026-01-01T00:00:00Z",
        }
    },
    "gemini": {".gemini/oauth_creds.json": {"access_token": "a", "refresh_token": "r", "expiry_date": SOON}},
    "qwen": {
        ".qwen/oauth_creds.json": {
            "access_token": "a",
            "refresh_token": "r",
            "resource_url": "portal.example",
            "expiry_date": SOON,
        }
    },
    "copilot": {".copilot/config.json": {"copilot_tokens": {"https://github.com:me": "gho_x"}}},
    "opencode": {
        ".local/share/opencode/auth.json": {
            "anthropic": {"type": "oauth", "access": "a", "refresh": "r", "expires": SOON},
            "mistral": {"type": "api", "key": "k"},
        }
    },
}
FILES = {
    "claude": ".claude/settings.json .claude/skills/mine/SKILL.md",
    "codex": ".codex/config.toml .codex/prompts/mine.md",
    "gemini": ".gemini/settings.json .gemini/commands/mine.toml",
    "qwen": ".qwen/settings.json .qwen/agents/mine.md",
    "copilot": ".copilot/settings.json .copilot/copilot-instructions.md",
    "opencode": ".config/opencode/opencode.json .local/share/opencode/bin/rg",
}
TALKS = {
    "claude": ".claude/projects/-o/t.jsonl .claude/history.jsonl .claude/todos/t.json .claude/new-in-2027/t",
    "codex": ".codex/sessions/t .codex/history.jsonl .codex/thread_history_1.sqlite .codex/state_5.sqlite",
    "gemini": ".gemini/tmp/x/chats/t.json .gemini/history/x .gemini/mcp-oauth-tokens.json",
    "qwen": ".qwen/tmp/x/t.json .qwen/projects/x/t.jsonl .qwen/memory/t.md",
    "copilot": ".copilot/session-state/t.jsonl .copilot/logs/t.log .copilot/mcp-config.json",
    "opencode": ".local/share/opencode/storage/t.json .local/share/opencode/opencode.db",
}


def snapshot(home):
    """Every name below the home with its mode, and what it holds or leads to."""
    found = {}
    for top, folders, files in os.walk(home):
        if top == str(home / ".config"):
            folders[:] = [name for name in folders if name != "ralph"]  # its own settings and keys
        for path in (Path(top, name) for name in (*folders, *files)):
            what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            found[str(path.relative_to(home))] = (stat.S_IMODE(path.lstat().st_mode), what)
    return found


class User:
    """Somebody with one of these CLIs, in truth `hostile_cli.py`, and a home in which it has been used."""

    def __init__(self, tmp_path, name, seen):
        self.name, self.home, self.bin = name, tmp_path / "home", tmp_path / "bin"
        for path, content in LOGINS[name].items():
            self.put(path, json.dumps(content, indent=2), 0o600)
        for path in FILES[name].split():
            self.put(path, "{}" if path.endswith("json") else "# mine\n", 0o644)
        for path in TALKS[name].split():
            self.put(path, OTHER, 0o640)
        if name == "claude":
            account = {"oauthAccount": {"accountUuid": "me"}, "projects": {"/other": OTHER}, "mcpServers": {}}
            self.put(".claude.json", json.dumps(account), 0o600)
        (self.home / ".config").mkdir(exist_ok=True)
        first = self.home / FILES[name].split()[0]
        first.with_name("kept-elsewhere").symlink_to(first.name)
        self.bin.mkdir()
        shutil.copy(HERE / "standins" / "hostile_cli.py", self.bin / name)
        self.place = Place(tmp_path / "w", self.home, seen=seen)
        self.place.once = True
        self.before = snapshot(self.home)

    def put(self, path, text, mode):
        place = self.home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)

    @property
    def env(self):
        return {"PATH": search_path(str(self.bin)), "XDG_CONFIG_HOME": None}

    def words(self, hours, *flags):
        words = ["loop", TASK, "--check", CHECK, "--agent", self.name, "--model", str(hours)]
        return [*words, "--display", "plain", "--max-iterations", "2", *flags]

    def loop(self, hours, *flags):
        return self.place.ralph(*self.words(hours, *flags), env=self.env)

    def login(self):
        (path,) = LOGINS[self.name]
        return path, json.loads((self.home / path).read_text())

    def said(self):
        return b"\n".join(self.place.said()).decode()

    def same(self, *but):
        """Names, modes, contents and links are as they were, but for these files."""
        now = snapshot(self.home)
        assert set(now) == set(self.before)
        assert {path for path in now if now[path] != self.before[path]} <= set(but)
        for path in but:
            assert now[path][0] == self.before[path][0]


@pytest.fixture
def user(tmp_path, home):
    made = []

    def make(name):
        made.append(User(tmp_path, name, home.parent / "protection.json"))
        return made[-1]

    yield make
    for one in made:
        one.place.kill_all()


def refreshed(name, hours):
    """The login as it must be afterwards: new tokens and their time, nothing that came with them."""
    (content,) = LOGINS[name].values()
    made = json.loads(json.dumps(content))
    inner = made.get({"claude": "claudeAiOauth", "opencode": "anthropic"}.get(name, ""), made)
    when = {"claude": "expiresAt", "opencode": "expires"}.get(name, "expiry_date")
    names = {"claude": ("accessToken", "refreshToken"), "opencode": ("access", "refresh")}
    for token in names.get(
        name, ("access_token",) if name == "gemini" else ("access_token", "refresh_token")
    ):
        inner[token] = f"new-{token}-{hours}"
    inner[when] += hours * HOUR
    return made


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("name", LOGINS)
def test_nothing_is_planted_and_nothing_else_is_seen(user, name):
    """Dozens of paths written, replaced, linked, deleted: the folders stay byte-identical but for tokens."""
    it = user(name)
    done = it.loop(1)
    it.place.expect(done, "verified", 0, 1, untouched=False)
    said = it.said()
    assert "attacked" in said
    assert OTHER not in said, "another conversation was readable"
    for path in (*LOGINS[name], *FILES[name].split()):
        assert f"saw {it.home / path}" in said, f"{path} is missing in the box"
    path, login = it.login()
    if name == "copilot":
        it.same()
        return
    it.same(path)
    if name == "codex":
        assert login["tokens"] == {
            **LOGINS[name][path]["tokens"],
            "refresh_token": "new-refresh_token-1",
        }
        assert set(login) == set(LOGINS[name][path])
    else:
        assert login == refreshed(name, 1)
    assert not (it.place.state / "loops" / done.loop.sealed.loop / "own").exists(), "a login was left behind"


@pytest.mark.soak
def test_two_loops_refresh_at_once(user):
    """The newest login stays, whoever ends last."""
    it = user("claude")
    both = [it.place.start(*it.words(hours), env=it.env) for hours in (5, 3)]
    assert [one.wait().code for one in both] == [0, 0]
    path, login = it.login()
    assert login == refreshed("claude", 5)
    it.same(path)


@pytest.mark.soak
def test_killed_in_mid_call(user):
    """After kill -9 the refreshed login goes back, and the conversation is there for the next call."""
    it = user("claude")
    running = it.place.start(*it.words(9, "--keep-session"), env=it.env)
    running.until_call("refreshed")
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    done = it.place.ralph("resume", "--display", "plain", env=it.env)
    assert done.code == 0, done.report()
    assert len(done.all(AgentEnded)) == 2
    path, login = it.login()
    assert login == refreshed("claude", 9)
    it.same(path)
    assert "talked before: True" in it.said()


@pytest.mark.soak
def test_a_login_that_is_none(user):
    """What an agent made of its login that is no login is not written, and the user is told what to do."""
    it = user("claude")
    script = it.bin / "claude"
    text = script.read_text().replace('f"new-{name}-{hours}"', "['no token']")
    script.write_text(text)
    done = it.loop(2)
    it.place.expect(done, "verified", 0, 1, untouched=False, says=("was not taken over", "log in again"))
    it.same()


@pytest.mark.soak
def test_installed_in_its_own_folder(user):
    """A CLI whose program lies in the folder itself is found in the box, without what lies beside it."""
    it = user("claude")
    shutil.copytree(it.bin, it.home / ".claude" / "bin")
    it.bin = it.home / ".claude" / "bin"
    it.before = snapshot(it.home)
    done = it.loop(2)
    it.place.expect(done, "verified", 0, 1, untouched=False)
    assert OTHER not in it.said()
    it.same(it.login()[0])


@pytest.mark.soak
def test_without_a_sandbox(user):
    """Without a box the CLI's own variable leads it to the private copy; its login goes back all the same."""
    it = user("codex")
    text = (it.bin / "codex").read_text().replace("os.path.join(HOME, folder)", 'os.environ["CODEX_HOME"]')
    (it.bin / "codex").write_text(text)
    done = it.loop(2, "--sandbox", "none")
    it.place.expect(done, "verified", 0, 1, untouched=False)
    _, login = it.login()
    assert login["tokens"]["refresh_token"] == "new-refresh_token-2"
    assert "mcpServers" not in login
    assert {key for key in snapshot(it.home) if key.count("/") == 1} == {
        key for key in it.before if key.count("/") == 1
    }
