"""Root's calls as somebody else: what they may see is mounted with mapped ids, then they become another user.

On disk all stays root's; to the kernel the call is a user who owns nothing else. Only the keeper uses this,
between fork and exec. Whether it works on this machine is `sandbox.probe`.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress

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
    """This process gets a mount namespace with `sources` below STAGE, and is somebody else afterwards."""
    space = _mapping()
    _libc("unshare", _CLONE_NEWNS)
    _libc("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    trees = [_mapped_tree(source, space) for source in sources]  # all before STAGE covers some of them
    _libc("mount", b"tmpfs", STAGE.encode(), b"tmpfs", 0, b"mode=755")
    for number, tree in enumerate(trees):
        path = staged_path(number)
        if stat.S_ISDIR(os.fstat(tree).st_mode):
            os.mkdir(path)
        else:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        _libc("syscall", _MOVE_MOUNT, tree, b"", -100, os.fsencode(path), 4)
    for stream in (0, 1, 2):
        kind = os.fstat(stream).st_mode
        if stat.S_ISFIFO(kind) or stat.S_ISREG(kind):
            os.fchown(stream, UID, UID)  # or `> /dev/stderr` would be refused
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


def _mapped_tree(source: str, space: int) -> int:
    """A mount of `source`, attached nowhere, whose files of root belong to the other user.

    Where a file system has no such mounts, it has the rights of others there. The workspace's is probed.
    """
    flags = _CLONE_CLOEXEC | _AT_RECURSIVE
    tree = _libc("syscall", _OPEN_TREE, -100, os.fsencode(source), flags, about=source)
    attributes = b"".join(number.to_bytes(8, "little") for number in (_IDMAP, 0, 0, space))
    flags = _AT_EMPTY_PATH | _AT_RECURSIVE
    with suppress(OSError):
        _libc("syscall", _MOUNT_SETATTR, tree, b"", flags, attributes, 32)
    return tree


def _libc(name: str, *words: int | bytes | None, about: str = STAGE) -> int:
    import _ctypes  # the whole of `ctypes` would cost as much as the rest of the keeper

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), name)  # type: ignore[arg-type]
    answer: int = _ctypes.call_function(function, words)
    if answer < 0:
        raise OSError(1, "the kernel does not mount it for another user", about)
    return answer
