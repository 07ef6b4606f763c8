"""`ralph resume --check`: a further check joins a loop that stopped, and may prove what is there already."""

import pytest
from kit import agent, lib

from ralph.core.model.events import AgentStarted

pytestmark = pytest.mark.slow

POWER = "import calc; assert calc.power(2, 5) == 32"


@pytest.fixture
def unproven(place):
    """A feature without a test of its own, claimed twice: done, and nothing shows it."""
    source = lib.calc_source()
    for name in lib.RIGHT:
        source = lib.set_body(source, name, lib.right(name))
    place.commit("no bugs", calc__py=source)
    command, flags = (
        agent("claims_done_feature", "untested"),
        ("--min-grade", "B", "--loop-id", "l1-00000001"),
    )
    done = place.loop(command, *flags, task="add a power function")
    place.expect(done, "unproven", 3, 2, grade="C")
    return place


def resume(place, check, *flags):
    return place.ralph("resume", "l1-00000001", "--check", check, "--display", "plain", "-y", *flags)


def test_a_new_check_proves_what_is_there_without_another_call(unproven):
    """Red at the base, green on the work: verified by the same tree, in commit, report and attestation.

    A check that cannot run breaks the loop and leaves it as it was, so the slip can be mended.
    """
    before = unproven.newest().loop
    broken = unproven.expect(resume(unproven, "power=no-such-program --now"), "broken", 4, 2)
    assert 'gate "power" cannot run' in broken.reason
    loop = unproven.expect(resume(unproven, f"power=python3 -c '{POWER}'"), "verified", 0, 2, grade="B")
    assert loop.work.tree == before.work.tree
    assert "check power: python3 -c" in unproven.ralph("logs", loop.sealed.loop).text
    gate = loop.sealed.criterion.gate("power")
    assert (gate.proof, gate.required, bool(gate.tool_sha)) == (True, True, True)
    message = unproven.git("log", "-1", "--format=%B", loop.landing.result)
    assert "Ralph-Grade: B" in message
    assert "power (proof): pass" in message
    assert f"check added: power (python3 -c '{POWER}')" in unproven.ralph("report", "l1-00000001").out
    checked = unproven.ralph("verify", "l1-00000001")
    assert checked.code == 0, checked.report()
    assert "power" in checked.out
    assert "[E-LOOP-FINAL]" in resume(unproven, "true").err


@pytest.mark.soak
def test_a_check_that_is_red_goes_to_the_agent(unproven):
    """A slip records nothing; what the new check says of the work is in the next prompt."""
    before = unproven.newest().loop
    for check, words in (("check=true", 'two checks are called "check"'), ("  ", "a check is empty")):
        slip = resume(unproven, check)
        assert slip.code == 2, slip.report()
        assert words in slip.err
    assert unproven.newest().loop == before
    done = resume(unproven, "cube=python3 -c 'import calc; assert calc.cube(2) == 8'")
    prompts = [unproven.prompt(event.prompt) for event in done.all(AgentStarted)]
    assert ["cube" in prompt for prompt in prompts[:3]] == [False, False, True]
    assert done.loop.outcome == "stalled", done.report()


@pytest.mark.soak
@pytest.mark.parametrize("check", ["python3 -m unittest test_power", "make power"])
def test_a_check_that_came_with_the_work_is_refused(place, check):
    """By what the command reads: a module of tests, a target that the agent wrote."""
    source = lib.calc_source()
    for name in lib.RIGHT:
        source = lib.set_body(source, name, lib.right(name))
    place.commit("no bugs", calc__py=source, Makefile="test:\n\tpython3 -m unittest\n")
    flags = ("--min-grade", "B", "--loop-id", "l1-00000001")
    done = place.loop(agent("claims_done_feature", "target"), *flags, task="add a power function")
    place.expect(done, "unproven", 3, 2, grade="C")
    refused = resume(place, check)
    assert (refused.code, "[E-CHECK-MADE]" in refused.err) == (2, True), refused.report()
