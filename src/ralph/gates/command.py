"""Command lines as text: is a shell needed, what are the words, where does {report} go.

One scanner over POSIX quoting serves all three questions. It decides nothing about runners (see
`runners`) and never executes anything.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct

REPORT = "{report}"


def word_set(text: str) -> frozenset[str]:
    """A table of words, written as one text."""
    return frozenset(text.split())


# Outside quotes each of these means something to a shell: operators, redirects, expansions, globs.
_SYNTAX = frozenset("|&;<>()$`*?[]\n{}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_BUILTINS = word_set(
    ". : ! [[ alias bg builtin case cd command declare eval exec exit export fg for function getopts hash if "
    "jobs let local popd pushd read readonly return select set shift shopt source times trap type typeset "
    "ulimit umask unalias unset until wait while"
)
_OPERATORS = frozenset("|&;()<>\n")
_DOCUMENT = re.compile(r"""<<-?[ \t]*(['"]?)(?P<end>\w+)\1""")
_SHELL = re.compile(r"(?<![\w.-])(?:ba|z|da|k)?sh(?![\w./-])")


def _scan(text: str) -> Iterator[tuple[int, str, str]]:
    """Every character with its place and its quoting: none, a single or double quote, or a backslash."""
    quote = ""
    index = 0
    while index < len(text):
        char = text[index]
        if char == "\\" and quote != "'" and index + 1 < len(text):
            yield index, char, "\\"
            yield index + 1, text[index + 1], "\\"
            index += 2
            continue
        if quote:
            yield index, char, quote
            if char == quote:
                quote = ""
        else:
            if char in "'\"":
                quote = char
            yield index, char, quote
        index += 1


def needs_shell(run: str) -> bool:
    """Does this text mean something to /bin/sh that plain words do not?"""
    text = run.strip().replace(REPORT, "REPORT")
    for index, char, quote in _scan(text):
        if not quote and char in _SYNTAX:
            return True
        if quote == '"' and char in "$`":
            return True
        if not quote and char in "~#" and (index == 0 or text[index - 1].isspace()):
            return True
    first = text.split(maxsplit=1)[:1]
    return any(word in _BUILTINS or bool(_ASSIGNMENT.match(word)) for word in first)


def simple_commands(run: str) -> list[list[str]]:
    """The words of each simple command in a shell text, as well as they can be known without a shell."""
    commands: list[list[str]] = [[]]
    for word in _words(run):
        if word and all(char in _OPERATORS for char in word):
            commands.append([])
        elif commands[-1] or not _ASSIGNMENT.match(word):
            commands[-1].append(word)
    return [command for command in commands if command]


def written_files(run: str) -> list[str]:
    """Where a shell text sends output: what stands behind each `>`, `>>` and `>|`."""
    signs = (">", ">>", ">|", "&>", "&>>", ">&")
    return [file for sign, file in itertools.pairwise(_words(run)) if sign in signs]


def without_documents(run: str) -> str:
    """A shell text without the bodies of its here-documents, but for those that a shell is to run."""
    lines, kept, end = run.split("\n"), [], ""
    ends = {line.lstrip("\t") for line in lines}
    for line in lines:
        if end:
            end = "" if line.lstrip("\t") == end else end
            continue
        kept.append(line)
        found = None if _SHELL.search(line) else _DOCUMENT.search(line)
        end = found["end"] if found and found["end"] in ends else ""
    return "\n".join(kept)


def _words(run: str) -> list[str]:
    lexer = shlex.shlex(run.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    with suppress(ValueError):  # an unfinished quote: the words before it still count
        words.extend(lexer)
    return words


class ShellPart(Struct, frozen=True):
    """One simple command of a shell text, and the operator behind it."""

    text: str
    after: str  # "&&", "||", ";", "|" or "" at the end


def split_text(text: str) -> list[ShellPart] | None:
    """The simple commands of one line, as they stand there; None where it is more than a chain of them."""
    parts: list[ShellPart] = []
    begun, skip = 0, -1
    for index, char, quote in _scan(text):
        if index <= skip:
            continue
        if text[index : index + 2] == "$(" and quote != "'":
            return None
        if (char == "`" and quote in ('"', "")) or (not quote and char in "<>()\n#"):
            return None
        if quote or char not in "&|;":
            continue
        both = text[index : index + 2] in ("&&", "||")
        if char == "&" and not both:
            return None
        after = text[index : index + 2] if both else char
        parts.append(ShellPart(text[begun:index], after))
        begun, skip = index + len(after), index + len(after) - 1
    return [*parts, ShellPart(text[begun:], "")]


def fill(argv: tuple[str, ...], report: str) -> tuple[str, ...]:
    return tuple(word.replace(REPORT, report) for word in argv)


def fill_shell(script: str, report: str) -> str:
    """The script with {report} replaced by the path, quoted for the place it stands in."""
    if REPORT not in script:
        return script
    quoting = {index: quote for index, _, quote in _scan(script)}
    pieces = []
    start = 0
    while (at := script.find(REPORT, start)) >= 0:
        pieces.append(script[start:at])
        quote = quoting.get(at, "")
        if quote == "'":
            pieces.append(report.replace("'", "'\\''"))
        elif quote == '"':
            pieces.append(re.sub(r'([\\"$`])', r"\\\1", report))
        else:
            pieces.append(shlex.quote(report))
        start = at + len(REPORT)
    pieces.append(script[start:])
    return "".join(pieces)
