"""Which of the tests that a check no longer sees did the change delete?

A test that is not seen may not have been reached. It was deleted when its name stood in files of the base
that changed, and stands in none of them any more: a test that moved with its name is not meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
    return tuple(sorted(gone)[:MAX_NAMED])


def _own_name(name: str) -> str:
    """Of an id of any runner: `a.py::T::test_b[1]`, `a > suite > does it`, `p::TestA/sub`, `t > m::test`."""
    last = name.rsplit(" > ", 1)[-1]
    if " " in last:
        return last
    last = last.partition("[")[0].rsplit("::", 1)[-1].partition("/")[0]
    return last.rsplit(".", 1)[-1]


def _holds(text: str, word: str) -> bool:
    return bool(word) and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None
