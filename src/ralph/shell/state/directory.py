"""Where Ralph keeps its state, and whether that place can be trusted with it.

Paths, the checks of the state directory, free space and the reserve file live here. What is written
there does not: the journal is in `writer`, stored bytes in `blobs`, locks in `locks`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress

import msgspec

from ralph.errors import RalphError, SetupError, UserError, machine_error
from ralph.shell.state.places import config_dir, state_dir

__all__ = ["State", "config_dir", "open_state", "safe_name", "state_dir"]

RESERVE_BYTES = 8 * 1024 * 1024
_RESERVE = "reserve"
_PARTS = ("loops", "stints", "blobs", "workspaces", "logs", "reports", "attestations")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,60}")
# Kernel locks and shared memory, on which the journal stands, are not kept across hosts by these.
_NETWORK = re.compile(
    r"9p|acfs|afs|beegfs|ceph|cifs|coda|davfs|gfs2|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|pvfs2|smb[23]|smbfs"
    r"|fuse\.(sshfs|s3fs|rclone|glusterfs|ceph|ceph-fuse|davfs2?|gcsfuse|goofys|juicefs|mfs|curlftpfs|smbnetfs"
    r"|blobfuse2?|gvfsd-fuse)"
)
_README = """\
This directory belongs to Ralph. `ralph status` shows what is in it.

journal.db   the record of all loops (SQLite; the -wal and -shm files belong to it)
loops/       one lock and working files for each loop
stints/      one lock for each loop that is at work, by repository
blobs/       evidence and large texts, each named by its SHA-256
workspaces/  isolated clones in which agents work
logs/        logs of Ralph itself
reports/     the newest reports
attestations/  signed proofs of verified loops
reserve      empty space that is given back when the disk is full

Remove loops with `ralph discard` and `ralph clean`, not by hand.
"""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The places inside a state directory."""

    root: str
    loops: str
    stints: str
    blobs: str
    workspaces: str
    logs: str
    reports: str
    attestations: str


def safe_name(name: str) -> str:
    """The name itself when it may stand in a path, a ref and a prompt; else UserError."""
    if _NAME.fullmatch(name):
        return name
    strange = next((char for char in name if not char.isascii() or not char.isprintable()), "")
    raise UserError(
        f"loop name {name[:80]!r} is not allowed",
        code="E-LOOP-NAME",
        why=(f"it holds U+{ord(strange):04X}, which is not plain ASCII; " if strange else "")
        + "expected 1 to 61 characters of a-z, 0-9 and '-', not starting with '-'",
        next="ralph status --all",
    )


def open_state(path: str, *, create: bool) -> State:
    """Check the state directory; with `create` also make it and what belongs in it.

    Without `create` nothing is written and a foreign owner is fine: readers may look at what they can see.
    """
    state = State(root=path, **{part: os.path.join(path, part) for part in _PARTS})
    _refuse_network(path)
    if not create:
        return state
    try:
        with suppress(FileNotFoundError):
            os.stat(path)  # a mount that is dead is neither a folder nor absent: this says what it is
        with suppress(FileExistsError):  # a file, or a link that leads nowhere: the next line says which
            os.makedirs(path, mode=0o700, exist_ok=True)
        _refuse_untrusted(path, link_allowed=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        for part in _PARTS:
            with suppress(FileExistsError):
                os.mkdir(os.path.join(path, part), 0o700)
            _refuse_untrusted(os.path.join(path, part), link_allowed=False)
        _write_readme(path)
    except OSError as exc:
        raise unusable_error(exc, path) from exc
    return state


def unusable_error(exc: OSError, path: str) -> SetupError:
    """What an operating-system error in the state directory means for the user."""
    if exc.errno in (errno.ENOSPC, errno.EDQUOT):
        return disk_full_error(path)
    if exc.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return SetupError(
            f"cannot write to the state directory '{path}': {exc.strerror}",
            code="E-STATE-READONLY",
            next="export RALPH_STATE_DIR=/var/tmp/ralph-$USER",  # the home itself may be read-only
        )
    return machine_error(exc, path) or SetupError(
        f"the state directory '{path}' does not work: {exc.strerror}",
        code="E-DISK-IO",
        next="export RALPH_STATE_DIR=/var/tmp/ralph-$USER",
    )


def disk_full_error(path: str) -> SetupError:
    return SetupError(
        f"no space left for '{path}'",
        code="E-DISK-FULL",
        why="nothing that was recorded is lost; free some space and resume",
        next="ralph clean",
    )


def free_bytes(path: str) -> int:
    """What this user may still write there; for a path to be made, at its nearest existing parent."""
    while True:
        try:
            seen = os.statvfs(path)
        except FileNotFoundError:
            path = os.path.dirname(path)
        except OSError as exc:
            raise unusable_error(exc, path) from exc
        else:
            return seen.f_bavail * seen.f_frsize


def make_reserve(root: str, size: int = RESERVE_BYTES) -> bool:
    """Set space aside for the worst moment; False, and no file, when there is too little to do that."""
    path = os.path.join(root, _RESERVE)
    with suppress(FileNotFoundError):
        if os.lstat(path).st_size == size:
            return True
    if free_bytes(root) < 2 * size:
        return False
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(fd, 0, size)  # a sparse file would reserve nothing
        finally:
            os.close(fd)
    except OSError as exc:
        with suppress(OSError):
            os.unlink(path)
        if exc.errno in (errno.ENOSPC, errno.EDQUOT):
            return False
        raise unusable_error(exc, root) from exc
    return True


def release_reserve(root: str) -> bool:
    """Give the reserve back to the disk; False when there was none."""
    try:
        os.unlink(os.path.join(root, _RESERVE))
    except FileNotFoundError:
        return False
    except OSError as exc:
        raise unusable_error(exc, root) from exc
    return True


def mount_type(path: str, mountinfo: str) -> str:
    """File system type of the mount that `path` (absolute, without links) stands on; empty if unknown."""
    best, kind = "", ""
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields, tail = left.split(" "), right.split(" ")
        if len(fields) < 5 or not tail[0]:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), fields[4])
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # of two mounts on one point the later one is on top
            best, kind = point, tail[0]
    return kind


def _refuse_network(path: str) -> None:
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            kind = mount_type(os.path.realpath(path), file.read())
    except OSError:
        return  # no such file outside Linux; nothing else tells
    if _NETWORK.fullmatch(kind):
        raise SetupError(
            f"the state directory '{path}' is on a network file system ({kind})",
            code="E-STATE-NETWORK",
            why="locks there cannot be trusted, and two runners could drive one loop",
            next="export RALPH_STATE_DIR=/var/tmp/ralph-$USER",
        )


def _refuse_untrusted(path: str, *, link_allowed: bool) -> None:
    """A directory that another user owns or may change could hand us any journal they like."""
    me = os.geteuid()
    link, real = os.lstat(path), os.stat(path)
    if stat.S_ISLNK(link.st_mode) and not (link_allowed and link.st_uid in (me, 0)):
        raise _untrusted_error(path, "it is a symbolic link that Ralph did not make", "E-STATE-LINK")
    if not stat.S_ISDIR(real.st_mode):
        raise _untrusted_error(path, "it is not a directory", "E-STATE-NOT-A-DIRECTORY")
    if real.st_uid != me:
        raise _untrusted_error(path, f"it belongs to user {real.st_uid}, you are {me}", "E-STATE-OWNER")
    if real.st_mode & 0o022:
        raise SetupError(
            f"the state directory '{path}' can be changed by others (mode {stat.S_IMODE(real.st_mode):04o})",
            code="E-STATE-MODE",
            why="expected 0700",
            next=f"chmod 700 '{path}'",
        )


def _untrusted_error(path: str, why: str, code: str) -> RalphError:
    return SetupError(
        f"the state directory '{path}' cannot be trusted",
        code=code,
        why=why,
        next='export RALPH_STATE_DIR="$HOME/ralph-state"',
    )


def _write_readme(root: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with suppress(FileExistsError):
        fd = os.open(os.path.join(root, "README"), flags, 0o600)
        with open(fd, "w", encoding="utf-8") as file:
            file.write(_README)


def refuse_full_disk(state: State, floor: int) -> None:
    """Stop before work that would fill the disk; what is recorded stays recorded."""
    if free_bytes(state.root) >= floor and make_reserve(state.root):
        return
    # Without the reserve the very reason for stopping could not be recorded.
    wanted = max(floor, 2 * RESERVE_BYTES) // 1_000_000
    free = free_bytes(state.root) // 1_000_000
    raise SetupError(
        f"only {free} MB are free for '{state.root}', expected {wanted} MB",
        code="E-DISK-LOW",
        why="a full disk loses an agent's work; the loop is paused and nothing is lost",
        next="ralph clean",
    )
