"""What changed, as text: pairs of contents, and the lines that are new to the whole change.

Moved code is not new code: a line counts as new only when the base's version of all changed files
together holds fewer of it. Worked out once for all guards (`GuardFacts.once`).
"""

from __future__ import annotations

import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ralph.core.toolchains.load import toolchains
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.judging_paths import is_config, is_test

MAX_BYTES = 2 << 20  # larger files are not looked into; the junk guard names added ones
FILE_MODES = ("100644", "100755", "100664")
_TESTING = re.compile(
    r"(?:^|[/_.-])(?:test|tests|testing|conftest|fixtures?|mocks?|stubs?|spec|e2e)(?=[/_.-])"
)
_ASIDE = re.compile(r"(?:^|/)(?:examples?|docs?|samples?|demos?|scripts?|tools?|bin|benchmarks?|bench)/")
_COMMENT = re.compile(r"(?:^|[^:\w'\"])(//|/\*|#|--|;|<!--|\*)(.*)")


class Pair(Struct, frozen=True):
    """One changed file; "" where it is not there or cannot be looked into as text."""

    change: Change
    path: str  # in the result; the base's path when deleted
    old: str
    new: str


class NumberedLine(Struct, frozen=True):
    number: int
    text: str


def decode(data: bytes | None) -> str:
    if not data or len(data) > MAX_BYTES or b"\0" in data[:8000]:
        return ""
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def pairs(facts: GuardFacts) -> list[Pair]:
    """Every changed regular file with both of its contents."""
    return facts.once("pairs", lambda: [_pair(facts, change) for change in facts.changes])


def _pair(facts: GuardFacts, change: Change) -> Pair:
    had = change.status != "A" and change.old_mode in FILE_MODES
    has = change.status != "D" and change.mode in FILE_MODES
    old = facts.read_base(change.before) if had else None
    new = facts.read_result(change.path) if has else None
    return Pair(change, change.path, decode(old), decode(new))


def new_lines(facts: GuardFacts) -> dict[str, list[NumberedLine]]:
    """Lines of the result that no changed file of the base has to spare, by path."""
    return facts.once("fresh", lambda: _fresh(pairs(facts)))


def _fresh(changed: list[Pair]) -> dict[str, list[NumberedLine]]:
    spare: Counter[str] = Counter()
    found: dict[str, list[NumberedLine]] = {}
    for pair in changed:
        own = Counter(map(str.strip, pair.old.split("\n")))
        found[pair.path] = _drop_spare_lines(enumerate(pair.new.split("\n"), 1), own)
        spare += own  # those that it has left
    rest = {path: ((line.number, line.text) for line in lines) for path, lines in found.items()}
    return {path: kept for path, lines in rest.items() if (kept := _drop_spare_lines(lines, spare))}


def _drop_spare_lines(lines: Iterable[tuple[int, str]], spare: Counter[str]) -> list[NumberedLine]:
    """Those that say something and that nothing is left of; what they use up is taken out of it."""
    kept = []
    for number, line in lines:
        bare = line.strip()
        if spare[bare] > 0:
            spare[bare] -= 1
        elif bare:
            kept.append(NumberedLine(number, line))
    return kept


def label(text: str) -> str:
    """A text as part of a finding's id: short, the same when it moves, and made of what a waiver may hold."""
    return re.sub(r"[^A-Za-z0-9_./]+", "-", text[:400]).strip("-")[:50]


def name_some(names: Sequence[str], most: int = 3) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def new_numbers(facts: GuardFacts, path: str) -> frozenset[int]:
    return frozenset(line.number for line in new_lines(facts).get(path, ()))


def is_testing(path: str) -> bool:
    """A test, or something that only tests use: helpers, fixtures, plugins for a runner."""
    return (
        is_test(path)
        or is_config(path)
        or bool(_TESTING.search(path.lower()))
        or any(word in path.lower() for word in toolchains().test_words)
    )


def is_aside(path: str) -> bool:
    """Beside the product: examples, documentation, scripts."""
    return bool(_ASIDE.search(path.lower()))


def remarks(facts: GuardFacts, pair: Pair) -> tuple[dict[int, str], dict[int, str]]:
    """The comments of both sides, once for all guards: taking Python apart is slow."""
    return facts.once(
        f"comments:{pair.path}",
        lambda: (comments(pair.change.before, pair.old), comments(pair.path, pair.new)),
    )


def comments(path: str, text: str) -> dict[int, str]:
    """Line number -> comment, exactly for Python, by its sign elsewhere."""
    if path.endswith((".py", ".pyi")):
        exact = _python_comments(text)
        if exact is not None:
            return exact
    found = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _COMMENT.search(line)
        if match:
            found[number] = match.group(1) + match.group(2)
    return found


def _python_comments(text: str) -> dict[int, str] | None:
    """None when Python cannot read it."""
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = token.string
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found
