"""The message of a verified item's commit: what, why, and a list of what shows it."""

from __future__ import annotations

import re

from ralph.core.model import actions
from ralph.core.model.loop import Loop
from ralph.core.model.plan.items import Item
from ralph.core.text.clean import one_line

_TYPES = (
    ("docs", re.compile(r"\b(?:doc|docs|document|readme|changelog)\w*\b", re.IGNORECASE)),
    ("fix", re.compile(r"\b(?:fix|mend|repair|bug|correct|broken)\w*\b", re.IGNORECASE)),
    ("refactor", re.compile(r"\b(?:refactor|rename|move|extract|simplify|clean)\w*\b", re.IGNORECASE)),
    ("test", re.compile(r"\b(?:test|tests|coverage)\b", re.IGNORECASE)),
)
MAX_TESTS = 3


def item_message(loop: Loop, action: actions.PublishItem) -> str:
    order, build = loop.sealed, loop.build
    assert build.item is not None
    item = build.item
    lines = [one_line(f"{_type_of(item)}({item.id}): {item.title}", 100), ""]
    lines += [f"Chosen because {one_line(build.why, 200)}."]
    if item.serves:
        lines.append(f"Serves {', '.join(item.serves)}.")
    if item.no_proof:
        lines.append(f"Proof: none because {one_line(item.no_proof, 300)}")
    lines += ["", "Verification:"]
    for gate in order.criterion.gates:
        verdict = loop.proof.finals[gate.name]
        run = "(hidden)" if gate.hidden else f"$ {one_line(gate.run, 200)}"
        told = f"{verdict.status}, {one_line(verdict.summary, 100)}"
        lines.append(f"- {gate.name}: {told}; {run}; evidence {verdict.evidence[:16]}")
    for name in item.serves:
        tests = [tie.test for tie in build.links.tests if tie.criterion == name and tie.test]
        more = f" and {len(tests) - MAX_TESTS} more" if len(tests) > MAX_TESTS else ""
        lines.append(f"- {name}: {one_line(', '.join(tests[:MAX_TESTS]), 300)}{more}")
    lines.append(f"- grade {action.grade}, sandbox {loop.judged_in}, tree {action.tree}")
    lines += [f"- not proven: {one_line(sentence, 200)}" for sentence in loop.proof.unproven]
    trailers = [
        f"Ralph-Loop: {order.loop}",
        f"Ralph-Item: {item.id}",
        f"Ralph-Grade: {action.grade}",
        f"Ralph-Base: {order.base.commit}",
    ]
    return "\n".join([*lines, "", *trailers]) + "\n"


def _type_of(item: Item) -> str:
    for name, words in _TYPES:
        if words.search(item.title):
            return name
    return "chore" if item.chore else "feat"
