"""Guard "criteria": tests that speak for criteria of the specs must fail without the work."""

from __future__ import annotations

from typing import Any

import pytest
from guardkit import facts_of

from ralph.core.model.gate import Gate
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.verdict import Reading
from ralph.gates.guards import REGISTRY, Asked, witness_request

GATE = Gate(name="tests", run="t", argv=("t",), proof=True)


def looked(
    idle: tuple[str, ...] = (),
    shown: tuple[str, ...] = (),
    base: tuple[str, ...] = (),
    *,
    worked: bool = True,
    status: Any = "pass",
) -> Any:
    """One criterion, tied to the test `new`; `idle` tests pass on the base source."""
    asked = Asked(
        ties=(CriterionTest("s", "A-1", "new", status), CriterionTest("s", "B-1", "", "untested")),
        wanted=("A-1", "B-1"),
        shown=frozenset(shown),
        worked=worked,
    )
    over = Reading("fail", "", tests=dict.fromkeys(idle, "pass"))
    before = Reading("pass", "", tests=dict.fromkeys(base, "pass"))
    return REGISTRY["criteria"](
        facts_of({}, {}, gates=(GATE,), base={"tests": before}, witness={"tests": over}, criteria=asked)
    )


def test_a_test_that_fails_without_the_work_counts() -> None:
    """It is counted by the criterion's name, so that it can be missed later."""
    result = looked()
    assert (result.findings, result.counted, result.applied) == ((), {"A-1": 1}, True)


@pytest.mark.parametrize(("shown", "kind"), [((), "idle"), (("A-1",), "lost")])
def test_a_test_that_passes_without_the_work(shown: tuple[str, ...], kind: str) -> None:
    """It shows nothing beside new source, and takes back what was shown before; nobody is accused."""
    result = looked(idle=("new",), shown=shown)
    assert [finding.key for finding in result.findings] == [f"criteria.{kind}:A-1"]
    assert not result.integrity


def test_what_was_shown_once_is_missed_without_new_source_too() -> None:
    """Emptying a test is enough; the source need not change with it."""
    result = looked(idle=("new",), shown=("A-1",), worked=False)
    assert [finding.key for finding in result.findings] == ["criteria.lost:A-1"]


def test_what_may_have_been_there_before_is_named() -> None:
    """Where only tests were added it is taken, and stands among what is not proven."""
    result = looked(idle=("new",), worked=False)
    assert (result.findings, result.applied) == ((), False)
    assert result.summary.endswith("by tests that pass on the base too: A-1")


@pytest.mark.parametrize("given", [{"base": ("new",)}, {"status": "fail"}])
def test_what_others_look_after(given: Any) -> None:
    """Tests of the base, and criteria that no passing test names, are not this guard's business."""
    result = looked(idle=("new",), **given)
    assert (result.findings, result.counted, result.applied) == ((), {}, True)


def test_without_specs_it_is_silent() -> None:
    """A loop without specs has nothing to look at, which lowers no grade."""
    result = REGISTRY["criteria"](facts_of({}, {}))
    assert (result.findings, result.applied) == ((), True)


def test_new_tests_are_tried_on_the_base_wherever_there_are_specs() -> None:
    """Also where a check of the user is the witness: of the criteria it says nothing."""
    red, green = Reading("fail", "", tests={"old": "fail"}), Reading("pass", "", tests={"old": "pass"})
    given: Any = {"gates": (GATE,), "base": {"tests": red}, "final": {"tests": green}}
    after = {"tests/test_a.py": "def test_a(): ...\n"}
    assert witness_request(facts_of({}, after, **given)) is None
    asked = Asked(ties=(), wanted=(), shown=frozenset(), worked=True)
    assert witness_request(facts_of({}, after, criteria=asked, **given)) is not None
