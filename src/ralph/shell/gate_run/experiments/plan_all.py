"""Every experiment that is made on a result, and the stages of their calls by the guard that goes by them."""

from __future__ import annotations

from ralph.shell.gate_run.experiments import (
    alone_calls,
    apart_calls,
    break_calls,
    likeness_calls,
    overlay_calls,
    plain_calls,
    repeat_calls,
    witness_calls,
)
from ralph.shell.gate_run.schedule import Experiment, Lab

# Where they are not called like their guard: the stages of the calls that it goes by, or how those begin.
STAGES: dict[str, tuple[str, ...]] = {
    "base_tests": ("overlay", "attributed"),
    "repeat": ("final", likeness_calls.STAGE, alone_calls.STAGE, plain_calls.STAGE),
    "diff_coverage": ("canary", "final"),
    "sabotage": ("sabotage", break_calls.STAGE, apart_calls.STAGE),
}


_ALWAYS = (witness_calls.plan, overlay_calls.plan, repeat_calls.plan, overlay_calls.plan_attribution)
_IF_REPEATED = (
    break_calls.plan,
    overlay_calls.plan_scope,
    overlay_calls.plan_altered,
    overlay_calls.plan_unheard,
    likeness_calls.plan,
    alone_calls.plan,
    plain_calls.plan,
    apart_calls.plan,
)


def plan_experiments(lab: Lab) -> list[Experiment]:
    """Every experiment on this result; a verdict that is to be judged once is only held against the base."""
    plans = _ALWAYS + (_IF_REPEATED if lab.facts.confirm > 1 else ())
    return [one for plan in plans for one in plan(lab)]
