"""Which grammar reads a file of JavaScript or TypeScript, and how large a file may be."""

from __future__ import annotations

MAX_CHARS = 1 << 20  # larger files are generated data
_LANGUAGES = dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript")
_LANGUAGES |= dict.fromkeys(("ts", "mts", "cts"), "typescript") | {"tsx": "tsx"}


def language(path: str) -> str:
    return _LANGUAGES.get(path.rsplit(".", 1)[-1].lower(), "")
