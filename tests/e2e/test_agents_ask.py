"""Honest work that looks like weakening is asked about, never accused; a user's word settles it."""

import pytest
from featurekit import files
from kit import agent, fixed_calc

from ralph.core.model import events as e

pytestmark = pytest.mark.slow
TASK = "make the tests pass, and let sub(a, b) give b - a from now on"
KEY = "inventory.weakened:test_calc.CalcTest.test_sub"


def accused(done):
    results = [result for event in done.all(e.GuardsEnded) for result in event.results]
    return [result for result in results if result.integrity and result.findings]


def test_the_agent_asks_and_one_command_grants_it(place):
    """BLOCKED with a waiver ends with the command that grants it; granted, the same tree is verified."""
    done = place.loop(agent("changes_rule", "asks"), task=TASK)
    loop = place.expect(done, "blocked", 3, 1)
    assert f"ralph resume 1 --allow '{KEY}=…'" in done.text, done.report()
    assert "the task turns sub around" in done.text
    assert "tamper" not in done.text
    assert not accused(done)
    status = place.ralph("status", loop.sealed.loop)
    assert f"ralph resume 1 --allow '{KEY}=…'" in status.text
    assert KEY in place.ralph("report", loop.sealed.loop).text
    granted = place.ralph(
        "resume",
        loop.sealed.loop,
        "--allow",
        f"{KEY}=the rule is new",
        "--display",
        "plain",
        env={"USER": "ann"},
    )
    loop = place.expect(
        granted, "verified", 0, 1, grade="B", says=f"{KEY} (the rule is new (granted by ann))"
    )
    assert granted.all(e.ResumeAsked)[-1].allow == {KEY: "the rule is new"}
    assert "the rule is new (granted by ann)" in place.ralph("report", loop.sealed.loop).text


@pytest.mark.soak
def test_kinds_granted_beforehand(place):
    """What was granted by its kind is given when the agent asks, and is told; what accuses never is."""
    done = place.loop(agent("changes_rule", "asks"), "--allow-asked", "inventory.weakened", task=TASK)
    place.expect(done, "verified", 0, 1, says="requested by the agent, allowed in advance")
    refused = place.loop(agent("changes_rule", "asks"), "--allow-asked", "protected.path", task=TASK)
    assert refused.code == 2
    assert "protected.path accuses" in refused.text


@pytest.mark.soak
def test_what_only_a_guard_minds_is_offered_when_a_limit_is_reached(place):
    """The checks are green: the last screen and the status name the command, and it takes no further call."""
    noted = files(calc__py=fixed_calc() + "\n\nHALF = 0.5  # TODO: handle text\n")
    done = place.loop(agent("writes_files", noted, "COMPLETE"), "--max-iterations", "1")
    loop = place.expect(done, "exhausted", 1, 1, says="ralph resume 1 --allow 'stubs.comment:calc.py:")
    assert "--allow 'stubs.comment:calc.py:" in place.ralph("status", loop.sealed.loop).text
    allowed = place.ralph("resume", loop.sealed.loop, "--allow", "stubs.comment=we know of it")
    place.expect(allowed, "verified", 0, 1, grade="B")
