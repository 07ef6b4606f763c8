"""Stopping: Ctrl-C once, twice and three times, SIGTERM, and going on afterwards."""

import signal

import pytest
from kit import agent

from ralph.core.model import events as e

pytestmark = pytest.mark.slow

# A first call that lasts until the test lets it go on, so that no clock decides what comes first.
SLOW = f"echo at work; until [ -e '%s/go' ]; do sleep 0.05; done; {agent('honest_steps', 2)}"
AFTER, NOW = "stopping after this iteration; Ctrl-C again stops now", "stopping now"
FIRST = f"echo thought >> notes.txt; {agent('hang')}"
CHANGED = f"if [ $RALPH_CALL = 1 ]; then {FIRST}; else {agent('honest_steps', 1)}; fi"


def at_work(place, *flags):
    """A loop in the middle of its first call, and the file that ends it."""
    outside = place.top / "outside"
    outside.mkdir()
    running = place.start(*place.loop_words(SLOW % outside, "--allow-write", str(outside), *flags))
    running.until_call("at work")
    return running, outside / "go"


def resumed(place, calls):
    done = place.ralph("resume", "--last", "--display", "plain")
    loop = place.expect(done, "verified", 0, calls)
    assert "return a + b" in place.result("calc.py")
    return loop


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_ctrl_c_once(place, sandbox):
    """The first Ctrl-C lets the iteration end, judges it, and pauses; the agent does not hear it."""
    running, go = at_work(place, "--sandbox", sandbox)
    running.interrupt()
    running.until_told(AFTER)
    go.touch()
    done = running.wait()
    loop = place.expect(done, None, 130, 1, says=AFTER)
    assert loop.phase == "paused"
    assert done.all(e.AgentEnded)[0].ended == "exited"
    assert loop.proof.verdicts["check"].red == 1, "the iteration was not judged"
    assert resumed(place, 2).iteration == 2


@pytest.mark.sample(test=1)
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_ctrl_c_twice(place, sandbox):
    """The second stops now: the agent is gone, and what it had written is a checkpoint."""
    running = place.start(*place.loop_words(CHANGED, "--sandbox", sandbox))
    running.until_call("waiting")
    running.interrupt()
    running.until(lambda loop: loop.control.pause_reason)
    running.interrupt()
    done = running.wait()
    loop = place.expect(done, None, 130, 1, says=NOW)
    assert loop.phase == "paused"
    assert place.result("notes.txt", loop.work.commit) == "thought"
    assert done.seconds < 60
    resumed(place, 2)


@pytest.mark.soak
@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_ctrl_c_three_times(place, sandbox):
    """The third kills at once; nothing is left running, and the loop can still be taken up."""
    running = place.start(
        *place.loop_words(CHANGED.replace("hang.py", "hang_ignores_term.py"), "--sandbox", sandbox)
    )
    running.until_call("nobody tells me")
    for heard in (AFTER, NOW):  # two at once would be one
        running.interrupt()
        running.until_told(heard)
    running.interrupt()
    done = running.wait()
    assert done.code == 130, done.report()
    assert "Traceback" not in done.text, done.report()
    place.no_process_left(grace=2)
    place.same_user()
    resumed(place, 2)


@pytest.mark.soak
def test_term(place):
    """SIGTERM stops now, keeps a checkpoint, and exits with 143."""
    running = place.start(*place.loop_words(CHANGED))
    running.until_call("waiting")
    running.process.send_signal(signal.SIGTERM)
    loop = place.expect(running.wait(), None, 143, 1)
    assert loop.phase == "paused"
    assert "terminated" in loop.reason
    resumed(place, 2)


@pytest.mark.soak
def test_ctrl_c_while_waiting(place):
    """A wait for a usage limit is left at once."""
    running = place.start(*place.loop_words(agent("usage_limit", 300)))
    running.until(lambda loop: loop.phase == "waiting")
    running.interrupt()
    done = running.wait()
    place.expect(done, None, 130, 1)
    assert done.loop.phase == "paused"


@pytest.mark.soak
def test_ctrl_c_while_a_gate_runs(place):
    """Twice in the middle of a gate: it is gone, and the resume judges again."""
    tool = place.top / "elsewhere" / "bin" / "checker"  # its folder can be seen in the gate's box
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\npython3 -m unittest && {{ test -e '{tool.parent}/go' || sleep 60; }}\n")
    tool.chmod(0o755)
    running = place.start(*place.loop_words(agent("honest_steps", 1), check=str(tool)))
    running.until(lambda loop: loop.phase == "judging")
    running.interrupt()
    running.until_told(AFTER)
    running.interrupt()
    loop = place.expect(running.wait(), None, 130, 1)
    assert loop.phase == "paused"
    (tool.parent / "go").touch()
    resumed(place, 1)


@pytest.mark.soak
def test_kill_9(place):
    """Ralph killed without warning in the middle of a call: nothing lives on, nothing is lost or doubled."""
    running = place.start(*place.loop_words(CHANGED))
    running.until_call("waiting")
    running.process.kill()
    running.process.wait()
    place.no_process_left(grace=5)
    place.same_user()
    loop = resumed(place, 2)
    assert loop.iteration == 2


@pytest.mark.soak
def test_abort_and_pause_from_outside(place):
    """Commands to a living runner are heard within a second; pause keeps, abort ends."""
    running, go = at_work(place, "--loop-id", "mine-00000000")
    assert place.ralph("steer", "mine-00000000", "use the plus sign").code == 0
    assert place.ralph("pause", "mine-00000000").code == 0
    running.until(lambda loop: loop.control.pause_reason)
    go.touch()
    done = running.wait()
    loop = place.expect(done, None, 1, 1)
    assert loop.phase == "paused"
    assert [steer.text for steer in loop.control.steers] == ["use the plus sign"]
    assert place.ralph("abort", "mine-00000000").code == 0
    assert place.newest().loop.outcome == "aborted"
    assert place.ralph("resume", "mine-00000000").code == 6
