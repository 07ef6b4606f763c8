"""Downloaded packages of languages that keep them below the home: a check without a network has no others.

Only folders that hold packages and tool chains, never those with credentials or settings beside them. What a
project keeps in its own folder (`node_modules`, `.venv`) is shared by `dependencies`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple


class _Place(NamedTuple):
    below: str  # the home, unless the variable says otherwise
    variable: str = ""
    parts: tuple[str, ...] = ("",)  # of it


_TOOLCHAINS = (
    _Place(".rustup", "RUSTUP_HOME"),
)  # `cargo` on PATH is a link that looks here for the real one
_PACKAGES = (
    _Place("go", "GOPATH", ("pkg/mod",)),
    _Place("go/pkg/mod", "GOMODCACHE"),
    _Place(".cargo", "CARGO_HOME", ("registry", "git")),
    _Place(".m2", "", ("repository",)),
    _Place(".nuget/packages", "NUGET_PACKAGES"),
    _Place(".pub-cache", "PUB_CACHE", ("hosted", "git")),
    _Place(".gem", "GEM_HOME", ("ruby",)),
    _Place(".local/share/gem", "", ("ruby",)),
)
VARIABLES = tuple(one.variable for one in (*_TOOLCHAINS, *_PACKAGES) if one.variable)


def toolchain_folders(env: Mapping[str, str], home: str) -> tuple[str, ...]:
    return _there(_TOOLCHAINS, env, home)


def package_folders(env: Mapping[str, str], home: str) -> tuple[str, ...]:
    """What a box of checks shows, read-only and at its own place."""
    return _there((*_TOOLCHAINS, *_PACKAGES), env, home)


def _there(places: tuple[_Place, ...], env: Mapping[str, str], home: str) -> tuple[str, ...]:
    found = (
        os.path.normpath(os.path.join(home, env.get(one.variable) or one.below, part))
        for one in places
        for part in one.parts
    )
    return tuple(dict.fromkeys(path for path in found if os.path.isdir(path) and not _holds(path, home)))


def _holds(path: str, home: str) -> bool:
    return f"{home}/".startswith(path.rstrip("/") + "/")
