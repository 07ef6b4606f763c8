"""Dependency folders: which of the user's may be shared with a loop, and whether its lockfile changed.

A shared folder is right only while what it was built from is the same, so each is tied to fingerprints of
lockfiles in a tree. Not here: how sharing is done (sandbox) and what builds a folder anew (`built`).
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable

import msgspec

from ralph.core.model.order import BoxTerms
from ralph.shell.dependencies.installed import Installed, read_requirements, stale_files, unmet
from ralph.shell.git.store import Store
from ralph.shell.git.trees import tree_entries

PYTHON_FOLDERS = (".venv", "venv")
NODE_FOLDERS = ("node_modules",)


class Share(msgspec.Struct, frozen=True):
    path: str  # relative to the top of the work tree
    why: str


def shareable_folders(store: Store, tree: str, share: Iterable[str] = ()) -> list[Share]:
    """The dependency folders of the user's work tree, and the `share` list, that are really there."""
    top = store.project.top
    listed = tree_entries(store, tree)
    automatic = [path for path in _usual(listed) if _plain_folder(top, path)]
    # Whoever has not ignored them has them in no commit either: by their names they are nothing else.
    found = [Share(path, "dependencies of this project") for path in automatic if not _tracked(listed, path)]
    taken = {one.path for one in found}
    more = [path for path in safe_paths(share) if path not in taken and _plain(top, path)]
    return found + [Share(path, "named in 'share'") for path in more if not _tracked(listed, path)]


def built_folders(store: Store, tree: str, at: str, share: Iterable[str] = ()) -> list[str]:
    """The dependency folders that stand in the checkout `at` of a tree after its setup command."""
    listed, top = tree_entries(store, tree), os.path.realpath(at)
    wanted = list(dict.fromkeys([*_usual(listed), *safe_paths(share)]))
    found = [path for path in wanted if _plain(top, path) and not _tracked(listed, path)]
    # A link on the way would lead out of what was built.
    real = [path for path in found if os.path.realpath(os.path.join(top, path)) == os.path.join(top, path)]
    return [path for path in real if not any(path.startswith(other + "/") for other in real)]


def safe_paths(share: Iterable[str]) -> list[str]:
    """The `share` list, less what leads out of the repository."""
    clean = (posixpath.normpath(path) for path in share)
    return [path for path in clean if not path.startswith(("../", "/")) and path not in (".", "..", ".git")]


def with_usable_shares(store: Store, tree: str, box: BoxTerms) -> BoxTerms:
    """With the folders that may be shared in; where `setup` builds its own, the names of those wanted."""
    if box.setup:
        return msgspec.structs.replace(box, share=tuple(safe_paths(box.share)))
    found = shareable_folders(store, tree, box.share)
    return msgspec.structs.replace(box, share=tuple(one.path for one in found))


def _usual(listed: Collection[str]) -> list[str]:
    """Where the usual tools install, whether or not anything is there."""
    folders = dict.fromkeys(["", *_project_folders(listed)])
    return [posixpath.join(folder, name) for folder in folders for name in (*PYTHON_FOLDERS, *NODE_FOLDERS)]


def _project_folders(listed: Collection[str]) -> list[str]:
    """Folders of a tree in which dependencies may be installed: those with a manifest."""
    marks = {"package.json", "pyproject.toml", "setup.py", "requirements.txt"}
    return sorted({posixpath.dirname(path) for path in listed if posixpath.basename(path) in marks})


def _plain_folder(top: str, path: str) -> bool:
    return _plain(top, path) and os.path.isdir(os.path.join(top, path))


def _plain(top: str, path: str) -> bool:
    """A folder or regular file, and no link."""
    full = os.path.join(top, path)
    return not os.path.islink(full) and (os.path.isdir(full) or os.path.isfile(full))


def _tracked(listed: Collection[str], path: str) -> bool:
    return any(found == path or found.startswith(path + "/") for found in listed)


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


def why_unfit(store: Store, base_tree: str, tree: str, share: Collection[str], *, setup: bool) -> str:
    """Why what the user shares is not right for `tree` although it is for `base_tree`; "" when it is."""
    files = [path for path in share if os.path.isfile(os.path.join(store.project.top, path))]
    for path, source in stale_files(store, base_tree, tree, files).items():
        return f"{path} was made from {source}, which differs from the base's; setup must build it again"
    lacking = [] if setup else unmet_requirements(store, base_tree, tree, share)
    if lacking:
        names = ", ".join(lacking[:3])
        way = "install it in your checkout, or name a `setup` command that does"
        return f"{names} asks for what is not installed: {way}"
    return ""
