"""A login that was refreshed inside a box, brought back to the user's own file: its tokens and nothing else.

What to look at stands in a list beside the private copy, out of the agent's reach, so that a runner that did
not begin the call can do it too. The copy was in an agent's hands: it is read once, bounded, never through a
link. The user's file, or what it links to, is replaced as a whole, under a lock on its folder, unless that is
newer.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
from collections.abc import Iterator

import msgspec

from ralph.agents._kit.fields import Fields, parse_object
from ralph.agents._kit.folders import Login
from ralph.agents._kit.tokens import LARGEST, digest, merge_newer_tokens, value_at
from ralph.clock import SystemClock, wait_until
from ralph.shell.files.write_whole import write_whole
from ralph.shell.state.locks import try_lock

LARGEST_OF_USER = 64 << 20  # bytes of a file of the user's: years of projects may stand in one
PATIENCE = 10.0  # seconds for the lock
TRIES = 5  # when the user's own CLI writes at the same time


class Copied(msgspec.Struct, frozen=True):
    """A login file that was copied in."""

    theirs: str
    ours: str
    login: Login
    known: str  # digest of its tokens when it was copied, or last brought back
    account: str = ""  # file of the user's that tells whose login it is
    whose: str = ""  # what that said when it was copied


class Copies(msgspec.Struct, frozen=True):
    """Everything of the user's in one private copy."""

    logins: tuple[Copied, ...] = ()
    files: tuple[str, ...] = ()


class _UnusableError(Exception):
    """The copy of a login is not one; the text says why."""


def load(path: str) -> Copies:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Copies)
    except (OSError, msgspec.DecodeError):
        return Copies()


def save(path: str, copies: Copies) -> None:
    write_whole(path, msgspec.json.encode(copies), 0o600)


def bring_back(path: str, now: float) -> tuple[str, ...]:
    """Every refreshed login of the list at `path`; what could not be brought back, in words."""
    copies = load(path)
    told, kept = [], []
    for one in copies.logins:
        why, known = "", one.known
        try:
            ours = _copy(one.ours)
            if ours is not None and digest(one.login, ours) != known:
                changed = whose(one.account, one.login) != one.whose
                why = "another account has logged in" if changed else _bring(one.theirs, one.login, ours, now)
                known = known if why else digest(one.login, ours)
        except _UnusableError as problem:
            why = str(problem)
        except OSError as error:
            why = error.strerror or str(error)
        if why:
            told.append(
                f"a login that changed during the call was not taken over into {one.theirs}: {why}; "
                "if the CLI itself asks for a login later, log in again"
            )
        kept.append(msgspec.structs.replace(one, known=known))
    if tuple(kept) != copies.logins:
        save(path, msgspec.structs.replace(copies, logins=tuple(kept)))
    return tuple(told)


def pending(one: Copied, now: float) -> bool:
    """True when the copy holds a good and newer login that could not be written: it must not be lost."""
    try:
        ours = _copy(one.ours)
    except (_UnusableError, OSError):
        return False
    theirs = parse_object(read_user(one.theirs) or b"")
    if ours is None or theirs is None or digest(one.login, ours) == one.known:
        return False
    if whose(one.account, one.login) != one.whose:
        return False
    return merge_newer_tokens(one.login, theirs, ours, now).content is not None


def whose(path: str, login: Login) -> str:
    """Whose login the user has at the moment, where another file tells it."""
    content = parse_object(read_user(path) or b"") if path and login.account else None
    return str(value_at(content, login.account[1])) if content and login.account else ""


def read_user(path: str) -> bytes | None:
    """A file of the user's own, links followed; None when it is not there or no plain file of sane size."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        return file.read() if stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_OF_USER else None


def _copy(path: str) -> Fields | None:
    """What the agent left in the place of a login; None when it is gone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        raise _UnusableError("it is no plain file any more") from None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise _UnusableError("it is no plain file any more")
        data = file.read(LARGEST + 1)
    content = parse_object(data) if len(data) <= LARGEST else None
    if content is None:
        raise _UnusableError("it is not JSON of a sane size")
    return content


def _bring(path: str, login: Login, ours: Fields, now: float) -> str:
    """Merge and replace; why not, or "" when it was done or needless."""
    # The user's own folder is in no agent's hands: a link there is the user's, and stays one.
    folder, name = os.path.split(os.path.realpath(path))
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    try:
        with _lock_folder(top):
            for _ in range(TRIES):
                why = _merge(top, name, login, ours, now)
                if why is not None:
                    return why
        return "something else keeps writing that file"
    finally:
        os.close(top)


def _merge(top: int, name: str, login: Login, ours: Fields, now: float) -> str | None:
    """One try; None when the file changed meanwhile."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=top)
    except FileNotFoundError:
        return ""  # the user logged out: nothing of that login comes back
    except OSError:
        return "your own file became a link or cannot be read"
    with os.fdopen(handle, "rb") as file:
        seen = os.fstat(handle)
        if not stat.S_ISREG(seen.st_mode) or seen.st_size > LARGEST:
            return "your own file is no plain one of sane size"
        data = file.read()
    theirs = parse_object(data)
    if theirs is None:
        return "your own file is no JSON object"
    made = merge_newer_tokens(login, theirs, ours, now)
    if made.content is None:
        return made.why
    return made.why if _replace(top, name, _json_like(made.content, data), seen) else None


def _json_like(content: Fields, like: bytes) -> bytes:
    """JSON in the way the file was written."""
    indent = 2 if b"\n" in like.strip() else None
    text = json.dumps(content, indent=indent, separators=None if indent else (",", ":"), ensure_ascii=False)
    return text.encode() + (b"\n" if like.endswith(b"\n") else b"")


def _replace(top: int, name: str, data: bytes, seen: os.stat_result) -> bool:
    """Whole and lasting, with the mode it had; False when it is no longer the file that was read."""
    aside = f".{name}.ralph-new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside, dir_fd=top)  # of a runner that was killed here: we have the lock
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(aside, flags, 0o600, dir_fd=top)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if (seen.st_uid, seen.st_gid) != (os.getuid(), os.getgid()):
                os.fchown(handle, seen.st_uid, seen.st_gid)
            os.fchmod(handle, stat.S_IMODE(seen.st_mode))
            os.fsync(handle)
        if _stamp(os.lstat(name, dir_fd=top)) != _stamp(seen):
            os.unlink(aside, dir_fd=top)
            return False
        os.rename(aside, name, src_dir_fd=top, dst_dir_fd=top)
        os.fsync(top)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside, dir_fd=top)
        raise
    return True


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@contextlib.contextmanager
def _lock_folder(top: int) -> Iterator[None]:
    """One Ralph at a time in that folder. The lock is on the folder itself: no file is made for it."""
    if not wait_until(lambda: try_lock(top), SystemClock(), seconds=PATIENCE, every=0.02):
        raise _UnusableError("another loop holds that folder")
    try:
        yield
    finally:
        fcntl.flock(top, fcntl.LOCK_UN)
