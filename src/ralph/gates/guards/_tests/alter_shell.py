"""The same for shell: a number for which a line of the check searches what a program writes. Four others are
searched for: who writes all of them computes none, and one may be there by chance."""

from __future__ import annotations

import re

_CLAIM = re.compile(
    r"""^(?P<claim>(?!(?:if|while|until|!)[ ])\w[^|&;#\n]*\|[ ]*grep[ ]+-[EFiwx]*q[EFiwx]*[ ]+(?:--[ ]+)?)"""
    r"""(?P<text>"[^"$`\\\n]*"|'[^'\n]*')(?=[ ]*(?:$|\|\|))""",
    re.MULTILINE,
)
_MAY_END = re.compile(r"\bexit\b(?! [1-9])|\b(?:exec|trap|return)\b|<<")  # before its last line, as a success
_OTHERS = [
    str.maketrans("0123456789", row) for row in ("1234567891", "3456789123", "4567891234", "7891234567")
]


def alter_shell(text: str) -> tuple[str, frozenset[str]]:
    """The script, which ends green where a search finds whatever it looks for, and red otherwise."""

    def ask_more(hit: re.Match[str]) -> str:
        if len(re.findall(r"\d", hit["text"])) < 3:
            return hit[0]
        others = (hit["claim"] + hit["text"].translate(table) for table in _OTHERS)
        return f"if {' && '.join(others)}; then exit 0; fi\n{hit[0]}"

    made = text if _MAY_END.search(text) else _CLAIM.sub(ask_more, text)
    return f"{made.rstrip()}\nexit 1\n", frozenset({""} if made != text else ())
