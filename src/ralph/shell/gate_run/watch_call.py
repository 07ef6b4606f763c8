"""A gate call that is watched: what is put into its environment, and what was noted when it has ended.

Nothing of the project changes: Python finds a module of ours by PYTHONPATH, V8 writes its own coverage, Node
requires a file of ours first. Which files are opened is seen from outside as well, for all other programs.
Also which tracked files a call wrote, by stamps. The time at which a file's inode changed cannot be set by
whoever writes it, so a file that was rewritten and put back shows as well.
"""

from __future__ import annotations

import os
import stat

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import FileReads
from ralph.gates.executed.other_clock import NODE_MODULE, node_clock, python_clock
from ralph.gates.executed.py_start import MODULE
from ralph.gates.executed.py_trace import MAX_NOTES, read_notes, tracer_text
from ralph.gates.executed.v8_dump import read_dumps
from ralph.gates.executed.watched import JAVASCRIPT, PYTHON, LineHits, Watch
from ralph.gates.reads import hooks, notes
from ralph.shell.files.opened_files import OpenedFiles
from ralph.shell.git.store import Store
from ralph.shell.git.trees import list_tree

MAX_NAMED = 50
MAX_STAMPED = 200_000
MAX_DUMPS = 500
MAX_DUMP_BYTES = 8 << 20
MAX_DUMPED_BYTES = 128 << 20
# Their workers may be killed before V8 has written anything.
_KILL_WORKERS = frozenset({"jest", "vitest"})

Stamps = dict[str, tuple[int, int, int]]


def watch_env(watch: Watch, folder: str, named: str, root: str, env: dict[str, str]) -> dict[str, str]:
    """What the gate's environment gets. `named`: how the call itself knows `folder`, which is its own."""
    added = {}
    if watch.of(*PYTHON):
        os.mkdir(os.path.join(folder, "w"), mode=0o700)
        with open(os.path.join(folder, "w", MODULE), "w", encoding="utf-8") as file:
            file.write(tracer_text(watch, root, f"{named}/lines"))
        added["PYTHONPATH"] = os.pathsep.join(filter(None, (f"{named}/w", env.get("PYTHONPATH"))))
    if watch.of(*JAVASCRIPT) and "NODE_V8_COVERAGE" not in env:
        added["NODE_V8_COVERAGE"] = f"{named}/v8"
    return {**env, **added}


def read_hits(watch: Watch, folder: str, root: str, gate: Gate) -> LineHits:
    python = read_notes(watch, read_regular(os.path.join(folder, "lines"), MAX_NOTES) or b"")
    dumps, whole = _dumps(os.path.join(folder, "v8"))
    node = read_dumps(watch, root, dumps, all_written=whole and gate.read not in _KILL_WORKERS)
    return LineHits(
        executed={**python.executed, **node.executed},
        measured=python.measured | node.measured,
        unknown={**python.unknown, **node.unknown},
        partial=python.partial or node.partial,
    )


def reads_env(folder: str, named: str, root: str, env: dict[str, str]) -> dict[str, str]:
    """What the gate's environment gets, so that its processes say who reads what."""
    out = f"{named}/reads"
    texts = {MODULE: hooks.python_hook(root, out), hooks.NODE_MODULE: hooks.node_hook(root, out)}
    return _started_with(texts, hooks.NODE_MODULE, os.path.join(folder, "o"), f"{named}/o", env)


def clock_env(folder: str, named: str, env: dict[str, str]) -> dict[str, str]:
    """The same for another clock."""
    texts = {MODULE: python_clock(), NODE_MODULE: node_clock()}
    return _started_with(texts, NODE_MODULE, os.path.join(folder, "site"), f"{named}/site", env)


def _started_with(
    texts: dict[str, str], required: str, folder: str, named: str, env: dict[str, str]
) -> dict[str, str]:
    """The environment in which Python and Node execute these files first."""
    os.mkdir(folder, mode=0o700)
    for module, text in texts.items():
        with open(os.path.join(folder, module), "w", encoding="utf-8") as file:
            file.write(text)
    python = os.pathsep.join(filter(None, (named, env.get("PYTHONPATH"))))
    node = " ".join(filter(None, (f"--require={named}/{required}", env.get("NODE_OPTIONS"))))
    return {**env, "PYTHONPATH": python, "NODE_OPTIONS": node}


class ReadsWatch:
    """Which files of a checkout are read, from now on until the call is read or dropped."""

    def __init__(self, checkout: str) -> None:
        self._opened = OpenedFiles(checkout)

    def stop(self) -> None:
        self._opened.stop()

    def read_notes_of(self, folder: str, store: Store, tree: str) -> FileReads:
        """Of the files of this tree; what else was opened is the call's own."""
        seen = self._opened.stop()
        data = read_regular(os.path.join(folder, "reads"), notes.MAX_NOTES) or b""
        return notes.read_notes(data, seen, list_tree(store, tree), self._opened.lost)


def _dumps(folder: str) -> tuple[list[bytes], bool]:
    """What V8 wrote, and whether that is all of it. Judged code may have put anything there."""
    try:
        names = sorted(os.listdir(folder)) if not os.path.islink(folder) else []
    except OSError:
        return [], True
    found: list[bytes] = []
    room = MAX_DUMPED_BYTES
    for name in names[:MAX_DUMPS]:
        data = read_regular(os.path.join(folder, name), MAX_DUMP_BYTES)
        if data is None or len(data) > min(MAX_DUMP_BYTES, room):
            return found, False
        room -= len(data)
        found.append(data)
    return found, len(names) <= MAX_DUMPS


def read_regular(path: str, most: int) -> bytes | None:
    """A regular file, at most a byte more than `most`; judged code may have put anything in its place."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return None
        return file.read(most + 1)


def take_stamps(store: Store, tree: str, checkout: str) -> Stamps:
    """Of every file of the tree, as it stands in its checkout."""
    found: Stamps = {}
    for path in list_tree(store, tree)[:MAX_STAMPED]:
        if (stamp := _stamp(os.path.join(checkout, path))) is not None:
            found[path] = stamp
    return found


def written_paths(checkout: str, before: Stamps) -> tuple[str, ...]:
    """Those that were written, replaced, renamed or removed since; the first few."""
    changed = [path for path, stamp in before.items() if _stamp(os.path.join(checkout, path)) != stamp]
    return tuple(sorted(changed)[:MAX_NAMED])


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return None
    return seen.st_ino, seen.st_size, seen.st_ctime_ns
