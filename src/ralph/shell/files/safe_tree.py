"""Directories that somebody hostile may have filled: removing them, looking through them.

Nothing here follows a symbolic link or runs a program. Not here: anything that knows git objects.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection

import msgspec

SCAN_ENTRIES = 1_000_000
_HEED_EVERY = 10_000  # entries
_HEED_REMOVED = 200  # of them, where each one is removed
_GIT_NAMES = (b".gitignore", b".gitattributes", b".gitmodules")


class Scan(msgspec.Struct, frozen=True):
    """What git would stumble over; paths are relative bytes."""

    nested: tuple[bytes, ...] = ()  # folders below the top that hold a `.git`
    special: tuple[bytes, ...] = ()  # sockets, pipes, devices
    closed: tuple[bytes, ...] = ()  # folders that could not be opened
    complete: bool = True
    young: tuple[tuple[bytes, int], ...] = ()  # files that were written since a moment, with their sizes


def remove_tree(path: str, heed: Callable[[], None] | None = None) -> None:
    """Removes a file or a folder of any depth and any modes; a link is removed, never followed.

    `heed` is asked now and then; what it raises leaves the rest for another time.

    Sub-folders are moved up to the top before they are emptied, so that neither a path longer than the
    system allows nor ten thousand levels can stop it.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode):
        os.unlink(path)
        return
    os.chmod(path, 0o700)
    top = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _flatten(top, heed or (lambda: None))
    finally:
        os.close(top)
    os.rmdir(path)


def open_way(top: str, below: str) -> None:
    """Real folders from `top` down to `top/below`: whatever else stands in the way is removed.

    A link that was left there would lead whoever makes a mount point to another place of the host.
    """
    here = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for part in below.split("/"):
            try:
                if not stat.S_ISDIR(os.lstat(part, dir_fd=here).st_mode):
                    os.unlink(part, dir_fd=here)
                    os.mkdir(part, 0o700, dir_fd=here)
                os.chmod(part, 0o700, dir_fd=here)
            except FileNotFoundError:
                os.mkdir(part, 0o700, dir_fd=here)
            above = here
            here = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
            os.close(above)
    finally:
        os.close(here)


def _flatten(top: int, heed: Callable[[], None]) -> None:
    moved = 0
    while names := os.listdir(top):
        for name in names:
            heed()
            if not stat.S_ISDIR(os.lstat(name, dir_fd=top).st_mode):
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=top)
            here = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            try:
                for number, inner in enumerate(os.listdir(here)):
                    if number % _HEED_REMOVED == 0:
                        heed()
                    if not stat.S_ISDIR(os.lstat(inner, dir_fd=here).st_mode):
                        os.unlink(inner, dir_fd=here)
                        continue
                    os.chmod(inner, 0o700, dir_fd=here)
                    moved += 1
                    os.rename(inner, _unused_name(top, moved), src_dir_fd=here, dst_dir_fd=top)
            finally:
                os.close(here)
            os.rmdir(name, dir_fd=top)


def _unused_name(top: int, number: int) -> str:
    """A name in `top` that nothing has; the agent may have used any."""
    name = f"ralph-{number}"
    while True:
        try:
            os.lstat(name, dir_fd=top)
        except FileNotFoundError:
            return name
        name += "-"


def remove_except(top: str, path: str, keep: Collection[str]) -> None:
    """Removes `path` below `top`, but leaves every `keep` path (relative to `top`) and what leads to it."""
    path = path.rstrip("/")
    if path in keep:
        return
    full = os.path.join(top, path)
    if not any(kept.startswith(f"{path}/") for kept in keep):
        remove_tree(full)
        return
    if os.path.isdir(full) and not os.path.islink(full):
        for name in os.listdir(full):
            remove_except(top, f"{path}/{name}", keep)


def ensure_directory(path: str) -> bool:
    """Makes sure that a real folder stands at `path`; says whether it was there already."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            return True
        os.unlink(path)
    except FileNotFoundError:
        pass
    os.makedirs(path, exist_ok=True)
    return False


def ensure_directory_below(top: str, path: str) -> str:
    """The folder `top/path`, each part of it a real one: a link on the way is replaced, never followed."""
    here = top
    for part in path.split("/"):
        here = os.path.join(here, part)
        ensure_directory(here)
    return here


def scan(
    top: str, limit: int = SCAN_ENTRIES, *, since: int | None = None, heed: Callable[[], None] | None = None
) -> Scan:
    """One look through the tree, at most `limit` entries. Files are asked for their age only with `since`."""
    nested: list[bytes] = []
    special: list[bytes] = []
    closed: list[bytes] = []
    young: list[tuple[bytes, int]] = []
    root = os.fsencode(top)
    todo: list[bytes] = [b""]
    seen = heeded = 0
    while todo:
        here = todo.pop()
        try:
            entries = list(os.scandir(os.path.join(root, here)))
        except OSError:
            closed.append(here)
            continue
        seen += len(entries)
        if heed is not None and seen - heeded > _HEED_EVERY:
            heeded = seen
            heed()
        if seen > limit:
            return Scan(tuple(nested), tuple(special), tuple(closed), complete=False, young=tuple(young))
        lead = here + b"/" if here else b""
        for entry in entries:
            if entry.name == b".git":
                if here:
                    nested.append(here)
            elif entry.is_dir(follow_symlinks=False):
                todo.append(lead + entry.name)
            elif entry.is_file(follow_symlinks=False):
                if since is not None and (size := _young_size(entry, since)) is not None:
                    young.append((lead + entry.name, size))
            elif not entry.is_symlink():
                special.append(lead + entry.name)
    return Scan(tuple(sorted(nested)), tuple(sorted(special)), tuple(sorted(closed)), young=tuple(young))


def _young_size(entry: os.DirEntry[bytes], since: int) -> int | None:
    """The size of a file that was written or renamed since; nobody can set that time at will."""
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return found.st_size if found.st_ctime_ns > since else None


def open_up(top: str, paths: Collection[bytes]) -> None:
    """Gives the owner back the right to read folders below `top` that were closed, and what is in them."""
    root = os.fsencode(top)
    for path in paths:
        full = os.path.join(root, path)
        _allow(full)
        # Top down: a folder is opened before the walk steps into it.
        for here, folders, _files in os.walk(full):
            for name in folders:
                _allow(os.path.join(here, name))


def _allow(path: bytes) -> None:
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISDIR(mode):
            os.chmod(path, stat.S_IMODE(mode) | 0o700)
    except OSError:
        return


def drop_traps(top: str, special: Collection[bytes]) -> None:
    """Removes pipes and devices by names that git opens: reading one would hang for ever."""
    root = os.fsencode(top)
    for path in special:
        if os.path.basename(path) in _GIT_NAMES:
            os.unlink(os.path.join(root, path))


def drop_torn_objects(objects: str, *, since: float) -> None:
    """After a full disk: removes the half-written objects of the last moments that no process holds.

    Git leaves them behind, and the disk would stay as full as it was.
    """
    torn: list[str] = []
    for folder in os.listdir(objects):
        place = os.path.join(objects, folder)
        if len(folder) == 2 and os.path.isdir(place):
            torn += [os.path.join(place, name) for name in os.listdir(place) if name.startswith("tmp_obj_")]
    held = _open_files() if torn else set()
    for path in torn:
        try:
            if path not in held and os.lstat(path).st_mtime >= since - 1:
                os.unlink(path)
        except OSError:
            continue


def _open_files() -> set[str]:
    held: set[str] = set()
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                held |= {os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
            except OSError:
                continue
    return held
