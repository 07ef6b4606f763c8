"""Keys in the live view of a loop in the foreground, on a real terminal (tmux)."""

import os
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def terminal(tmp_path):
    """Start a command on a terminal of 80 columns; types keys, and reads the screen until words are on it."""
    socket = str(tmp_path / "tmux")

    def tmux(*words):
        return subprocess.run(
            ["tmux", "-S", socket, *words], capture_output=True, text=True, check=True
        ).stdout

    def start(command):
        env = {"RALPH_STATE_DIR": str(tmp_path / "state"), "TMPDIR": str(tmp_path)}
        given = [word for name, value in env.items() for word in ("-e", f"{name}={value}")]
        tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", "80", "-y", "24", *given, command)

    def see(words, seconds=60.0):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            shown = tmux("capture-pane", "-p", "-t", "t")
            if words in shown:
                return shown
            time.sleep(0.1)
        raise AssertionError(f"{words!r} never came:\n{shown}")

    yield start, lambda *keys: tmux("send-keys", "-t", "t", *keys), see
    subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


def test_keys_of_a_loop_in_the_foreground(terminal):
    """A note is typed while the agent works, the log is shown, and q stops after this iteration."""
    start, press, see = terminal
    ralph = f"{sys.executable} -m ralph"
    start(f"cd {os.sep}tmp && {ralph} demo --pace 4; stty -a | grep -o ' echo ' ; echo THE-END; sleep 60")
    see("agent working")
    press("s")
    see("note> ")
    press("-l", "mind the größe")
    see("note> mind the größe")
    press("Enter")
    see("“mind the größe”")
    press("?")
    see("pause after this iteration; ralph resume goes on")
    press("l")
    see("LoopStarted")
    see("missing  ")  # the view is back
    press("q")
    see("then it stops")
    shown = see("THE-END")
    assert "‖ PAUSED" in shown
    assert "echo" in shown  # the terminal is as it was
