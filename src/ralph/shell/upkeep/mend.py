"""What `ralph doctor` can put right: locks that a dead git left, lists that do not fit their records.

Both are found first and named; only who asks for it has them mended. What Ralph's own git leaves is cleared
away by the loops themselves (git.leftovers, git.refs); here are the locks of everybody else's.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ralph.errors import RalphError
from ralph.shell.git.leftovers import holders
from ralph.shell.journal import record
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.store import JournalReader
from ralph.shell.process import tree

QUIET_SECONDS = 60.0  # that a lock without a git must be old: other programs write repositories too
_FILES = frozenset(
    f"{name}.lock"
    for name in (
        *("index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "config", "packed-refs", "shallow"),
        "config.worktree",
    )
)
_BELOW = ("refs", "worktrees", "modules", "reftable")
_MAX_FOLDERS = 20_000


class GitLock(Struct, frozen=True):
    path: str
    by: str  # the living process that may need it; "" = nobody
    age: float

    @property
    def stale(self) -> bool:
        return not self.by and self.age > QUIET_SECONDS


def git_dirs(top: str) -> Iterator[str]:
    """The git directory of a work tree, and the one that it shares with others; found without a process."""
    place = os.path.join(top, ".git")
    try:
        if os.path.isfile(place):  # of a second work tree, or of a submodule
            with open(place, encoding="utf-8", errors="surrogateescape") as file:
                place = os.path.join(top, file.read(4096).partition("gitdir:")[2].strip())
        yield os.path.realpath(place)
        with open(os.path.join(place, "commondir"), encoding="utf-8", errors="surrogateescape") as file:
            yield os.path.realpath(os.path.join(place, file.read(4096).strip()))
    except OSError:
        return


def remove_lock(lock: GitLock) -> bool:
    try:
        os.unlink(lock.path)
    except OSError:
        return not os.path.lexists(lock.path)
    return True


def find_locks(git_dirs: Iterable[tuple[str, str]], now: float) -> list[GitLock]:
    """The locks in repositories, given as work tree and git directory."""
    found = []
    for top, git_dir in dict.fromkeys(git_dirs):
        for path in _locks_in(git_dir):
            try:
                age = now - os.lstat(path).st_mtime
            except OSError:
                continue  # its git was at work and has ended
            found.append(GitLock(path, _user_of(path, (top, git_dir, *_linked_trees(git_dir))), age))
    return found


def _locks_in(git_dir: str) -> Iterator[str]:
    yield from (path for name in _FILES if os.path.lexists(path := os.path.join(git_dir, name)))
    seen = 0
    for part in _BELOW:
        for folder, folders, names in os.walk(os.path.join(git_dir, part)):
            seen += 1
            if seen > _MAX_FOLDERS:
                return
            folders[:] = [name for name in folders if name != "objects"]
            # Below refs nothing else can be called so; beside them other programs keep files of their own.
            every = f"{os.sep}refs" in folder[len(git_dir) :] or part == "reftable"
            yield from (
                os.path.join(folder, name)
                for name in names
                if name in _FILES or (every and name.endswith(".lock"))
            )


def _linked_trees(git_dir: str) -> list[str]:
    """Folders of the other work trees of this repository: a git at work there holds the same locks."""
    common = git_dir.partition(f"{os.sep}worktrees{os.sep}")[0]
    found = [os.path.dirname(common)]
    for note in glob.glob(os.path.join(glob.escape(common), "worktrees", "*", "gitdir")):
        told = (tree.read_bytes(note) or b"").decode("utf-8", "surrogateescape").strip()
        found += [os.path.dirname(told)] if told else []
    return found


def _user_of(lock: str, places: tuple[str, ...]) -> str:
    """A process that has the lock open, or a git at work in the repository: an editor may keep it waiting."""
    if pids := holders(lock):
        return f"process {pids[0]}"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        name = (tree.read_bytes(f"/proc/{pid}/comm") or b"").decode("utf-8", "replace").strip()
        if not name.startswith("git"):
            continue
        try:
            cwd = os.readlink(f"/proc/{pid}/cwd") + os.sep
        except PermissionError:
            return f"{name} {pid} of another user"  # where it works cannot be seen: perhaps here
        except OSError:
            continue
        words = (tree.read_bytes(f"/proc/{pid}/cmdline") or b"").decode("utf-8", "surrogateescape")
        if cwd.startswith(tuple(place + os.sep for place in places)) or places[1] in words:
            return f"{name} {pid}"
    return ""


def false_summaries(reader: JournalReader) -> list[str]:
    """Loops whose line in the lists is lost, or is not the one that was written with their newest row."""
    sound = {row.loop for row in reader.summaries() if row.body}
    return [name for name in reader.names() if name not in sound]


def mend_summaries(state_root: str, names: Iterable[str]) -> list[str]:
    """Make the lines of these loops from their records again; the names of those that could be."""
    mended = []
    with open_journal(state_root) as journal:
        for name in names:
            try:
                found = record.load(journal, name)
            except RalphError:
                continue  # its record is damaged too, which `doctor` says by itself
            if not found.newer:
                line = record.summary_row(found.loop, found.entries[0].row.at / 1000)
                journal.mend_summary(line, found.entries[-1].row.seq)
                mended.append(name)
    return mended
