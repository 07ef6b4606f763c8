"""The plan as an agent sees it: in build mode its one item in full, the rest as numbers and a short outlook.

Bounded on every side, so that a prompt does not grow with the plan. What is said of criteria comes from the
specs (`parse.SpecCriterion`), cut to size here. Ids and titles are what the agent is to work by; notes and
reasons may be an agent's own words, so they are told apart (`item_notes`, `planning_notes`) and fenced.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph.core.model.plan.board import ItemChoice, ready_besides
from ralph.core.model.plan.items import Board, Item
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.plan.layout import tags_of
from ralph.core.specs.parse import SpecCriterion
from ralph.core.text.clean import one_line

MAX_WIDTH = 300
MAX_NOTES = 20
MAX_CRITERIA = 12
MAX_OUTLOOK = 5


def item_text(board: Board, choice: ItemChoice, criteria: Mapping[str, SpecCriterion]) -> str:
    """What build mode tells of the plan: one item to do now, and what not to begin yet."""
    item = choice.item
    if item is None:
        return numbers(board)
    lines = [f"{item.id}: {item.title} ({tags_of(item)})", f"chosen because {choice.why}"]
    if item.no_proof:
        lines.append(
            "nothing can prove it, as the plan declares: keep every check green and say when it is done"
        )
    for one in item.serves[:MAX_CRITERIA]:
        lines += _criterion(one, criteria.get(one))
    if len(item.serves) > MAX_CRITERIA:
        lines.append(f"… and {len(item.serves) - MAX_CRITERIA} more criteria")
    lines.append(numbers(board))
    lines += _outlook(board, item)
    return "\n".join(lines)


def item_notes(item: Item) -> str:
    """What was noted below an item when the plan was made."""
    lines = [one_line(note, MAX_WIDTH) for note in item.notes[:MAX_NOTES]]
    if len(item.notes) > MAX_NOTES:
        lines.append(f"… and {len(item.notes) - MAX_NOTES} more notes")
    return "\n".join(lines)


def planning_notes(build: PlanState) -> str:
    """What the next planning call must know: why the plan before it could not be used, and what is stuck."""
    lines = [
        f"problem with the previous plan: {one_line(line, MAX_WIDTH)}"
        for line in build.planning.problems[:MAX_NOTES]
    ]
    blocked = sorted(build.blocked_items.items())
    lines += [one_line(f"blocked: {name}: {why}", MAX_WIDTH) for name, why in blocked[:MAX_NOTES]]
    if len(blocked) > MAX_NOTES:
        lines.append(f"… and {len(blocked) - MAX_NOTES} more blocked items")
    return "\n".join(lines)


def numbers(board: Board) -> str:
    found = board.tally
    words = [f"{found.done} of {found.total} items verified", f"{found.open} open"]
    words += [f"{found.blocked} blocked"] if found.blocked else []
    words += [f"{found.optional_open} of the open ones optional"] if found.optional_open else []
    return "plan: " + ", ".join(words)


def _criterion(name: str, found: SpecCriterion | None) -> list[str]:
    if found is None:
        return [f"criterion {name}: not in any spec"]
    lines = [f"criterion {name}: {one_line(found.title, MAX_WIDTH)}".rstrip(": ")]
    for word, clauses in (("Given", found.given), ("When", found.when), ("Then", found.then)):
        lines += [f"  {word} {one_line(clause, MAX_WIDTH)}" for clause in clauses[:MAX_CRITERIA]]
    return lines


def _outlook(board: Board, item: Item) -> list[str]:
    """What comes afterwards, so that nobody begins it now by accident."""
    names = ready_besides(board, item.id, MAX_OUTLOOK)
    if not names:
        return []
    return ["later, not now:", *(f"  {one.id}: {one_line(one.title, MAX_WIDTH)}" for one in names)]
