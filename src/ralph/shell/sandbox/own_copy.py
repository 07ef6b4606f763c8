"""The private copy of a CLI's own folders: what a call of one loop sees where the user has them.

It holds what the adapter names (`agents._kit.folders`) and whatever the CLI itself wrote in earlier calls of
the loop, so a conversation can go on. Settings are copied anew for each call; a login too, after what an
earlier call refreshed was brought back (`login_back`). The copy was in an agent's hands: no link in it is
followed.
"""

from __future__ import annotations

import contextlib
import json
import os
from fnmatch import fnmatchcase

import msgspec

from ralph.agents import Launch
from ralph.agents._kit.fields import parse_object
from ralph.agents._kit.folders import LaunchFolder, Login
from ralph.agents._kit.programs import harmless_folders, keep_harmless
from ralph.agents._kit.tokens import digest, only
from ralph.shell.files.paths import covers
from ralph.shell.files.safe_tree import open_way, remove_tree
from ralph.shell.sandbox import login_back
from ralph.shell.sandbox.bubblewrap import SYSTEM
from ralph.shell.sandbox.login_back import Copied, Copies, bring_back, read_user

LIST = "copied.json"
ELSEWHERE = "/run/own"  # in a box: for a folder whose own path is taken


class Places(msgspec.Struct, frozen=True):
    """How the copy comes into the box, or without one into the environment."""

    own: tuple[tuple[str, str], ...] = ()  # writable, (host, inside)
    shown: tuple[tuple[str, str], ...] = ()  # read-only, (host, inside)
    env: dict[str, str] = {}


class CopyPlace(msgspec.Struct, frozen=True, kw_only=True):
    """What decides where a copy stands."""

    folder: str  # for the copies of this agent, out of its reach
    home_dir: str  # its private home on the host
    home: str  # the same in the box
    repo: str
    boxed: bool
    seen: tuple[str, ...] = ()  # folders of the user's that the box shows for other reasons


class _Seat(msgspec.Struct, frozen=True):
    """One folder's copy."""

    private: str  # on the host
    inside: str  # as the CLI sees it
    aside: str  # where on the host those files stand that lie beside the folder
    env: dict[str, str] = {}


def prepare(launch: Launch, where: CopyPlace, now: float) -> tuple[Places, tuple[str, ...]]:
    """The copy ready for a call, and what could not be brought back of an earlier one."""
    if not launch.own:
        return Places(), ()
    os.makedirs(where.folder, mode=0o700, exist_ok=True)
    path = os.path.join(where.folder, LIST)
    told = bring_back(path, now)
    before = {one.ours: one for one in login_back.load(path).logins}
    logins: list[Copied] = []
    files: list[str] = []
    places = Places()
    for number, one in enumerate(launch.own):
        seat = _seat(one, where, number)
        if seat is None:
            continue  # no box, and nothing that would move the folder: it is the user's own that is used
        os.makedirs(seat.private, mode=0o700, exist_ok=True)
        for top in (seat.private, seat.aside):
            os.chmod(top, 0o700)  # whatever an agent made of it
        files += _fill(one, seat)
        logins += _logins(one, seat.private, before, now)
        places = Places(
            (*places.own, *([(seat.private, seat.inside)] if where.boxed else ())),
            (*places.shown, *_show_folders(one, seat, where)),
            {**places.env, **seat.env},
        )
    login_back.save(path, Copies(tuple(logins), tuple(files)))
    return places, told


def return_logins(folder: str, now: float) -> tuple[str, ...]:
    """Refreshed logins of an agent's copies go back to the user; what could not be brought back, in words."""
    return bring_back(os.path.join(folder, LIST), now)


def give_back(folder: str, now: float, *, whole: bool) -> tuple[str, ...]:
    """The end of a loop: refreshed logins go back; no login or setting of the user's stays below `folder`.

    What the CLIs wrote themselves stays unless `whole`: a loop that is resumed goes on with its conversation.
    """
    told: list[str] = []
    for top in (
        os.path.join(folder, home, name) for home in _names(folder) for name in _names(f"{folder}/{home}")
    ):
        path = os.path.join(top, LIST)
        told += bring_back(path, now)
        copies = login_back.load(path)
        for file in (*copies.files, *(one.ours for one in copies.logins)):
            with contextlib.suppress(FileNotFoundError):
                os.chmod(os.path.dirname(file), 0o700)
            remove_tree(file)
        remove_tree(path)
    if whole:
        remove_tree(folder)
    return tuple(told)


def _seat(one: LaunchFolder, where: CopyPlace, number: int) -> _Seat | None:
    folder = one.folder
    root = os.path.join(where.folder, str(number))
    private = os.path.normpath(os.path.join(root, folder.below_variable))
    if not where.boxed:
        # A variable that all programs share would move more than this folder.
        if not folder.variable or folder.variable.startswith("XDG_"):
            return None
        return _Seat(private, private, private, {folder.variable: root})
    inside = one.theirs if one.moved else os.path.normpath(os.path.join(where.home, folder.below_home))
    taken = covers(where.repo, inside) or inside.split("/")[1] in SYSTEM
    if not os.path.isdir(inside):  # nothing to mount it on, and nothing may be made there
        taken = taken or any(covers(path, inside) for path in where.seen)
    if taken and folder.variable:
        moved = os.path.join(ELSEWHERE, str(number))
        inside = os.path.normpath(os.path.join(moved, folder.below_variable))
        return _Seat(private, inside, private, {folder.variable: moved})
    return None if taken else _Seat(private, inside, private if one.moved else where.home_dir)


def _fill(one: LaunchFolder, seat: _Seat) -> list[str]:
    """Settings and instructions of the user, as they are now; what an agent made of them goes."""
    folder, made = one.folder, []
    patterns = (*folder.files, *folder.parts, *one.given)
    for name in os.listdir(seat.private):
        if any(fnmatchcase(name, pattern) for pattern in patterns):
            remove_tree(os.path.join(seat.private, name))
    texts = {name: text.encode() for name, text in one.given.items()}
    for name in _names(one.theirs):
        if name not in texts and any(fnmatchcase(name, pattern) for pattern in folder.files):
            data = read_user(os.path.join(one.theirs, name))
            if data is not None:
                texts[name] = data
    for name, keys in folder.parts.items():
        data = _part(os.path.join(one.theirs, name), keys)
        if data is not None:
            texts[name] = data
    for name, data in texts.items():
        kept = keep_harmless(folder, name, data, one.allowed)
        if kept is not None:
            made.append(_put(seat.private, name, kept))
    for name, keys in folder.beside.items():
        more = tuple(key for key, kind in folder.programs.get(name, {}).items() if kind in one.allowed)
        data = _part(os.path.join(_near(one), name), (*keys, *more))
        if data is not None:
            made.append(_put(seat.aside, name, data))
    return made


def _logins(one: LaunchFolder, private: str, before: dict[str, Copied], now: float) -> list[Copied]:
    """The user's logins, unless the copy has one that is newer and could not be written back."""
    made = []
    for login in one.folder.logins:
        theirs, ours = os.path.join(one.theirs, login.file), os.path.join(private, login.file)
        if ours in before and login_back.pending(before[ours], now):
            made.append(before[ours])
            continue
        remove_tree(ours)
        data = read_user(theirs)
        content = parse_object(data) if data is not None else None
        if data is None or content is None:
            continue
        _put(private, login.file, _carried(login, content, data))
        account = _account(one, login)
        whose = login_back.whose(account, login)
        made.append(Copied(theirs, ours, login, digest(login, content), account, whose))
    return made


def _account(one: LaunchFolder, login: Login) -> str:
    """Where the user has the file that tells whose login it is."""
    if login.account is None:
        return ""
    name = login.account[0]
    return os.path.join(_near(one) if name in one.folder.beside else one.theirs, name)


def _near(one: LaunchFolder) -> str:
    """Where the user has what lies beside the folder."""
    return one.theirs if one.moved else one.theirs.removesuffix("/" + one.folder.below_home)


def _carried(login: Login, content: dict[str, object], data: bytes) -> bytes:
    return json.dumps(only(content, login.keys)).encode() if login.keys else data


def _part(path: str, keys: tuple[str, ...]) -> bytes | None:
    """The named entries of a JSON file of the user's; None when it has none of them."""
    data = read_user(path)
    content = parse_object(data) if data is not None else None
    found = only(content, keys) if content else {}
    return json.dumps(found).encode() if found else None


def _show_folders(one: LaunchFolder, seat: _Seat, where: CopyPlace) -> list[tuple[str, str]]:
    """Folders of the user's that are seen as they are; without a box by a link to them."""
    made = []
    shown = harmless_folders(one.folder, one.allowed)
    for name in one.folder.shown:
        real = os.path.realpath(os.path.join(one.theirs, name))
        at = os.path.join(seat.private, name)
        if os.path.islink(at) or not where.boxed:
            remove_tree(at)
        if name not in shown:
            remove_tree(at)  # what an agent may have put there starts no more than the user's
            continue
        if not os.path.isdir(real) or covers(where.repo, real) or covers(real, where.repo):
            continue  # a folder that holds the repository would show the user's real files
        if where.boxed:
            open_way(seat.private, name)
            made.append((real, os.path.join(seat.inside, name)))
        else:
            os.symlink(real, at)
    return made


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _put(folder: str, name: str, data: bytes) -> str:
    """A new file of the copy, in the place of whatever an agent may have left there."""
    path = os.path.join(folder, name)
    remove_tree(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
    return path
