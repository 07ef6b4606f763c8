"""A CLI's own folders as data: what of them an agent is given, and what of that may go back.

It is an allow-list. The shell makes a private copy for each loop that holds what is named here and nothing
else; of the copy only the tokens of a refreshed login ever return to the user (`tokens` says which may).
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping

from msgspec import Struct


class Login(Struct, frozen=True, kw_only=True):
    """A JSON file of tokens that the CLI refreshes by itself. Values are named by dotted paths."""

    file: str
    tokens: tuple[str, ...]  # these go back; the first one is always there
    when: str  # grows with each refresh (an expiry, or the time of the refresh), and goes back with them
    same: tuple[str, ...] = ()  # where the user's file has them they must be as there: whose login it is
    each: bool = False  # the file holds one such login in each of its entries
    keys: tuple[str, ...] = ()  # entries of the file that are copied in; none named: all
    account: tuple[str, str] | None = (
        None  # another file of the user's that tells whose it is, and where in it
    )


class Folder(Struct, frozen=True):
    """A folder of the CLI: where it is, and what of it is copied in. File names may be patterns."""

    below_home: str
    variable: str = ""  # moves it
    below_variable: str = ""  # where in the variable's folder it then is
    files: tuple[str, ...] = ()  # settings, instructions, keys that stay as they are
    parts: dict[str, tuple[str, ...]] = {}  # JSON file -> the only entries of it that are copied
    beside: dict[str, tuple[str, ...]] = {}  # the same, but in the home unless the variable moves the folder
    shown: tuple[str, ...] = ()  # folders in it that are seen as they are, read-only
    logins: tuple[Login, ...] = ()
    programs: dict[
        str, dict[str, str]
    ] = {}  # file -> entries of it that start programs -> kind; "" = all of it
    starting: dict[str, str] = {}  # of the shown folders: those whose content starts by itself -> kind


class LaunchFolder(Struct, frozen=True):
    """One such folder in one launch."""

    theirs: str  # the user's
    folder: Folder
    moved: bool = False  # by its variable
    given: dict[str, str] = {}  # file -> text that stands in the copy instead of the user's
    allowed: frozenset[str] = frozenset()  # kinds of programs of the user's that may start


def place(folder: Folder, environ: Mapping[str, str]) -> tuple[str, bool]:
    """Where the user has it, and whether a variable says so; "" when that cannot be told."""
    moved = environ.get(folder.variable, "") if folder.variable else ""
    if moved.startswith("/"):
        return os.path.normpath(os.path.join(moved, folder.below_variable)), True
    home = environ.get("HOME", "")
    return (os.path.normpath(os.path.join(home, folder.below_home)) if home else ""), False
