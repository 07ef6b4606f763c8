"""The transition table as a whole: nothing in it is untried, nothing outside it is allowed."""

from __future__ import annotations

import builders as b
import laws
import pytest
from builders import Row
from msgspec.structs import asdict

from ralph.core.decide.machine import TABLE, Transition, decide, fold
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import PHASES
from ralph.core.model.spend import Spend
from ralph.errors import Bug, IllegalEvent

IN_PHASE = {
    "new": Loop(),
    "queued": decide(b.based(), e.LoopQueued()),
    "baseline": b.started(),
    "working": b.based(),
    "judging": b.work(b.based(), "t1"),
    "waiting": b.waiting(),
    "paused": b.paused_judging(),
    "ended": b.verified(),
}
ONE_OF_EACH: dict[type[e.Event], e.AnyEvent] = {type(row.event): row.event for row in laws.ROWS}
OUTSIDE = [(phase, kind) for phase in PHASES for kind in e.KINDS if (phase, kind) not in TABLE]


@pytest.mark.parametrize("row", laws.EXACT, ids=lambda row: row.name)
def test_a_fact_changes_exactly_the_named_fields(row: Row) -> None:
    """Each fact changes exactly the named fields, and what is owed follows."""
    assert b.changes(row.before, decide(row.before, row.event)) == row.changes


@pytest.mark.parametrize("row", laws.NAMED, ids=lambda row: row.name)
def test_what_follows_a_judgement(row: Row) -> None:
    """How a loop goes on, ends, goes back or waits after a judgement is what its line says."""
    after = decide(row.before, row.event)
    assert {name: b.fields(after)[name] for name in row.changes} == row.changes


def test_every_transition_is_tried() -> None:
    """The lines of the law reach exactly the phases that the table names, no more and no fewer."""
    tried: dict[tuple[str, type[e.Event]], set[str]] = {}
    for row in laws.ROWS:
        key = (row.before.phase, type(row.event))
        tried.setdefault(key, set()).add(decide(row.before, row.event).phase)
    assert tried == {key: set(rule.to) for key, rule in TABLE.items()}


@pytest.mark.parametrize(
    ("phase", "kind"), OUTSIDE, ids=[f"{phase}-{kind.__name__}" for phase, kind in OUTSIDE]
)
def test_outside_the_table(phase: str, kind: type[e.Event]) -> None:
    """A pair of phase and event that the table does not hold raises and leaves the loop untouched."""
    loop = IN_PHASE[phase]
    before = asdict(loop)
    with pytest.raises(IllegalEvent, match=f"^{kind.__name__} cannot happen in phase {phase}$") as caught:
        decide(loop, ONE_OF_EACH[kind])
    assert caught.value.code == "E-ILLEGAL-EVENT"
    assert asdict(loop) == before


def test_a_handler_may_only_land_where_its_row_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that lands in a phase its row does not name is our bug, not the user's."""
    key = ("new", e.LoopStarted)
    monkeypatch.setitem(TABLE, key, Transition(TABLE[key].handler, ("ended",)))
    with pytest.raises(Bug, match=r"^LoopStarted led from new to baseline, which its rule does not name$"):
        decide(Loop(), e.LoopStarted(rules=e.RULES, order=b.order()))


def test_fold_begins_where_it_is_told() -> None:
    """Folding in two parts gives what folding at once gives."""
    facts = [e.LoopStarted(rules=e.RULES, order=b.order()), e.WorkspaceMade(path="/w"), e.Steered(text="x")]
    assert fold(facts) == fold(facts[1:], fold(facts[:1]))
    assert fold([]) == Loop()


@pytest.mark.parametrize(
    ("phase", "spend"),
    [
        ("baseline", Spend(seconds=2.5)),
        ("working", Spend(seconds=2.5)),
        ("judging", Spend(calls=1, blind=1, seconds=2.5)),
        ("waiting", Spend(calls=1, blind=1, waited=2.5)),
        ("paused", Spend(calls=1, blind=1)),
        ("ended", Spend(calls=1, blind=1)),
    ],
)
def test_time_is_charged_to_whom_it_belongs(phase: str, spend: Spend) -> None:
    """Work and waiting count as what they are; a pause and the time after the end cost nothing."""
    after = decide(IN_PHASE[phase], e.Steered(text="x", took=2.5, at=7.0))
    assert (after.spend, after.now) == (spend, 7.0)


def test_time_adds_up_and_never_runs_backwards() -> None:
    """Seconds are summed; a clock that jumped back gives no time back."""
    for phase in ("working", "waiting"):
        loop = fold([e.Steered(text="x", took=took) for took in (2.0, 3.0, -9.0)], IN_PHASE[phase])
        assert loop.elapsed_seconds == 5.0


def test_commits_are_dated_by_the_work_and_not_by_what_people_say() -> None:
    """A steer, a pause or a new runner between an effect and its record changes no date."""
    loop = decide(b.started(), e.GateEnded(iteration=0, verdict=b.at_base(b.red()), at=5.0))
    aside: list[e.AnyEvent] = [
        e.StintStarted(pid=1, host="h", version="1", protection="S2", at=6.0),
        e.Steered(text="x", at=6.0),
        e.PauseAsked(at=6.0),
        e.ResumeAsked(at=6.0),
        e.AbortAsked(at=6.0),
    ]
    for event in aside:
        loop = decide(loop, event)
        assert (loop.last_work_at, loop.now) == (5.0, 6.0)
