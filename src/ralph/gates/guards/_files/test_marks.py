"""What a file that holds tests looks like, language by language; and which libraries only tests use. Pure.

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

    def find(self, path: str, text: str) -> str | None:
        """What it imports, as it stands there; None where this is no such file."""
        if path.rsplit(".", 1)[-1] not in self.endings.split():
            return None
        hit = re.search(self.imports, text, re.MULTILINE)
        return hit[0] if hit and re.search(self.does, text, re.MULTILINE) else None


class _TestTable(Struct, frozen=True):
    mark: tuple[MarkOfTests, ...]
    library: tuple[MarkOfTests, ...]


@cache
def _rows() -> _TestTable:
    return read_table(__package__, "test_marks", _TestTable)


def defines_tests(path: str, text: str) -> bool:
    return any(mark.find(path, text) is not None for mark in _rows().mark)


def imports_library(path: str, text: str) -> str:
    """What it imports of a test library, as it stands there; "" = nothing."""
    return next(filter(None, (library.find(path, text) for library in _rows().library)), "")
