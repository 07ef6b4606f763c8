"""Which grammar reads a file of JavaScript or TypeScript, how large one may be, and where tests begin."""

from __future__ import annotations

import re

MAX_CHARS = 1 << 20  # larger files are generated data
_LANGUAGES = dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript")
_LANGUAGES |= dict.fromkeys(("ts", "mts", "cts"), "typescript") | {"tsx": "tsx"}

_TEST = r"\b(?:test|it)\s*(?P<open>\()\s*(?P<title>%s)"
_MADE = re.compile(_TEST % r"`(?:[^`\\$]|\\.|\$\{[^{}`]*\}|\$)*`")


def language(path: str) -> str:
    return _LANGUAGES.get(path.rsplit(".", 1)[-1].lower(), "")


def heads_of(text: str, title: str) -> list[re.Match[str]]:
    """Where tests of this title begin; if there is none, those whose titles are made, and may be this one."""
    written = _TEST % rf"([\"'`]){re.escape(title)}\3"
    return list(re.finditer(written, text)) or [
        hit
        for hit in _MADE.finditer(text)
        if "${" in hit["title"]
        and re.fullmatch(
            ".*".join(map(re.escape, re.split(r"\$\{[^{}]*\}", hit["title"][1:-1]))), title, re.DOTALL
        )
    ]
