"""Promise: the JSON Schemas that Ralph prints say what its own readers say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from ralph.core.backlog.prd import prd_schema, read_prd
from ralph.core.backlog.read_list import list_schema, read_list

LIST = Draft202012Validator(list_schema())
PRD = Draft202012Validator(prd_schema())
ATTEMPT = {
    "run_id": "worker-001", "timestamp": "2026-01-07T19:30:00Z", "result": "PASSED", "commit": "abc",
    "evidence": {"commands_run": ["npm test"], "results_summary": "12 pass", "checks": []}, "reverted": False,
}  # fmt: skip
ITEM = {
    "id": "FEAT-001", "title": "Log in", "description": "words", "acceptance_criteria": ["AC-1: it works"],
    "verification": ["npm test"], "status": "PASSING", "priority": -3, "dependencies": ["FEAT-002"],
    "attempts": [ATTEMPT], "override_reason": None, "notes": "n", "created_at": "2026-01-01T00:00:00Z",
    "prd_reference": {"file": "a/FEAT-001.json", "version": "1.0.0"}, "proof": "none", "proof_reason": "art",
    "prompt_parts": ["tdd"], "nonfunctional_requirements": ["NFR-1: fast"], "question": None,
    "mine": {"x": 1},
    "ralph_loop": {
        "enabled": True, "max_iterations": 5, "current_iteration": 0,
        "convergence_criteria": {"build_passes": True, "acceptance_met": False},
    },
}  # fmt: skip
REGISTER = [{"path": "src/a.c", "criticality": "HIGH", "required_tests": ["make test"]}]
WHOLE = {"schema_version": "2.1", "description": "d", "protected_files": REGISTER, "items": [ITEM]}
NEEDS = {
    "feature_id": "BUG-LED-12", "title": "A title", "overview": "Words about what is wanted here.",
    "functional_requirements": ["FR-1: it is there"], "acceptance_criteria": ["AC-1: it can be seen"],
    "nonfunctional_requirements": ["NFR-1"], "constraints": ["X"], "version": "1.0.0",
    "last_updated": "2026-02-01",
}  # fmt: skip
TYPES = (
    "wrong_type",
    "bad_id",
    "bad_status",
    "missing_field",
    "schema_version",
    "unknown_criterion",
    "no_items",
)


def wrong(document: Any) -> bool:
    """Whether the reader finds a field that is not of its type."""
    problems = read_list(json.dumps(document)).problems
    return any(one.code in TYPES or one.code.startswith(("attempt_", "proof")) for one in problems)


def test_a_whole_document_is_valid() -> None:
    """What uses every field is valid for both; the schemas themselves are schemas."""
    Draft202012Validator.check_schema(list_schema())
    Draft202012Validator.check_schema(prd_schema())
    assert LIST.is_valid(WHOLE)
    assert not wrong(WHOLE)
    assert PRD.is_valid(NEEDS)
    assert not read_prd(json.dumps(NEEDS), "p.json").problems


VALUES = st.sampled_from(
    [None, True, 7, -1, 0, 2.5, "", " ", "x", "FEAT-9", "PASSED", [], [""], ["x"], [3], [None], {},
     {"file": "../x"},
     {"enabled": 1}, {"max_iterations": 0}, {"convergence_criteria": {"looks_good": True}}, [{"run_id": "r"}]]
)  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


@given(data=st.data(), value=VALUES, drop=st.booleans())
def test_reader_and_schema_agree_on_any_change(data: st.DataObject, value: Any, drop: bool) -> None:
    """One value of a whole document set to anything, or left out: both find it wrong, or neither does.

    The reader is kinder in four ways: null is a field left out, one text a list of one, an object may hold a
    command, and a PRD may be named by its file."""
    document = json.loads(json.dumps(WHOLE))
    place = data.draw(st.sampled_from([one for one in places(document) if one and "mine" not in one]))
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    if drop:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    kind = value is None or (isinstance(value, str) and place[-1] in ITEM) or place[-1] == "verification"
    rules = "evidence" in place or place[-1] in (
        "proof",
        "proof_reason",
        "result",
    )  # fields that need each other
    if LIST.is_valid(document):
        assert rules or not wrong(document), (place, value, drop)
    elif drop or not kind:
        assert wrong(document), (place, value, drop)


@pytest.mark.parametrize("key", NEEDS)
@given(value=VALUES)
def test_reader_and_schema_agree_on_prds(key: str, value: Any) -> None:
    """The same for a field of a PRD."""
    document = NEEDS | {key: value}
    found = read_prd(json.dumps(document), "p.json").problems
    if value is not None:
        assert PRD.is_valid(document) == (not found)
