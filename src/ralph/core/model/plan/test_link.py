"""How the criteria of the specs stand: which test names which, in rows that a report prints.

Only the rows and what follows from them; who finds them in the tests of a tree is `find_tests`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

Status = Literal["pass", "fail", "flaky", "skipped", "unseen", "untested", "unknown"]
# How a criterion stands when its tests differ: the first of these that any test has.
ORDER: tuple[Status, ...] = ("fail", "flaky", "pass", "skipped", "unknown", "unseen", "untested")


class CriterionTest(Struct, frozen=True):
    """One row of the table. `test` is "" where nothing names the criterion."""

    spec: str
    criterion: str
    test: str
    status: Status


def changed_links(old: Sequence[CriterionTest], new: Sequence[CriterionTest]) -> tuple[CriterionTest, ...]:
    """Of the new rows, those of criteria that do not stand exactly as before."""
    before = _by_criterion(old)
    return tuple(tie for name, rows in _by_criterion(new).items() if before.get(name) != rows for tie in rows)


def merge_links(old: Sequence[CriterionTest], changed: Sequence[CriterionTest]) -> tuple[CriterionTest, ...]:
    """The table with the rows of some criteria replaced; the order of the criteria stays."""
    rows = {**_by_criterion(old), **_by_criterion(changed)}
    return tuple(tie for some in rows.values() for tie in some)


def _by_criterion(ties: Iterable[CriterionTest]) -> dict[str, tuple[CriterionTest, ...]]:
    found: dict[str, list[CriterionTest]] = {}
    for tie in ties:
        found.setdefault(tie.criterion, []).append(tie)
    return {name: tuple(rows) for name, rows in found.items()}


def status_by_criterion(ties: Iterable[CriterionTest]) -> dict[str, Status]:
    """How each criterion stands: red if one of its tests is, green if one is green and none red."""
    found: dict[str, Status] = {}
    for tie in ties:
        best = found.get(tie.criterion, tie.status)
        found[tie.criterion] = min(best, tie.status, key=ORDER.index)
    return found
