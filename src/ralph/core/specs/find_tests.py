"""Which tests prove which criterion: an id in a test's name, docstring, marker or the comment beside it.

Pure text work for any language whose tests are declared on a line of their own (Python, JavaScript, Go, Rust,
Java and their like). A test that is named in a file and was not seen by the gate proves nothing; where a name
stands for several tests, all of them must name the criterion. The answer is the table
Spec | Criterion | Test | Status, made from a gate's `Reading`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from ralph.core.model.plan.test_link import ORDER, CriterionTest, Status
from ralph.core.model.verdict import Reading
from ralph.core.specs.parse import Spec

_MAX_ROWS = 50  # of one criterion; the ones that decide how it stands are among them
_MAX_LINES_ABOVE = 60  # lines above a declaration that may be its decorators and comments
_MAX_LINES_BELOW = 40

_DECLARED = re.compile(
    r"(?P<indent>\s*)(?:"
    r"(?:async\s+)?def\s+(?P<py>test\w*)\s*\("
    r"|(?:export\s+)?(?:test|it|specify|Deno\.test)(?:\.\w+){0,3}\s*\(\s*(?P<quote>[\"'`])(?P<js>[^\"'`]{1,400})"
    r"|func\s+(?:\([^()]{0,80}\)\s*)?(?P<go>Test\w*)\s*\("
    r"|(?:pub(?:\([a-z]{1,9}\))?\s+)?(?:async\s+)?fn\s+(?P<rust>\w+)\s*\("
    r"|(?:@Test\s+)?(?:(?:public|private|protected|internal|static|final|suspend|async|override)\s+){0,4}"
    r"(?:void|fun|Task|function)\s+(?P<java>\w+|`[^`]{1,200}`)\s*\("
    r")"
)
_SCOPE = re.compile(r"(?P<indent>\s*)class\s+(?P<name>\w+)")
_BESIDE = re.compile(r"\s*(?:#|//|/\*|\*|@|--)")
_COMMENT = re.compile(r"\s*(?:#|//|/\*|\*)")
_CLOSING = re.compile(r"\s*[)\]}]+[,;]?\s*$")
_DOCSTRING = re.compile(r"\s*[rRuU]?(\"\"\"|'''|\"|')")
_TRAILING = re.compile(r"(?:\s#|//|/\*)(.*)$")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_NUMBERED = re.compile(r" \(\d{1,6}\)$")
_JOINTS = re.compile(r"::| > ")
_PARTS = re.compile(r"::| > |[/.]")
_GLUE = frozenset({"", "-", "_", "."})


class Declared(Struct, frozen=True):
    """A test in a file: its name, the classes around it, and the criteria it names."""

    path: str
    name: str
    line: int
    scopes: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()


class _Ids(NamedTuple):
    by_first: dict[str, list[tuple[tuple[str, ...], str]]]


def link_tests(
    specs: Sequence[Spec], reading: Reading | None, files: Mapping[str, str]
) -> tuple[CriterionTest, ...]:
    """The table: every criterion with each test that names it, in the order of the specs."""
    ids = index_of(one.id for spec in specs for one in spec.criteria if one.id)
    tests = dict(reading.tests) if reading is not None and reading.tests is not None else {}
    declared = [test for path, text in files.items() for test in declared_tests(path, text, ids)]
    where = reading.files if reading is not None else {}
    found: dict[str, dict[str, Status]] = {}
    seen: set[tuple[str, int]] = set()
    by_name: dict[str, list[Declared]] = {}
    for test in declared:
        by_name.setdefault(test.name, []).append(test)
    for test_id, state in tests.items():
        path = where.get(test_id, "")
        own = named_in(_without_path(test_id, path), ids)
        candidates = _candidates(test_id, path, by_name)
        if candidates:
            own |= frozenset.intersection(*(one.names for one in candidates))
            seen.update((one.path, one.line) for one in candidates)
        status: Status = "flaky" if reading and test_id in reading.flaky else state
        for name in own:
            found.setdefault(name, {})[test_id] = status
    for test in declared:
        if (test.path, test.line) not in seen:
            status = "unknown" if reading is None or reading.tests is None else "unseen"
            for name in test.names:
                found.setdefault(name, {})[f"{test.path}:{test.line} {test.name}"] = status
    return _table(specs, found)


def _table(specs: Sequence[Spec], found: Mapping[str, Mapping[str, Status]]) -> tuple[CriterionTest, ...]:
    rows = []
    for spec in specs:
        for one in spec.criteria:
            tests = found.get(one.id) if one.id else None
            name = one.id or f"{spec.path}:{one.line}"
            if tests:
                shown = sorted(tests, key=lambda test: (ORDER.index(tests[test]), test))[:_MAX_ROWS]
                rows += [CriterionTest(spec.path, name, test, tests[test]) for test in sorted(shown)]
            else:
                rows.append(CriterionTest(spec.path, name, "", "untested"))
    return tuple(rows)


def index_of(names: Iterable[str]) -> _Ids:
    by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name in dict.fromkeys(names):
        words = tuple(_normal(match[0]) for match in _WORD.finditer(name))
        by_first.setdefault(words[0], []).append((words, name))
    for some in by_first.values():
        some.sort(key=lambda pair: -len(pair[0]))  # the longest first: AC-1.2 is not AC-1
    return _Ids(by_first)


def _normal(word: str) -> str:
    return (word.lstrip("0") or "0") if word.isdigit() else word.lower()


def named_in(text: str, ids: _Ids) -> frozenset[str]:
    """The criteria whose ids stand in a text: as they are, in snake_case or in CamelCase."""
    if not ids.by_first:
        return frozenset()
    words = [(_normal(match[0]), match.start(), match.end()) for match in _WORD.finditer(text)]
    found = set()
    at = 0
    while at < len(words):
        step = 1
        for wanted, name in ids.by_first.get(words[at][0], ()):
            if _stands(text, words, at, wanted):
                found.add(name)
                step = len(wanted)
                break
        at += step
    return frozenset(found)


def _stands(text: str, words: list[tuple[str, int, int]], at: int, wanted: tuple[str, ...]) -> bool:
    end = at + len(wanted)
    if end > len(words) or tuple(word for word, _, _ in words[at:end]) != wanted:
        return False
    joined = all(text[words[n][2] : words[n + 1][1]] in _GLUE for n in range(at, end - 1))
    after = text[words[end - 1][2] : words[end - 1][2] + 2]
    return joined and not (len(after) == 2 and after[0] == "." and after[1].isdigit())


def declared_tests(path: str, text: str, ids: _Ids) -> list[Declared]:
    """The tests that a file declares, each with the criteria named in or beside it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found: list[Declared] = []
    scopes: list[tuple[int, str, frozenset[str]]] = []
    for number, line in enumerate(lines):
        if len(line) > 4000:
            continue
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        while stripped and scopes and scopes[-1][0] >= indent and not _COMMENT.match(line):
            scopes.pop()
        if scope := _SCOPE.match(line):
            markers = "\n".join(part for part in _above(lines, number) if part.lstrip().startswith("@"))
            scopes.append((indent, scope["name"], named_in(markers, ids)))
            continue
        match = _DECLARED.match(line)
        if match is None:
            continue
        name = next(match[group] for group in ("py", "js", "go", "rust", "java") if match[group])
        if match["rust"] and not any("test" in part for part in _above(lines, number)):
            continue  # an ordinary function
        beside = "\n".join((name, *_above(lines, number), *_below(lines, number, callback=bool(match["js"]))))
        names = named_in(beside, ids).union(*(markers for _, _, markers in scopes))
        found.append(Declared(path, name.strip("`"), number + 1, tuple(scope[1] for scope in scopes), names))
    return found


def _above(lines: Sequence[str], number: int) -> list[str]:
    """Comments, decorators and attributes that stand directly above a line."""
    found: list[str] = []
    at = number - 1
    while at >= 0 and number - at <= _MAX_LINES_ABOVE:
        line = lines[at]
        if _BESIDE.match(line):
            found.append(line)
        elif _CLOSING.match(line) and (top := _decorator_above(lines, at, number)) is not None:
            found += lines[top : at + 1]
            at = top
        else:
            break
        at -= 1
    return found


def _decorator_above(lines: Sequence[str], at: int, number: int) -> int | None:
    """Where a decorator begins that ends on this line."""
    indent = len(lines[at]) - len(lines[at].lstrip())
    for top in range(at - 1, max(-1, number - _MAX_LINES_ABOVE), -1):
        line = lines[top]
        depth = len(line) - len(line.lstrip())
        if line.strip() and depth <= indent:
            return top if line.lstrip().startswith("@") and depth == indent else None
    return None


def _below(lines: Sequence[str], number: int, *, callback: bool) -> list[str]:
    """What stands behind the declaration, and the docstring or comment with which the body begins."""
    at = number if callback else _signature_end(lines, number)
    found = [tail[1] for line in lines[number : at + 1] if (tail := _TRAILING.search(line))]
    opened = re.split(r"\s#|//|/\*", lines[at])[0].rstrip()
    if not opened.endswith((":", "{", "=>")):
        return found  # the body is on the same line
    at += 1
    if at < len(lines) and (quote := _DOCSTRING.match(lines[at])):
        rest = lines[at][quote.end() :]
        found.append(rest)
        while (
            len(quote[1]) == 3
            and quote[1] not in rest
            and at + 1 < len(lines)
            and at - number < _MAX_LINES_BELOW
        ):
            at += 1
            rest = lines[at]
            found.append(rest)
        return found
    while at < len(lines) and at - number < _MAX_LINES_BELOW and _COMMENT.match(lines[at]):
        found.append(lines[at])
        at += 1
    return found


def _signature_end(lines: Sequence[str], number: int) -> int:
    """The line on which the brackets of a declaration close; the first, when they never do."""
    depth = 0
    for at in range(number, min(len(lines), number + _MAX_LINES_BELOW)):
        depth += lines[at].count("(") - lines[at].count(")")
        if depth <= 0:
            return at
    return number


def _without_path(test_id: str, path: str) -> str:
    """A criterion must be named by the test, not by the folder it lies in."""
    return test_id.replace(path, " ") if path else re.sub(r"^\S*/\S*?(?:::|\s|$)", " ", test_id)


def _candidates(test_id: str, path: str, by_name: Mapping[str, list[Declared]]) -> list[Declared]:
    """The declarations that a test id may stand for."""
    whole = _NUMBERED.sub("", test_id)
    bare = whole[: whole.index("[")] if whole.endswith("]") and "[" in whole else whole
    last = _JOINTS.split(bare)[-1].strip()
    # as it is, without parameters, TestX/sub of go, module.Class.test_x of unittest
    names = (_JOINTS.split(whole)[-1], last, last.partition("/")[0], last.rpartition(".")[2])
    some = next((by_name[name] for name in names if name in by_name), [])
    if path:
        some = [one for one in some if one.path == path]
    else:
        some = [one for one in some if one.path in test_id or _module(one.path) in test_id] or some
    parts = set(_PARTS.split(bare))
    scoped = [one for one in some if one.scopes and parts.issuperset(one.scopes)]
    return scoped or [one for one in some if not one.scopes] or some


def _module(path: str) -> str:
    return path.rpartition(".")[0].replace("/", ".") + "."
