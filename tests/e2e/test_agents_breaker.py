"""The breaker in whole loops: what is demanded of an agent that goes nowhere, and what a resume does then."""

import json

import pytest
from kit import lib

from ralph.core.model import events as e

pytestmark = pytest.mark.soak


@pytest.fixture(autouse=True)
def _judged_once(place):
    place.once = True


def test_going_in_circles_then_a_probe_that_fails(place):
    """Repairing one thing by breaking the other: other approaches are demanded, then the loop is stalled with
    an escalation; a resume is one more iteration and no more, and a steer that helps ends it verified."""
    source = lib.calc_source()
    halves = {name: lib.set_body(source, name, lib.right(name)) for name in ("add", "mul")}
    whole = lib.set_body(halves["add"], "mul", lib.right("mul"))
    place.commit("two halves", half1__txt=halves["add"], half0__txt=halves["mul"], whole__txt=whole)
    turns = "cat half$((RALPH_ITERATION % 2)).txt > calc.py"
    command = f"if grep -q 'take both halves'; then cat whole.txt > calc.py; else {turns}; fi"
    done = place.loop(command, "--on-fail", "keep")
    # The first half was progress; from then on it goes in circles.
    loop = place.expect(done, "stalled", 1, 7, says="alternate (6 iterations)")
    prompts = [place.prompt(event.prompt) for event in done.all(e.AgentStarted)]
    assert ["stop undoing and redoing" in prompt for prompt in prompts] == [False] * 5 + [True] * 2
    assert ["Analyse again: " in prompt for prompt in prompts] == [False] * 5 + [True, False]
    assert "An untried approach: " in prompts[6]
    assert "without success: analyse again" in prompts[6]
    name = loop.sealed.loop

    shown = place.ralph("status", name).out
    assert "OPEN since iteration 7: the same two" in shown
    assert "risk HIGH" in shown
    assert "asked" in shown
    report = place.ralph("report", name).out
    assert "### Breaker" in report
    assert "CLOSED to OPEN" in report
    assert "### What you are asked" in report
    assert "iteration 7 (logical, asked for: an untried approach): 1 file changed in calc.py" in report

    again = place.ralph("resume", name, "--display", "plain")
    loop = place.expect(
        again,
        "stalled",
        1,
        8,
        says=("probe: one iteration, and on if that helps", "one more iteration did not help"),
    )
    assert "A minimal version: " in place.prompt(loop.call.prompt)
    row = json.loads(place.ralph("status", name, "--json").out)["loops"][0]["breaker"]
    assert (row["state"], row["opens"]) == ("OPEN", 2)
    assert [(turn["from"], turn["to"]) for turn in row["trail"]] == [
        ("CLOSED", "OPEN"),
        ("OPEN", "HALF_OPEN"),
        ("HALF_OPEN", "OPEN"),
    ]

    helped = place.ralph("resume", name, "--steer", "take both halves", "--display", "plain")
    loop = place.expect(helped, "verified", 0, 9)
    assert loop.progress.breaker.state == "CLOSED"
