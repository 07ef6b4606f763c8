"""The same for Go, where a claim is an `if` that fails the test: each has to be come to, and to fail.

Nothing equals everything in Go, but an error may call itself every error, no number is larger than what is
none, and a loop may have no turns. By lines, as gofmt writes them; what may end early is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ralph.gates.guards._tests.both_ways import other_numbers
from ralph.gates.programs import program_text

_LEFT = re.compile(r"\b(?:return|goto|break|continue|switch|select|go|Skip\w*|Parallel|Goexit)\b")
_CLAIM = re.compile(
    r"(?P<lead>\t+)if (?:[^;\n\"]+; )?(?P<claim>[^;\n]+) \{\n(?P=lead)\t\w+\.(?:Fatal|Error|Fail)"
)
_TURNS = re.compile(
    r"\t*(?:for .*|\w+\.Run\(.*, func\(\w+ \*testing\.T\) \{|\} ?\{)"
)  # the end of a table too
_CONTAINS = re.compile(r'!(strings\.Contains\(.+, )("[^"\\]*")\)')
_FOREIGN = r"\1func(any) any { return new(interface{ Altered() }) }(\2))"
_ORDER = re.compile(r"([^<>=&|\"]+) (<|>|<=|>=) ([^<>=&|\"]+)")
_OTHER = {"<": ">=", ">": "<=", "<=": ">", ">=": "<"}


def alter_go(text: str, tests: Collection[str]) -> tuple[str, frozenset[str]]:
    """The file with the named tests altered, and which of them could be."""
    done: set[str] = set()
    for name in tests:
        head = rf"(?ms)^(func {re.escape(name)}\((\w+) \*testing\.T\) \{{)(\n.*?\n)\}}\n"
        found = re.search(head, text)
        if found is None or _LEFT.search(body := found[3]):
            continue
        claims = [hit for hit in _CLAIM.finditer(body) if _is_sure(body[: hit.start()], hit)]
        for number, hit in reversed(list(enumerate(claims))):
            at, end = hit.span("claim")
            body = f"{body[:at]}altered({number}, {_make_certain(hit['claim'])}){body[end:]}"
        if claims:
            lead = program_text("alter_go.go").strip() % {"count": len(claims), "test": found[2]}
            text = f"{text[: found.end(1)]} {lead}{body}}}\n{text[found.end() :]}"
            done.add(name)
    return text, frozenset(done)


def _is_sure(above: str, hit: re.Match[str]) -> bool:
    """Does it stand in the test itself, in a loop or a part? There only what compares has to be come to."""
    depth = len(hit["lead"])
    for line in reversed(above.splitlines()):
        deep = len(line) - len(line.lstrip("\t"))
        if line.strip() and deep < depth:
            if not _TURNS.fullmatch(line) or not re.search(r"!=|Equal\(|errors\.Is", hit["claim"]):
                return False
            depth = deep
    return True


def _make_certain(claim: str) -> str:
    """A condition that holds for every honest answer."""
    if "!errors.Is(" in claim and "&&" not in claim:
        foreign = re.sub(r"(errors\.Is\([^()]+?, )[^()]+\)", r'\1errors.New("foreign"))', claim)
        nothing = re.sub(r"(errors\.Is\()[^(),]+(, [^()]+\))", r"\1nil\2", claim)
        return f"({foreign}) && ({nothing})"
    if "!errors.As(" in claim and "&&" not in claim:
        return re.sub(r"(errors\.As\([^()]+?, )([^()]+)\)", _FOREIGN, claim)
    if (holds := _CONTAINS.fullmatch(claim)) and (others := other_numbers(holds[2])):
        return f"!({' && '.join(f'{holds[1]}{one})' for one in others)})"
    order = _ORDER.fullmatch(claim)
    return f"{claim} || {order[1]} {_OTHER[order[2]]} {order[3]}" if order else f"true || {claim}"
