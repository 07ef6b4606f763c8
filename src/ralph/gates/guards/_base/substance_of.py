"""What a change is made of: code, words for people, or nothing that a program or a reader would notice.

Python is compared by its syntax tree, other languages by tokens without comments and white space. What
cannot be told apart counts as code: only what is certainly no work is to be found here.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from typing import Literal

from ralph.gates.guards._base.texts import Pair

Substance = Literal["code", "words", "nothing"]

_BLOCK = r"/\*.*?(?:\*/|\Z)"
_C = rf"{_BLOCK}|//[^\n]*"
_HASH = r"(?:(?<=\s)|(?<!.))#[^\n]*"
_DASH = r"--[^\n]*"
_TAG = r"<!--.*?(?:-->|\Z)"
# Endings, and what a comment looks like there; what is not here has none that we know.
_FAMILIES: tuple[tuple[str, str], ...] = (
    ("js cjs mjs jsx ts cts mts tsx go rs c h cc cpp cxx hpp java kt kts cs swift scala groovy dart", _C),
    ("zig sol m mm v d less scss jsonc json5 proto gradle", _C),
    ("css", _BLOCK),
    ("json", "(?!)"),
    ("php", f"{_C}|{_HASH}"),
    ("py pyi sh bash zsh fish rb pl pm r jl ex exs cr nim mk cmake tf dockerfile makefile graphql", _HASH),
    ("yaml yml toml cfg ini conf properties gitignore gitattributes editorconfig", _HASH),
    ("hs elm", rf"{{-.*?(?:-}}|\Z)|{_DASH}"),
    ("lua", rf"--\[\[.*?(?:\]\]|\Z)|{_DASH}"),
    ("sql", rf"{_BLOCK}|{_DASH}"),
    ("clj cljs cljc lisp el scm rkt asm", r";[^\n]*"),
    ("erl tex", r"(?<!\\)%[^\n]*"),
    ("html htm xml xhtml svg", _TAG),
    ("vue svelte astro", rf"{_TAG}|{_BLOCK}|(?<!:)//[^\n]*"),
)
_COMMENTS = {ending: pattern for endings, pattern in _FAMILIES for ending in endings.split()}


def _each(endings: str) -> frozenset[str]:
    return frozenset(endings.split())


_INDENTED = _each("py pyi yaml yml makefile mk nim hs elm sass coffee pug haml jl ini cfg conf")
_DATA = _each("yaml yml toml cfg ini conf properties json json5 jsonc gitignore gitattributes editorconfig")
_SOURCE = _COMMENTS.keys() - _DATA - _each("html htm xml xhtml svg")
_TEXTS = r"\\.|\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
# Comments that compilers and checkers read: to change them is to change what they do.
_READ_BY_TOOLS = re.compile(
    r"^#!|@(?:type|param|returns?|typedef|template|ts-|flow|jsx|internal|property|overload|satisfies)"
    r"|\b(?:type: ?|noqa|pragma|nolint|nosec|istanbul|c8|v8|eslint|prettier|pylint|mypy|pyright|ruff|isort"
    r"|fmt|yapf|flake8|coding|vim)\b"
    r"|^//(?:go:|\s*\+build|export |line |/? *<reference)|^#(?:\s*syntax=|\s*-\*-)"
)
_DOCUMENT = re.compile(
    r"\.(?:md|mdx|markdown|rst|adoc|asciidoc|txt|org|textile|pod|rdoc|[1-8]|ipynb)\Z"
    r"|(?:^|/)(?:LICEN[CS]E|COPYING|AUTHORS|NOTICE|CHANGE(?:S|LOG)|README|CONTRIBUTING|CONTRIBUTORS|HISTORY|NEWS"
    r"|THANKS|INSTALL|TODO)[^/]*\Z|(?:^|/)(?:docs?|documentation|man|website|examples?)/",
    re.IGNORECASE,
)
# A text file by its ending that a program reads all the same.
_READ_ALL_THE_SAME = re.compile(
    r"(?:^|/)(?:requirements|constraints|CMakeLists)[^/]*\.txt\Z|(?:^|/)robots\.txt\Z"
)
# There to be there, with nothing in them.
_MARKERS = re.compile(r"(?:^|/)(?:__init__\.pyi?|py\.typed|\.nojekyll)\Z")


def is_document(path: str) -> bool:
    return bool(_DOCUMENT.search(path)) and not _READ_ALL_THE_SAME.search(path)


def is_source(path: str) -> bool:
    """A program's own text: neither a document nor settings or data."""
    return _ending(path) in _SOURCE and not is_document(path)


def substance_of(pair: Pair) -> Substance:
    """What this file's change is made of."""
    change = pair.change
    if change.status in "RT" or (change.status == "M" and change.mode != change.old_mode):
        return "words" if is_document(pair.path) and is_document(change.before) else "code"
    if is_document(pair.path):
        return "nothing" if _lines(pair.old) == _lines(pair.new) and _is_read(pair) else "words"
    if change.status == "D":
        return "code"
    if not _is_read(pair):
        return "code"  # binary, too large, a link: it cannot be told
    if change.status == "A" and _MARKERS.search(pair.path):
        return "code"
    if _code(pair.path, pair.old) != _code(pair.path, pair.new):
        return "code"
    return "nothing" if _words(pair.path, pair.old) == _words(pair.path, pair.new) else "words"


def speaks_otherwise(pair: Pair) -> bool:
    """Do comments, docstrings or sentences in texts of this source file differ?"""
    if _words(pair.path, pair.old) != _words(pair.path, pair.new):
        return True
    sentence = re.compile(r"\"[^\"\n]*\w [^\"\n]*\"|'[^'\n]*\w [^'\n]*'|`[^`]*\w [^`]*`")
    return sentence.findall(pair.old) != sentence.findall(pair.new)


def _is_read(pair: Pair) -> bool:
    """Are both sides known as text? An empty side is known where nothing was, or an empty file."""
    return (
        bool(pair.new or pair.change.status == "D" or pair.change.size == 0) and pair.change.mode != "120000"
    )


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def _ending(path: str) -> str:
    name = posixpath.basename(path).lower()
    return name.rpartition(".")[2]


def _code(path: str, text: str) -> object:
    """What a program is made of, without comments; comments that tools read belong to it."""
    ending = _ending(path)
    told = _lines_for_tools(ending, text)
    if ending in ("py", "pyi") and (parsed := _python(text)) is not None:
        return told, parsed[0]
    pattern = _COMMENTS.get(ending)
    if pattern is None:
        return _lines(text)
    bare = re.sub(rf"({_TEXTS})|{pattern}", lambda hit: hit[1] or " ", text, flags=re.DOTALL)
    if ending in _INDENTED:
        return told, _lines(bare)
    return told, re.findall(rf"{_TEXTS}|\w+|[^\w\s]", bare, re.DOTALL)


def _lines_for_tools(ending: str, text: str) -> list[str]:
    """Comments that tools read, and the lines they stand on: such a comment counts for its line."""
    wanted = [word for word in _comments(ending, text) if _READ_BY_TOOLS.search(word)]
    kept = {word.strip() for word in wanted}
    lines = [line.strip() for line in text.split("\n")] if kept else []
    return wanted + [line for line in lines if any(word in line for word in kept)]


def _comments(ending: str, text: str) -> list[str]:
    pattern = _COMMENTS.get(ending)
    if pattern is None:
        return []
    found = re.finditer(rf"{_TEXTS}|(?P<comment>{pattern})", text, re.DOTALL)
    return [hit["comment"] for hit in found if hit["comment"]]


def _words(path: str, text: str) -> list[str]:
    """What a file says to people: comments and docstrings, without their white space."""
    ending = _ending(path)
    said = _comments(ending, text)
    if ending in ("py", "pyi") and (parsed := _python(text)) is not None:
        said += parsed[1]
    return [kept for words in said if (kept := " ".join(re.findall(r"\w[^\s]*", words)))]


_DOCTEST = re.compile(r"\s*(?:>>>|\.\.\.)(?:\s|$)")  # of an example that can be run
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _python(text: str) -> tuple[str, list[str]] | None:
    """Its syntax tree without docstrings, and these; None when Python cannot read it."""
    said = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, _DOCUMENTED) and (words := ast.get_docstring(node)) is not None:
                said.append(words)
                node.body = node.body[1:]
        tried = [line.strip() for words in said for line in words.split("\n") if _DOCTEST.match(line)]
        return ast.dump(tree) + "\n".join(tried), said
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
