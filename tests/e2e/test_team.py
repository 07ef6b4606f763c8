"""A team over whole loops: a tester before the work, a reviewer after it, and what each of them cost."""

import json

import buildkit
import pytest
from featurekit import FEATURE, POWER, files, one_test
from kit import HERE, SCRIPTED, agent, fixed_calc

from ralph.core.model.events import AgentStarted, JudgeEnded, RoleEnded, RoleStarted

pytestmark = pytest.mark.slow

JUDGES = HERE / "judges"
TESTS = one_test("self.assertEqual(calc.power(2, 3), 8)")
CODER = agent("writes_files", files(calc__py=fixed_calc() + POWER), "COMPLETE")


@pytest.fixture
def green(place):
    """The project without its bugs: nothing is red before the feature."""
    place.commit("no bugs", calc__py=fixed_calc())
    return place


def writer(**texts):
    return f"{SCRIPTED / 'writes_files.py'} {files(**texts)}"


def team(place, **roles):
    """The user's own configuration, with a command for each role."""
    lines = []
    for role, command in roles.items():
        lines += [f"[agents.{role}]", f"command = {json.dumps(str(command))}"]
        lines += [f"[team.{role}]", f'agent = "{role}"']
    (place.config / "ralph" / "config.toml").write_text("\n".join(lines) + "\n")


def test_a_tester_and_a_reviewer_of_their_own(green):
    """Tests from another call than the code give an A, an objection holds back, and costs are per role."""
    tester = writer(test_power__py=TESTS, calc__py="broken", notes__txt="psst", conftest__py="import os\n")
    team(green, tester=tester, reviewer=f"{JUDGES / 'reviews.py'} NOTES.md")
    again = files(calc__py=fixed_calc() + POWER, NOTES__md="# power\n\nraises a to b\n")
    coder = f"{SCRIPTED / 'team_coder.py'} {files(calc__py=fixed_calc() + POWER)} {again}"
    done = green.loop(coder, "--team", task=FEATURE)
    loop = green.expect(done, "verified", 0, 5, says="the reviewer")
    if loop.work.protection in ("S2", "S3"):
        assert loop.grade == "A", loop.proof.unproven
    (asked,), (tests,) = done.all(RoleStarted), done.all(RoleEnded)
    assert asked.tree == loop.sealed.base.tree
    assert tests.tests.paths == ("test_power.py",)
    assert set(tests.tests.left_out) == {"calc.py", "notes.txt", "conftest.py"}
    assert [event.opinion.status for event in done.all(JudgeEnded)] == ["fail", "pass"]
    first, second = (green.prompt(event.prompt) for event in done.all(AgentStarted))
    assert "test_power.py" in first
    assert "NOTES.md is missing" in second.partition("--- output of the reviewer ")[2]
    spend = {role: (one.calls, one.cost, one.blind) for role, one in loop.team.spend.items()}
    assert spend == {"tester": (1, None, 1), "coder": (2, None, 2), "reviewer": (2, 1.0, 0)}
    told = [(task.subject, task.status, task.owner) for task in loop.team.tasks]
    assert ("Implement iteration 1", "failed", "ralph-coder") in told
    assert told[-1] == ("Review iteration 2", "completed", "ralph-reviewer")
    report = green.ralph("report", loop.sealed.loop).out
    assert "### Team" in report
    assert "| ralph-reviewer | command | 2 |" in report
    status = green.ralph("status", loop.sealed.loop).out
    assert "team       loop-" in status
    shown = json.loads(green.ralph("status", loop.sealed.loop, "--json").out)["loops"][0]
    assert (shown["team"]["leader"], shown["team"]["review"]) == ("loop-lead", "pass")
    checked = green.ralph("verify", loop.sealed.loop)
    assert (checked.code, f"grade {loop.grade}" in checked.out) == (0, True), checked.report()


@pytest.mark.soak
def test_a_coder_that_bends_the_testers_tests_is_not_verified(green):
    """What the tester wrote is part of the judgement: changing it is a question, never a way out."""
    team(green, tester=writer(test_power__py=TESTS))
    bent = files(calc__py=fixed_calc() + POWER.replace("a**b", "a + b"), test_power__py=one_test("pass"))
    done = green.loop(
        agent("writes_files", bent, "COMPLETE"), "--team", "--max-iterations", "1", task=FEATURE
    )
    assert done.loop.outcome in ("blocked", "exhausted")
    assert any(
        "test_power.py, which the tester wrote, was changed" in line for line in done.loop.proof.not_yet
    )


@pytest.mark.soak
def test_a_team_plans_and_builds_item_by_item(place):
    """The planner's model makes the plan; each item begins with red tests of a tester who saw none of it; an
    objection to the whole holds it back until the user overrules it."""
    place.once = True
    buildkit.make(place)
    member = f"{SCRIPTED / 'team_member.py'}"
    team(place, planner=member, tester=member, reviewer=f"{JUDGES / 'reviews.py'} NEVER.md")
    settings = place.config / "ralph" / "config.toml"
    with_model = settings.read_text().replace("[team.planner]", '[team.planner]\nmodel = "strong"')
    settings.write_text(with_model + "[team]\nuse = true\n")
    planned = buildkit.plan(place)
    assert planned.code == 0, planned.report()
    loop = planned.loop
    assert {role: one.calls for role, one in loop.team.spend.items()} == {"planner": 1}
    assert [(one.subject, one.status) for one in loop.team.tasks] == [("Plan the items", "completed")]
    place.forget()  # `plan` has written a file, which is what it is for
    done = buildkit.build(place)
    loop = place.expect(done, "blocked", 3, 7, says="NEVER.md is missing")
    calls = [event.purpose for event in done.all(AgentStarted)]
    assert calls == ["item", "item", "close", "item"]
    first, second = done.all(RoleStarted)
    assert first.tree == loop.sealed.base.tree
    assert "def upper" in place.git("show", f"{second.tree}:words.py")
    assert "def lower" not in place.git("show", f"{second.tree}:words.py")
    assert loop.team.tests.paths == ("test_upper.py", "test_lower.py")
    assert place.result("test_lower.py").startswith("import unittest")
    assert [(one.subject, one.status) for one in loop.team.tasks] == [
        ("Write tests for upper", "completed"),
        ("Implement iteration 1", "completed"),
        ("Write tests for lower", "completed"),
        ("Implement iteration 2", "completed"),
        ("Ask what is left", "completed"),
        ("Review iteration 3", "failed"),
        ("Implement iteration 4", "completed"),
    ]
    spent = {role: one.calls for role, one in loop.team.spend.items()}
    assert spent == {"tester": 2, "coder": 4, "reviewer": 1}
    prompt = next(place.prompt(event.prompt) for event in done.all(AgentStarted) if event.purpose == "item")
    assert "The tester wrote these tests" in prompt
    (line,) = [line for line in done.err.splitlines() if "it 1/15  upper verified" in line]
    assert "check ✔" in line, "the tests for the next item are not what it is judged by"
    done = place.ralph("resume", "2", "--allow", "reviewer=not asked for", "--display", "plain")
    place.expect(done, "verified", 0, 7, grade="B")  # the tree is judged again, and nobody is called


@pytest.mark.soak
def test_a_team_in_the_background_overruled_and_verified_again(green):
    """Under -d roles are called as in the foreground; a person overrules the reviewer by name, and the proof
    that a tester's tests made can be checked by the result's own attestation."""
    team(green, tester=writer(test_power__py=TESTS), reviewer=f"{JUDGES / 'reviews.py'} NEVER.md")
    words = green.loop_words(CODER, "--team", "-d", task=FEATURE)
    started = green.ralph(*words, env={"RALPH_CONFIRM": "1"})
    assert started.code == 0, started.report()
    try:
        name = green.newest().loop.sealed.loop
        seen = green.ralph("attach", name, "--display", "plain")
        loop = green.newest().loop
        assert (loop.outcome, loop.team.sealed) == ("stalled", True), seen.report()
        assert "NEVER.md is missing" in green.ralph("status", name).out
    finally:
        green.ralph("worker", "stop")
    done = green.ralph("resume", name, "--allow", "reviewer=not asked for", "--display", "plain")
    loop = green.expect(done, "verified", 0, loop.spend.calls, grade="B")
    assert any("reviewer" in line and "not asked for" in line for line in loop.proof.unproven), (
        loop.proof.unproven
    )
    assert "test_power.py" in green.git("ls-tree", "--name-only", loop.landing.branch)
    checked = green.ralph("verify", name)
    assert checked.code == 0, checked.report()
