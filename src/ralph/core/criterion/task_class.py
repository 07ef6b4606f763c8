"""The class of a task, from its verb and what the verb acts on. Only the class: commands live elsewhere.

The first word decides where it is a verb we know, else the first verb that cannot also be a noun. Then
the head of the verb's own object counts: the last word before the first joint ("and", "for", "so", …).
So "add tests for dark mode" is coverage, "add dark mode and tests" is a feature, "fix type errors" is
types, and "fix the type selector" is a bug. In doubt the answer is the class that demands more proof:
make-it-green classes may end a loop before its first agent call, so they need the clearest words.
An unknown verb is `regression`: nothing may break, and the diff must not be empty. So is what is about flaky,
skipped or suppressed things: they are green already, and green says nothing of them.
"""

from __future__ import annotations

import re

from ralph.core.model.gate import TaskClass

_MAX_CHARS = 2000  # characters; the verb of a task stands at its beginning
_TOKEN = re.compile(r"#[0-9]+|[a-z][a-z0-9_+-]*|[.,;:!?\n]")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Objects, by the word as it stands in the task.
_OBJECTS: tuple[tuple[frozenset[str], TaskClass], ...] = (
    (_set("coverage"), "coverage"),
    (
        _set("type types typing mypy pyright tsc typescript typecheck typechecker typings annotations hints"),
        "type-clean",
    ),
    (
        _set("lint linter linting warnings style formatting ruff eslint flake8 pylint clippy rubocop"),
        "lint-clean",
    ),
    (_set("build builds compile compiles compilation compiler"), "build-pass"),
    (_set("docs doc documentation docstring docstrings readme changelog manual tutorial comments"), "docs"),
    (
        _set("test tests testsuite suite specs pytest unittest unittests jest vitest check checks ci"),
        "test-pass",
    ),
    (
        _set("bug bugs issue issues crash crashes error errors regression defect leak deadlock typo"),
        "bug-fix",
    ),
)
_CLASS_OF: dict[str, TaskClass] = {word: name for words, name in _OBJECTS for word in words}
# Words that follow an object without changing what it is: "type errors" are still about types.
_TAILS = _set(
    "error errors warning warnings failure failures finding findings problem problems issue issues"
) | _set("complaint complaints check checks violation violations")
_JOINTS = _set(
    "and or for to with so that in of when until where which by from into on if because while without via "
    "above over beyond past below under"
) | {"using", "as", ",", ".", ";", ":", "!", "?", "\n"}
_FILLERS = _set("please can could would you kindly lets let us now just we need want should to i must")
_LAST = _set("please now again first too asap here up")
_EMPTY = _set("it them this that these those everything all the whole entire")
_WHOLE = _EMPTY | _set("project code codebase app package repo repository source sources files")

_GREEN = _set("pass passes passing green succeed succeeds")
_STATES = _GREEN | _set("clean happy compile compiles builds")
_TROUBLE = _set("fail fails failing red broken break breaks complain complains")
_LINKS = _set("is are be must should to all still now above over at")

# verb -> (class when nothing more is said, classes that its object may make of it)
_Row = tuple[TaskClass, dict[TaskClass, TaskClass]]
_REPAIR: _Row = ("bug-fix", {name: name for _, name in _OBJECTS})
_MAKE: _Row = ("regression", {name: name for _, name in _OBJECTS if name != "bug-fix"})
_ADD: _Row = (
    "implement-feature",
    {"test-pass": "coverage", "coverage": "coverage", "docs": "docs", "type-clean": "type-clean"},
)
_RAISE: _Row = ("regression", {"coverage": "coverage", "docs": "docs"})
_CLEAN: _Row = ("regression", {"lint-clean": "lint-clean", "type-clean": "type-clean"})
_KEEP: _Row = ("regression", {})
_PORT: _Row = ("regression", {})
_WHOLE_BUILD: _Row = ("build-pass", {})
_WHOLE_STYLE: _Row = ("lint-clean", {})

_VERBS: dict[str, _Row] = {
    **dict.fromkeys(("fix", "resolve", "repair", "debug", "solve", "correct", "patch", "close"), _REPAIR),
    **dict.fromkeys(("make", "get", "ensure", "bring"), _MAKE),
    **dict.fromkeys(("add", "write", "create", "introduce"), _ADD),
    **dict.fromkeys(("increase", "improve", "boost", "extend", "complete", "update"), _RAISE),
    **dict.fromkeys(("migrate", "convert", "port", "upgrade", "bump"), _PORT),
    **dict.fromkeys(("remove", "delete", "eliminate", "silence", "clean", "clear", "reduce"), _CLEAN),
    **dict.fromkeys(("refactor", "rename", "restructure", "simplify", "replace", "rewrite"), _KEEP),
    **dict.fromkeys(("implement", "develop", "enable", "provide", "allow"), ("implement-feature", {})),
}
# Verbs only in first place: elsewhere they are as likely nouns ("the test suite", "the build").
_LEADING: dict[str, _Row] = {
    **dict.fromkeys(("extract", "move", "split", "inline", "merge"), _KEEP),
    **dict.fromkeys(("document", "describe", "explain"), ("docs", {})),
    **dict.fromkeys(("test", "cover"), ("coverage", {})),
    **dict.fromkeys(("lint", "style", "format"), _WHOLE_STYLE),
    **dict.fromkeys(("build", "compile"), _WHOLE_BUILD),
    **dict.fromkeys(("support", "design"), ("implement-feature", {})),
    "raise": _RAISE,
}


_UNTOLD: frozenset[TaskClass] = frozenset({"test-pass", "coverage", "type-clean", "lint-clean", "build-pass"})
_HIDDEN = re.compile(
    r"\bflak(?:y|ey|es?|iness)\b|\bx-?fail(?:s|ed|ing|ures?)?\b|\bun-?skip|\bskips\b|\bskip (?:mark|decorat)"
    r"|\b(?:skipped|ignored|disabled|quarantined)(?: [\w-]+)? (?:tests?|specs?|suites?)\b"
    r"|\b(?:tests?|specs?|suites?)\b[^.;\n]*\b(?:skipped|quarantined)\b"
    r"|\btype: ?ignores?\b|\btype-ignores?\b|\bnoqas?\b|\bnolint\b|\bsuppress(?:ions?|ed)\b"
    r"|\bts-(?:ignore|expect-error|nocheck)|\beslint-disable|\bpylint: ?disable|\bpyright: ?ignore"
)
# "Make the tests pass without skips" is about the tests.
_NOT_THAT = re.compile(
    r"\b(?:without|do not|don't|dont|never|must not|avoid|no new|instead of|rather than)\b[^.;\n]*"
)


def hidden_from_checks(task: str) -> bool:
    """Is the task about what checks pass over: flaky or skipped tests, suppressed findings?"""
    return _HIDDEN.search(_NOT_THAT.sub(" ", task[:_MAX_CHARS].lower())) is not None


def task_class(task: str) -> TaskClass:
    found = _class_by_verb(task)
    return "regression" if found in _UNTOLD and hidden_from_checks(task) else found


def _class_by_verb(task: str) -> TaskClass:
    words = _TOKEN.findall(task[:_MAX_CHARS].strip().lower())
    at = next((at for at, word in enumerate(words) if word not in _FILLERS), len(words))
    row = _LEADING.get(words[at]) if at < len(words) else None
    if row is None:
        at = next((at for at, word in enumerate(words) if word in _VERBS), len(words))
        row = _VERBS.get(words[at]) if at < len(words) else None
    if row is None:
        return _class_of_stated_fact(words) or "regression"
    rest = words[at + 1 :]
    near = _object(rest)
    if row is _MAKE:
        return _class_of_wanted_state(rest)
    if row is _PORT:  # "migrate the client to typescript": what counts comes after the joint
        return "type-clean" if "typescript" in rest else "regression"
    if row is _WHOLE_BUILD or row is _WHOLE_STYLE:
        # "build the project" is the build, "build a login page" and "format the date" are wishes
        if set(near) <= _WHOLE:
            return row[0]
        return "implement-feature" if row is _WHOLE_BUILD else "regression"
    found = _head(near, row[1])
    if found is None and row is _REPAIR and set(near) <= _EMPTY:
        # "fix it", "fix until green": what is meant stands elsewhere in the sentence
        found = _class_of_stated_fact(words) or ("test-pass" if _GREEN & set(words) else None)
    return found or row[0]


def _object(words: list[str]) -> list[str]:
    end = next((at for at, word in enumerate(words) if word in _JOINTS), len(words))
    while end and words[end - 1] in _LAST:
        end -= 1
    return [word for word in words[:end] if word not in _LAST]


def _head(words: list[str], objects: dict[TaskClass, TaskClass]) -> TaskClass | None:
    """The class of an object's head noun, looking through words such as "errors"."""
    if not words:
        return None
    named = _named(words[-2]) if len(words) > 1 and words[-1] in _TAILS else None
    named = named or _named(words[-1])
    return objects.get(named) if named else None


def _named(word: str) -> TaskClass | None:
    return "test-pass" if word.startswith("test_") else _CLASS_OF.get(word)


def _class_of_wanted_state(words: list[str]) -> TaskClass:
    """The state asked for: "make the tests in src pass", "make mypy happy", "make it compile"."""
    state = next((at for at, word in enumerate(words) if word in _STATES), None)
    if state is None:
        return "regression"
    near = _object(words[:state])
    if set(near) <= _EMPTY:
        return (
            "test-pass"
            if words[state] in _GREEN
            else _MAKE[1].get(_CLASS_OF.get(words[state], "custom"), "regression")
        )
    return _head(near, _MAKE[1]) or (
        "build-pass" if words[state] in _CLASS_OF and set(near) <= _WHOLE else "regression"
    )


def _class_of_stated_fact(words: list[str]) -> TaskClass | None:
    """A state instead of a deed: "all tests pass", "zero ruff findings", "crash on empty input"."""
    for at, word in enumerate(words):
        named = _named(word)
        after = next((word for word in words[at + 1 :] if word not in _LINKS), "")
        if named == "bug-fix" or (
            named and (after in _STATES or after in _TROUBLE or after in _TAILS or named == "coverage")
        ):
            return named
    return None
