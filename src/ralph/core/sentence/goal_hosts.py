"""Hosts with a goal command of their own, and the exact line that hands a task over to one.

A native goal is a model that reads its own transcript: it runs no check. Ralph therefore never chooses it;
it prints the line for those who do, and never both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ralph.core.text.clean import clean

# host -> variables that it sets for what it starts. Only hosts in GOALS have a goal command.
MARKERS: Mapping[str, tuple[str, ...]] = {
    "claude": ("CLAUDECODE",),
    "codex": ("CODEX_THREAD_ID", "CODEX_SANDBOX"),
    "qwen": ("QWEN_CODE",),
    "gemini": ("GEMINI_CLI",),
    "opencode": ("OPENCODE",),
}
GOALS = ("claude", "codex", "qwen")
MAX_CHARS = 4000  # characters of a condition; Claude Code takes no more

_FIELD = re.compile(r";(\s*completion\s*:)", re.IGNORECASE)


def host_of(environ: Mapping[str, str]) -> str:
    """The agent in whose terminal this runs, "" for none."""
    return next((host for host, names in MARKERS.items() if any(environ.get(name) for name in names)), "")


def goal_line(task: str, criterion: str) -> str:
    """`/goal "<task>; completion: <criterion>"` on one line. Quotes and backslashes are escaped with a
    backslash; a second `; completion:` inside the task becomes a comma, so that there is only one."""
    body = f"{_field(task)}; completion: {_field(criterion)}"
    return f'/goal "{body}"'


def _field(text: str) -> str:
    folded = " ".join(clean(text).split())
    return _FIELD.sub(r",\1", folded).replace("\\", "\\\\").replace('"', '\\"')
