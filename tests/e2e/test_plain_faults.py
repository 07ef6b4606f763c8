"""Plain faults of a machine: each has an error of its own with a next step, and none is a bug of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from kit import CHECK, TASK, agent, fixed_calc, ralph_argv

pytestmark = pytest.mark.slow
WORDS = ("loop", TASK, "--check", CHECK, "--display", "plain", "--max-iterations", "1", "--confirm", "1")


def shell(place, line, *words, cwd=None, **env):
    """`ralph …` as a shell starts it: `line` holds {ralph}, with the words quoted."""
    quoted = " ".join(f"'{word}'" for word in (*ralph_argv(), *words))
    return subprocess.run(
        ["/bin/bash", "-c", line.replace("{ralph}", quoted)],
        cwd=cwd or place.repo,
        env=place.env(**env),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
        check=False,
    )


def loop(place, line, **more):
    return shell(place, line, *WORDS, "--agent-cmd", agent("honest_steps", 1), **more)


@pytest.mark.sample(check=0, test=1)
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{ralph} >/dev/full", 0),
        ("{ralph} >&-", 0),
        ("{ralph} 2>&-", 0),
        ("{ralph} | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}", 0),
        ("ulimit -n 64; {ralph}", 0),
        ("ulimit -n 14; {ralph}", 4),
    ],
)
def test_a_loop_on_a_poor_machine(place, line, code):
    """Who looks on, and how many files may be open, does not change what comes out; or it is said."""
    done = loop(place, line)
    assert done.returncode == code, done.stdout + done.stderr
    if code:
        assert "[E-FILES]" in done.stderr
        assert place.newest() is None or place.newest().loop.phase == "paused"
    else:
        assert place.newest().loop.outcome == "verified"


def test_what_is_refused_before_anything_is_written(place):
    """A list that cannot be shown, bytes that are no text, and a state directory inside the repository, where
    it would be judged with the work: the exit code says so, and stderr why. How else to be refused is in
    next_lines.txt.
    """
    for line, code, error in (
        ("{ralph} >/dev/full", 4, "E-OUTPUT"),
        ("{ralph} >&-", 4, "E-OUTPUT"),
        ("mkdir d; cd d; rmdir ../d; {ralph}", 2, "E-CWD-GONE"),
    ):
        done = shell(place, line, "config", "show", "--all")
        assert (done.returncode, error in done.stderr) == (code, True), done.stderr
    inside = loop(place, "{ralph}", RALPH_STATE_DIR=str(place.repo / ".state"))
    assert (inside.returncode, "[E-STATE-INSIDE]" in inside.stderr) == (2, True), inside.stderr
    odd = os.fsencode(place.top) + b"/r\xff"
    os.rename(place.repo, odd)
    done = loop(place, "{ralph}", cwd=odd)
    os.rename(odd, place.repo)
    task = shell(place, "{ralph} \"$(printf 'fix \\xff')\" --check true --agent demo", "loop")
    for one in (done, task):
        assert (one.returncode, "[E-NOT-UTF8]" in one.stderr) == (2, True), one.stderr
    assert place.newest() is None


def test_a_repository_that_is_gone(place):
    """It is named, and the loop can still be looked at and dropped."""
    place.expect(place.ralph(*WORDS, "--agent-cmd", agent("staller")), "exhausted", 1, 1)
    name = place.newest().loop.sealed.loop
    os.rename(place.repo, place.top / "elsewhere")
    try:
        more = ("resume", name, "--max-iterations", "+1")
        told = [shell(place, "{ralph}", *words, cwd=place.top) for words in (more, ("status", name))]
        dropped = shell(place, "{ralph}", "drop", "--yes", name, cwd=place.top)
    finally:
        os.rename(place.top / "elsewhere", place.repo)
    assert (told[0].returncode, "E-FOLDER-GONE" in told[0].stderr) == (4, True), told[0].stderr
    assert (told[1].returncode, dropped.returncode) == (0, 0), dropped.stderr
    assert place.newest().loop.landing.was_dropped
    assert not (place.state / "workspaces" / name).exists()


@pytest.mark.soak
def test_abort_says_when_nobody_hears(place, monkeypatch):
    """A runner that is stopped cannot end its loop: abort names it and how to wake it, and is not 0."""
    running = place.start(*WORDS, "--agent-cmd", agent("hang"))
    running.until(lambda loop: loop.call.running)
    name = place.newest().loop.sealed.loop
    running.process.send_signal(signal.SIGSTOP)
    done = shell(place, "{ralph}", "abort", name)
    assert (done.returncode, "[E-LOOP-UNHEARD]" in done.stderr) == (5, True), done.stderr
    assert f"kill -CONT {running.process.pid}" in done.stderr
    running.process.send_signal(signal.SIGCONT)
    running.wait()
    assert place.newest().loop.outcome == "aborted"


# Ending a loop for good also waits for the disk: on a busy one longer than `abort` does.
@pytest.mark.soak
@pytest.mark.parametrize("stop", ["SIGTERM", "abort"])
def test_a_long_checkpoint_is_interruptible(place, stop):
    """SIGTERM while git hashes hundreds of megabytes: the loop is paused, not the work done first."""
    command = "head -c 240000000 /dev/urandom > one; cp one two; cp one three; cp one four; echo said"
    running = place.start(*WORDS, "--agent-cmd", f"sh -c '{command}'")
    running.until(lambda loop: not loop.call.running and loop.call.number == 1, 120)
    time.sleep(0.3)
    began = time.monotonic()
    if stop == "SIGTERM":
        running.process.send_signal(signal.SIGTERM)
        assert running.wait(60).code == 143
        assert time.monotonic() - began < 20
        assert place.newest().loop.phase == "paused"
    else:
        done = shell(place, "{ralph}", "abort", place.newest().loop.sealed.loop)
        assert done.returncode == 0, done.stderr
        assert place.newest().loop.outcome == "aborted"
        running.wait(60)
    assert not list(place.repo.glob(".git/**/*.lock"))


@pytest.mark.soak
def test_what_is_too_large_is_named_and_blocks(place):
    """A sparse file of 2 GB is never hashed; the loop is told its name and is not verified with it there."""
    script = place.top / "large.sh"
    script.write_text(f"#!/bin/sh\ntruncate -s 2G huge.bin\ncat > calc.py <<'END'\n{fixed_calc()}END\n")
    script.chmod(0o755)
    done = place.ralph(*WORDS, "--agent-cmd", str(script))
    loop = place.expect(done, "exhausted", 1, 1)
    assert any("'huge.bin' has 2,147 MB" in sentence for sentence in loop.proof.not_yet), done.report()
    assert done.seconds < 60
