"""What a file that holds tests looks like, language by language. Pure.

The rows are in `test_marks.toml`: what such a file imports, and what it then does.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from ralph.gates.guards._base.tables import read_table


class MarkOfTests(Struct, frozen=True):
    """What files with one of these endings hold; both patterns must be there."""

    endings: str
    imports: str = ""
    does: str = ""

    def is_in(self, path: str, text: str) -> bool:
        return path.rsplit(".", 1)[-1] in self.endings.split() and all(
            re.search(pattern, text, re.MULTILINE) for pattern in (self.imports, self.does)
        )


class _TestTable(Struct, frozen=True):
    mark: tuple[MarkOfTests, ...]


@cache
def _rows() -> _TestTable:
    return read_table(__package__, "test_marks", _TestTable)


def defines_tests(path: str, text: str) -> bool:
    return any(mark.is_in(path, text) for mark in _rows().mark)
