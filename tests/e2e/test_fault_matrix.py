"""Faults from outside, everywhere: each phase of a loop, each process that it is made of, killed and stopped.

At the default number of repeats. The outcome equals the undisturbed one, or the loop is paused with a reason
and comes to it when it is resumed. It is never verified without the work; the user's files stay as they are.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from contextlib import suppress

import pytest
from kit import CHECK, TASK, agent, lib

pytestmark = pytest.mark.soak
SLOW = "import time\nimport unittest\n\nimport calc\n\ntime.sleep(0.4)\n"
PHASES = ("baseline", "agent", "fast", "final")
VICTIMS = ("runner", "keeper", "fork-server", "bwrap", "command", "git")
SIGNALS = ("KILL", "STOP")
MAX_TRIES = 3


class Striker(threading.Thread):
    """Strikes one process of a loop, once, when the loop has come to a phase."""

    def __init__(self, place, running, phase, victim, number):
        super().__init__(daemon=True)
        self.place, self.running = place, running
        self.phase, self.victim, self.number = phase, victim, number
        self.hit, self.stop = 0, False

    def run(self):
        while not self.hit and not self.stop:
            with suppress(Exception):
                if self._reached() and (pid := self._find()):
                    if self.victim not in ("git", "runner", "fork-server"):
                        time.sleep(0.1)  # past its start, in the middle of its work
                    os.kill(pid, self.number)
                    self.hit = pid
            time.sleep(0.001 if self.victim == "git" else 0.01)

    def _reached(self):
        record = self.place.newest()
        loop = record.loop
        if self.phase == "agent":
            return loop.call.running
        if self.phase == "baseline":
            return loop.phase == "baseline"
        return loop.phase == "judging" and loop.proof.stage == self.phase

    def _find(self):
        ralph = self.running.process.pid
        if self.victim == "runner":
            return ralph
        if self.victim in ("git", "fork-server"):
            for child in children(ralph):
                line = command_of(child)
                if (self.victim == "git" and comm_of(child) == "git") or (
                    self.victim == "fork-server" and b"fork_server" in line
                ):
                    return child
            return 0
        folder = "calls" if self.phase == "agent" else "gates"
        for note in self.place.state.glob(f"loops/*/{folder}/*/keeper.json"):
            kept = json.loads(note.read_text())
            if note.with_name("result.json").exists() or "init_pid" not in kept:
                continue
            if self.victim == "command":
                return next(iter(children(kept["init_pid"])), 0)
            return kept["keeper_pid" if self.victim == "keeper" else "child_pid"]
        return 0


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def command_of(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read()


def comm_of(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def strike_once(place, phase, victim, number):
    """A loop, struck; whether it was."""
    running = place.start(
        *("loop", TASK, "--agent-cmd", f"sleep 0.7 && {agent('honest_steps', 1)}", "--display", "plain"),
        *("--iteration-timeout", "8s"),
    )
    striker = Striker(place, running, phase, victim, getattr(signal, f"SIG{number}"))
    striker.start()
    while running.process.poll() is None and not striker.hit:
        time.sleep(0.02)
    if (victim, number) == ("runner", "STOP"):  # nobody but its user can wake a runner
        time.sleep(1)
        running.process.send_signal(signal.SIGCONT)
    running.wait(150)
    striker.stop = True
    striker.join(5)
    return bool(striker.hit)


def go_on(place):
    """Take a loop up until it has ended; each time that it stands, it has said why."""
    for _ in range(3):
        loop = place.newest().loop
        if loop.phase == "ended":
            return
        assert loop.phase != "paused" or loop.reason, "paused without a reason"
        place.ralph("resume", loop.sealed.loop, "--display", "plain", limit=120)


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_struck_loop_comes_to_the_same_end(place, phase, victim, number):
    """Whoever is struck, and when: verified with the work, after a named pause at most."""
    slow = lib.source_of_tests().replace("import unittest\n\nimport calc\n", SLOW)
    place.commit("slow", test_calc__py=slow)
    (place.config / "ralph" / "config.toml").write_text(
        f'[gates.check]\nrun = "{CHECK}"\nproof = true\ntimeout = "6s"\n'
    )
    for _ in range(MAX_TRIES):  # on a busy machine a process may be over before it is seen
        if strike_once(place, phase, victim, number):
            break
    else:
        assert victim in ("git", "fork-server"), "not struck"  # some are over within a millisecond
    go_on(place)
    record = place.newest()
    assert (record.loop.phase, record.loop.outcome) == ("ended", "verified"), record.loop.reason
    made: dict[str, object] = {}
    exec(place.git("show", f"{record.loop.landing.result}:calc.py"), made)  # our own agent's work
    assert (made["add"](2, 3), made["mul"](2, 3)) == (5, 6)
    place.same_user()
    place.no_process_left()
    assert not list(place.repo.glob(".git/**/*.lock"))
