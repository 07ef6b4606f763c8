"""Recommendations and costs by model: computed from the record, and silent where it holds no fact."""

import json

import pytest
from making import Maker, exhausted, order, record_all, verified

from ralph.app.report.recommend import recommend, recommend_across
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.order import RoleTerms, Team
from ralph.core.model.spend import Usage
from ralph.core.views.costs import add_rows, costs_by_model


def told_of(maker):
    from ralph.app.report.report_data import make_report
    from ralph.shell.journal.entries import JournalRow, Record, RecordEntry

    rows = [
        RecordEntry(JournalRow("x", seq, 0, e.kind_of(event), 1, b""), event)
        for seq, event in enumerate(maker.events, 1)
    ]
    return make_report(Record(name=maker.loop.sealed.loop, loop=maker.loop, entries=tuple(rows)))


def test_a_clean_loop_needs_no_advice():
    """Nothing is made up: a verified loop with known costs says only what its record shows."""
    found = told_of(verified())
    assert all(
        "more room" not in line and "another agent" not in line for line in found.notes.recommendations
    )


def test_an_exhausted_loop_is_told_what_room_would_bring():
    """Red that does not shrink is no reason for more room, and unknown costs are named with their number."""
    found = told_of(exhausted())
    said = " ".join(found.notes.recommendations)
    assert "More room alone will not help: the last iteration went from 1 red to 1" in said
    assert "the cost of 2 calls is unknown" in said
    assert "the checks refused 2 of 2 claims of being done" in said


def test_every_sentence_rests_on_a_number_or_a_name():
    """Without iterations, claims, faults and findings there is nothing to recommend."""
    assert recommend(Maker().loop, (), (), (), ()) == ()
    assert recommend(Maker().loop, (), (), ("lint",), ()) == (
        "Repair the check lint: it failed before the loop and still does.",
    )


def started(agent, using=0):
    return e.AgentStarted(iteration=1, call=1, agent=agent, prompt="", using=using)


def ended(cost=None, tokens=None, **more):
    return e.AgentEnded(iteration=1, call=1, usage=Usage(cost=cost, tokens=tokens, **more))


def test_costs_go_to_the_model_that_was_called():
    """Spare agents, a judge and another agent after a resume have rows of their own; unknown is not zero."""
    made = order(
        agent="claude",
        model="big",
        spares=(SealedAgent("codex", model="small"),),
        judge=SealedAgent("gemini", model="pro"),
    )
    events = (
        e.LoopStarted(rules=e.RULES, order=made),
        started("claude"),
        ended(cost=1.0, tokens=10),
        started("codex", using=1),
        ended(tokens=5),
        e.JudgeStarted(iteration=1, call=3, tree="t", agent="gemini", prompt=""),
        e.JudgeEnded(iteration=1, call=3, tree="t", usage=Usage(cost=0.25)),
        started("claude"),
        e.ResumeAsked(agent=SealedAgent("qwen", model="coder")),
        started("qwen"),
        ended(cost=0.5, estimated=True),
    )
    rows = [(r.agent, r.model, r.role, r.calls, r.tokens, r.cost, r.unknown) for r in costs_by_model(events)]
    assert rows == [
        ("claude", "big", "work", 2, 10, 1.0, 1),
        ("codex", "small", "work", 1, 5, None, 1),
        ("gemini", "pro", "judge", 1, None, 0.25, 0),
        ("qwen", "coder", "work", 1, None, 0.5, 0),
    ]
    both = add_rows(costs_by_model(events) + costs_by_model(events))
    assert (both[0].agent, both[0].calls, both[0].cost, both[0].unknown) == ("claude", 4, 2.0, 2)
    assert next(r for r in both if r.agent == "codex").cost is None


def test_costs_of_a_team_go_to_its_roles():
    """Each role by its own agent and model: the plan is the planner's, and a judge asked beside counts."""
    who = {
        "coder": SealedAgent("claude", model="big"),
        "planner": SealedAgent("codex", model="deep"),
        "tester": SealedAgent("gemini"),
        "reviewer": SealedAgent("qwen", model="coder"),
    }
    team = Team("loop-1", {role: RoleTerms(agent) for role, agent in who.items()})
    judge = SealedAgent("pi", model="fair")
    events = (
        e.LoopStarted(rules=e.RULES, order=order(agent="claude", model="big", team=team, judge=judge)),
        e.RoleStarted(role="tester", call=1, tree="t", agent="gemini", prompt=""),
        e.RoleEnded(role="tester", call=1, usage=Usage(cost=0.25)),
        e.AgentStarted(iteration=1, call=2, agent="codex", prompt="", purpose="plan"),
        ended(cost=2.0),
        started("claude"),
        ended(cost=1.0),
        e.JudgeStarted(iteration=1, call=4, tree="t", agent="qwen", prompt="", role="reviewer", beside="b"),
        e.JudgeEnded(
            iteration=1,
            call=4,
            tree="t",
            role="reviewer",
            usage=Usage(cost=0.5),
            beside=e.SecondAnswer(usage=Usage(cost=0.125)),
        ),
    )
    rows = [(r.agent, r.model, r.role, r.calls, r.cost, r.unknown) for r in costs_by_model(events)]
    assert rows == [
        ("gemini", "", "tester", 1, 0.25, 0),
        ("codex", "deep", "planner", 1, 2.0, 0),
        ("claude", "big", "coder", 1, 1.0, 0),
        ("qwen", "coder", "reviewer", 1, 0.5, 0),
        ("pi", "fair", "judge", 1, 0.125, 0),
    ]


def test_what_several_loops_call_for_is_put_together():
    """What most loops call for comes first, with the newest one's facts; a loop counts once."""
    slow, prices = "Make the checks faster", "Give prices in a profile"
    found = recommend_across(
        [
            ("c", (f"{prices}: the cost of 1 call is unknown.",)),
            ("b", (f"{slow}: they took 2:00, the agent 1:00.", f"{slow}: again.")),
            ("a", (f"{slow}: they took 9:00, the agent 1:00.",)),
        ]
    )
    assert [(one.what, one.loops) for one in found] == [(slow, ("b", "a")), (prices, ("c",))]
    assert found[0].why == "they took 2:00, the agent 1:00."
    assert recommend_across([("a", ())]) == ()


def test_analytics_recommends_over_loops_and_for_one(tmp_path, ralph):
    """With the number of loops and the facts, for people and programs; only where it was asked for."""
    second = exhausted(order(name="docs-91ab44cd"))
    record_all(tmp_path / "state", verified(), exhausted(order(name="port-00aa11bb")), second)
    code, out, _ = ralph("analytics", "--all", "--recommend")
    assert code == 0
    assert "Try another agent or a stronger model (2 of 3 loops)\n" in out
    assert "the checks refused 2 of 2 claims of being done." in out
    told = json.loads(ralph("analytics", "--all", "--recommend", "--json")[1])
    shared = next(one for one in told["recommendations"] if one["what"].startswith("Try another"))
    assert sorted(shared["loops"]) == ["docs-91ab44cd", "port-00aa11bb"]
    one = json.loads(ralph("analytics", "docs", "--recommend", "--json")[1])
    assert any("More room alone will not help" in line for line in one["recommendations"])
    assert one["loop"] == "docs-91ab44cd"
    assert "More room alone" in ralph("analytics", "docs", "--recommend")[1]
    assert "recommendations" not in json.loads(ralph("analytics", "docs", "--json")[1])


@pytest.mark.parametrize("flag", ["--all", "--json"])
def test_analytics_and_the_report_show_costs_by_model(tmp_path, ralph, flag):
    """The same table in both, and for programs."""
    record_all(tmp_path / "state", verified(order(agent="command", model="big")))
    words = ("--all",) if flag == "--all" else ("--all", "--json")
    code, out, _ = ralph("analytics", *words)
    assert code == 0
    assert ("big" in out, ('"models"' if flag == "--json" else "spent on") in out) == (True, True)
    _, report, _ = ralph("report", "fix-auth")
    assert "| command | big | work |" in report
    assert "### Recommendations" in report
