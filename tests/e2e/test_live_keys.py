"""Keys in the live view, of a loop in the foreground and of an attached one, on a real terminal (tmux)."""

import os
import shlex
import subprocess
import sys
import time

import pytest
from backkit import Back
from kit import ralph_argv

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


def test_keys_of_a_loop_in_the_foreground(terminal, tmp_path):
    """A note is typed while the agent works, the log is shown, and q stops after this iteration."""
    start, press, see = terminal
    tmux = ["tmux", "-S", str(tmp_path / "tmux")]
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
    subprocess.run([*tmux, "resize-window", "-t", "t", "-x", "60", "-y", "20"], check=True)
    shown = see("d diff  l log  q stop  ? help")
    assert shown.count("─" * 60) == 2, shown  # nothing is left of the wider view
    press("l")
    see("LoopStarted")
    see("missing  ")  # the view is back
    press("q")
    see("then it stops")
    shown = see("THE-END")
    assert "‖ PAUSED" in shown
    assert "echo" in shown  # the terminal is as it was


def test_keys_of_an_attached_view(terminal, tmp_path, home):
    """A note and a pause reach the loop from any terminal; q and Ctrl-C only leave the view."""
    start, press, see = terminal
    name = "l1-00000001"
    world = Back(tmp_path / "w", home, seen=home.parent / "protection.json")
    try:
        world.begin(name, nap=120.0)
        world.until(name, lambda loop: loop.call.running)
        env = [f"{key}={value}" for key, value in world.env().items()]
        attach = shlex.join(["env", "-i", "TERM=screen", *env, *ralph_argv(), "attach", name])
        start(f"cd {world.repo} && for n in 1 2 3; do {attach}; echo LEFT-$n; read -r line; clear; done")
        see("agent working")
        press("s")
        see("note> ")
        press("-l", "mind the clock")
        press("Enter")
        world.until(name, lambda loop: [one.text for one in loop.control.steers] == ["mind the clock"])
        press("l")
        see("LoopStarted")
        for number, key in ((1, "q"), (2, "C-c")):
            see("agent working")
            press(key)
            shown = see(f"LEFT-{number}")
            assert f"left {name}; it keeps running; to come back: ralph attach 1" in shown
            assert world.loop(name).call.running
            press("Enter")
        see("agent working")
        press("p")
        world.until(name, lambda loop: loop.control.pause_reason)
        (world.outside / f"go-{name}").touch()
        loop = world.until(name, lambda loop: loop.phase == "paused")
        assert (loop.control.stopped_by, loop.spend.calls) == ("person", 1)
        see("LEFT-3")
        world.same_user()
    finally:
        world.kill_all()
        world.unmount()
