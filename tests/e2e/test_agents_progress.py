"""Honest work that is not done yet is kept, work that is worse is set aside, and noise still ends."""

import pytest
from gatekit import OLD, PROOF, configure
from kit import agent, fixed_calc

from ralph.core.model import events as e

pytestmark = pytest.mark.slow

STEPS = "def done():\n    return 0\n"
CASE = "import random\nimport unittest\n\nimport steps\n\n\nclass StepsTest(unittest.TestCase):\n"
CLOSER = CASE + "    def test_steps(self):\n        self.assertEqual(steps.done(), 6)\n"
NOISE = CASE + "    def test_steps(self):\n        self.assertLess(1 + random.random(), 0.5)\n"


def prompts(place, done):
    return [place.prompt(event.prompt) for event in done.all(e.AgentStarted)]


@pytest.mark.soak
def test_a_value_that_comes_closer_is_progress(place):
    """0 != 6, 1 != 6, …: six iterations, none of them taken back, called the same error or told to turn."""
    place.commit("six steps", steps__py=STEPS, test_steps__py=CLOSER)
    done = place.loop(agent("one_closer"), "--confirm", "1", check="python3 -m unittest test_steps")
    place.expect(done, "verified", 0, 6)
    assert not done.all(e.WorkspaceRestored)
    assert not any("Another approach is needed" in text for text in prompts(place, done))
    assert "return 6" in place.result("steps.py")


@pytest.mark.soak
def test_numbers_that_are_noise_end_the_loop(place):
    """A message that is new each time by a random number alone does not keep a loop alive."""
    place.commit("noise", steps__py=STEPS, test_steps__py=NOISE)
    done = place.loop(agent("one_closer"), "--max-iterations", "40", check="python3 -m unittest test_steps")
    place.expect(done, "stalled", 1, 10, says="the same error 10 times in a row, only its numbers change")


@pytest.mark.soak
def test_green_work_that_lacks_a_witness_is_built_upon(place):
    """Green without a test, then a call that only thinks: the work is there for the one that adds it."""
    place.commit("no bugs", calc__py=fixed_calc())
    untested, tested = (agent("claims_done_feature", kind) for kind in ("untested", "tested"))
    adds = f"case $RALPH_ITERATION in 1) {untested};; 2) ;; *) grep -q power calc.py && {tested};; esac"
    done = place.loop(adds, "--confirm", "1", task="add a function power")
    place.expect(done, "verified", 0, 3, grade="B")
    assert not done.all(e.WorkspaceRestored)
    for text in prompts(place, done)[1:]:
        assert "write a test for the new behaviour that fails without it" in text
        assert "nothing has changed yet" not in text


@pytest.mark.soak
def test_worse_twice_in_a_row_is_set_aside_and_named(place):
    """Kept once, set aside the second time: the next prompt says where to and why, and names the ref."""
    done = place.loop(agent("worse_twice"), "--confirm", "1")
    loop = place.expect(done, "verified", 0, 3)
    restored = done.all(e.WorkspaceRestored)
    assert [event.iteration for event in restored] == [2]
    ref = f"refs/ralph/{loop.sealed.loop}/rejected/2"
    second, third = prompts(place, done)[1:]
    assert "taken back" not in second
    assert "was reverted to the state at the start: it was worse than that for two iterations" in third
    assert ref in third
    assert "a * 1000" in place.git("show", f"{ref}:calc.py")
    assert "# idea" not in place.result("calc.py")


@pytest.mark.soak
def test_already_green_is_nothing_to_do(place):
    """Green before any agent call: exit 6, no call, no branch, nothing signed; what else is red is named."""
    place.commit("no bugs", calc__py=fixed_calc(), test_old__py=OLD)
    configure(place, '[gates.old]\nrun = "python3 -m unittest test_old"\n')
    done = place.loop(agent("honest_steps"), check=PROOF)
    says = (
        "NOTHING_TO_DO",
        "no agent call",
        "red as before: old",
        "old (1 red: test_old.OldTest.test_broken)",
    )
    loop = place.expect(done, "satisfied", 6, 0, says=says)
    assert "VERIFIED_DONE" not in done.text
    assert "newly red" not in done.text
    assert not loop.landing.result
    assert not [path for path in place.state.rglob("*") if "attestation" in path.name and path.is_file()]
    for word, code, says in (
        ("merge", 6, "changed nothing"),
        ("resume", 6, "is satisfied, which is final"),
        ("verify", 1, "there was nothing to do"),
        ("report", 0, "NOTHING_TO_DO"),
        ("drop", 0, ""),
    ):
        after = place.ralph(word, loop.sealed.loop, *(["--yes"] if word == "drop" else []))
        assert (after.code, says in after.text, "Traceback" in after.text) == (code, True, False), (
            after.report()
        )
    assert "satisfied" in place.ralph("status", "--all").out


@pytest.mark.soak
def test_a_green_check_of_another_kind_is_not_the_task(place):
    """Green tests say nothing of type hints: the agent is called, and the diff counts."""
    place.commit("no bugs", calc__py=fixed_calc())
    done = place.loop(agent("staller"), task="Add type hints")
    place.expect(done, "stalled", 1, 3, says="nothing has changed yet")
