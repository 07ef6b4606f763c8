"""Completion as a person gets it: a real bash, zsh and fish in a real terminal, with the tab key."""

import os
import shutil
import subprocess
import sys
import time
import uuid

import pytest
from making import Maker, order, record_all

pytestmark = pytest.mark.slow

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOAD = {
    "bash": 'eval "$(ralph completions bash)"',
    "zsh": 'autoload -U compinit; compinit -u -d "$PWD/dump"; eval "$(ralph completions zsh)"',
    "fish": "ralph completions fish | source",
}


class Terminal:
    """A shell in tmux, on a server of its own."""

    def __init__(self, shell, folder, env):
        self.name = f"ralph-test-{uuid.uuid4().hex[:8]}"
        self.env = env
        self("new-session", "-d", "-x", "150", "-y", "30", "-c", str(folder), *START[shell])
        self.type(LOAD[shell], "Enter")
        self.type("clear; echo rea''dy", "Enter")
        self.until("ready")

    def __call__(self, *words):
        done = subprocess.run(
            ["tmux", "-L", self.name, "-f", os.devnull, *words],
            capture_output=True, text=True, env=self.env, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def type(self, text, *keys):
        self("send-keys", "-l", text)
        for key in keys:
            self("send-keys", key)

    def until(self, words, limit=30):
        deadline = time.monotonic() + limit
        while words not in self("capture-pane", "-p"):
            assert time.monotonic() < deadline, self("capture-pane", "-p")
            time.sleep(0.1)

    def wipe(self):
        self("send-keys", "C-u")
        self("send-keys", "C-l")


@pytest.mark.parametrize("shell", START)
def test_the_tab_key(shell, tmp_path):
    """Commands, options, loops and agents complete; a loop by the beginning of its name."""
    assert shutil.which(shell), f"{shell} is missing: tools/system.sh installs it (as root)"
    project = tmp_path / "app"
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    root = record_all(tmp_path / "state", Maker(order("fix-auth-7f3a91c2", repo=str(project))).begin())
    env = {
        "PATH": f"{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TERM": "xterm-256color",
        "LANG": "C.UTF-8",
        "RALPH_STATE_DIR": str(root),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    terminal = Terminal(shell, project, env)
    try:
        for typed, shown in (
            ("ralph rep", "ralph report"),
            ("ralph report fix", "ralph report fix-auth-7f3a91c2"),
            ("ralph loop --min-g", "ralph loop --min-grade"),
            ("ralph loop --agent clau", "ralph loop --agent claude"),
        ):
            terminal.type(typed, "Tab")
            terminal.until(shown)
            terminal.wipe()
    finally:
        terminal("kill-server")


def test_trouble_offers_nothing(tmp_path):
    """A damaged journal or an unreadable configuration adds no line and no trace to what is being typed."""
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "journal.db").write_bytes(b"no database" * 100)
    env = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "RALPH_STATE_DIR": str(tmp_path / "state"),
        "_RALPH_COMPLETE": "bash_complete", "COMP_WORDS": "ralph report ", "COMP_CWORD": "2",
    }  # fmt: skip
    ralph = os.path.join(os.path.dirname(sys.executable), "ralph")
    done = subprocess.run([ralph], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("", "")
