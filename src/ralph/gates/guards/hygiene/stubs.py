"""Guard "stubs": added lines hold no unfinished work. Hygiene: not yet.

A comment `ralph: allow stubs <reason>` on the line, or on the one above it, keeps one on purpose, if it
stood there at the base: an agent waives nothing. A comment that names its issue or an address is a plan, one
that proposes another way for what is done is an idea, and one on code that stays as it was is no part of it.
"""

from __future__ import annotations

import re

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import guard_kinds, guard_result
from ralph.gates.guards._base.texts import (
    NumberedLine,
    Pair,
    is_aside,
    is_testing,
    label,
    new_lines,
    new_numbers,
    pairs,
    remarks,
)
from ralph.gates.guards._files.py_stubs import stub_functions
from ralph.gates.guards._tests.py_syntax import TROUBLE, parse_once

NAME = "stubs"
KINDS = guard_kinds(NAME, "finish it", {
    "comment": ("not yet", "an added comment says that something is still to do",
        "do it, or name its issue in the comment"),
    "body": ("not yet", "a new function does nothing"),
    "emptied": ("not yet", "a function lost its body",
        "restore the body, or delete the function and its uses"),
    "placeholder": ("not yet", "new code raises or returns a placeholder"),
})  # fmt: skip
_ALLOW = re.compile(r"ralph:\s*allow\s+stubs\s+\S")
_WORD = re.compile(r"\b(?:TODO|FIXME)\b(?!\s*\(?\s*#?\d|\([^)]*\d)|^\W*(?:XXX|HACK)\b(?![-\w])")
_PLANNED = re.compile(
    r"\b(?i:when|once|until|after|as soon as|in v?\d|remove \d|next (?:major|release|version))\b|#\d+|https?://|\b[A-Z]{2,10}-\d+\b|\b(?:gh|bpo)-?\d+"
)
# A plan names its issue or its time; a stub names neither.
_IDEA = re.compile(
    r"\b(?:TODO|FIXME)\b[\s:(-]*"
    r"(?:(?:maybe|perhaps|possibly|we (?:could|should|may|might)|could|should|consider|try to)\s+)*"
    r"(?:(?:us|replac|mov|renam|remov)(?:e|ing)|switch(?:ing)? to|refactor|simplify"
    r"|optimi[sz]e|speed up|clean ?up|tidy|deduplicate|share|inline|extract|merge|cache|deprecate|drop"
    r"|would|why)\b|\b(?:TODO|FIXME)\b.*\?",
    re.IGNORECASE,
)
_GENERATED = re.compile(r"generated|do not edit", re.IGNORECASE)
_HINT = re.compile(r"TODO|FIXME|XXX|HACK")
_CODE = re.compile(
    r"\.(?:py|pyi|js|mjs|cjs|jsx|ts|mts|cts|tsx|vue|svelte|go|rs|java|kt|kts|scala|c|h|cc|cpp|hpp|cs|rb|php|swift|dart|ex|exs|sh"
    r"|bash|lua|zig|sql)\Z"
)
_NOT_YET = r"(?:TODO|not[ _-]?(?:yet )?implemented|unimplemented)"
_EMPTY = re.compile(  # lines that may be the whole body of a function; only then a file is parsed
    r"(?:^|:)[ \t]*(?:pass|\.\.\.|raise NotImplementedError\b.*"
    r"|return [\"'](?i:placeholder|not|todo|fixme|stub|dummy).*)[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_THROWN = re.compile(
    rf"throw new Error\(\s*[\"'`]{_NOT_YET}|\b(?:todo|unimplemented)!\(|panic\(\s*[\"`]{_NOT_YET}"
    rf"|UnsupportedOperationException\(\s*\"{_NOT_YET}|NotImplementedException\(\)|^\s*TODO\(",
    re.IGNORECASE,
)


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    by_path = {pair.path: pair for pair in pairs(facts)}
    for path, lines in new_lines(facts).items():
        if _CODE.search(path):
            if not is_testing(path) and not is_aside(path) and not _GENERATED.search(by_path[path].new[:400]):
                findings += _comments(facts, by_path[path], lines)
            findings += _find_thrown(facts, by_path[path], lines)
    findings += _functions(facts)
    return guard_result(
        NAME, facts, findings, good="no stub in added lines", bad="unfinished work in added lines"
    )


def _is_allowed(facts: GuardFacts, pair: Pair, number: int) -> bool:
    lines = pair.new.split("\n")
    near = (one for one in (number - 1, number) if 0 < one <= len(lines) and _ALLOW.search(lines[one - 1]))
    return any(one not in new_numbers(facts, pair.path) for one in near)


def _comments(facts: GuardFacts, pair: Pair, lines: list[NumberedLine]) -> list[Finding]:
    suspects = [line for line in lines if _HINT.search(line.text)]
    if not suspects:
        return []
    said = remarks(facts, pair)[1]
    found = []
    for line in suspects:
        remark = said.get(line.number, "")
        word = _WORD.search(remark.lstrip("#/*<!- "))
        if not word or _PLANNED.search(remark) or _IDEA.search(remark):
            continue
        if not _is_allowed(facts, pair, line.number) and not _stays(facts, pair, line.number, said):
            name = word.group().strip(" \t#/*:-")
            text = f"a comment says {name} in {pair.path}, line {line.number}"
            found.append(
                Finding(_key("comment", pair.path, line.text), text, path=pair.path, line=line.number)
            )
    return found


def _stays(facts: GuardFacts, pair: Pair, number: int, said: dict[int, str]) -> bool:
    """Does a comment on a line of its own stand amid code that is the same as before?"""
    lines, added = pair.new.split("\n"), new_numbers(facts, pair.path)
    if lines[number - 1].strip(" \t") != said[number].strip(" \t"):
        return False  # beside code
    code = [at for at, line in enumerate(lines, 1) if line.strip() and at not in said]
    around = [at for at in code if at < number][-1:] + [at for at in code if at > number][:1]
    return bool(around) and not any(at in added for at in around)


def _find_thrown(facts: GuardFacts, pair: Pair, lines: list[NumberedLine]) -> list[Finding]:
    if pair.path.endswith((".py", ".pyi")) or is_testing(pair.path):
        return []
    found = []
    for line in lines:
        if _THROWN.search(line.text) and not _is_allowed(facts, pair, line.number):
            text = f"line {line.number} of {pair.path} says that something is not implemented"
            found.append(
                Finding(_key("placeholder", pair.path, line.text), text, path=pair.path, line=line.number)
            )
    return found


def _functions(facts: GuardFacts) -> list[Finding]:
    found = []
    for pair in pairs(facts):
        new = {line.number: line.text for line in new_lines(facts).get(pair.path, ())}
        if not pair.path.endswith(".py") or is_aside(pair.path) or not any(map(_EMPTY.search, new.values())):
            continue
        tree = parse_once(facts, "new", pair.path, pair.new)
        before = parse_once(facts, "old", pair.change.before, pair.old) if pair.old else None
        try:
            for stub in stub_functions(tree, before, is_tests=is_testing(pair.path)) if tree else ():
                allowed = any(_is_allowed(facts, pair, line) for line in (stub.line, stub.inner))
                if not allowed and new.keys() & {stub.line, stub.inner}:
                    key = f"stubs.{stub.kind}:{pair.path}:{stub.name}"
                    found.append(Finding(key, f"{stub.name} {stub.says}", path=pair.path, line=stub.line))
        except TROUBLE:
            continue
    return found


def _key(kind: str, path: str, line: str) -> str:
    return f"stubs.{kind}:{path}:{label(line)}"
