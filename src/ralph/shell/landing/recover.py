"""Finishing a landing that was killed half-way, without ever touching what a user wrote.

Git writes the files first, then the index, then the branch, so a kill leaves some files new, one perhaps
half-written, and a lock. Here: telling which bytes are ours, completing them, and whose lock it is.
"""

from __future__ import annotations

import os
import stat
import subprocess
import tempfile
from collections.abc import Sequence

import msgspec

from ralph.clock import SystemClock, wait_until
from ralph.errors import Busy, NeedsHuman
from ralph.shell.files.write_whole import write_whole
from ralph.shell.git.command import HARMLESS, run_git, scrubbed_env
from ralph.shell.git.project import Project, find_project, user_call
from ralph.shell.git.store import Store, disk_error
from ralph.shell.git.trees import GITLINK, TreeChange, changed_paths
from ralph.shell.process import tree

_WAIT_SECONDS = 30.0
_USER_SETTINGS = (("gc.auto", "0"), ("maintenance.auto", "false"), ("merge.autoStash", "false"))


class Landing(msgspec.Struct, frozen=True):
    """A move of the user's branch from `old` to `new`.

    With `user_start` the user's uncommitted changes are part of it: landing ends clean, and `undo` (where
    `old` and `new` are swapped by the caller) brings them back as uncommitted changes.
    """

    old: str
    new: str
    user_start: str | None = None
    undo: bool = False

    @property
    def target(self) -> str:
        """The commit whose files stand on disk at the end."""
        return self.user_start if self.undo and self.user_start is not None else self.new


class _Note(msgspec.Struct):
    old: str
    new: str
    user_start: str | None
    undo: bool
    pid: int = 0
    started: str = ""


def write_note(path: str, landing: Landing, project: Project) -> None:
    """What is about to happen, on disk before it does. Written only when no other git is at work."""
    for lock in _locks(project):
        if os.path.lexists(lock):
            raise _locked_error(lock)
    write_whole(path, msgspec.json.encode(_Note(landing.old, landing.new, landing.user_start, landing.undo)))


def note_child(path: str, pid: int) -> None:
    """Adds which process does it, so that a later Ralph can tell whether it still lives."""
    note = _load(path)
    if note is not None:
        note.pid, note.started = pid, _start_time(pid)
        write_whole(path, msgspec.json.encode(note))


def read_note(path: str) -> Landing | None:
    """The landing that was begun and not finished, if any."""
    note = _load(path)
    return None if note is None else Landing(note.old, note.new, note.user_start, note.undo)


def remove_note(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def _load(path: str) -> _Note | None:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=_Note)
    except FileNotFoundError:
        return None


def recover(store: Store, landing: Landing, note: str) -> str:
    """Brings a begun landing to its end, or says that it never began. See `landing.recover_landing`."""
    project = find_project(store.project.top, store.project.git)
    _wait_for_child(project, note)
    project = find_project(store.project.top, store.project.git)
    final = landing.new
    _drop_our_lock(project, note)
    if project.head not in {landing.old, landing.new, landing.user_start}:
        raise NeedsHuman(
            f"the branch moved to {project.head[:12]} during the merge",
            code="E-LAND-MOVED",
            at=project.top,
            next="git log --oneline -5",
        )
    changes = _file_changes(store, landing)
    with tempfile.TemporaryDirectory(dir=store.dir, prefix="landing-") as scratch:
        olds = [_export(project, landing.old, changes, scratch, "old")]
        if landing.user_start is not None and not landing.undo:
            olds.append(_export(project, landing.user_start, changes, scratch, "start"))
        fresh = _export(project, landing.target, changes, scratch, "new")
        state = {change.path: _whose(project.top, change.path, olds, fresh) for change in changes}
        foreign = sorted(path for path, whose in state.items() if whose == "foreign")
        begun = project.head != landing.old or any(whose in ("new", "part") for whose in state.values())
        if not begun and not _index_moved(project, landing.old, changes):
            return "not landed"
        if foreign:
            raise NeedsHuman(
                f"'{foreign[0]}' was edited while the result was merged",
                code="E-LAND-EDITED",
                at=os.path.join(project.top, foreign[0]),
                why=f"{len(foreign)} file(s) hold neither the old nor the new content; nothing was changed",
                next=f"git diff {landing.new[:12]} -- '{foreign[0]}'",
            )
        # Removals first: a file of the result may stand where a folder of the old tree was.
        for change in sorted(changes, key=lambda change: change.status != "D"):
            if state[change.path] != "new":
                _complete(project.top, change, fresh)
    _finish_index_and_branch(store, project, landing, final)
    return "landed"


def _file_changes(store: Store, landing: Landing) -> list[TreeChange]:
    changes = changed_paths(store, landing.old, landing.target, renames=False)
    return [change for change in changes if GITLINK not in (change.mode, change.old_mode)]


def _finish_index_and_branch(store: Store, project: Project, landing: Landing, final: str) -> None:
    """Index entries of what the landing changes, then the branch; other staged entries stay."""
    changes = changed_paths(store, landing.old, final, renames=False)
    if landing.user_start is not None:
        known = {change.path for change in changes}
        extra = changed_paths(store, landing.user_start, final, renames=False)
        changes += [change for change in extra if change.path not in known]
    set_index_entries(project, changes)
    if project.head != final and project.branch is not None:
        why = "ralph: landing taken back" if landing.undo else "ralph: landing finished"
        user_call(project, ["update-ref", "-m", why, project.branch, final, project.head])


def set_index_entries(project: Project, changes: Sequence[TreeChange]) -> None:
    """Writes these entries, and no others, into the user's index."""
    zero = "0" * len(project.head)
    lines = [
        f"{c.mode if c.status != 'D' else '0'} {c.oid if c.status != 'D' else zero}\t{c.path}\0"
        for c in changes
    ]
    if lines:
        args = ["update-index", "-z", "--add", "--replace", "--index-info"]
        user_call(project, args, stdin=os.fsencode("".join(lines)))
        run_user_git(project, ["update-index", "-q", "--refresh"])


def run_user_git(
    project: Project, args: Sequence[str], note: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The user's own git, as if they had typed it; only redirections by the environment are taken away."""
    env = scrubbed_env(_USER_SETTINGS)
    for ours in ("GIT_NO_REPLACE_OBJECTS", "GIT_ATTR_NOSYSTEM", "GIT_NO_LAZY_FETCH"):
        del env[ours]
    argv = [project.git.binary, *args]
    with subprocess.Popen(
        argv,
        cwd=project.top,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        if note is not None:
            note_child(note, child.pid)
        out, err = child.communicate()
    return subprocess.CompletedProcess(argv, child.returncode, out, err)


def _export(project: Project, commit: str, changes: Sequence[TreeChange], scratch: str, name: str) -> str:
    """The changed files of one side as the user's own git would write them, with filters and line ends."""
    folder = os.path.join(scratch, name)
    os.mkdir(folder)
    env = scrubbed_env([pair for pair in HARMLESS if pair[0] != "core.attributesFile"])
    env["GIT_DIR"], env["GIT_WORK_TREE"] = project.git_dir, project.top
    env["GIT_INDEX_FILE"] = os.path.join(scratch, f"{name}.index")
    env.pop("GIT_ATTR_NOSYSTEM")
    run_git(project.git, ["read-tree", commit], env=env, cwd=project.top)
    listed = run_git(project.git, ["ls-files", "-z"], env=env, cwd=project.top).out
    here = set(listed.split(b"\0"))
    names = [os.fsencode(change.path) for change in changes]
    wanted = b"".join(path + b"\0" for path in names if path in here)
    if wanted:
        args = ["checkout-index", "-z", "--stdin", f"--prefix={folder}/"]
        run_git(project.git, args, env=env, cwd=project.top, stdin=wanted)
    return folder


def _whose(top: str, path: str, olds: Sequence[str], fresh: str) -> str:
    """new, part (of new), old, or foreign: what the bytes at `path` are."""
    now = _content(os.path.join(top, path))
    new = _content(os.path.join(fresh, path))
    if now == new:
        return "new"
    if any(now == _content(os.path.join(old, path)) for old in olds):
        return "old"
    if now is None:
        return "part"  # git removes a file before it writes the next version
    if new is not None and now[0] == new[0] == "file" and new[2].startswith(now[2]):
        return "part"
    if now[0] == "folder" and not any(files for _, _, files in os.walk(os.path.join(top, path))):
        return "part"
    return "foreign"


def _content(path: str) -> tuple[str, bool, bytes] | None:
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(found.st_mode):
        return ("link", False, os.fsencode(os.readlink(path)))
    if stat.S_ISDIR(found.st_mode):
        return ("folder", False, b"")
    if not stat.S_ISREG(found.st_mode):
        return ("special", False, b"")
    with open(path, "rb") as file:
        return ("file", bool(found.st_mode & stat.S_IXUSR), file.read())


def _complete(top: str, change: TreeChange, fresh: str) -> None:
    """Puts the new version in place in one move, or removes what the result removes."""
    path = os.path.join(top, change.path)
    source = os.path.join(fresh, change.path)
    try:
        if change.status == "D":
            if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
                os.unlink(path)
                _drop_empty_folders(top, os.path.dirname(change.path))
            return
        _make_way(top, change.path)
        scratch = f"{path}.ralph-landing"
        if os.path.islink(source):
            os.symlink(os.readlink(source), scratch)
        else:
            with open(source, "rb") as read, open(scratch, "xb") as write:
                write.write(read.read())
                os.fchmod(write.fileno(), stat.S_IMODE(os.lstat(source).st_mode))
        os.replace(scratch, path)
    except OSError as broken:
        raise disk_error(broken, path) from broken


def _drop_empty_folders(top: str, path: str) -> None:
    while path:
        try:
            os.rmdir(os.path.join(top, path))
        except OSError:
            return
        path = os.path.dirname(path)


def _make_way(top: str, path: str) -> None:
    """Real folders on the way to `path`, and no empty folder at it."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        here = os.path.join(top, *parts[:count])
        if os.path.islink(here) or os.path.isfile(here):
            os.unlink(here)  # the result has a folder here: what stood was part of OLD (checked before)
        os.makedirs(here, exist_ok=True)
    full = os.path.join(top, path)
    if os.path.isdir(full) and not os.path.islink(full):
        for here, _folders, _files in os.walk(full, topdown=False):
            os.rmdir(here)
    if os.path.lexists(f"{full}.ralph-landing"):
        os.unlink(f"{full}.ralph-landing")  # left by a recovery that was killed too


def _index_moved(project: Project, old: str, changes: Sequence[TreeChange]) -> bool:
    index = os.path.join(project.git_dir, "index")
    out = user_call(project, ["diff-index", "--cached", "--name-only", "-z", old], index=index).out
    moved = set(os.fsdecode(out).split("\0"))
    return any(change.path in moved for change in changes)


def _locks(project: Project) -> tuple[str, ...]:
    """What git locks while it lands: the index, HEAD (for its log) and the branch."""
    head = (os.path.join(project.git_dir, "index.lock"), os.path.join(project.git_dir, "HEAD.lock"))
    return (*head, os.path.join(project.common_dir, f"{project.branch}.lock")) if project.branch else head


def _locked_error(lock: str) -> Busy:
    words = f"another git is at work here ({os.path.basename(lock)})"
    return Busy(words, code="E-LAND-LOCKED", at=lock, next="git status")


def _wait_for_child(project: Project, note: str) -> None:
    """A git of ours may outlive a killed Ralph: let it finish. Before its pid is noted, any git may be it."""
    seen = _load(note)

    def has_gone() -> bool:
        if seen is None:
            return True
        return not (_start_time(seen.pid) == seen.started != "" if seen.pid else _git_at_work(project))

    if not wait_until(has_gone, SystemClock(), seconds=_WAIT_SECONDS, every=0.02):
        what = "the git that merges the result is still at work"
        raise Busy(what, code="E-LAND-BUSY", at=note, next="git status")


def _start_time(pid: int) -> str:
    found = tree.read_process(pid)
    return str(found.start) if found and found.state not in tree.DEAD_STATES else ""


def _drop_our_lock(project: Project, note: str) -> None:
    """Removes a lock when it can only be ours: not there when the note was written, and no git lives."""
    for lock in _locks(project):
        if not os.path.lexists(lock):
            continue
        if not os.path.exists(note) or _git_at_work(project):
            raise _locked_error(lock)
        os.unlink(lock)


def _git_at_work(project: Project) -> bool:
    """Whether any git process that we can see stands in this repository or holds its lock open."""
    locks = _locks(project)
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/comm", "rb") as file:
                if not file.read().startswith(b"git"):
                    continue
            place = os.readlink(f"/proc/{name}/cwd")
            held = [os.readlink(f"/proc/{name}/fd/{fd}") for fd in os.listdir(f"/proc/{name}/fd")]
        except OSError:
            continue
        if (
            any(lock in held for lock in locks)
            or place == project.top
            or place.startswith((project.top + "/", project.git_dir))
        ):
            return True
    return False
