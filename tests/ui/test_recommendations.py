"""Recommendations and costs by model: computed from the record, and silent where it holds no fact."""

import pytest
from making import Maker, exhausted, order, record_all, verified

from ralph.app.report.recommend import recommend
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
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
