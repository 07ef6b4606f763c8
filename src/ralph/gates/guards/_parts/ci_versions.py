"""Does a changed workflow run the same commands, at other versions of languages, machines and actions?

Raising an action or dropping an old Python is part of ordinary work. Every other line of a workflow may be
what somebody relies on: commands, conditions, triggers and numbers in them.
"""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = r"v?\d+(?:\.(?:\d+|x))*(?:[-.](?:dev|alpha|beta|rc)[\w.]*)?t?"
_VERSION = rf"(?:(?:py|pypy|python|ubuntu|macos|windows|node)-?)?(?:{_NUMBER}|latest|lts/?\*?)"
_ONE = rf"[\"']?{_VERSION}[\"']?"
_USES = re.compile(r"^(?P<what>(?:- )?uses: *[\w.-]+/[\w./-]+)@[\w./-]+$")
_KEY = re.compile(
    r"^(?:- )?(?:[\w-]*version[\w-]*|python|node|os|runs-on|toxenv|image): *"
    rf"[\"']?\[? *{_ONE}(?: *, *{_ONE})*,? *\]?[\"']?$",
    re.IGNORECASE,
)
_ITEM = re.compile(rf"^- *[\"']?{_VERSION}[\"']?$", re.IGNORECASE)  # of a list over several lines


def only_versions_moved(old: str, new: str) -> bool:
    """False where there is nothing to compare."""
    return bool(old and new) and _lines(old) == _lines(new)


def _lines(text: str) -> Counter[str]:
    """Every line that says something, versions left out where their key says that they are versions."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        bare = re.sub(r"(?:^|\s)#.*$", "", line).strip()
        if not bare or _ITEM.match(bare) or _KEY.match(bare):
            continue
        match = _USES.match(bare)
        found[f"{depth} {match['what'] if match else bare}"] += 1
    return found
