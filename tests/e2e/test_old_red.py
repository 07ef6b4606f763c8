"""What was red before the loop and is no part of the task: the work is kept, and not called proven."""

import shlex

import pytest
from featurekit import FEATURE, POWER, files, one_test
from kit import agent, fixed_calc

from ralph.core.model.events import AgentStarted
from ralph.core.model.gate import STILL_RED as KIND

pytestmark = pytest.mark.slow

FETCH = (
    "import socket\nimport unittest\n\n\nclass FetchTest(unittest.TestCase):\n    def test_fetch(self):\n"
    "        socket.getaddrinfo('host.invalid', 80)\n"
)
KEY = "test_fetch.FetchTest.test_fetch"
WAIVER = f"{KIND}:{KEY}"
ASKS = f"ALLOW: {KIND} {KEY} because checks have no network"
RIGHT = one_test("self.assertEqual(calc.power(2, 5), 32)")
MORE = files(calc__py=fixed_calc() + POWER, test_power__py=RIGHT)


@pytest.fixture
def offline(place):
    """A project without bugs, one of whose tests needs what a check does not have."""
    place.commit("needs the network", calc__py=fixed_calc(), test_fetch__py=FETCH)
    return place


def test_an_agent_that_insists_leaves_an_unproven_result_that_a_word_proves(offline):
    """The second COMPLETE ends it; the last screen names the test and the command; the word verifies the same
    tree without another call, and the proof can be checked again."""
    done = offline.loop(agent("writes_files", MORE, "COMPLETE"), task=FEATURE)
    loop = offline.expect(done, "unproven", 3, 2, grade="C", says="DONE_UNPROVEN (C)")
    assert f"failed before the loop and still red: {KEY}" in done.text
    assert f"ralph resume 1 --allow '{WAIVER}=…'" in done.text
    assert "disagree" not in done.text
    second = done.all(AgentStarted)[1]
    assert "change nothing and say COMPLETE again" in offline.prompt(second.prompt)
    said = offline.ralph("verify", loop.sealed.loop)
    assert (said.code, "1 red before the loop and still red; you decide" in said.text) == (3, True), said.text
    again = offline.ralph("resume", loop.sealed.loop, "--allow", "asked=checks have no network")
    offline.expect(again, "verified", 0, 2, grade="B", says=f"waived: {WAIVER} (checks have no network")
    said = offline.ralph("verify", loop.sealed.loop)
    assert said.code == 0, said.text


@pytest.mark.soak
@pytest.mark.parametrize("key", [KIND, WAIVER])
def test_who_knows_it_says_so_beforehand(offline, key):
    """Then one call is enough: of all that was red, or of one test."""
    words = ("--allow", f"{key}=checks have no network")
    done = offline.loop(agent("writes_files", MORE, "COMPLETE"), *words, task=FEATURE)
    offline.expect(done, "verified", 0, 1, grade="B", says="checks have no network")


@pytest.mark.soak
def test_what_is_newly_red_is_not_old(offline):
    """A test that the change breaks keeps the loop from any ending as done, whatever the agent says."""
    wrong = files(calc__py=POWER, test_power__py=RIGHT)
    done = offline.loop(agent("writes_files", wrong, "COMPLETE"), "--max-iterations", "3", task=FEATURE)
    offline.expect(done, "exhausted", 1, 3)


@pytest.mark.soak
def test_insisting_shows_nothing_by_itself(place):
    """A bug that is as red as before was not fixed: without a test that shows a change, the loop goes on."""
    words = files(calc__py="# looked at\n" + (place.repo / "calc.py").read_text())
    done = place.loop(agent("writes_files", words, "COMPLETE"), "--max-iterations", "3", task="fix the sums")
    place.expect(done, "exhausted", 1, 3, says="no test that failed before shows the change")


@pytest.mark.soak
def test_where_green_is_the_task_old_red_is_the_task(offline):
    """Who asks for passing tests is not served by some of them."""
    done = offline.loop(
        agent("writes_files", MORE, "COMPLETE"), "--max-iterations", "3", task="make all tests pass"
    )
    offline.expect(done, "exhausted", 1, 3)


@pytest.mark.soak
def test_a_skip_is_not_still_red(offline):
    """With the kind allowed, a test that was red may stay red; one that skips it is asked about as ever."""
    skipped = FETCH.replace("    def test_fetch", "    @unittest.skip('offline')\n    def test_fetch")
    words = files(calc__py=fixed_calc() + POWER, test_power__py=RIGHT, test_fetch__py=skipped)
    done = offline.loop(
        agent("writes_files", words, "COMPLETE"),
        "--allow",
        f"{KIND}=offline",
        "--max-iterations",
        "1",
        task=FEATURE,
    )
    offline.expect(done, "blocked", 3, 1, says=f"inventory.skipped:{KEY}")


@pytest.mark.soak
def test_the_agent_may_ask(offline):
    """BLOCKED with an ALLOW line of that kind: the screen has the command; the kind may be granted before."""
    asks = f"{agent('writes_files', MORE, 'BLOCKED')}; echo {shlex.quote(ASKS)}"
    done = offline.loop(asks, task=FEATURE)
    offline.expect(done, "blocked", 3, 1, says=f"ralph resume 1 --allow '{WAIVER}=…'")
    offline.ralph("discard", done.loop.sealed.loop, "-y")
    done = offline.loop(asks, "--allow-asked", KIND, task=FEATURE)
    offline.expect(done, "verified", 0, 1, grade="B", says="allowed in advance")
