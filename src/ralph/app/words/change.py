"""How much a loop changed against its base: asked of git, because no single event knows it."""

from __future__ import annotations

from typing import NamedTuple

from ralph.core.model.loop import Loop
from ralph.errors import RalphError


class ChangeSize(NamedTuple):
    files: int
    added: int
    removed: int


def measure(loop: Loop) -> ChangeSize | None:
    """Base against result (or the newest checkpoint); None when that cannot be known here and now."""
    order = loop.sealed
    after = loop.landing.result or loop.work.commit
    if not after or after == order.base.commit or loop.landing.was_dropped:
        return None
    from ralph.shell.git.project import find_project, user_call

    args = ["diff-tree", "-r", "-z", "--numstat", "--no-renames", order.base.commit, after]
    try:
        out = user_call(find_project(order.repo), args).out
    except (RalphError, OSError):
        return None  # the repository moved away or is in the middle of something: no reason to fail a screen
    rows = [line.split(b"\t") for line in out.split(b"\0") if line]
    return ChangeSize(len(rows), _total(rows, 0), _total(rows, 1))


def _total(rows: list[list[bytes]], column: int) -> int:
    return sum(int(row[column]) for row in rows if row[column].isdigit())
