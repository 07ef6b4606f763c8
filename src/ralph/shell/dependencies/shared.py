"""Dependency folders: which of the user's may be shared with a loop, and whether its lockfile changed.

A shared folder is right only while what it was built from is the same, so each is tied to fingerprints of
lockfiles in a tree. Not here: how sharing is done (sandbox) and what builds a folder anew (`built`).
"""

from __future__ import annotations

import configparser
import os
import posixpath
import tomllib
from collections.abc import Collection, Iterable

import msgspec

from ralph.core.model.order import BoxTerms
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import TreeEntry, read_blob, tree_entries

PYTHON_FOLDERS = (".venv", "venv")
NODE_FOLDERS = ("node_modules",)
_PYTHON_LOCKS = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "Pipfile.lock",
    "pylock.toml",
    "setup.py",
)
_INI = ("setup.cfg", "tox.ini")
_NODE_LOCKS = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
)
_OTHER_LOCKS = ("Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "mix.lock")


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
    """Every file of a tree that decides what is installed, with a fingerprint of what matters in it."""
    found: dict[str, str] = {}
    for path, entry in tree_entries(store, tree).items():
        name = posixpath.basename(path)
        if name in (*_PYTHON_LOCKS, *_NODE_LOCKS, *_OTHER_LOCKS) or _is_requirements(name):
            found[path] = entry.oid
        elif name == "pyproject.toml":
            found[path] = _tables(store, tree, path, entry, _python_tables)
        elif name in _INI:
            found[path] = _tables(store, tree, path, entry, _ini_tables)
        elif name == "package.json":
            found[path] = _tables(store, tree, path, entry, _node_tables)
    return found


def lockfiles_changed(store: Store, base_tree: str, tree: str) -> list[str]:
    """The lockfiles (and dependency tables) that differ between two trees."""
    if base_tree == tree:
        return []
    before, after = lockfiles(store, base_tree), lockfiles(store, tree)
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def _is_requirements(name: str) -> bool:
    return name.startswith(("requirements", "constraints")) and name.endswith((".txt", ".in"))


def _tables(store: Store, tree: str, path: str, entry: TreeEntry, pick: object) -> str:
    """A fingerprint of the dependency tables alone; of the whole file when it cannot be read."""
    assert callable(pick)
    raw = read_blob(store, tree, path) or b""
    try:
        return str(msgspec.json.encode(pick(raw), order="sorted").decode())
    except (ValueError, TypeError, AttributeError, RecursionError, configparser.Error):
        return entry.oid


def _python_tables(raw: bytes) -> object:
    data = tomllib.loads(raw.decode("utf-8"))
    project = data.get("project", {})
    tool = data.get("tool", {})
    keys = ("dependencies", "optional-dependencies", "requires-python", "scripts", "entry-points", "name")
    poetry = tool.get("poetry", {})
    return [
        {key: project.get(key) for key in keys},
        data.get("dependency-groups"),
        data.get("build-system"),
        {key: poetry.get(key) for key in ("dependencies", "group", "dev-dependencies", "extras")},
        tool.get("uv"),
        tool.get("pdm"),
    ]


def _ini_tables(raw: bytes) -> object:
    """What setuptools and tox install from, without the settings of linters and test runners beside it."""
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(raw.decode("utf-8"))
    keys = {"install_requires", "python_requires", "setup_requires", "tests_require", "deps", "extras"}
    found: dict[str, dict[str, str]] = {}
    for name in parser.sections():
        whole = name.startswith(("options.extras_require", "options.entry_points"))
        found[name] = {key: text for key, text in parser.items(name) if whole or key in keys}
    return {name: values for name, values in found.items() if values}


def _node_tables(raw: bytes) -> object:
    data = msgspec.json.decode(raw, type=dict[str, object])
    keys = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides")
    return {key: data.get(key) for key in (*keys, "resolutions", "workspaces", "packageManager", "engines")}
