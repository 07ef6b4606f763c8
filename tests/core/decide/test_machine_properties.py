"""What holds for every sequence of facts, legal or not, that anybody could think of.

Trees and verdicts are chosen independently, so that stale verdicts are tried as well: a machine that
ignored them passed every property until the generator did that. The books kept here are the test's own.
"""

from __future__ import annotations

from typing import Any

import builders as b
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    run_state_machine_as_test,
)
from machine_facts import CALLS, QUIET, Machine

from ralph.core.decide.failover import FAULT_CAP, LIMIT_CAP
from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Fault
from ralph.core.model.spend import Limits


def test_random_facts_a_few() -> None:
    """A short, repeatable search through sequences of facts finds no broken promise."""
    few = settings(
        max_examples=examples(7),
        stateful_step_count=25,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=QUIET,
    )
    run_state_machine_as_test(Machine, settings=few)


@pytest.mark.slow
def test_random_facts_many() -> None:
    """A long search (another one each time with `--hypothesis-profile search`) finds no broken promise."""
    many = settings(
        max_examples=examples(40), stateful_step_count=50, deadline=None, suppress_health_check=QUIET
    )
    run_state_machine_as_test(Machine, settings=many)


@settings(max_examples=examples(25), deadline=None, database=None, derandomize=True)
@given(calls=CALLS, iterations=st.integers(1, 6))
def test_a_loop_whose_calls_all_fail_ends(calls: list[Any], iterations: int) -> None:
    """Whatever mixture of faults and idleness comes, over and over, the loop ends within its bounds."""
    loop, events = b.based(b.order(limits=Limits(iterations=iterations))), 0
    bound = (iterations + 1) * (FAULT_CAP + LIMIT_CAP)
    while loop.phase != "ended":
        if loop.phase == "waiting":
            loop = decide(loop, e.WaitOver())
        elif isinstance(loop.todo[0], actions.Finish):
            loop = b.close(loop)
        else:
            kind = calls[loop.spend.calls % len(calls)]
            loop = b.work(loop, b.BASE, fault=None if kind == "nothing" else Fault(kind, "m"))
        events += 1
        assert events <= 3 * bound
    assert loop.outcome in ("exhausted", "stalled", "blocked", "broken")
    assert loop.spend.calls <= bound
