"""What agents found out about a project and left for the calls after them: a short, bounded list.

An agent writes `LEARNED: one line` at the end of its final message, before the status block. The list lives
in the loop's state, is rendered into each later prompt as data (a note may be wrong, or worse), and is
offered as an edit of AGENTS.md when the result lands. Nothing here believes a note or writes a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ralph.core.claim.status_block import OPEN
from ralph.core.text.clean import one_line

MAX_KEPT = 30
MAX_WIDTH = 200
MAX_PER_CALL = 3
TAIL_LINES = 40  # lines before the status block that are looked at
HEADING = "## Learned"
INSTRUCTIONS = f"""\
If you learned something about this project that the next call should know (a command that works, a trap, a
convention; not what you did), note it before the status block, in at most {MAX_PER_CALL} lines of this form:

LEARNED: <one line, at most {MAX_WIDTH} characters>
"""
_LINE = re.compile(r"LEARNED:[ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")


def notes_in_message(message: str) -> tuple[str, ...]:
    """The notes in a final message. One in a code block, indented or quoted is shown, not said."""
    lines = message.rpartition(OPEN)[0].splitlines() if OPEN in message else message.splitlines()
    found: dict[str, str] = {}
    shown = False
    for line in lines[-TAIL_LINES:]:
        if _FENCE.match(line):
            shown = not shown
        elif not shown and (note := _LINE.fullmatch(line.rstrip())):
            text = one_line(note[1], MAX_WIDTH)
            if text and not text.startswith("<"):  # the form itself, echoed
                found.setdefault(_key(text), text)
    return tuple(found.values())[-MAX_PER_CALL:]


def add_notes(known: tuple[str, ...], new: Iterable[str]) -> tuple[str, ...]:
    """The list with more; a note that is there already stays where it is, the oldest give way."""
    found = {_key(text): text for text in known}
    for text in new:
        line = one_line(text, MAX_WIDTH)
        if line:
            found.setdefault(_key(line), line)
    return tuple(found.values())[-MAX_KEPT:]


def section(notes: Iterable[str], there: str = "") -> str:
    """What is to be appended to AGENTS.md, given what stands in it; empty when all of it is there."""
    known = {_key(line.strip().removeprefix("- ")) for line in there.splitlines()}
    new = [f"- {text}" for text in notes if _key(text) not in known]
    if not new:
        return ""
    gap = "" if not there else "\n" if there.endswith("\n") else "\n\n"
    return f"{gap}{HEADING}\n\n" + "\n".join(new) + "\n"


def _key(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold())) or text
