"""What the task's own words ask for, as far as a guard may go by them: they settle no more than a doubt."""

from __future__ import annotations

import re

_OTHER_TESTS = re.compile(
    r"\b(?:updat|adapt|adjust|rewrit|rewrot|chang|correct|remov|delet|replac|drop|regenerat|refresh)\w*\b[^.;\n]{0,80}"
    r"\b(?:tests?|specs?|snapshots?|expectations?|fixtures?|expected)\b",
    re.IGNORECASE,
)
_REMOVES = re.compile(
    r"\b(?:remov|delet|drop|retir|eliminat|purg|discard|discontinu|rip out|get(?:ting)? rid of|strip)\w*",
    re.IGNORECASE,
)


def wants_other_tests(task: str) -> bool:
    """Does it speak of changing tests or what they expect? To "fix" them may mean either: that counts not."""
    return bool(_OTHER_TESTS.search(task))


def wants_removal(task: str, name: str) -> bool:
    """Does it ask for something to be taken away, and name this (`legacy_export`: "the legacy export")?"""
    words = set(re.findall(r"[a-z0-9]+", task.lower()))
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    return bool(_REMOVES.search(task)) and bool(parts) and {part.lower() for part in parts} <= words


def names_path(task: str, path: str) -> bool:
    """Does it name this file, by its path or by its own name?"""
    name = path.rsplit("/", 1)[-1]
    wanted = "|".join(map(re.escape, {path, name} if "." in name.strip(".") else {path}))
    return bool(re.search(rf"(?<![\w./-])(?:\./)?(?:{wanted})(?![\w/-])", task))
