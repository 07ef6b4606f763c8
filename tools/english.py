"""Odd English in what people and agents read: strings of src, templates, docs. `tools/english.py` lists it.

Each phrase here was in a screen, an error or a prompt once and read like a translation; design/english.md
has better ones. Docstrings and comments of the code are not looked at, except where they are help.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ODD = re.compile(
    r"\banew\b|\bheld against\b|\bhold \w+ against\b|\bnot said\b|'s matter\b|\bfit to work\b"
    r"|\bso (?:many|much) \w+ more\b|\bafter so many\b|\bsurroundings\b|\bword from the user\b|\byour word\b"
    r"|\bhuman's word\b|\bworked by\b|\bwhen left out\b|\btold of\b|\bin a circle\b|\bparted by\b"
    r"|\bsaw to\b|\bsee to\b|\bthrown away and\b|\b(?:your own|it) stands\b|\bbegins like that\b"
    r"|\bis told as\b|\bnobody is asked where\b|\bgives? back\b|\bcode of the change\b|\bminds? no\b"
    r"|\bcomes? to (?:its|their) (?:own )?ends?\b",
    re.IGNORECASE,
)
# Most modules hold none of it even where words may be parts of others: those need not be parsed.
ROUGH = re.compile(ODD.pattern.replace(r"\b", ""))
SEAM = re.compile(r"""["']\s*\\?\s*[a-z]*["']|\\\n""")  # between two literals that are one string
# Words of users that Ralph must understand, and programs that print nothing for people.
SPARED = ("core/sentence/", "core/criterion/", "core/toolchains/", "core/claim/")


def strings(path: Path) -> Iterator[tuple[int, str]]:
    """Strings that can reach a reader: docstrings only where they are the help of a command."""
    source = path.read_text(encoding="utf-8")
    if not ROUGH.search(SEAM.sub("", source.lower())):
        return
    tree = ast.parse(source)
    helps = "ui/cli" in path.as_posix()
    silent: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            shown = helps and isinstance(node, ast.FunctionDef) and node.decorator_list
            if isinstance(first, ast.Expr) and not shown:
                silent.add(id(first.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.lineno, node.value


def lines() -> Iterator[tuple[Path, int, str]]:
    source = TOP / "src" / "ralph"
    for path in sorted(source.rglob("*.py")):
        if not path.relative_to(source).as_posix().startswith(SPARED):
            yield from ((path, number, text) for number, text in strings(path))
    texts = [path for end in ("j2", "json", "md", "toml") for path in sorted(source.rglob(f"*.{end}"))]
    texts = [path for path in texts if not path.relative_to(source).as_posix().startswith(SPARED)]
    for path in [*texts, TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]:
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            yield path, number, text


def findings() -> list[str]:
    return [
        f"{path.relative_to(TOP)}:{number}: {found[0]!r}: {' '.join(text.split())[:120]}"
        for path, number, text in lines()
        for found in [ODD.search(text)]
        if found
    ]


if __name__ == "__main__":
    found = findings()
    print("\n".join(found))
    sys.exit(bool(found))
