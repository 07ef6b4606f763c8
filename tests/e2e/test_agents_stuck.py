"""Agents that get nowhere, crash, hang or run into a limit: each ends with its own outcome and reason."""

import pytest
from kit import agent

from ralph.core.model import events as e

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_staller(place):
    """Three iterations without a change end the loop."""
    done = place.loop(agent("staller"))
    loop = place.expect(done, "stalled", 1, 3, says="3 iterations in a row changed nothing")
    assert len([kind for kind in done.kinds() if kind == "GateEnded"]) == 1, (
        "an unchanged tree was judged again"
    )
    assert loop.progress.best is not None
    assert loop.progress.best.iteration == 0


@pytest.mark.soak
def test_same_error(place):
    """The same error is answered by another approach at three, and ends the loop at five."""
    done = place.loop(agent("same_error"))
    loop = place.expect(done, "stalled", 1, 5, says="the same error 5 times in a row")
    redirected = [place.prompt(event.prompt) for event in done.all(e.AgentStarted)]
    asked = ["try a different approach" in prompt for prompt in redirected]
    assert asked == [False, False, False, True, True]
    assert not loop.landing.result


@pytest.mark.soak
def test_oscillator(place):
    """Going back and forth between two wrong versions, with two wrong values, is going in circles."""
    done = place.loop(agent("oscillator"), "--on-fail", "keep")
    place.expect(done, "stalled", 1, 6, says="the same two versions alternate (6 iterations)")


def loop_calls(done):
    return done.loop.spend.calls


@pytest.mark.soak
def test_crasher_with_garbage(place):
    """Three crashes in a row are the machine's fault: broken, no iteration spent, last words clean."""
    done = place.loop(agent("crasher_garbage"))
    loop = place.expect(done, "broken", 4, 3, says="3 faults in a row, the last: the agent exited with 3")
    assert loop.iteration == 0
    assert "\x1b" not in done.text
    assert "\x00" not in done.text


@pytest.mark.soak
def test_crash_is_not_the_end(place):
    """A crash that left nothing is tried again after a pause, and does not use up an iteration."""
    done = place.loop(agent("crasher_garbage", 1), "--max-iterations", "1")
    loop = place.expect(done, "verified", 0, 2)
    assert loop.iteration == 1
    assert loop.spend.waited >= 1


@pytest.mark.soak
def test_usage_limit(place):
    """A usage limit with a reset time is waited for, is said, and does not use up an iteration."""
    done = place.loop(agent("usage_limit", 2), "--max-iterations", "1")
    loop = place.expect(done, "verified", 0, 2, says="usage limit reached")
    assert loop.iteration == 1
    assert 0 < loop.spend.waited < 60


@pytest.mark.soak
def test_usage_limit_beyond_the_time_limit(place):
    """A reset after the time limit ends the loop at once instead of waiting for nothing."""
    done = place.loop(agent("usage_limit", 600), "--max-time", "30s")
    place.expect(done, "exhausted", 1, 1, says="waiting would exceed the time limit")
    assert done.seconds < 60  # the reset is ten minutes away


@pytest.mark.soak
def test_usage_limit_without_a_time(place):
    """A limit that does not say when it is lifted is waited out with a growing pause."""
    line = '{"ralph": 1, "type": "limit", "message": "slow down"}'
    done = place.loop(f"echo '{line}'; exit 1", "--max-time", "60s")
    loop = place.expect(done, "exhausted", 1, 1, says="limit: slow down; waiting would exceed the time limit")
    assert loop.iteration == 0


def test_hang(place):
    """A call over its time is ended whatever it ignores; with the time used up the loop is exhausted."""
    done = place.loop(agent("hang_ignores_term"), "--iteration-timeout", "1s", "--max-time", "2s")
    loop = place.expect(done, "exhausted", 1, loop_calls(done))
    assert done.all(e.AgentEnded)[0].ended == "timeout"
    assert loop.spend.calls in (1, 2)


@pytest.mark.soak
def test_hang_three_times_is_stalled(place):
    """Three calls in a row that had to be stopped: the agent gets nowhere, and nothing is broken."""
    done = place.loop(agent("hang"), "--iteration-timeout", "1s")
    loop = place.expect(done, "stalled", 1, 3, says="ran longer than one iteration may take")
    assert loop.iteration == 0


@pytest.mark.soak
def test_idle(place):
    """Silence is bounded by its own clock."""
    done = place.loop(agent("hang"), "--idle-timeout", "1s", "--max-time", "5s")
    place.expect(done, "exhausted", 1, loop_calls(done))
    assert done.all(e.AgentEnded)[0].ended == "idle"


@pytest.mark.soak
def test_hang_after_work_is_judged(place):
    """A call that had to be stopped and left a changed tree is judged as usual."""
    done = place.loop(f"{agent('honest_steps', 1)} && {agent('hang')}", "--iteration-timeout", "4s")
    loop = place.expect(done, "verified", 0, 1, grade="B")
    assert done.all(e.AgentEnded)[0].ended == "timeout"
    assert loop.iteration == 1


def test_blocked_then_answered(place):
    """BLOCKED ends with 3 and the agent's question; the answer joins the next prompt and the loop goes on."""
    done = place.loop(agent("blocked", "product"))
    loop = place.expect(done, "blocked", 3, 1, says="the agent asks: Blocked: is mul a product or a sum?")
    again = place.ralph("resume", loop.sealed.loop, "--steer", "it is a product", "--display", "plain")
    loop = place.expect(again, "verified", 0, 2, grade="B")
    assert "it is a product" in place.prompt(loop.call.prompt)


@pytest.mark.soak
def test_permission_denied_twice(place):
    """Two calls in a row that were denied a permission need a human."""
    done = place.loop(agent("asks_permission"))
    place.expect(done, "blocked", 3, 2, says="permission was denied twice in a row: npm install left-pad")


@pytest.mark.soak
def test_login_expired(place):
    """An expired login is nobody's fault but needs a human at once."""
    line = '{"ralph": 1, "type": "fault", "kind": "auth", "message": "please log in"}'
    done = place.loop(f"echo '{line}'; exit 1")
    place.expect(done, "blocked", 3, 1, says="login has expired: please log in")


@pytest.mark.soak
def test_on_fail_revert(place):
    """With revert every failed iteration starts again from the best tree; rejected work is kept."""
    done = place.loop(agent("same_error"), "--on-fail", "revert", "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2)
    assert len(done.all(e.WorkspaceRestored)) == 1
    assert place.git("for-each-ref", "--format=%(refname)", f"refs/ralph/{loop.sealed.loop}/rejected").split()
    text = place.result("calc.py", loop.work.commit)
    assert "thought 2" in text
    assert "thought 1" not in text


@pytest.mark.soak
def test_on_fail_keep(place):
    """With keep nothing is ever taken back."""
    done = place.loop(agent("same_error"), "--on-fail", "keep", "--max-iterations", "2")
    loop = place.expect(done, "exhausted", 1, 2)
    assert not done.all(e.WorkspaceRestored)
    assert "thought 1" in place.result("calc.py", loop.work.commit)
