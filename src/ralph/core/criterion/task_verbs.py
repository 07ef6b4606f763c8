"""The words by which a task's class is known beyond making checks green: verbs, prefixes, what they act on.

Data only. The verbs of the two big groups count in first place, where commit subjects and tickets have them.
"""

from __future__ import annotations

import re

from ralph.core.model.gate import TaskClass


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# What the program shall do besides.
ADDS = _set(
    "support let allow enable expose accept introduce "
    "reintroduce implement provide show print display emit log "
    "detect parse include export forward return register "
    "automatically cache store load generate extend change "
    "offer permit render send save track report notify integrate inject deprecate warn flush pass propagate "
    "collect limit configure compress stream schedule "
    "highlight suggest autocomplete embed upload download count "
    "validate"
)
# What it shall do with numbers and money: also nouns, so not behind an article or between names.
CALCULATES = _set("charge round refund")
# What it shall stop doing wrong.
MENDS = _set(
    "cannot handle prevent avoid dont never stop ensure "
    "respect honor honour throw reject ignore skip preserve keep "
    "restore strip escape unescape decode percent-decode check catch guard fallback treat properly correctly "
    "sanitize sanitise protect workaround reset retain "
    "recover refuse disallow forbid tolerate normalize normalise "
    "trim clamp await cancel terminate always only"
)
# What it does is to stay the same.
KEEPS = _set(
    "rename move extract inline split merge refactor "
    "restructure reorganize reorganise simplify cleanup tidy drop "
    "bump upgrade pin unpin unify deduplicate dedupe "
    "consolidate modernize modernise reformat sort speedup optimize "
    "optimise revert release prepare vendor apply group "
    "mark parametrize parametrise switch align swap gate adjust "
    "streamline regenerate"
)
EXPLAINS = _set(
    "document describe explain clarify mention reword rephrase typo typos spelling grammar wording"
)
# A subject without a verb: what is new, what is wrong.
NEW = _set("new option options ability initial optional better automatic")
WRONG = _set("missing wrong incorrect broken bad invalid unexpected")
BEHAVES = (
    ADDS
    | MENDS
    | _set(
        "work use run exit fail wait read write take start end open respond survive match appear call create "
        "add raise"
    )
)
DOCUMENTS = _set(
    "doc docs documentation docstring docstrings readme "
    "changelog changelogs manual tutorial tutorials guide guides "
    "comment comments faq jsdoc javadoc godoc rustdoc"
)
OF_DOCUMENTS = _set(
    "entry entries section sections note notes badge badges example examples link links typo typos"
)
SLIPS = _set("typo typos spelling misspelling grammar wording punctuation")
LINKS = _set("link links url urls")
# What a project is made and tested with; a change there shows nothing in its behaviour.
CHORES = _set(
    "test tests testsuite suite ci workflow workflows "
    "actions dependabot gitignore editorconfig pre-commit tox nox "
    "makefile matrix codecov codeowners bench benchmark benchmarks py-typed license linter pipeline lockfile "
    "fuzz fuzzing fuzzer fuzzers"
)
# "the test suite function": a part of the tests.
OF_TESTS = re.compile(
    r"\b(?:tests? ?suite|tests?) (?:functions?|methods?|class(?:es)?|names?|modules?|files?|fixtures?)\Z"
)
FILES = re.compile(
    r"\bpy\.typed\b|(?<!\w)\.(?:gitignore|gitattributes|editorconfig|github)\b|^add (?:a )?license\b",
    re.IGNORECASE,
)
ARTICLES = _set("a an the our its this that each every and or , in of for to with")
PLACES = _set("in on for to from of with")
QUALITIES = _set(
    "faster quicker better cleaner simpler smaller readable "
    "maintainable lighter nicer private internal static typed "
    "performant efficient robust prettier"
)
PERFORMANCE = _set(
    "copy copying copies allocation allocations allocating "
    "unnecessary redundant extra duplicate repeated needless "
    "private import imports global globals"
)
WORDS_OF_USERS = _set(
    "error errors message messages support handling detection validation output compatibility diagnostics"
)
EDGES = re.compile(
    r"\b(?:empty|none|null|nil|undefined|missing|invalid|\w*errors?|\w*exceptions?|crash\w*|overflow"
    r"|unicode|negative|zero"
    r"|malformed|time-?outs?|keyboardinterrupt|interrupt\w*|corrupt\w*|broken|failures?|failed|failing"
    r"|unexpected|race"
    r"|edge|disconnect\w*|closed|deleted|absent|blank|nan|infinite|duplicate\w*)\b"
)
ADJECTIVES = re.compile(
    r"[a-z-]+[ai]ble|optional|required|mandatory|default|async|asynchronous|lazy|strict|(?:thread-)?safe"
    r"|idempotent"
    r"|case-(?:in)?sensitive|public|deterministic|consistent"
)
TROUBLE = re.compile(
    r"\b(?:dont|fails?|crash(?:es)?|hangs?|leaks?|panics?|raises|throws|cannot|cant|wont|wrong"
    r"|incorrect\w*|broken|missing"
    r"|off-by-one|race condition|division by zero|infinite loop|deadlock|traceback|segfault|\w+(?:error"
    r"|exception)"
    r"|(?:is|are|was|gets?) (?:not|ignored|lost|empty|dropped|swallowed|duplicated|truncated))\b"
)
CODE = re.compile(
    r"`|\w\.\w+\b(?! )|\w\(|_|\b[A-Z][a-z]+[A-Z]|\b[a-z]+[A-Z]|\bf-strings?|\b(?:pathlib|dataclass(?:es)?"
    r"|namedtuples?|enums?"
    r"|typing|fixtures?|unittest|generators?|comprehensions?|context managers?|decorators?|mixins?"
    r"|macros?"
    r"|type aliases|async/await|constants?)\b"
)
# Types of conventional commits, and what is written in their place.
PREFIXES: dict[str, TaskClass] = {
    **dict.fromkeys(("feat", "feature", "features"), "implement-feature"),
    **dict.fromkeys(("fix", "bugfix", "hotfix", "bug"), "bug-fix"),
    **dict.fromkeys(("docs", "doc", "readme", "changelog"), "docs"),
    **dict.fromkeys(("test", "tests", "tst"), "coverage"),
    **dict.fromkeys(
        _set("chore build ci perf refactor style revert deps release license wip cleanup"), "regression"
    ),
}
# Marks before the words of a task: labels, emoji, ids of tickets.
BEFORE = re.compile(r"^(?:\W*\[[\w ./-]{1,30}\]|\(#\d+\)|:[a-z_]+:|[A-Z][A-Z0-9]+-\d+:?|[^\w\s`'\"#(\[-])\s*")
# What comes after tells why and how, and of the documents and tests that come with it.
FIRST = re.compile(r".+?(?=[.!?;](?:\s|$)|\n[ \t]*\n|\Z)", re.DOTALL)
# Two words that are one verb.
JOINED = (
    (re.compile(r"\s*\(#\d+\)"), ""),
    (re.compile(r"\b(?:do|does|did) not\b|\b(?:do|does|did)n['\u2019]?t\b", re.IGNORECASE), "dont"),
    (re.compile(r"\bmake sure\b", re.IGNORECASE), "ensure"),
    (re.compile(r"\b(work|fall|speed)(?:ed|s)? (around|back|up)\b", re.IGNORECASE), r"\1\2"),
    (re.compile(r"^clean(?:ed|s)? ?up\b", re.IGNORECASE), "clean"),
    (re.compile(r"^work on (?=(?:the |all |these )*(?:failing|broken|red)\b)", re.IGNORECASE), "fix "),
    (re.compile(r"\bcan(?:no|['\u2019])t\b", re.IGNORECASE), "cannot"),
    (re.compile(r"\btest[- ]cases?\b", re.IGNORECASE), "test"),
)
# What checks pass over: flaky or skipped tests, suppressed findings.
HIDDEN = re.compile(
    r"\bflak(?:y|ey|es?|iness)\b|\bx-?fail(?:s|ed|ing|ures?)?\b|\bun-?skip|\bskips\b|\bskip (?:mark|decorat)"
    r"|\b(?:skipped|ignored|disabled|quarantined)(?: [\w-]+)? (?:tests?|specs?|suites?)\b"
    r"|\b(?:tests?|specs?|suites?)\b[^.;\n]*\b(?:skipped|quarantined)\b"
    r"|\btype: ?ignores?\b|\btype-ignores?\b|\bnoqas?\b|\bnolint\b|\bsuppress(?:ions?|ed)\b"
    r"|\bts-(?:ignore|expect-error|nocheck)|\beslint-disable|\bpylint: ?disable|\bpyright: ?ignore"
)
# "Make the tests pass without skips" is about the tests.
NOT_THAT = re.compile(
    r"\b(?:without|do not|don't|dont|never|must not|avoid|no new|instead of|rather than)\b[^.;\n]*"
)
