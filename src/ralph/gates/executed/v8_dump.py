"""Which watched statements do Node processes execute, by the coverage that V8 writes for each of them.

Its offsets are those of the text that was executed. A file that was transformed first (TypeScript, Babel,
an instrumented one) has another length than the file in the tree: of it nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import unquote

import msgspec
from msgspec import Struct, field

from ralph.gates.executed.watched import JAVASCRIPT, LineHits, Watch

_TRANSFORMED = "it was transformed before it was executed"


class _Range(Struct):
    start: int = field(name="startOffset")
    end: int = field(name="endOffset")
    count: int


class _Function(Struct):
    ranges: list[_Range]


class _V8Script(Struct):
    url: str
    functions: list[_Function]


class _Dump(Struct):
    result: list[_V8Script]


def read_dumps(watch: Watch, root: str, dumps: Iterable[bytes], *, all_written: bool) -> LineHits:
    """`all_written`: a process that loads a file is sure to say so when it ends."""
    paths = watch.of(*JAVASCRIPT)
    executed: dict[str, set[int]] = {path: set() for path in paths}
    unknown: dict[str, str] = {}
    loaded, seen = set(), False
    for data in dumps:
        try:
            dump = msgspec.json.decode(data, type=_Dump)
        except msgspec.MsgspecError:
            continue
        for script in dump.result:
            path = unquote(script.url.removeprefix("file://").partition("?")[0])
            if not path.startswith(f"{root}/") or "/node_modules/" in path:
                continue
            seen, path = True, path[len(root) + 1 :]
            if path not in paths:
                continue
            ranges = [one for function in script.functions for one in function.ranges]
            if max((one.end for one in ranges), default=0) != watch.lengths[path]:
                unknown[path] = _TRANSFORMED
                continue
            loaded.add(path)
            executed[path] |= {
                number for number, row in enumerate(paths[path]) if _count(ranges, row.offset) > 0
            }
    if not seen:
        unknown = dict.fromkeys(paths, "no Node process that executes this project's files could be watched")
    elif not all_written:
        unknown |= {path: _TRANSFORMED for path in paths if path not in loaded}
    return LineHits(
        executed={path: frozenset(numbers) for path, numbers in executed.items()},
        measured=frozenset(paths.keys() - unknown.keys()),
        unknown=unknown,
    )


def _count(ranges: list[_Range], offset: int) -> int:
    """Of the smallest range around it: the others are of what it stands in."""
    around = [one for one in ranges if one.start <= offset < one.end]
    return min(around, key=lambda one: one.end - one.start).count if around else 0
