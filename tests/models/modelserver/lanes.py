"""Which lane a request belongs to: the script is for the main one only.

Clients ask models for many things besides the task: titles, routing, commit messages, summaries, a side agent
that tends a memory. These must not use up the script, or a new version of a client would shift every test.
"""

import json
import re

from modelserver.resolve import MINI_MARK
from modelserver.shapes import fill
from modelserver.talk import Ask, Json

# A client without any tools that takes edits from the text of the answer.
_TEXT_EDITS = "SEARCH/REPLACE"
# Side agents that have tools of their own, known by their instructions.
_SIDE_AGENTS = (
    re.compile(
        r"memory (?:extraction|consolidation|curator|manager)|(?:extract|durable) memor", re.IGNORECASE
    ),
)


def takes_text_edits(ask: Ask) -> bool:
    return not ask.tools and _TEXT_EDITS in ask.text


def ends_by_command(ask: Ask) -> bool:
    """A client whose only end is a command that prints a mark."""
    return len(ask.tools) == 1 and MINI_MARK in ask.text


def lane(ask: Ask) -> str:
    if ask.agent:
        return "sub"
    if takes_text_edits(ask):
        return "main"
    if not ask.tools or ask.schema is not None:
        return "side"
    head = ask.text[:6000]
    if any(pattern.search(head) for pattern in _SIDE_AGENTS):
        return "side"
    return "main"


def side_text(ask: Ask, canned: tuple[Json, ...]) -> str:
    """The script's canned answer, else the smallest JSON that fits, else a harmless word."""
    for item in canned:
        if re.search(str(item.get("match", "")), ask.text):
            return str(item["say"])
    if ask.schema is not None:
        return json.dumps(fill(ask.schema))
    return "scripted"
