"""A plan as the bytes of its file, which is always written as a whole; only the states in it change often."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralph.core.model.plan.items import (
    COMPLETED,
    GROUPS,
    MARKS,
    SETTLED,
    Item,
    Plan,
    State,
    normal,
    open_group_of,
)

_TITLE = "# Implementation plan"
_BOXES = {state: f"- [{mark}] " for state, mark in MARKS.items()}


class _PlanRow(NamedTuple):
    id: str
    state: State
    group: int  # while it is not settled
    text: str  # behind its box


class Layout:
    """The file of one plan, for whatever states its items have."""

    def __init__(self, plan: Plan) -> None:
        plan = normal(plan)
        self._lines = [
            _PlanRow(item.id, item.state, open_group_of(item), item_line(item)) for item in plan.items
        ]
        self._rest = _rest(plan)

    def data(self, states: Mapping[str, State], *, specs: str, code: str) -> bytes:
        groups: list[list[str]] = [[] for _ in GROUPS]
        for name, written, group, text in self._lines:
            state = states.get(name, written)
            groups[COMPLETED if state in SETTLED else group] += (_BOXES[state], text)
        parts = [f"{_TITLE}\n\n<!-- ralph plan: specs={specs} code={code} -->\n"]
        for name, lines in zip(GROUPS, groups, strict=True):
            if lines:
                parts += [f"\n## {name}\n\n", *lines]
        return "".join([*parts, self._rest]).encode()


def lay_out(plan: Plan) -> bytes:
    """The whole file."""
    plan = normal(plan)
    return Layout(plan).data({}, specs=plan.specs, code=plan.code)


def render_plan(plan: Plan) -> str:
    return lay_out(plan).decode("utf-8")


def item_line(item: Item) -> str:
    notes = f"  - Proof: none because {item.no_proof}\n" if item.no_proof else ""
    notes += "".join(f"  > {note}\n" for note in item.notes)
    return f"`{item.id}`: {item.title} ({tags_of(item)})\n{notes}"


def tags_of(item: Item) -> str:
    """P0, S, serves AUTH-1 AUTH-2, after store."""
    words = [f"P{item.priority}"]
    words += [item.size] if item.size else []
    words += [f"serves {' '.join(item.serves)}"] if item.serves else []
    words += [f"after {' '.join(item.after)}"] if item.after else []
    for word, told in (("optional", item.optional), ("human", item.human), ("chore", item.chore)):
        words += [word] if told else []
    return ", ".join(words)


def _rest(plan: Plan) -> str:
    lines = ["", "## Missing specs", ""]
    lines += [f"- `{one.name}`: {one.why}".rstrip() for one in plan.missing] or ["- none"]
    if plan.notes:
        lines += ["", "## Notes", "", *(f"> {note}" for note in plan.notes)]
    return "\n".join(lines) + "\n"
