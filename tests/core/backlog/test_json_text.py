"""Promise: a change to the backlog's file changes the value that was meant, and no other byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.backlog.json_text import (
    JsonEdit,
    apply_edits,
    edit_element,
    element_starts,
    elements,
    first_value,
    members,
    style_of,
)

ODD = """{
\t"$schema" : "x",
   "description": "caf\\u00e9 \\ud83d\\ude00 /\\/",
  "items": [ {"id":"A-1", "status" :"FAILING","n": 1.50e3, "deep": {"x":[ ]} , "attempts":[]},
    {
      "id": "B-2",
      "status": "FAILING",
      "status": "FAILING"
    }
  ]  ,
 "last": null }

"""


def test_only_the_value_changes() -> None:
    """Spacing, escapes, numbers and duplicate keys around a change stay as they are."""
    made = apply_edits(ODD, [JsonEdit(("items", 0, "status"), "PASSING")])
    assert made == ODD.replace('"status" :"FAILING"', '"status" :"PASSING"', 1)
    made = apply_edits(ODD, [JsonEdit(("items", 1, "status"), "PASSING")])
    assert made == ODD.replace('"status": "FAILING"\n', '"status": "PASSING"\n')


def test_missing_objects_and_lists_are_made() -> None:
    """A field that was never written is added at the end, in the style of its neighbours."""
    edits = [
        JsonEdit(("items", 1, "ralph_loop", "current_iteration"), 2),
        JsonEdit(("items", 1, "attempts"), {"run_id": "r"}, append=True),
        JsonEdit(("items", 1, "attempts"), {"run_id": "s"}, append=True),
    ]
    made = apply_edits(ODD, edits)
    item = json.loads(made)["items"][1]
    assert item["ralph_loop"] == {"current_iteration": 2}
    assert item["attempts"] == [{"run_id": "r"}, {"run_id": "s"}]
    assert made.startswith(ODD[: ODD.index('"B-2"')])
    assert made.endswith(ODD[ODD.index("  ]  ,") :])


@pytest.mark.parametrize("text", ["{}", '{"items":[]}', '{\r\n  "items": [\r\n  ]\r\n}\r\n', "\ufeff{ }"])
def test_lists_that_are_empty(text: str) -> None:
    """The first item of a list can be added, whatever the file looks like."""
    made = apply_edits(text, [JsonEdit(("items",), {"id": "A-1"}, append=True)])
    assert json.loads(made.removeprefix("\ufeff"))["items"] == [{"id": "A-1"}]
    assert ("\r\n" in text) == ("\r\n" in made)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(
    rows=st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=4), min_size=1, max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    value=JSON,
    key=st.text(max_size=4),
    data=st.data(),
)
def test_any_edit_of_any_document(
    rows: list[dict[str, Any]], indent: Any, value: Any, key: str, data: st.DataObject
) -> None:
    """What is read after an edit is what was there, with the one value set."""
    text = json.dumps({"items": rows, "more": 1}, indent=indent, ensure_ascii=data.draw(st.booleans()))
    at = data.draw(st.integers(0, len(rows) - 1))
    made = apply_edits(text, [JsonEdit(("items", at, key), value)])
    wanted = [dict(row) for row in rows]
    wanted[at][key] = value
    assert json.loads(made) == {"items": wanted, "more": 1}
    whole = text.encode("utf-8", "surrogatepass")
    starts = [*element_starts(whole, "items"), len(whole)]
    part, old = edit_element(whole, starts[at], starts[at + 1], [JsonEdit((key,), value)], style_of(whole))
    alone = whole[: old.start] + part.encode("utf-8", "surrogatepass") + whole[old.end :]
    assert alone == made.encode("utf-8", "surrogatepass"), "an element edited alone"
    spans = elements(text, members(text, first_value(text))["items"].start)
    for number, span in enumerate(spans):
        if number != at:
            assert text[span.start : span.end] in made


def test_a_number_of_any_length_is_passed_over() -> None:
    """Longer than Python would read: it is nobody's value here, and stays."""
    text = f'{{"n": {"1" * 5000}, "status": "FAILING"}}'
    assert apply_edits(text, [JsonEdit(("status",), "PASSING")]) == text.replace("FAILING", "PASSING")


@pytest.mark.parametrize("first", ['"no"', "[{}, {}]", "{}", '[["a", "b", {"c": "d"}], "e"]'])
def test_a_list_that_is_there_twice_is_the_last_one(first: str) -> None:
    """Whatever its first value looks like when it is taken to be as long as the second."""
    for size in range(60):
        text = f'{{"items": {first}, "items": ["{"a" * size}"]}}'
        assert element_starts(text.encode(), "items") == [text.rindex("[") + 1]
