"""Files that hold both the product and its tests: the tests of one version put into another. Pure text work.

Rust keeps unit tests beside the code, so do Zig and D, vitest can, and a Python module may hold its own tests
and doctests. Put back as a whole, such a file would undo the work; so only its tests are put back.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.gates.guards._parts.brackets import closing, skip
from ralph.gates.guards._parts.py_parts import python_spliced

_ATTRIBUTE = re.compile(r"#!?\[")
_RUST_TEST = re.compile(
    r"#\[\s*(?:cfg\s*\(\s*(?:test\b|all\s*\(\s*test\b|any\s*\(\s*test\b)|(?:\w+\s*::\s*)*(?:test|rstest|test_case|"
    r"test_matrix|quickcheck|bench|proptest)\b)"
)
_RUST_ITEM = re.compile(
    r"\s*(?:pub(?:\s*\([^)]*\))?\s+)?(?:(?:async|const|unsafe|extern\s*(?:\"[^\"]*\")?)\s+)*"
    r"(mod|fn|struct|enum|trait|impl|use|static|const|type|macro_rules!|\w+!)\s*([^\s({;<]*)"
)
_JS_PART = re.compile(
    r"^(?:await\s+)?(?:(?:QUnit|Deno|Bun)\.)?(?:test|it|describe|suite|specify|xit|xtest|xdescribe|fit|fdescribe)"
    r"(?:\.\w+)*\s*\(|^if\s*\(\s*import\.meta\.vitest\s*\)\s*\{",
    re.MULTILINE,
)
_BLOCKS = {
    "zig": re.compile(r"^[ \t]*test\b[^\n{;]*\{", re.MULTILINE),
    "d": re.compile(r"^[ \t]*(?:@\S+\s+)*unittest\s*\{", re.MULTILINE),
}
KINDS = {"rs": "rs", "zig": "zig", "d": "d"} | dict.fromkeys(
    ("js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx"), "js"
)


class Part(Struct, frozen=True):
    name: str
    start: int
    end: int


def kind_of(path: str) -> str:
    ending = path.rsplit(".", 1)[-1]
    return "py" if ending == "py" else KINDS.get(ending, "")


def splice_tests(path: str, into: str, tests_of: str, *, doctests: bool = False) -> str | None:
    """`into` with the tests of the other version; None when one of them cannot be taken apart."""
    kind = kind_of(path)
    if kind == "py":
        return python_spliced(into, tests_of, doctests=doctests)
    here, there = parts(kind, into), parts(kind, tests_of)
    if here is None or there is None:
        return None
    wanted = {part.name: tests_of[part.start : part.end] for part in there}
    pieces, at = [], 0
    for part in here:
        pieces += [into[at : part.start], wanted.pop(part.name, "")]
        at = part.end
    pieces.append(into[at:])
    text = "".join(pieces)
    for missing in wanted.values():
        text = f"{text.rstrip()}\n\n{missing}\n"
    return text


def parts(kind: str, text: str) -> list[Part] | None:
    """The outermost tests in order, each with a name; None for an unknown kind or an open bracket."""
    found = _rust(text) if kind == "rs" else _calls(kind, text)
    if found is None:
        return None
    seen: dict[str, int] = {}
    named = []
    for part in found:
        seen[part.name] = seen.get(part.name, 0) + 1
        named.append(Part(f"{part.name} {seen[part.name]}", part.start, part.end))
    return named


def _rust(text: str) -> list[Part] | None:
    found: list[Part] = []
    at = 0
    while at < len(text):
        step = skip(text, at, "rs")
        if step > at:
            at = step
            continue
        if not _ATTRIBUTE.match(text, at):
            at += 1
            continue
        start, tests = at, False
        while match := _ATTRIBUTE.match(text, at):
            end = closing(text, match.end() - 1, "rs")
            if end < 0:
                return None
            tests = tests or (text[at + 1] == "[" and bool(_RUST_TEST.match(text, at)))
            at = _space(text, end)
        if not tests:
            continue
        item = _RUST_ITEM.match(text, at)
        end = _item_end(text, item.end() if item else at)
        if end < 0:
            return None
        name = f"{item.group(1)} {item.group(2)}" if item else text[at : at + 30]
        found.append(Part(name, start, end))
        at = end
    return found


def _space(text: str, at: int) -> int:
    """After white space and comments: between attributes there may be both."""
    while at < len(text):
        if text[at].isspace():
            at += 1
        elif text.startswith(("//", "/*"), at):
            at = skip(text, at, "rs")
        else:
            return at
    return at


def _item_end(text: str, at: int) -> int:
    while at < len(text):
        step = skip(text, at, "rs")
        if step > at:
            at = step
        elif text[at] == ";":
            return at + 1
        elif text[at] == "{":
            return closing(text, at, "rs")
        elif text[at] in "([":
            at = closing(text, at, "rs")
            if at < 0:
                return -1
        else:
            at += 1
    return -1


def _calls(kind: str, text: str) -> list[Part] | None:
    found: list[Part] = []
    pattern = _JS_PART if kind == "js" else _BLOCKS.get(kind)
    if pattern is None:
        return None  # a rename may have taken a file out of the kinds that are known
    at = 0
    while at < len(text):
        step = skip(text, at, kind)
        if step > at:
            at = step
            continue
        # Only what stands at the top level: elsewhere a call of that name is part of something else.
        match = pattern.match(text, at)
        if match:
            end = closing(text, match.end() - 1, kind)
            if end < 0:
                return None
            title = re.match(r"\s*(['\"`])(.*?)\1", text[match.end() : end])
            found.append(Part(title.group(2) if title else match.group(0).strip(), at, end))
            at = end
        elif text[at] in "([{":
            end = closing(text, at, kind)
            if end < 0:
                return None
            at = end if kind == "js" else at + 1
        else:
            at += 1
    return found
