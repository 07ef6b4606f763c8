"""Dependency folders: which of the user's may be shared with a loop, and whether its lockfile changed.

A shared folder is right only while what it was built from is the same, so each is tied to fingerprints of
lockfiles in a tree. Not here: how sharing is done (sandbox) and what builds a folder anew (`built`).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable

import msgspec

from ralph.shell.dependencies.installed import Installed, unmet
from ralph.shell.dependencies.requirements import read_requirements
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import tree_entries

PYTHON_FOLDERS = (".venv", "venv")
NODE_FOLDERS = ("node_modules",)


class Share(msgspec.Struct, frozen=True):
    path: str  # relative to the top of the work tree
    why: str


def shareable_folders(store: Store, tree: str, share: Iterable[str] = ()) -> list[Share]:
    """The ignored dependency folders of the user's work tree, and the `share` list, that are really there."""
    top = store.project.top
    listed = tree_entries(store, tree)
    automatic = [path for path in _usual(listed) if _plain_folder(top, path)]
    ignored = _ignored_paths(store, automatic)
    found = [
        Share(path, "dependencies of this project")
        for path in automatic
        if path in ignored and not _tracked(listed, path)
    ]
    taken = {one.path for one in found}
    more = [path for path in safe_paths(share) if path not in taken and _plain_folder(top, path)]
    return found + [Share(path, "named in 'share'") for path in more if not _tracked(listed, path)]


def built_folders(store: Store, tree: str, at: str, share: Iterable[str] = ()) -> list[str]:
    """The dependency folders that stand in the checkout `at` of a tree after its setup command."""
    listed, top = tree_entries(store, tree), os.path.realpath(at)
    wanted = list(dict.fromkeys([*_usual(listed), *safe_paths(share)]))
    found = [path for path in wanted if _plain_folder(top, path) and not _tracked(listed, path)]
    # A link on the way would lead out of what was built.
    real = [path for path in found if os.path.realpath(os.path.join(top, path)) == os.path.join(top, path)]
    return [path for path in real if not any(path.startswith(other + "/") for other in real)]


def safe_paths(share: Iterable[str]) -> list[str]:
    """The `share` list, less what leads out of the repository."""
    clean = (posixpath.normpath(path) for path in share)
    return [path for path in clean if not path.startswith(("../", "/")) and path not in (".", "..", ".git")]


def _usual(listed: Collection[str]) -> list[str]:
    """Where the usual tools install, whether or not anything is there."""
    folders = dict.fromkeys(["", *_project_folders(listed)])
    return [posixpath.join(folder, name) for folder in folders for name in (*PYTHON_FOLDERS, *NODE_FOLDERS)]


def _project_folders(listed: Collection[str]) -> list[str]:
    """Folders of a tree in which dependencies may be installed: those with a manifest."""
    marks = {"package.json", "pyproject.toml", "setup.py", "requirements.txt"}
    return sorted({posixpath.dirname(path) for path in listed if posixpath.basename(path) in marks})


def _plain_folder(top: str, path: str) -> bool:
    full = os.path.join(top, path)
    return os.path.isdir(full) and not os.path.islink(full)


def _tracked(listed: Collection[str], path: str) -> bool:
    return any(found == path or found.startswith(path + "/") for found in listed)


def _ignored_paths(store: Store, paths: list[str]) -> set[str]:
    if not paths:
        return set()
    # The trailing slash lets rules for folders match.
    names = b"".join(os.fsencode(path) + b"/\0" for path in paths)
    asked = ["check-ignore", "-z", "--stdin", "--no-index"]
    out = private_call(store, asked, work_tree=store.project.top, stdin=names, ok=(0, 1)).out
    hit = {os.fsdecode(path).rstrip("/") for path in out.split(b"\0")[:-1]}
    # A virtual environment ignores itself by a `.gitignore` of its own that says "*".
    for path in paths:
        own = os.path.join(store.project.top, path, ".gitignore")
        if path not in hit and os.path.isfile(own):
            with open(own, "rb") as file:
                if b"*" in file.read(4096).split():
                    hit.add(path)
    return hit


def lockfiles(store: Store, tree: str) -> dict[str, str]:
    """Every file of a tree that decides what is installed, with a fingerprint of what it asks for."""
    return {path: file.fingerprint() for path, file in read_requirements(store, tree).items()}


def lockfiles_changed(store: Store, base_tree: str, tree: str) -> list[str]:
    """The files that ask for something else to be installed, or for less."""
    if base_tree == tree:
        return []
    before, after = lockfiles(store, base_tree), lockfiles(store, tree)
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def unmet_requirements(store: Store, base_tree: str, tree: str, folders: Iterable[str]) -> list[str]:
    """The files of `tree` that ask for what the user's folders, right for `base_tree`, do not have."""
    return unmet(store, base_tree, tree, Installed(store.project.top, folders))
