"""A sentence to a verified loop, as a user types it: with -y, on a terminal, and after a control."""

import os
import pty
import select
import signal
import subprocess
import time

import pytest
from kit import CHECK, LIMIT, agent, ralph_argv

pytestmark = pytest.mark.slow

HONEST = agent("honest_steps", 1)


def _heed_interrupts():
    """A test that was started in the background would hand on that interrupts are ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Typist:
    """`ralph …` on a terminal, and somebody who answers when a prompt is seen."""

    def __init__(self, place, *words):
        self.master, slave = pty.openpty()
        self.seen, self.answered = "", 0
        self.process = subprocess.Popen(
            [*ralph_argv(), *words],
            cwd=place.repo,
            env=place.env(TERM="dumb", COLUMNS="200"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_heed_interrupts,  # noqa: PLW1509
        )
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(LIMIT)
        os.close(self.master)

    def answer(self, prompt, text, end="\n", limit=LIMIT):
        """Wait for the prompt behind what was answered before, then type."""
        until, start = time.monotonic() + limit, self.answered
        while prompt not in self.seen[start:]:
            assert self._more(until), f"no {prompt!r} in:\n{self.seen}"
        self.answered = len(self.seen)
        os.write(self.master, (text + end).encode())

    def code(self, limit=LIMIT):
        end = time.monotonic() + limit
        while self._more(end):
            pass
        return self.process.wait(max(1, end - time.monotonic()))

    def _more(self, end):
        ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
        if not ready:
            return False
        try:
            chunk = os.read(self.master, 65536)
        except OSError:  # the other side is gone
            return False
        self.seen += chunk.decode(errors="replace").replace("\r\n", "\n")
        return bool(chunk)


def test_a_sentence_to_verified(place):
    """With a yes on the command line a sentence becomes a loop with its task and limits, to verified."""
    done = place.ralph(
        "fix until green, up to 5 tries", "-y", "--check", CHECK, "--agent-cmd", HONEST, "--display", "plain"
    )
    loop = place.expect(done, "verified", 0, 1)
    assert loop.sealed.task == "fix the failing tests"
    assert loop.sealed.limits.iterations == 5
    assert loop.sealed.criterion.until == "tests pass"


@pytest.mark.soak
def test_as_inferred_on_a_terminal(place):
    """Choosing what was inferred leads to its own question; nothing is executed before that is answered."""
    with Typist(place, "fix until green", "--agent-cmd", HONEST, "--display", "plain") as typist:
        typist.answer("number:", "1")
        typist.answer("start this loop? [y/N]:", "y")
        typist.answer("use these checks?", "y")
        assert typist.code() == 0, typist.seen
        assert f"1  as inferred     {CHECK}" in typist.seen
        assert "VERIFIED_DONE" in typist.seen
    place.no_process_left()


def test_bounds_are_asked_about_on_a_terminal(place):
    """In a sentence and in a task: what is not understood is typed instead, and it counts. So does the answer
    whether words are a limit or part of the task.
    """
    more = ("--check", CHECK, "--agent", "demo", "--dry-run")
    with Typist(place, "keep going until the tests pass, but stay under budget", *more) as typist:
        typist.answer("number:", "1")
        typist.answer("limit:", "$3")
        typist.answer("start this loop? [y/N]:", "y")
        assert typist.code() == 0, typist.seen
        assert "3 USD" in typist.seen
    with Typist(place, "loop", "make the tests pass, until 6pm", *more) as typist:
        typist.answer("--max-time", "2h")
        assert typist.code() == 0, typist.seen
        assert "2:00:00 in all" in typist.seen
    with Typist(place, "route", "ralph this: cache the sums for at most 2 hours") as typist:
        typist.answer("number:", "1")
        typist.answer("number:", "6")
        typist.answer("command:", CHECK)
        assert typist.code() == 0, typist.seen
        assert "--max-time 2h" in typist.seen
        assert "ralph loop 'cache the sums' " in typist.seen


@pytest.mark.soak
def test_abort_that_and_do_this(place):
    """A control with a new task ends the one loop and then starts the other."""
    first = place.start(*place.loop_words(agent("hang")))
    name = first.until(lambda loop: loop.phase == "working" and loop.call.number > 0).sealed.loop
    first.process.kill()
    first.process.wait(LIMIT)
    done = place.ralph(
        "actually, abort that and just fix until green",
        "-y",
        "--check",
        CHECK,
        "--agent-cmd",
        HONEST,
        "--display",
        "plain",
    )
    assert done.code == 0, done.report()
    assert f"{name} aborted" in done.out
    assert done.loop.sealed.task == "fix the failing tests"
    assert done.loop.outcome == "verified"


def test_questions_on_a_terminal(place):
    """What is missing is asked for with numbered choices, and a yes leads to the loop."""
    with Typist(place, "ralph it", "--agent-cmd", HONEST, "--display", "plain", "--no-infer") as typist:
        typist.answer("words:", "make the tests pass")
        typist.answer("number:", "9")
        typist.answer("number:", "5")
        typist.answer("command:", CHECK)
        typist.answer("start this loop? [y/N]:", "y")
        assert typist.code() == 0, typist.seen
        assert "  5  custom command" in typist.seen
        assert "VERIFIED_DONE" in typist.seen
    found = place.newest()
    assert found is not None
    assert found.loop.sealed.task == "make the tests pass"
    place.no_process_left()


def test_a_no_or_an_interrupt_starts_nothing(place):
    """On a terminal the proposal is shown, and a no is exit 2; Ctrl-C at a question is exit 130."""
    text = f"keep fixing until `{CHECK}` passes"
    with Typist(place, text, "--agent-cmd", HONEST) as typist:
        typist.answer("start this loop? [y/N]:", "n")
        assert typist.code() == 2
        assert "task        fix the failing tests\n" in typist.seen
        assert "nothing was started" in typist.seen
    with Typist(place, "ralph it", "--agent-cmd", HONEST) as typist:
        typist.answer("words:", "make the ", end="")
        end = time.monotonic() + LIMIT
        while typist.process.poll() is None and time.monotonic() < end:
            # Again if need be: between prompt and read(2) the interpreter notes a signal and goes on to wait.
            os.killpg(typist.process.pid, signal.SIGINT)
            time.sleep(0.2)
        assert typist.code() == 130, typist.seen
    assert place.newest() is None
    place.same_user()
