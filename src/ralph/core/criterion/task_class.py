"""The class of a task, from what it asks: its verb and what the verb acts on. Commands live elsewhere.

The first word decides where it is a verb we know, else the first verb that cannot also be a noun. Then
the head of the verb's own object counts: the last word before the first joint ("and", "for", "so", …).
So "add tests for dark mode" is coverage, "add dark mode and tests" is a feature, "fix type errors" is
types, and "fix the type selector" is a bug. In doubt the answer is the class that demands more proof:
make-it-green classes may end a loop before its first agent call, so they need the clearest words.
A subject as in a commit ("feat(api): …", "Handle …", "Don't …", "Raise … when") is sorted by what changes for
whoever uses the program: something new, something mended, documents, or nothing. An unknown verb is
`regression`: nothing may break, and the diff must not be empty. So is what is about flaky, skipped or
suppressed things: they are green already, and green says nothing of them.
"""

from __future__ import annotations

import re
from itertools import pairwise

from ralph.core.criterion.task_verbs import JOINED, PATTERNS, PREFIXES, WORDS
from ralph.core.model.gate import TaskClass
from ralph.core.toolchains.load import toolchains

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
    (_set("test tests testsuite suite specs unittest unittests check checks ci"), "test-pass"),
    (
        _set("bug bugs issue issues crash crashes error errors defect leak deadlock typo regression"),
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
# A check of the project's own stands alone or with these; "the constraints check" is a part of the program.
_OF_CHECKS = _set(
    "the all every any my our these those this failing broken red remaining ci required status github"
)
_MORE = _set("more additional extra further missing new")
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


_ONE_TEST = re.compile(r"\b(?:an?|one|another)(?: [\w-]+)? test\b(?! suite)|\btest (?:case )?for\b")
_UNTOLD: frozenset[TaskClass] = frozenset({"test-pass", "coverage", "type-clean", "lint-clean", "build-pass"})


def hidden_from_checks(task: str) -> bool:
    """Is the task about what checks pass over: flaky or skipped tests, suppressed findings?"""
    return PATTERNS.hidden.search(PATTERNS.not_that.sub(" ", task[:_MAX_CHARS].lower())) is not None


def task_class(task: str) -> TaskClass:
    text = _plain(task)
    found = _class_by_prefix(text) or _class_by_verb(text)
    if found == "coverage" and _ONE_TEST.search(task[:_MAX_CHARS].lower()):
        return "implement-feature"  # done when that test is there: what is covered already raises nothing
    return "regression" if found in _UNTOLD and hidden_from_checks(task) else found


def _plain(task: str) -> str:
    """The task without marks before its words, and with two words that are one verb as one."""
    text = task[:_MAX_CHARS].strip()
    while (hit := PATTERNS.before.match(text)) and hit.end() < len(text):
        text = text[hit.end() :]
    for pattern, word in JOINED:
        text = pattern.sub(word, text)
    return text


_PREFIX = re.compile(r"^([\w./-]+)(?:\(([^)\n]*)\))?!?:\s+(?=\S)")


def _class_by_prefix(text: str) -> TaskClass | None:
    """The class by a prefix as of conventional commits ("fix(api)!: …") or of a part ("net/http: …")."""
    hit = _PREFIX.match(text)
    if hit is None:
        return None
    name, scope, rest = hit.group(1).lower(), (hit.group(2) or "").lower(), text[hit.end() :]
    said = PREFIXES.get(name)
    if said is None:
        if name.endswith(("error", "exception")):
            return "bug-fix"
        if {*re.split(r"[/.]", name)} & WORDS.documents:
            return "docs"
        first = name.split("/")[0]
        return None if first in _VERBS or first in _LEADING or first in _FILLERS else task_class(rest)
    if said == "docs" or {*re.split(r"\W+", scope)} & WORDS.documents:
        return "docs"
    inner = _class_by_verb(rest)
    if said == "bug-fix":
        if inner in ("docs", "coverage"):
            return inner
        mended = _class_by_verb(f"fix {rest}")
        deed = rest.split()[0].lower() in {*_VERBS, *WORDS.behaves}
        return mended if mended == "docs" or (mended in _UNTOLD and not deed) else "bug-fix"
    if said == "coverage":
        if hidden_from_checks(rest):
            return "regression"
        return "coverage" if inner in ("implement-feature", "bug-fix") else inner
    return "docs" if inner == "docs" else said


def _class_by_verb(task: str) -> TaskClass:
    words = _TOKEN.findall(task.lower())
    at = next((at for at, word in enumerate(words) if word not in _FILLERS or word == "let"), len(words))
    if at < len(words):
        words[at] = _base(words[at])
        said = len(_TOKEN.findall("".join(PATTERNS.first.findall(task)[:1]).lower()))
        asked = _class_of_behaviour(words[at], words[at + 1 : max(said, at + 1)], task)
        if asked is not None:
            return asked
    row = _LEADING.get(words[at]) if at < len(words) else None
    if row is None:
        at = next((at for at, word in enumerate(words) if word in _VERBS), len(words))
        row = _VERBS.get(words[at]) if at < len(words) else None
    if row is None:
        stated = _class_of_stated_fact(words)
        return stated or ("bug-fix" if PATTERNS.trouble.search(" ".join(words)) else "regression")
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
    away = words[at] in ("remove", "delete") and near and near[-1] not in _TAILS | {"lint"}  # a tool
    found = None if away else _head(near, row[1])
    if found is None and row is _REPAIR and set(near) <= _EMPTY:
        # "fix it", "fix until green": what is meant stands elsewhere in the sentence
        found = _class_of_stated_fact(words) or ("test-pass" if _GREEN & set(words) else None)
    return found or row[0]


_ASIDE = frozenset({"about", "after", "before", "during", "per", "each", "between"})
_LETTERS = ("ing-", "inge", "iedy", "iesy", "ed-", "ede", "es-", "s-")  # an ending, and the letter instead
_ENDINGS = tuple((one[:-1], one[-1].strip("-")) for one in _LETTERS)
_NOT_VERBS = frozenset({"tests", "checks", "builds", "types", "styles", "cases", "documents", "formatting"})


def _base(word: str) -> str:
    """The verb that a word is a form of (added, adds, adding); a word that is none stays."""
    verbs = {*_VERBS, *_LEADING, *WORDS.behaves, *WORDS.keeps, *WORDS.explains}
    if word in verbs or word in _NOT_VERBS:
        return word
    for ending, instead in _ENDINGS:
        stem = word.removesuffix(ending) + instead if word.endswith(ending) else ""
        for form in (stem, stem[:-1] if stem[-1:] == stem[-2:-1] else ""):
            if form in verbs:
                return form
    return word


def _class_of_behaviour(verb: str, rest: list[str], text: str) -> TaskClass | None:
    """The class of a subject whose verb says what the program shall do; None where the old words decide."""
    near = _object(rest)
    cut = next((at for at, word in enumerate(near) if word in _ASIDE), len(near))
    near = near[:cut]
    if verb != "make" and _about_documents(verb, rest, near):
        return "docs"
    if verb in WORDS.keeps or (verb == "test" and rest[:1] and rest[0] in WORDS.places):
        return "regression"
    if verb in WORDS.explains:
        return "implement-feature" if {"message", "messages", "error"} & set(near) else "docs"
    if verb in ("make", "ensure", "get", "bring"):
        state = _class_of_wanted_state(rest)
        return (
            state if state != "regression" or verb in ("get", "bring") else _class_of_making(verb, rest, near)
        )
    if verb == "raise":
        error = any(word.endswith(("error", "errors", "exception", "warning")) for word in near)
        return "bug-fix" if error or (near and "when" in rest) else None
    if verb == "use":
        return _class_of_using(rest, near, text)
    if verb in ("improve", "update"):
        to = rest[rest.index("to") + 1 :][:1] if "to" in rest else []
        wanted = (verb == "improve" and WORDS.words_of_users & set(near)) or set(to) & WORDS.behaves
        return "implement-feature" if wanted else None
    if verb in WORDS.new or verb in WORDS.wrong:
        if near[:1] == ["commit"] or _about_chores(rest, near):
            return "coverage" if {"test", "tests"} & set(near) else "regression"
        return "implement-feature" if verb in WORDS.new else "bug-fix"
    chores = _about_chores(rest, near)
    if verb == "add" and (chores or PATTERNS.files.search(text)) and not _head(near, _ADD[1]):
        return "regression"
    if verb == "fix" and PATTERNS.of_tests.search(" ".join(near)):
        return "regression"
    if verb not in WORDS.adds | WORDS.calculates | WORDS.mends:
        return None
    if verb == "extend" and _head(near, _RAISE[1]):
        return None
    if chores or (verb == "avoid" and WORDS.performance & set(rest[:5])):
        return "regression"
    if verb == "handle":
        return "bug-fix" if PATTERNS.edges.search(" ".join(rest)) else "implement-feature"
    return "bug-fix" if verb in WORDS.mends else "implement-feature"


def _about_documents(verb: str, rest: list[str], near: list[str]) -> bool:
    """Is what changes a document: its object, or the place where it is changed?"""
    if {"comment", "comments"} & {*near[-1:]} and verb in WORDS.of_comments:
        return False  # those that the program reads
    if verb in WORDS.documents or (verb in ("cleanup", "typo") and not near):
        return verb != "comment"
    head = near[-1] if near else ""
    before = near[-2] if len(near) > 1 else ""
    repairs = _VERBS.get(verb) is _REPAIR or verb == "typo"
    if repairs and (
        WORDS.slips & set(near) or (before in ("broken", "dead", "stale") and head in WORDS.links)
    ):
        after = rest[len(near) :]
        slip = head in ("typo", "typos") and len(after) > 1
        return not slip or bool(WORDS.documents & set(after)) or _document_named(after)
    if head in WORDS.documents and verb not in ("implement", "build", "support"):
        return True
    if before in WORDS.documents and head in WORDS.of_documents:
        return True
    if verb in WORDS.mends and WORDS.documents & set(rest[:2]) and head not in ("page", "pages"):
        return True
    if verb in ("fix", "update", "add", "change") and _document_named(rest[:6]):
        return True
    return _place_is(rest, WORDS.documents) and verb not in ("implement", "support", "allow")


def _document_named(words: list[str]) -> bool:
    """`README.md` comes as the words readme, ".", md."""
    return re.search(r"\. (?:md|rst|adoc|txt)\b", " ".join(words)) is not None


def _place_is(rest: list[str], names: frozenset[str]) -> bool:
    """Does the sentence say "in the docs", "to the README", "for CI", as its last place?"""
    for at, word in enumerate(rest):
        if word in WORDS.places:
            place = _object(
                [one for one in rest[at + 1 :] if one not in ("the", "a", "an", "our", "its", "all")]
            )
            if place and place[-1] in names:
                return True
    return False


def _about_chores(rest: list[str], near: list[str]) -> bool:
    """Is it about the tests, CI or tools of the project, and not about what the project does?"""
    head = near[-1] if near else ""
    named = head in WORDS.chores or (near[:1] and near[0] in WORDS.chores - {"test", "license"})
    tested = rest[:1] in (["test"], ["tests"]) and (rest[1:2] or [""])[0] in WORDS.places
    return bool(named) or tested or _place_is(rest, WORDS.chores)


def _class_of_making(verb: str, rest: list[str], near: list[str]) -> TaskClass:
    """New behaviour ("make X do Y", "ensure that X") is a wish that can be shown; a quality is none."""
    if WORDS.qualities & set(rest) or _about_chores(rest, near):
        return "regression"
    if verb == "ensure":
        return "bug-fix"
    does = (WORDS.behaves - _STATES) & set(rest[1:]) or any(
        PATTERNS.adjectives.fullmatch(word) or (word in WORDS.calculates and before not in WORDS.articles)
        for before, word in pairwise(rest)
    )
    return "implement-feature" if does else "regression"


def _class_of_using(rest: list[str], near: list[str], text: str) -> TaskClass:
    """To use UTC instead of local time is seen by users, to use pathlib instead of os.path is not."""
    if PATTERNS.code.search(text) or {*toolchains().test_words} & {*rest, *near} or _about_chores(rest, near):
        return "regression"
    return "implement-feature" if "instead" in rest or "for" in rest else "regression"


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
    if words[-1] in ("check", "checks") and named is None and not set(words[:-1]) <= _OF_CHECKS:
        return None
    named = named or _named(words[-1])
    if named == "test-pass" and words[0] in _MORE:
        named = "coverage"
    return objects.get(named) if named else None


def _named(word: str) -> TaskClass | None:
    return "test-pass" if word.startswith("test_") else _object_class(word)


def _object_class(word: str) -> TaskClass | None:
    """The class by the word itself; the name of a test runner stands for the tests."""
    return _CLASS_OF.get("tests" if word in toolchains().test_words else word)


def _class_of_wanted_state(words: list[str]) -> TaskClass:
    """The state asked for: "make the tests in src pass", "make mypy happy", "make it compile"."""
    state = next((at for at, word in enumerate(words) if word in _STATES), None)
    if state is None:
        return "coverage" if _object(words)[-1:] == ["coverage"] else "regression"
    near = _object(words[:state])
    if set(near) <= _EMPTY:
        return (
            "test-pass"
            if words[state] in _GREEN
            else _MAKE[1].get(_object_class(words[state]) or "custom", "regression")
        )
    return _head(near, _MAKE[1]) or (
        "build-pass" if _object_class(words[state]) and set(near) <= _WHOLE else "regression"
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
