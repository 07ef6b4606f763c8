"""Small edits of a source text, each of which might mend it: what the demo agent tries one by one.

Pure text in, edits out, for Python, JavaScript, TypeScript, Go, Rust and Java alike: strings and comments are
masked, and what is left is read by patterns, not parsed. An edit that does not compile costs one try and
nothing else. Which file, which order and whether an edit helped is `mend`'s matter. Like the demo agent
itself this needs only the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ENDINGS = (".py", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".tsx", ".go", ".rs", ".java")


class SourceEdit(NamedTuple):
    """Replace text[start:end] by `new`. The kinds are numbered from the likeliest slip to the wildest."""

    start: int
    end: int
    new: str
    kind: int


class Hints(NamedTuple):
    """Constants that the failing tests mention, as they stand there."""

    numbers: tuple[str, ...] = ()
    strings: tuple[str, ...] = ()


_TRIPLE = r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\''
_DOUBLE, _SINGLE, _BACK = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'", r"`(?:\\.|[^`\\])*`"
_LETTER = r"'(?:\\.|[^'\\\n])'"  # elsewhere a single quote is a character, or a lifetime of Rust
_SLASHES = r"//[^\n]*|/\*.*?\*/"
_FOREIGN = {
    ".py": re.compile(rf"{_TRIPLE}|{_DOUBLE}|{_SINGLE}|#[^\n]*", re.DOTALL),
    ".js": re.compile(rf"{_SLASHES}|{_DOUBLE}|{_SINGLE}|{_BACK}", re.DOTALL),
    ".go": re.compile(rf"{_SLASHES}|{_DOUBLE}|{_LETTER}|{_BACK}", re.DOTALL),
    ".rs": re.compile(rf"{_SLASHES}|{_DOUBLE}|{_LETTER}", re.DOTALL),
}
_BINARY = re.compile(
    r"(?<=[\w)\]}\"'`])(?P<l> ?)(?P<op>===|!==|==|!=|<=|>=|<|>|\+=|-=|&&|\|\||//|[-+*/%]|\band\b|\bor\b)"
    r"(?P<r> ?)(?=[\w(\[{\"'`!-])"
)
_OTHERS: dict[str, tuple[str, ...]] = {
    "<": ("<=", ">", ">="),
    "<=": ("<", ">=", ">"),
    ">": (">=", "<", "<="),
    ">=": (">", "<=", "<"),
    "==": ("!=",),
    "!=": ("==",),
    "===": ("!==",),
    "!==": ("===",),
    "+": ("-", "*"),
    "-": ("+",),
    "*": ("/", "+"),
    "/": ("*", "%"),
    "//": ("/", "%", "*"),
    "%": ("/", "*"),
    "+=": ("-=",),
    "-=": ("+=",),
    "&&": ("||",),
    "||": ("&&",),
    "and": ("or",),
    "or": ("and",),
}
_PAIRS = (
    "True False, true false, min max, Min Max, first last, floor ceil, Floor Ceil, any all, some every, "
    "upper lower, toUpperCase toLowerCase, ToUpper ToLower, to_uppercase to_lowercase, push unshift, "
    "startswith endswith, startsWith endsWith, starts_with ends_with, HasPrefix HasSuffix, "
    "append appendleft, lstrip rstrip, trimStart trimEnd, keys values, ascending descending, "
    "is_some is_none, is_ok is_err, indexOf lastIndexOf, find rfind, sorted reversed, left right"
)
_OPPOSITES = {
    one: other for pair in _PAIRS.split(", ") for one, other in (pair.split(), reversed(pair.split()))
}
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<![\w.])\d{1,9}(?![\w.])")
_MINUS = re.compile(r"(?<=[(\[,=:>] )-(?=[A-Za-z_(])|(?<=[(\[])-(?=[A-Za-z_(])|(?<=return )-(?=[A-Za-z_(])")
_NOT = re.compile(r"(?<![\w.])!(?=[\w(])|\bnot (?!in\b)")
_TERM = r"[A-Za-z_][\w.]*(?:\[[^\[\](),]*\]|\([^()]*\))?|\d+"
_ARGUMENTS = re.compile(rf"(?<=[\w>]\()(?P<one>{_TERM}), (?P<two>{_TERM})(?=\))")
_OPERANDS = re.compile(
    rf"(?<![\w.)\]])(?P<one>{_TERM})(?P<op> (?:-|/|//|%|<|>|<=|>=) )(?P<two>{_TERM})(?![\w.(\[])"
)
_RETURN = re.compile(r"(?m)^[ \t]*return (?P<what>[^;\n{]+?);?[ \t]*$")
_BARE = re.compile(
    r"(?m)^(?P<indent>[ \t]+)(?!(?:return|yield|raise|pass|break|continue|throw|del|assert|else)\b)"
    r"(?P<what>[A-Za-z_(\[\d][^=\n{}:;]*?)(?P<end>;?)[ \t]*$"
)
_DEFINES = re.compile(
    r"\b(?:def|func|fn|function)\s+(?:\([^)\n]*\)\s*)?(?P<a>\w+)[^(\n]*\((?P<pa>[^)]*)\)"
    r"|\b(?P<b>\w+)\s*[=:]\s*(?:async\s*)?(?:function\s*)?\((?P<pb>[^)]*)\)\s*(?:=>|\{)"
    r"|(?m:^)[ \t]*(?:[\w<>\[\],.?]+[ \t]+)*(?P<c>(?!(?:if|for|while|switch|catch|match)\b)\w+)[ \t]*"
    r"\((?P<pc>[^)]*)\)[ \t]*(?:throws[ \t][\w,. ]+)?\{"
)


def family(path: str) -> str:
    """The ending by which strings and comments of a file are known."""
    ending = "." + path.rpartition(".")[2]
    return ending if ending in (".py", ".rs") else ".go" if ending in (".go", ".java") else ".js"


def mask_text(text: str, path: str) -> str:
    """The same text with strings emptied and comments blanked, every character in its place."""

    def blank(hit: re.Match[str]) -> str:
        found = hit.group(0)
        hidden = re.sub(r"[^\n]", " ", found)
        if found[0] in "\"'`" and not found.startswith(('"""', "'''")):
            return found[0] + hidden[1:-1].replace(" ", "\0") + found[-1]
        return hidden

    mask = _FOREIGN[family(path)].sub(blank, text)
    tests = mask.find("#[cfg(test)]") if path.endswith(".rs") else -1
    return mask if tests < 0 else mask[:tests] + re.sub(r"[^\n]", " ", mask[tests:])


class Definition(NamedTuple):
    """A function: from its first line to that of the next one, its name and parameters."""

    start: int
    end: int
    name: str
    parameters: tuple[str, ...]


def definitions(mask: str, path: str) -> list[Definition]:
    found = []
    hits = list(_DEFINES.finditer(mask))
    ends = [hit.start() for hit in hits[1:]] + [len(mask)]
    for hit, end in zip(hits, ends, strict=False):
        name = hit["a"] or hit["b"] or hit["c"]
        parts = (hit["pa"] or hit["pb"] or hit["pc"] or "").split(",")
        words = [_WORD.findall(part.partition("=")[0]) for part in parts]
        own = [row[-1] if path.endswith(".java") else row[0] for row in words if row]
        found.append(Definition(hit.start(), end, name, tuple(one for one in own if one != "self")))
    return found


def edits(text: str, path: str, hints: Hints) -> list[SourceEdit]:
    """Every small edit of a text, each once, in the order of the text within a kind."""
    mask = mask_text(text, path)
    found: dict[tuple[int, int, str], SourceEdit] = {}
    for edit in (
        *_operators(mask),
        *_names(mask),
        *_numbers(mask, hints),
        *_strings(text, path, mask, hints),
        *_swaps(text, mask),
        *_returns(text, path, mask),
        *_parameters(mask, path),
    ):
        if text[edit.start : edit.end] != edit.new:
            found.setdefault(edit[:3], edit)
    return sorted(found.values(), key=lambda edit: (edit.kind, edit.start))


def _operators(mask: str) -> Iterator[SourceEdit]:
    for hit in _BINARY.finditer(mask):
        spaced = hit["l"] and hit["r"]
        if hit["op"] in ("<", ">") and not spaced:
            continue  # as likely List<String>
        for number, other in enumerate(_OTHERS[hit["op"]]):
            yield SourceEdit(hit.start("op"), hit.end("op"), other, 1 + (number > 0))
    for pattern in (_MINUS, _NOT):
        for hit in pattern.finditer(mask):
            yield SourceEdit(hit.start(), hit.end(), "", 2)


def _names(mask: str) -> Iterator[SourceEdit]:
    for hit in _WORD.finditer(mask):
        if hit.group(0) in _OPPOSITES:
            yield SourceEdit(hit.start(), hit.end(), _OPPOSITES[hit.group(0)], 2)


def _numbers(mask: str, hints: Hints) -> Iterator[SourceEdit]:
    for hit in _NUMBER.finditer(mask):
        value = int(hit.group(0))
        for near in (value + 1, value - 1):
            if near >= 0:
                yield SourceEdit(hit.start(), hit.end(), str(near), 2)
        for number in hints.numbers:
            yield SourceEdit(hit.start(), hit.end(), number, 4)


def _strings(text: str, path: str, mask: str, hints: Hints) -> Iterator[SourceEdit]:
    for hit in _FOREIGN[family(path)].finditer(text):
        quote = hit.group(0)[0]
        if quote not in "\"'`" or mask[hit.start()] != quote:
            continue
        for string in hints.strings:
            if quote not in string and "\\" not in string:
                yield SourceEdit(hit.start() + 1, hit.end() - 1, string, 4)


def _swaps(text: str, mask: str) -> Iterator[SourceEdit]:
    """f(a, b) as f(b, a), and a - b as b - a."""
    for pattern in (_ARGUMENTS, _OPERANDS):
        for hit in pattern.finditer(mask):
            one, two = text[slice(*hit.span("one"))], text[slice(*hit.span("two"))]
            between = text[hit.end("one") : hit.start("two")]
            yield SourceEdit(hit.start(), hit.end(), two + between + one, 3)


def _returns(text: str, path: str, mask: str) -> Iterator[SourceEdit]:
    """A value that is computed and not returned; a returned one that is off by one."""
    for hit in _BARE.finditer(mask):
        if path.endswith(".rs"):
            if hit["end"]:
                yield SourceEdit(hit.start("end"), hit.end("end"), "", 3)
        elif not path.endswith((".go", ".java")):
            yield SourceEdit(hit.start("what"), hit.start("what"), "return ", 3)
    for hit in _RETURN.finditer(mask):
        what = text[slice(*hit.span("what"))]
        for tail in (" + 1", " - 1"):
            yield SourceEdit(hit.start("what"), hit.end("what"), what + tail, 5)


def _parameters(mask: str, path: str) -> Iterator[SourceEdit]:
    """One parameter of a function in place of another, in its body."""
    for definition in definitions(mask, path):
        if not 2 <= len(definition.parameters) <= 4:
            continue
        body = mask.find(")", definition.start) + 1
        for hit in _WORD.finditer(mask, body, definition.end):
            if hit.group(0) in definition.parameters and mask[hit.start() - 1 : hit.start()] != ".":
                for other in definition.parameters:
                    yield SourceEdit(hit.start(), hit.end(), other, 5)


def apply_edit(text: str, edit: SourceEdit) -> str:
    return text[: edit.start] + edit.new + text[edit.end :]
