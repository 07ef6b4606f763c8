"""The private copy of a CLI's folders: an allow-list on the way in, tokens only on the way back."""

import json
import os
import stat
import threading
import time

import msgspec
import pytest

from ralph.agents import Launch, claude, codex, opencode
from ralph.agents._kit.folders import LaunchFolder
from ralph.shell.files.safe_tree import open_way
from ralph.shell.sandbox import login_back
from ralph.shell.sandbox.own_copy import LIST, CopyPlace, give_back, prepare

NOW = int(time.time() * 1000)
HOUR = 3_600_000


def oauth(n, expires=NOW, **more):
    return {"claudeAiOauth": {"accessToken": f"a{n}", "refreshToken": f"r{n}", "expiresAt": expires}, **more}


class Somebody:
    """A home with Claude Code's folder in it, and the copies of loops."""

    def __init__(self, top):
        self.top, self.home, self.own = top, top / "home", top / "home" / ".claude"
        self.own.mkdir(parents=True)
        self.login = self.own / ".credentials.json"
        self.write(oauth(1, mcpOAuth={"server": "token"}))
        self.login.chmod(0o640)

    def write(self, content):
        self.login.write_text(json.dumps(content))

    def read(self):
        return json.loads(self.login.read_text())

    def where(self, loop="one", *, boxed=True, repo="/repo"):
        folder = self.top / loop
        (folder / "home").mkdir(parents=True, exist_ok=True)
        return CopyPlace(
            folder=str(folder / "own" / "home" / "claude"),
            home_dir=str(folder / "home"),
            home=str(self.home),
            repo=repo,
            boxed=boxed,
        )

    def prepare(self, loop="one", launch=None, **fields):
        own = LaunchFolder(str(self.own), claude.CLI.folders[0])
        return prepare(launch or Launch(("claude",), {}, own=(own,)), self.where(loop, **fields), time.time())

    def copy(self, loop="one"):
        return self.top / loop / "own" / "home" / "claude" / "0"

    def back(self, loop="one"):
        return login_back.bring_back(str(self.copy(loop).parent / LIST), time.time())


@pytest.fixture
def it(tmp_path):
    return Somebody(tmp_path)


def test_only_what_is_named_is_copied_in(it):
    """Settings and the login; no conversation, and of a file that holds more only the named entries."""
    (it.own / "settings.json").write_text("{}")
    (it.own / "history.jsonl").write_text("secret")
    (it.own / "projects" / "-other").mkdir(parents=True)
    (it.own / "skills").mkdir()
    (it.home / ".claude.json").write_text(json.dumps({"oauthAccount": {"e": 1}, "mcpServers": {"x": {}}}))
    (it.own / "CLAUDE.md").symlink_to(it.home / "notes.md")  # a user may keep these elsewhere
    (it.home / "notes.md").write_text("be kind")
    places, told = it.prepare()
    assert told == ()
    assert places.own == ((str(it.copy()), str(it.own)),)
    assert places.shown == ((str(it.own / "skills"), str(it.own / "skills")),)
    assert sorted(os.listdir(it.copy())) == [".credentials.json", "CLAUDE.md", "settings.json", "skills"]
    assert json.loads((it.copy() / ".credentials.json").read_text()) == oauth(1)
    assert (it.copy() / "CLAUDE.md").read_text() == "be kind"
    assert json.loads((it.top / "one/home/.claude.json").read_text()) == {"oauthAccount": {"e": 1}}
    assert stat.S_IMODE(it.copy().stat().st_mode) == 0o700
    assert stat.S_IMODE((it.copy() / ".credentials.json").stat().st_mode) == 0o600


def test_a_copy_is_kept_but_what_is_named_is_new_each_time(it):
    """A conversation goes on in the next call; planted settings, also as links or folders, are replaced."""
    it.prepare()
    (it.copy() / "projects").mkdir()
    (it.copy() / "projects" / "talk.jsonl").write_text("mine")
    (it.copy() / "settings.json").symlink_to(it.login)
    (it.copy() / "CLAUDE.md").mkdir()
    (it.copy() / ".config.json").write_text('{"mcpServers": {}}')
    (it.own / "settings.json").write_text('{"model": "m"}')
    before = it.login.read_bytes()
    it.prepare()
    assert (it.copy() / "settings.json").read_text() == '{"model": "m"}'
    assert sorted(os.listdir(it.copy())) == [".credentials.json", "projects", "settings.json"]
    assert (it.copy() / "projects" / "talk.jsonl").read_text() == "mine"
    assert it.login.read_bytes() == before


def test_a_refreshed_login_goes_back_and_the_newest_wins(it):
    """Tokens only, with the file's mode and its other entries; an older one never replaces a newer one."""
    it.prepare("one")
    it.prepare("two")
    (it.copy("one") / ".credentials.json").write_text(json.dumps(oauth(2, NOW + HOUR, apiKeyHelper="evil")))
    (it.copy("two") / ".credentials.json").write_text(json.dumps(oauth(3, NOW + 2 * HOUR)))
    assert it.back("two") == ()
    assert it.back("one") == ()
    assert it.read() == oauth(3, NOW + 2 * HOUR, mcpOAuth={"server": "token"})
    assert stat.S_IMODE(it.login.stat().st_mode) == 0o640
    assert sorted(os.listdir(it.own)) == [".credentials.json"]
    it.prepare("one")
    assert json.loads((it.copy("one") / ".credentials.json").read_text()) == oauth(3, NOW + 2 * HOUR)


def test_many_at_once_leave_the_newest(it):
    """Loops that end at the same moment, and the user's own CLI between them, never tear or lose a login."""
    loops = [f"loop{n}" for n in range(8)]
    for n, loop in enumerate(loops):
        it.prepare(loop)
        (it.copy(loop) / ".credentials.json").write_text(json.dumps(oauth(n, NOW + n * 1000)))
    threads = [threading.Thread(target=it.back, args=(loop,)) for loop in loops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert it.read() == oauth(7, NOW + 7000, mcpOAuth={"server": "token"})
    assert sorted(os.listdir(it.own)) == [".credentials.json"]


def test_the_users_newer_login_is_taken_before_a_call(it):
    """Who logs in again, or out, while a loop works: its next call has that, and nothing old comes back."""
    it.prepare()
    it.write(oauth(9, NOW - HOUR))  # another account may even expire sooner
    it.prepare()
    assert json.loads((it.copy() / ".credentials.json").read_text()) == oauth(9, NOW - HOUR)
    (it.copy() / ".credentials.json").write_text(json.dumps(oauth(5, NOW + HOUR)))
    it.login.unlink()
    assert it.back() == ()
    assert not it.login.exists()
    it.prepare()
    assert not (it.copy() / ".credentials.json").exists()


def test_another_account_is_not_replaced(it):
    """Who logs in with another account while a call works keeps that one."""
    (it.home / ".claude.json").write_text('{"oauthAccount": {"accountUuid": "one"}}')
    it.prepare()
    (it.copy() / ".credentials.json").write_text(json.dumps(oauth(2, NOW + HOUR)))
    (it.home / ".claude.json").write_text('{"oauthAccount": {"accountUuid": "two"}}')
    it.write(oauth(9))
    (told,) = it.back()
    assert "another account" in told
    it.prepare()
    assert it.read() == json.loads((it.copy() / ".credentials.json").read_text()) == oauth(9)


@pytest.mark.parametrize("what", ["link", "fifo", "hard link", "folder", "huge", "text", "deep", "list"])
def test_what_an_agent_leaves_in_its_place(it, what):
    """A link is not followed, a pipe not waited for, nonsense not written; and the user is told."""
    it.prepare()
    ours = it.copy() / ".credentials.json"
    secret = it.top / "secret.json"
    secret.write_text(json.dumps(oauth("secret", NOW + HOUR)))
    ours.unlink()
    {
        "link": lambda: ours.symlink_to(secret),
        "fifo": lambda: os.mkfifo(ours),
        "hard link": lambda: os.link(secret, ours),
        "folder": lambda: (ours / "x").mkdir(parents=True),
        "huge": lambda: ours.write_bytes(b'{"a": "' + b"x" * (2 << 20) + b'"}'),
        "text": lambda: ours.write_text("no JSON"),
        "deep": lambda: ours.write_text("[" * 100_000),
        "list": lambda: ours.write_text("[1]"),
    }[what]()
    before = it.login.read_bytes()
    (told,) = it.back()
    assert str(it.login) in told
    assert "log in again" in told
    assert it.login.read_bytes() == before
    _, told = it.prepare()
    assert len(told) == 1
    assert json.loads(ours.read_text()) == oauth(1)
    assert it.back() == ()


def test_a_link_of_the_users_own_is_written_through(it):
    """A login that the user keeps behind a link gets the new tokens where it leads; the link stays."""
    kept = it.top / "dotfiles"
    kept.mkdir()
    real = kept / "kept.json"
    it.login.rename(real)
    it.login.symlink_to(os.path.relpath(real, it.own))
    it.prepare()
    (it.copy() / ".credentials.json").write_text(json.dumps(oauth(2, NOW + HOUR)))
    assert it.back() == ()
    assert it.login.is_symlink()
    assert json.loads(real.read_text())["claudeAiOauth"]["accessToken"] == "a2"
    assert os.listdir(kept) == ["kept.json"]


def test_a_login_that_cannot_be_written_is_kept(it):
    """What was refreshed is not lost in the loop; it goes back as soon as there is a place for it."""
    it.prepare()
    ours = it.copy() / ".credentials.json"
    ours.write_text(json.dumps(oauth(2, NOW + HOUR)))
    it.login.unlink()
    it.login.symlink_to(it.login.name)  # a link to itself leads nowhere
    (told,) = it.back()
    assert "a link" in told
    it.login.unlink()
    it.write(oauth(1))
    it.prepare()
    assert it.read() == oauth(2, NOW + HOUR)


def test_what_a_killed_runner_left_is_no_obstacle(it):
    """A half-written file of ours beside the login is taken away by the next one."""
    it.prepare()
    (it.own / "..credentials.json.ralph-new").write_text("half")
    (it.copy() / ".credentials.json").write_text(json.dumps(oauth(2, NOW + HOUR)))
    assert it.back() == ()
    assert sorted(os.listdir(it.own)) == [".credentials.json"]


def test_at_the_end_no_login_stays(it):
    """The refreshed login goes back first; a conversation stays for a loop that may be resumed."""
    (it.home / ".claude.json").write_text('{"primaryApiKey": "k"}')
    it.prepare()
    (it.copy() / "projects").mkdir()
    (it.copy() / ".credentials.json").write_text(json.dumps(oauth(2, NOW + HOUR)))
    own = str(it.top / "one" / "own")
    assert give_back(own, time.time(), whole=False) == ()
    assert it.read()["claudeAiOauth"]["accessToken"] == "a2"
    assert os.listdir(it.copy()) == ["projects"]
    assert not (it.top / "one" / "home" / ".claude.json").exists()
    give_back(own, time.time(), whole=True)
    assert not os.path.exists(own)


def test_without_a_box_the_variable_leads_to_the_copy(it):
    """The CLI's own variable moves it there; one that all programs share is left alone."""
    (it.own / "skills").mkdir()
    (it.home / ".claude.json").write_text('{"primaryApiKey": "k"}')
    places, _ = it.prepare(boxed=False)
    assert places.own == places.shown == ()
    assert places.env == {"CLAUDE_CONFIG_DIR": str(it.copy())}
    assert (it.copy() / "skills").resolve() == it.own / "skills"
    assert json.loads((it.copy() / ".claude.json").read_text()) == {"primaryApiKey": "k"}
    it.prepare(boxed=False)
    shared = LaunchFolder(str(it.home / ".local/share/opencode"), opencode.CLI.folders[0])
    assert it.prepare("two", Launch(("opencode",), {}, own=(shared,)), boxed=False)[0].env == {}


def test_a_folder_in_the_repository_is_moved(it):
    """Where the repository stands, nothing else can: the CLI finds its copy by its variable."""
    own = LaunchFolder(str(it.top / "repo" / ".codex"), codex.CLI.folders[0], moved=True)
    places, _ = it.prepare(launch=Launch(("codex",), {}, own=(own,)), repo=str(it.top / "repo"))
    assert places.env == {"CODEX_HOME": "/run/own/0"}
    assert places.own == ((str(it.copy()), "/run/own/0"),)


def test_nothing_is_made_in_a_folder_that_the_box_shows(it):
    """A folder that does not exist yet has no mount point: the CLI is led elsewhere instead of making one."""
    where = msgspec.structs.replace(it.where(), seen=(str(it.home),))
    own = LaunchFolder(str(it.home / ".codex"), codex.CLI.folders[0])
    places, _ = prepare(Launch(("codex",), {}, own=(own,)), where, time.time())
    assert places.env == {"CODEX_HOME": "/run/own/0"}
    assert not (it.home / ".codex").exists()
    own = LaunchFolder(str(it.own), claude.CLI.folders[0])
    places = prepare(Launch(("claude",), {}, own=(own,)), where, time.time())[0]
    assert places.own == ((str(it.copy()), str(it.own)),)


def test_an_agent_that_locks_its_folders(it):
    """Modes that an agent takes away are given back; what it left there can be removed."""
    it.prepare()
    (it.copy() / "projects").mkdir()
    (it.own / "skills").mkdir()
    (it.copy() / "skills").mkdir()
    for folder in (it.copy() / "projects", it.copy() / "skills", it.copy(), it.top / "one" / "home"):
        folder.chmod(0)
    it.prepare()
    assert stat.S_IMODE(it.copy().stat().st_mode) == 0o700
    assert stat.S_IMODE((it.copy() / "skills").stat().st_mode) == 0o700
    it.copy().chmod(0)
    give_back(str(it.top / "one" / "own"), time.time(), whole=False)
    give_back(str(it.top / "one" / "own"), time.time(), whole=True)


def test_a_way_of_real_folders(tmp_path):
    """A link or a file in the way of a mount point is removed, what it leads to is not."""
    top, other = tmp_path / "top", tmp_path / "other"
    top.mkdir()
    other.mkdir()
    (top / "a").symlink_to(other)
    open_way(str(top), "a/b/c")
    assert (top / "a" / "b" / "c").is_dir()
    assert not (top / "a").is_symlink()
    assert os.listdir(other) == []
    (top / "a" / "b" / "c").rmdir()
    (top / "a" / "b" / "c").write_text("")
    open_way(str(top), "a/b/c")
    assert (top / "a" / "b" / "c").is_dir()
