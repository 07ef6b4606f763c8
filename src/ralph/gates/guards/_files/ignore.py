""".gitignore rules as git reads them, from texts alone: would this path be left out?"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from msgspec import Struct


class IgnoreRule(Struct, frozen=True):
    pattern: re.Pattern[str]
    negated: bool
    folders: bool  # only folders match


def is_ignored(path: str, read: Callable[[str], str]) -> bool:
    """`read` gives the text of a .gitignore by its path, "" when there is none."""
    parts = path.split("/")
    counts = range(1, len(parts) + 1)  # once a folder is left out, nothing below it can come back
    return any(_leaf(parts[:count], is_folder=count < len(parts), read=read) for count in counts)


def _leaf(parts: list[str], *, is_folder: bool, read: Callable[[str], str]) -> bool:
    verdict = False
    for depth in range(len(parts)):
        text = read("/".join([*parts[:depth], ".gitignore"]))
        if not text:
            continue
        inner = "/".join(parts[depth:])
        for rule in _rules(text):
            if (is_folder or not rule.folders) and rule.pattern.match(inner):
                verdict = not rule.negated
    return verdict


@lru_cache(maxsize=64)
def _rules(text: str) -> tuple[IgnoreRule, ...]:
    return tuple(rule for line in text.split("\n")[:2000] if (rule := _rule(line)) is not None)


def _rule(line: str) -> IgnoreRule | None:
    line = re.sub(r"(?<!\\) +\Z", "", line.rstrip("\r"))[:500]
    if not line or line.startswith("#"):
        return None
    negated = line.startswith("!")
    line = line[1:] if negated else line
    folders = line.endswith("/")
    line = line.rstrip("/")
    anchored = "/" in line
    line = line.removeprefix("/")
    try:
        pattern = re.compile(("" if anchored else "(?:.*/)?") + _glob(line) + r"\Z", re.DOTALL)
    except re.error:
        return None
    return IgnoreRule(pattern, negated, folders)


def _glob(text: str) -> str:
    out, at = "", 0
    while at < len(text):
        char = text[at]
        if text.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
            continue
        if text.startswith("/**", at) and at + 3 == len(text):
            out, at = out + "/.*", at + 3
            continue
        end = text.find("]", at + 2) if char == "[" else -1
        if end > 0:
            inner = text[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out += f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]"
            at = end + 1
            continue
        if char == "\\" and at + 1 < len(text):
            at += 1
            out += re.escape(text[at])
        elif char == "*":
            while text.startswith("*", at + 1):
                at += 1
            out += "[^/]*"
        else:
            out += "[^/]" if char == "?" else re.escape(char)
        at += 1
    return out
