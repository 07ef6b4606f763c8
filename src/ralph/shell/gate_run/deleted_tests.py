"""Which of the tests that a check no longer sees did the change delete?

A test that the check no longer reports may just not have been reached. It counts as deleted when its name was
in a changed file of the base and is in none of them now. A test that moved with its name, or that only has
another name above the same lines, is not deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from ralph.shell.git.store import Store
from ralph.shell.git.trees import changed_paths, read_blob

MAX_NAMED = 20
MAX_FILES = 200


def deleted_tests(store: Store, base: str, tree: str, unseen: Iterable[str]) -> tuple[str, ...]:
    """`unseen`: ids of tests that the check knew at the base and does not know now."""
    wanted = {name: _own_name(name) for name in unseen}
    if not wanted or not base or base == tree:
        return ()
    before, after = "", ""
    for change in changed_paths(store, base, tree, renames=False)[:MAX_FILES]:
        before += "\n" + (read_blob(store, base, change.path) or b"").decode("utf-8", "replace")
        after += "\n" + (read_blob(store, tree, change.path) or b"").decode("utf-8", "replace")
    gone = (name for name, word in wanted.items() if _holds(before, word) and not _holds(after, word))
    now = _without_blanks(after)
    return tuple(sorted(name for name in gone if not _has_body(now, before, wanted[name]))[:MAX_NAMED])


def _has_body(now: str, before: str, word: str) -> bool:
    """Are the lines below the test's name, as far as they are indented deeper, still there together?"""
    lines = [line for line in before.split("\n") if line.strip()]
    at = next(number for number, line in enumerate(lines) if _holds(line, word))
    body = list(takewhile(lambda line: _depth(line) > _depth(lines[at]), lines[at + 1 :]))
    return bool(body) and _without_blanks("\n".join(body)) in now


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _without_blanks(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n") if line.strip())


def _own_name(name: str) -> str:
    """Of an id of any runner: `a.py::T::test_b[1]`, `a > suite > does it`, `p::TestA/sub`, `t > m::test`."""
    last = name.rsplit(" > ", 1)[-1]
    if " " in last:
        return last
    last = last.partition("[")[0].rsplit("::", 1)[-1].partition("/")[0]
    return last.rsplit(".", 1)[-1]


def _holds(text: str, word: str) -> bool:
    return bool(word) and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
