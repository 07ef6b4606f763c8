"""Root's calls as somebody else: what they may see is mounted with mapped ids, then they become another user.

On disk all stays root's; to the kernel the call is a user who owns nothing else. Only the keeper uses this,
between fork and exec. Whether it works on this machine is `sandbox.probe`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

UID = 1_900_000_000  # no distribution, container runtime or systemd gives it to anybody
STAGE = "/run"  # each call has its own, in memory
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_REC, _MS_PRIVATE = 0x4000, 1 << 18
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442  # on every architecture
_CLONE_CLOEXEC, _AT_RECURSIVE, _AT_EMPTY_PATH, _IDMAP = 0x80001, 0x8000, 0x1000, 0x100000


def staged_path(number: int) -> str:
    """Where the call finds the source of this number."""
    return f"{STAGE}/{number}"


def become_other_user(sources: list[str]) -> None:
    """This process gets a mount namespace with `sources` below STAGE, and is somebody else afterwards.

    Where one of them cannot be mapped it stays root, and finds them there as they are.
    """
    space = _mapping()
    _libc("unshare", _CLONE_NEWNS)
    _libc("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    trees = list(map(_open_tree, sources))  # all before STAGE covers some of them
    mapped = all(_map(tree, space) or _for_all(source) for source, tree in zip(sources, trees, strict=True))
    if not mapped:  # none then: to root, what was mapped would be somebody else's
        trees = list(map(_open_tree, sources))
    _libc("mount", b"tmpfs", STAGE.encode(), b"tmpfs", 0, b"mode=755")
    for number, tree in enumerate(trees):
        path = staged_path(number)
        if stat.S_ISDIR(os.fstat(tree).st_mode):
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        _libc("syscall", _MOVE_MOUNT, tree, b"", -100, os.fsencode(path), 4)
    if not mapped:
        return
    for stream in (0, 1, 2):
        kind = os.fstat(stream).st_mode
        if stat.S_ISFIFO(kind):
            os.fchown(stream, UID, UID)  # or `> /dev/stderr` would be refused
        elif stat.S_ISREG(kind):
            os.fchmod(stream, 0o444)  # nor could it be read by its name; it stays Ralph's
    os.setgroups([])
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)


def _mapping() -> int:
    """A user namespace in which root is the other user, and everybody else who they are."""
    ready, told = os.pipe()
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(go)
            _libc("unshare", _CLONE_NEWUSER)
            os.write(told, b"r")
            os.read(wait, 1)
        finally:
            os._exit(0)
    os.close(told)
    os.read(ready, 1)
    try:
        for name in ("uid_map", "gid_map"):
            fd = os.open(f"/proc/{child}/{name}", os.O_WRONLY)
            os.write(fd, f"0 {UID} 1\n1 1 {UID - 1}\n".encode())
            os.close(fd)
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for fd in (ready, wait, go):
            os.close(fd)
        os.waitpid(child, 0)


def unmappable(sources: Iterable[str]) -> str:
    """The first of them that cannot be mounted with mapped ids, or has a mount below it that cannot."""
    source, opened = STAGE, []
    try:
        opened.append(space := _mapping())
        for source in sources:
            opened.append(tree := _open_tree(source))
            if not _map(tree, space):
                return source
    except OSError:
        return source
    finally:
        for fd in opened:
            os.close(fd)
    return ""


def _open_tree(source: str) -> int:
    """A mount of `source`, attached nowhere."""
    flags = _CLONE_CLOEXEC | _AT_RECURSIVE
    return _libc("syscall", _OPEN_TREE, -100, os.fsencode(source), flags, about=source)


def _map(tree: int, space: int) -> bool:
    """Files of root in it belong to the other user then; False where a file system has no such mounts."""
    attributes = b"".join(number.to_bytes(8, "little") for number in (_IDMAP, 0, 0, space))
    try:
        _libc("syscall", _MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH | _AT_RECURSIVE, attributes, 32)
    except OSError:
        return False
    return True


def _for_all(source: str) -> bool:
    """How names are found stands in memory below /run, which old kernels do not map: all may read it."""
    found = os.stat(source).st_mode
    return source.startswith(STAGE + "/") and stat.S_ISREG(found) and bool(found & stat.S_IROTH)


def _libc(name: str, *words: int | bytes | None, about: str = STAGE) -> int:
    import _ctypes  # the whole of `ctypes` would cost as much as the rest of the keeper

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    answer: int = _ctypes.call_function(function, words)
    if answer < 0:
        raise OSError(1, "the kernel does not mount it for another user", about)
    return answer
