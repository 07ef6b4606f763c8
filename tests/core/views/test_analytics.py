"""What iterations came to: unknown stays unknown, and forecasts are scored by what came."""

from __future__ import annotations

import builders as b

from ralph.core.model import events as e
from ralph.core.model.agent import Claim
from ralph.core.model.spend import Usage
from ralph.core.views.analytics import (
    Forecast,
    IterationLine,
    analyse,
    diminishing,
    forecast,
    iteration_lines,
    score_forecasts,
    trajectory,
)


def told(*reds: int, cost: float | None = 0.5) -> list[e.AnyEvent]:
    """A loop whose base has ten red, and whose iterations leave so many each."""
    events: list[e.AnyEvent] = [e.GateEnded(iteration=0, verdict=b.at_base(b.red(count=10)))]
    for number, red in enumerate(reds, 1):
        verdict = b.red(count=red) if red else b.green()
        claim = Claim("COMPLETE")
        events += [
            e.AgentStarted(iteration=number, call=number, agent="demo", prompt="p"),
            e.AgentEnded(iteration=number, call=number, usage=Usage(cost=cost), claim=claim, seconds=3.0),
            e.CheckpointMade(iteration=number, tree=f"t{number}", commit="c", added=4, removed=1),
            e.GateEnded(iteration=number, verdict=verdict),
        ]
    return events


def lines(*qualities: float | None) -> list[IterationLine]:
    return [IterationLine(number, quality=one) for number, one in enumerate(qualities, 1)]


def test_each_iteration_has_its_change_cost_and_time() -> None:
    """What was red before and after, in points, dollars, seconds and lines."""
    first, second = iteration_lines(told(5, 0))
    assert (first.red_before, first.red, first.quality, first.delta) == (10, 5, 50.0, 5.0)
    assert (second.red_before, second.red, second.quality) == (5, 0, 100.0)
    assert (first.cost, first.agent_seconds, first.lines, first.tokens) == (0.5, 3.0, 5, None)


def test_what_nobody_judged_is_unknown() -> None:
    """An iteration without a verdict has no quality; it is not zero."""
    (line,) = iteration_lines(told(5)[:-1])
    assert (line.red, line.quality, line.delta) == (None, None, None)
    assert forecast([line], 5) is None
    assert trajectory([line]) == "unknown"


def test_the_way_it_goes() -> None:
    """Two thirds of the steps decide; two small ones in a row are diminishing returns."""
    assert trajectory(lines(30, 60, 90)) == "improving"
    assert trajectory(lines(90, 60, 30)) == "declining"
    assert trajectory(lines(1, 2, 1)) == "stable"
    assert trajectory(lines(50, 20, 60, 30)) == "fluctuating"
    assert diminishing(lines(50, 53, 55))
    assert not diminishing(lines(50, 53, 75))


def test_a_forecast_goes_by_the_pace_so_far_and_never_beyond_the_limit() -> None:
    """Ten red, two less each time: four more from two on; cost only where every call told it."""
    made = forecast(iteration_lines(told(8, 6)), 20)
    assert made == Forecast(3, 3, 8, 1.5, 1.5, 4.0)
    assert forecast(iteration_lines(told(8, 6, cost=None)), 20) == Forecast(3, 3, 8, None)
    assert forecast(iteration_lines(told(8, 6)), 2) == Forecast(2, 2, 2, 1.0, 1.0, 1.0)
    assert forecast(iteration_lines(told(10, 10)), 4) == Forecast(4, 4, 4, 2.0, 2.0, 2.0)
    assert forecast(iteration_lines(told(8, 0)), 20) == Forecast(0, 0, 1, 0.0, 0.0, 0.5)
    assert forecast(iteration_lines(told(8)), 0) is None


def test_forecasts_are_scored_by_what_came() -> None:
    """A steady loop holds its promise at every iteration; one that jumps does not."""
    steady = score_forecasts([(iteration_lines(told(8, 6, 4, 2, 0)), 15)])
    assert (steady.forecasts, steady.inside, steady.error) == (4, 4, 0.0)
    jumpy = score_forecasts([(iteration_lines(told(9, 0)), 15)])
    assert (jumpy.forecasts, jumpy.inside) == (1, 0)
    assert score_forecasts([]).error is None


def test_claims_that_were_refused_are_counted() -> None:
    """The last claim of a verified loop was true; the others were not."""
    assert analyse(b.verified(), told(5, 2, 0)).lies == 2
    assert analyse(b.outcome("stalled"), told(5, 2)).lies == 2
