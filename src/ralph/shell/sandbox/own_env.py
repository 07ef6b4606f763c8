"""Environments: that of judged code and what packages it sees, and Ralph's own virtual one, kept out of PATH.

Whoever puts Ralph's `bin` folder on PATH, or has its environment activated, must not get Ralph's ruff
and python for those of his project. Where Ralph is installed into a system or version manager's interpreter
there is no such environment; where it is a dependency of the project itself, it is the project's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from ralph.shell.files.paths import covers


class PackagePlace(NamedTuple):
    """Where a language keeps downloaded packages: a check without a network has no others.

    Only folders of packages and tool chains, never those with credentials or settings beside them. What a
    project keeps in its own folder (`node_modules`, `.venv`) is shared by `dependencies`.
    """

    below: str  # the home, unless the variable says otherwise
    variable: str = ""
    parts: tuple[str, ...] = ("",)  # of it


GO_CACHE = ".cache/go-build"  # below the home
FORGET_TESTS = f"{GO_CACHE}/testexpire.txt"  # Go does not believe its notes of tests that passed before then
# The home of a check: made up, with what is usually there.
HOME_FILES = {
    ".profile": "export EDITOR=vi\n",
    ".bashrc": "alias ll='ls -l'\n",
    ".gitconfig": "[user]\n\tname = {user}\n\temail = {user}@example.com\n",
    ".ssh/known_hosts": "",
    ".cache/.keep": "",
    FORGET_TESTS: f"{2**63 - 1}\n",
    ".config/.keep": "",
    "notes.txt": "call back on Monday\n",
}
# `cargo` on PATH is a link that looks here for the real one.
_TOOLCHAINS = (PackagePlace(".rustup", "RUSTUP_HOME"),)
_PACKAGES = (
    PackagePlace("go", "GOPATH", ("pkg/mod",)),
    PackagePlace("go/pkg/mod", "GOMODCACHE"),
    PackagePlace(".cargo", "CARGO_HOME", ("registry", "git")),
    PackagePlace(".m2", "", ("repository",)),
    PackagePlace(".nuget/packages", "NUGET_PACKAGES"),
    PackagePlace(".pub-cache", "PUB_CACHE", ("hosted", "git")),
    PackagePlace(".gem", "GEM_HOME", ("ruby",)),
    PackagePlace(".local/share/gem", "", ("ruby",)),
)
VARIABLES = tuple(one.variable for one in (*_TOOLCHAINS, *_PACKAGES) if one.variable)
_PLAIN = ("PATH", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TERM", "USER", "LOGNAME", "SHELL")
GATE_ENV = (*_PLAIN, *VARIABLES)


def toolchain_folders(env: Mapping[str, str], home: str) -> tuple[str, ...]:
    return _there(_TOOLCHAINS, env, home)


def package_folders(env: Mapping[str, str], home: str) -> tuple[str, ...]:
    """What a box of checks shows, read-only and at its own place."""
    return _there((*_TOOLCHAINS, *_PACKAGES), env, home)


def _there(places: tuple[PackagePlace, ...], env: Mapping[str, str], home: str) -> tuple[str, ...]:
    found = (
        os.path.normpath(os.path.join(home, env.get(one.variable) or one.below, part))
        for one in places
        for part in one.parts
    )
    return tuple(dict.fromkeys(path for path in found if os.path.isdir(path) and not covers(path, home)))


def own_environment() -> str:
    """The virtual environment that Ralph is installed in (`uv tool`, pipx, a .venv); "" for none."""
    return os.path.realpath(sys.prefix) if sys.prefix != sys.base_prefix else ""


def foreign_environment(folder: str) -> str:
    """The same, unless it belongs to the repository around `folder`."""
    own = own_environment()
    if not own:
        return ""
    home = _repository(own)
    return "" if home and home == _repository(os.path.realpath(folder)) else own


def users_path(path: str, folder: str) -> str:
    """PATH for everything that is started for a project: without the folders of Ralph's own environment."""
    own = foreign_environment(folder)
    if not own:
        return path
    return os.pathsep.join(
        part
        for part in path.split(os.pathsep)
        if not (os.path.isabs(part) and covers(own, os.path.realpath(part)))
    )


def only_ours(word: str, folder: str) -> bool:
    """Is a command that was not found among the tools of Ralph's own environment?"""
    own = foreign_environment(folder)
    return bool(own) and "/" not in word and os.access(os.path.join(own, "bin", word), os.X_OK)


def _repository(folder: str) -> str:
    """The nearest folder at or above this one that has a .git; "" when there is none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above
    return folder


def gate_env(user: Mapping[str, str], home: str, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of judged code: an allow-list, no credentials, nothing that names Ralph."""
    env = {name: user[name] for name in GATE_ENV if name in user}
    real = user.get("HOME", home)
    if home != real:  # without a box, or where the repository stands in its place
        places = {one.variable: os.path.join(real, one.below) for one in _TOOLCHAINS}
        env = {name: at for name, at in places.items() if os.path.isdir(at)} | env
    env["PATH"] = clean_path(env.get("PATH", os.defpath))
    env.update({"HOME": home, "TMPDIR": "/tmp", **extra})  # noqa: S108
    return {name: value for name, value in env.items() if not name.startswith("RALPH_")}


def clean_path(path: str) -> str:
    """PATH without relative entries: they would mean another folder inside."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if os.path.isabs(part))
