"""The picture in docs/concepts.md is the transition table, not somebody's memory of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ralph.core.decide.machine import TABLE

TOOL = Path(__file__).resolve().parents[3] / "tools" / "diagram.py"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("diagram_tool", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_table_as_it_is(tool: ModuleType) -> None:
    """A changed transition without `tools/diagram.py` fails here."""
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page == tool.rewritten(page)
    assert tool.main(["--check"]) == 0


def test_every_transition_is_in_the_generated_table(tool: ModuleType) -> None:
    """No row of the machine is missing from the page."""
    lines = tool.table().splitlines()
    assert len(lines) == len(TABLE) + 2
    for (phase, kind), rule in TABLE.items():
        assert f"| {phase} | {kind.__name__} | {', '.join(rule.to)} |" in lines


def test_every_move_is_in_the_diagram(tool: ModuleType) -> None:
    """Each change of phase has its arrow, or that of its group; no arrow is invented, and few are drawn."""
    moves = {(key[0], to) for key, rule in TABLE.items() for to in rule.to if to != key[0]}
    inside = {both for both in moves if set(both) <= set(tool.ACTIVE)}
    outside = {(tool.group_of(one), tool.group_of(to)) for one, to in moves - inside}
    drawn = {tuple(line.split(":")[0].split(" --> ")) for line in tool.diagram().splitlines() if ":" in line}
    assert {(before.strip(), after) for before, after in drawn} == inside | outside
    assert len(drawn) <= 18


def test_a_page_without_marks_is_refused(tool: ModuleType) -> None:
    """The tool never writes where it was not asked to."""
    with pytest.raises(SystemExit, match="lacks the marks of the diagram"):
        tool.rewritten("# nothing")
