"""Does a changed workflow run the same commands, at other versions of languages, machines and actions?

Raising an action or dropping an old Python is part of ordinary work. Every other line of a workflow may be
what somebody relies on: commands, conditions, triggers and numbers in them.
"""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = r"v?\d+(?:\.(?:\d+|x))*(?:[-.](?:dev|alpha|beta|rc)[\w.]*)?t?"
_VERSION = (
    rf"(?:(?:(?:py|pypy|python|ubuntu|macos|windows|node)-?)?(?:{_NUMBER}|latest|slim|lts/?\*?"
    rf"|(?:old)?stable|beta|nightly|tip)"
    rf"(?: - {_NUMBER})?)"
)
_ONE = rf"[\"']?{_VERSION}[\"']?"
_MANY = rf"{_ONE}(?: *, *{_ONE})*,?"
_NAMES = (
    r"(?:[\w-]*version[\w-]*|python|node|go|rust|toolchain|ruby|php|java|jdk|dotnet|os|runs-on|toxenv|tox"
    r"|image)"
)
_USES = re.compile(
    r"^(?P<what>(?:- )?uses: *)(?P<quote>[\"']?)(?P<whose>[\w.-]+/[\w./-]+)@[\w./-]+(?P=quote)$"
)
_KEY = re.compile(rf"^(?:- )?{_NAMES}: *[\"']?(?:\[? *{_MANY} *\]?)?[\"']?$", re.IGNORECASE)
_ITEM = re.compile(
    rf"^(?:- *{_ONE}|\[ *{_MANY} *\],?|{_MANY})$", re.IGNORECASE
)  # of a list over several lines
# One row of a matrix in one line: its name, and versions.
_ROW = re.compile(
    rf"^- *\{{ *(?:(?:{_NAMES}: *{_ONE}|name: *[\"']?[\w.-]+(?: [\w.-]+)*[\"']?)(?: *,)? *)+\}}$",
    re.IGNORECASE,
)
_MAX_CHARS = 300  # of a line that may hold versions
_SOFT = re.compile(
    r"^(?:allow-prereleases|fail-fast|check-latest): *(?:true|false)$"
)  # what is run stays the same


def only_versions_moved(old: str, new: str) -> bool:
    """False where there is nothing to compare."""
    return bool(old and new) and _lines(old) == _lines(new)


def _lines(text: str) -> Counter[str]:
    """Every line that says something, versions left out where their key says that they are versions."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        bare = re.sub(r"(?:^|\s)#.*$", "", line).strip()
        short = bare if len(bare) <= _MAX_CHARS else ""  # what is longer is no version
        if not bare or any(one.match(short) for one in (_ITEM, _KEY, _ROW, _SOFT)):
            continue
        match = _USES.match(short)
        found[f"{depth} {match['what'] + match['whose'] if match else bare}"] += 1
    return found


_LANGUAGE = re.compile(
    r"\b(?:python|pypy|py|cpython|node(?:\.?js)?|go|ruby|java|php)[ @-]?v?\d|\b[23]\.\d{1,2}\b", re.IGNORECASE
)
_TOLD = re.compile(
    r"(?:(?:py|pypy|python)-?)?\b\d{1,2}\.(?:\d{1,2}|x)(?:[.-][\w.]+)?t?\b|\bpy(?:py)?\d{1,3}t?\b"
)


def versions_told(task: str, old: str, new: str) -> bool:
    """The task speaks of versions of a language, and its workflow differs by rows of versions alone."""
    return bool(_LANGUAGE.search(task) and old and new) and _rows(old) == _rows(new)


def _rows(text: str) -> tuple[set[str], Counter[str]]:
    """Rows of versions, with V for each, however many there are; every other line as often as it is there."""
    lines = _lines(text)
    many = re.compile(r"V(?:[\"' ,/\[\]-]+V)+")
    rows = {line: many.sub("V", _TOLD.sub("V", line)) if len(line) <= _MAX_CHARS else line for line in lines}
    same = Counter({line: lines[line] for line, row in rows.items() if row == line})
    return {re.sub(r"^\d+ ", "", row) for line, row in rows.items() if row != line} - {"V", "- V"}, same
