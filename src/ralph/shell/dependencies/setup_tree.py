"""The tree that a setup command works in when the requirements changed: the base's, asking for the new ones.

A setup command executes scripts of the tree it stands in (`build.sh`, `setup.py`, a script of package.json),
with network, and what it installs stands beside every later check. So the scripts are the base's. Only files
that say what to install are the result's, less what they would have executed.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable

import msgspec

from ralph.gates.guards._files.manifests import is_lock, is_manifest
from ralph.shell.git.store import Store
from ralph.shell.git.trees import changed_paths, edited_tree, overlay_tree, read_blob, tree_entries

_MORE = frozenset({"Cargo.toml", "go.mod", "go.work", "Gemfile", "composer.json"})


def setup_tree(store: Store, base: str, tree: str, requirements: Iterable[str]) -> str:
    """`requirements`: the files that ask for something else than at the base."""
    wanted = set(requirements)
    changed = [
        path
        for change in changed_paths(store, base, tree, renames=False)
        if (path := change.path) in wanted
        or is_manifest(path)
        or is_lock(path)
        or posixpath.basename(path) in _MORE
    ]
    made = overlay_tree(store, tree, base, restore=changed)
    here, files = tree_entries(store, made, *changed), dict[str, bytes]()
    for path in changed:
        old, new = read_blob(store, base, path), read_blob(store, tree, path)
        name = posixpath.basename(path)
        if path not in here or new is None:
            continue
        if name == "package.json":
            files[path] = _with_scripts_of(old, new)
        elif name == "setup.py" and (old is None or _without_literals(old) != _without_literals(new)):
            files[path] = old or b""
    return edited_tree(store, made, files) if files else made


def _with_scripts_of(old: bytes | None, new: bytes) -> bytes:
    """The new package.json with the old one's scripts: package managers execute some by themselves."""
    try:
        data = msgspec.json.decode(new, type=dict[str, object])
        before = msgspec.json.decode(old or b"{}", type=dict[str, object])
    except msgspec.DecodeError:
        return new  # then nothing can execute a script of it either
    data.pop("scripts", None)
    if "scripts" in before:
        data["scripts"] = before["scripts"]
    return msgspec.json.format(msgspec.json.encode(data), indent=2)


def _without_literals(text: bytes) -> str:
    """What a setup.py does, without the values that it is told: what is left of it is a program."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return text.decode("utf-8", "replace")
    nothing = ast.Constant(None)
    for node in ast.walk(module):
        if isinstance(node, ast.Assign | ast.keyword) and _is_literal(node.value):
            node.value = nothing
    return ast.dump(module)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
