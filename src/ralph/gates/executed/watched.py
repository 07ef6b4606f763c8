"""What is watched while a gate is called again, and what was seen: changed statements, executed or not."""

from __future__ import annotations

from msgspec import Struct

PYTHON = (".py",)
JAVASCRIPT = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")


class ChangedStatement(Struct, frozen=True):
    """One statement that the change added or altered, and which of its lines are new."""

    first: int
    last: int  # of a compound statement: of its head
    lines: tuple[int, ...]
    offset: int = 0  # of its first character, in the units that V8 counts


class Watch(Struct, frozen=True):
    """The changed statements of the source, by path."""

    files: dict[str, tuple[ChangedStatement, ...]]
    lengths: dict[str, int] = {}  # of JavaScript files, in the units that V8 counts
    unread: dict[str, str] = {}  # path -> why its statements are not known

    def of(self, *endings: str) -> dict[str, tuple[ChangedStatement, ...]]:
        return {path: rows for path, rows in self.files.items() if path.endswith(endings)}


class LineHits(Struct, frozen=True):
    """What one call executed of it."""

    executed: dict[str, frozenset[int]] = {}  # path -> numbers of its statements in the watch
    measured: frozenset[str] = frozenset()  # of these, what is not executed is known too
    unknown: dict[str, str] = {}  # path -> why not
    partial: bool = False  # processes were started that nobody watched
