"""What the judge is asked: task, rubric, what the checks said, and the change, fenced as data.

The change may hold anything, also words to a judge; it is cut to size here and must have been cleaned and
redacted before. Hidden checks are left out: what the judge says may reach the agent that is judged.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.core.model.loop import Loop
from ralph.core.model.rubric import ANCHORS, Rubric
from ralph.core.model.team.terms import Seat
from ralph.core.prompt.facts import HIDDEN, render
from ralph.core.text.clean import one_line, share_room, trim

MAX_DIFF_CHARS = 60_000  # characters of the change that are shown
MAX_FILE_LINES = 2_000  # of one file
MAX_SENTENCE = 300
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)


class AskedOf(Struct, frozen=True):
    """A dimension as the template shows it."""

    name: str
    weight: str
    what: str
    anchors: tuple[tuple[str, str], ...]


class JudgeQuestion(Struct, frozen=True, kw_only=True):
    task: str
    item: str
    until: str
    checks: tuple[str, ...]
    dimensions: tuple[AskedOf, ...]
    names: tuple[str, ...]
    example: str
    threshold: str
    nonce: str
    diff: str
    cut: bool
    trouble: str
    asked: str = ""  # the user's own words to a judge or reviewer of a team


def question(
    template: str, loop: Loop, rubric: Rubric, diff: str, nonce: str, *, item: str = "", seat: Seat = "judge"
) -> str:
    """The prompt for the tree at hand; `item` names what of a plan the change is for."""
    whole = diff.replace(nonce, "").strip("\n")  # nothing quoted may end its own quotation
    shown = fit_diff(whole, MAX_DIFF_CHARS >> loop.call.prompt_halvings)
    order = loop.sealed
    names = tuple(dimension.name for dimension in rubric.dimensions)
    facts = JudgeQuestion(
        task=order.task,
        item=one_line(item, MAX_SENTENCE),
        until=order.criterion.until,
        checks=_checks(loop),
        dimensions=tuple(
            AskedOf(one.name, f"{one.weight:g}", one.what, tuple((at, one.anchors[at]) for at in ANCHORS))
            for one in rubric.dimensions
        ),
        names=names,
        example=f'{{"dimension": "{names[0] if names else ""}", "score": 1, "reasoning": "…"}}, …',
        threshold=f"{rubric.threshold:g}",
        nonce=nonce,
        diff=shown,
        cut=shown != whole,
        trouble=one_line(loop.jury_of(seat).trouble, MAX_SENTENCE),
        asked=order.team.roles[seat].prompt if order.team and seat in order.team.roles else "",
    )
    return render(template, facts)


def _checks(loop: Loop) -> tuple[str, ...]:
    lines = []
    for gate in loop.sealed.criterion.gates:
        verdict = loop.proof.finals.get(gate.name) or loop.newest_verdicts.get(gate.name)
        if gate.origin != HIDDEN and verdict is not None:
            said = one_line(f"{verdict.status}, {verdict.summary}", MAX_SENTENCE)
            lines.append(f"{gate.name}: {said} (before: {_before(loop, gate.name)})")
    return tuple(lines) or ("passed",)


def _before(loop: Loop, gate: str) -> str:
    verdict = loop.proof.baseline.get(gate)
    return verdict.status if verdict is not None else "not judged"


def fit_diff(diff: str, budget: int) -> str:
    """The change within the budget: small files stay whole, what they leave goes to the larger ones."""
    parts = dict(enumerate(part for part in _FILE.split(diff) if part))
    kept = share_room(parts, budget, lambda at, share: trim(parts[at], MAX_FILE_LINES, share)[:share])
    return "\n".join(part.rstrip("\n") for part in kept.values() if part)
