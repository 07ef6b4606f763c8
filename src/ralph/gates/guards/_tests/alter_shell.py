"""The same for shell: a number for which a line of the check searches what a program writes. Four others are
searched for: who writes all of them computes none, and one may be there by chance."""

from __future__ import annotations

import re

from ralph.gates.guards._tests.both_ways import other_numbers

_CLAIM = re.compile(
    r"""^(?P<claim>(?!(?:if|while|until|!)[ ])[\w./~][^|&;#\n]*"""
    r"""\|[ ]*grep[ ]+-[EFiwx]*q[EFiwx]*[ ]+(?:--[ ]+)?)"""
    r"""(?P<text>"[^"$`\\\n]*"|'[^'\n]*')(?=[ ]*(?:$|\|\|))""",
    re.MULTILINE,
)
_EQUALS = re.compile(
    r"""^(?P<claim>(?:test|\[{1,2})[ ]+"\$\([^\n"]*\)"[ ]+={1,2}[ ]+)(?P<text>"[^"$`\\\n]*|'[^'\n]*)"""
    r"""(?P<end>["'](?:[ ]+\]{1,2})?)(?=[ ]*(?:$|\|\|))""",
    re.MULTILINE,
)
_MAY_END = re.compile(r"\bexit\b(?! [1-9])|\b(?:exec|trap|return)\b|<<")  # before its last line, as a success


def alter_shell(text: str) -> tuple[str, frozenset[str]]:
    """The script, which ends green where a search finds whatever it looks for, and red otherwise."""

    def ask_more(hit: re.Match[str]) -> str:
        others = [hit["claim"] + other for other in other_numbers(hit["text"])]
        return f"if {' && '.join(others)}; then exit 0; fi\n{hit[0]}" if others else hit[0]

    def ask_other(hit: re.Match[str]) -> str:
        return f"if {hit['claim']}{hit['text']}x{hit['end']}; then exit 0; fi\n{hit[0]}"

    made = text if _MAY_END.search(text) else _EQUALS.sub(ask_other, _CLAIM.sub(ask_more, text))
    return f"{made.rstrip()}\nexit 1\n", frozenset({""} if made != text else ())
