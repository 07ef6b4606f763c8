"""Files that a build makes and git ignores: which of them do checks miss at the base, and the user has?

A version stamp, a compiled catalogue or extension stands in the user's checkout and in no commit. What the
output of a red base names as missing is looked for there. It may be shared while what it was made from is
the base's. Other build results are not: tests of a stale build would say nothing of the tree. What is neither
there nor to be written by an agent, since code of the product imports it already, is only named.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterator
from glob import escape, glob

import msgspec

from ralph.gates.judging_paths import is_test
from ralph.shell.dependencies.installed import COMPILED, read_requirements
from ralph.shell.dependencies.requirements import plain
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import tree_entries

_MODULE = re.compile(r"No module named ['\"]([\w.]+)['\"]")
_NAME = re.compile(
    r"cannot import name ['\"](\w+)['\"] from (?:partially initialized module )?['\"]([\w.]+)['\"]"
)
_FILE = re.compile(r"No such file or directory: b?['\"]([^'\"\n]+)['\"]")
_DOMAIN = re.compile(r"No translation file found for domain: ['\"]([\w.-]+)['\"]")
_NODE = re.compile(
    r"Cannot find (?:module|package) ['\"]([^'\"\n]+)['\"]"
    r"(?:\s+Require stack:\s+- (\S+)| imported from (\S+))?"
)
_BARE = re.compile(r"(?:@[\w.-]+/)?[a-z][\w.-]*")  # no path, no alias, no part of a package
_SOURCES = ("*.py", "*.js", "*.cjs", "*.mjs", "*.jsx", "*.ts", "*.cts", "*.mts", "*.tsx")
_ENDS = (".js", ".cjs", ".mjs", ".json", ".node", "/index.js")
SHARED = (".py", ".mo", *COMPILED)
MAX_SHOWN = 3


class Missed(msgspec.Struct, frozen=True):
    """What a red base lacks and the checkout has; or what it asks for and nobody installed."""

    shared: tuple[str, ...] = ()
    built: tuple[str, ...] = ()
    uninstalled: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()  # what nobody asks for, and the source file that imports it

    def why(self) -> str:
        """Why no agent should be called, and what to do; "" when there is no reason."""
        if self.built:
            named = ", ".join(self.built[:MAX_SHOWN])
            way = 'build it in the check or by setup = "CMD", or name it in share = ["PATH"] of ralph.toml'
            return f"it needs {named}, which git ignores and only your checkout has: {way}"
        if self.uninstalled:
            named = ", ".join(self.uninstalled[:MAX_SHOWN])
            way = 'install it here, or give setup = "CMD" in ralph.toml'
            return f"{named} is required but not installed: {way}"
        if self.unknown:
            name, path = self.unknown[0]
            way = 'install it here, give setup = "CMD" in ralph.toml, or name it in the task'
            return f"{path} imports {name}, which is not here: {way} if an agent is to write or replace it"
        return ""


def find_missed(
    store: Store, tree: str, said: str, root: str, cwd: str = "", task: str | None = None
) -> Missed:
    """By what the checks said of `tree`, which stood at `root` for them.

    What `task` names is for an agent to write or to replace; without a task that may be said of everything.
    """
    listed = tree_entries(store, tree)
    top = store.project.top
    found = dict.fromkeys(
        path
        for path in _named_paths(said, listed, root, "" if cwd == "." else cwd)
        if os.path.lexists(os.path.join(top, path)) and not os.path.islink(os.path.join(top, path))
    )
    mine = _select_ignored(store, [path for path in found if path not in listed])
    ready = [path for path in found if path in mine]
    shared = tuple(path for path in ready if path.endswith(SHARED))
    built = tuple(path for path in ready if path not in shared)
    asked = {
        (want.kind, want.name) for file in read_requirements(store, tree).values() for want in file.wants
    }
    modules = {match[1].partition(".")[0] for match in _MODULE.finditer(said)}
    packages = {match[1] for match in _NODE.finditer(said)}
    absent = [name for name in sorted(modules) if ("pip", plain(name)) in asked and not _own(name, listed)]
    absent += [name for name in sorted(packages) if ("npm", name) in asked]
    unknown: list[tuple[str, str]] = []
    if task is not None and not absent:
        wanted = modules | {name for name in packages if _BARE.fullmatch(name)}
        unknown = [
            (name, path)
            for name in sorted(wanted)
            if not _own(name, listed) and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", task)
            if (path := _importing_source(store, tree, name, said))
        ]
    return Missed(shared, built, tuple(absent), tuple(unknown))


def _own(name: str, listed: Collection[str]) -> bool:
    return any(name in path.removesuffix(".py").split("/") for path in listed)


def _importing_source(store: Store, tree: str, name: str, said: str) -> str:
    """The file of the product that imports it, where the output names that file; "" where a test asks for it
    too: then it may be what the tests ask an agent to write."""
    quoted = re.escape(name)
    python = rf"^(import|from)[[:space:]]+{quoted}([.,;[:space:]]|$)"
    node = rf"(require|import|from)[[:space:]]*\(?[[:space:]]*['\"]{quoted}['\"/]"
    asked = ["grep", "-l", "-z", "-E", "-e", python, "-e", node, tree, "--", *_SOURCES]
    out = os.fsdecode(private_call(store, asked, ok=(0, 1)).out)
    paths = [path.removeprefix(f"{tree}:") for path in out.split("\0")[:-1]]
    named = [path for path in paths if re.search(rf"(?<![\w.-]){re.escape(path)}\b", said)]
    return named[0] if named and not any(is_test(path) for path in paths) else ""


def _named_paths(said: str, listed: Collection[str], root: str, cwd: str) -> Iterator[str]:
    """Every path that the output may speak of, relative to the top; also such as are not there."""
    modules = [match[1] for match in _MODULE.finditer(said)]
    modules += [f"{match[2]}.{match[1]}" for match in _NAME.finditer(said)]
    for module in dict.fromkeys(modules):
        yield from _module_paths(module.replace(".", "/"), listed, root)
    for match in _FILE.finditer(said):
        yield from _relative(match[1], root, cwd)
    domains = {match[1] for match in _DOMAIN.finditer(said)}
    missing = {posixpath.basename(match[1]) for match in _FILE.finditer(said) if match[1].endswith(".mo")}
    for path in listed:
        stem = posixpath.basename(path).removesuffix(".po")
        if path.endswith(".po") and (stem in domains or f"{stem}.mo" in missing):
            yield path.removesuffix(".po") + ".mo"
    for match in _NODE.finditer(said):
        folder = posixpath.dirname(match[2] or "")
        full = match[1] if match[1].startswith("/") else posixpath.join(folder, match[1])
        if match[1].startswith(("/", ".")):
            for end in ("", *_ENDS):
                yield from _relative(full + end, root, cwd)


def _module_paths(module: str, listed: Collection[str], root: str) -> Iterator[str]:
    first = module.partition("/")[0]
    above = {
        path[: path.index(f"{first}/")]
        for path in listed
        if path.startswith(f"{first}/") or f"/{first}/" in path
    }
    for start in sorted(above | {"", "src/"}):
        yield f"{start}{module}.py"
        yield from (
            os.path.relpath(hit, root)
            for end in COMPILED
            for hit in glob(os.path.join(escape(root), f"{start}{module}.*{end[1:]}"))
        )


def _relative(path: str, root: str, cwd: str) -> Iterator[str]:
    inside = path[len(root) + 1 :] if path.startswith(root + "/") else posixpath.join(cwd, path)
    inside = posixpath.normpath(inside)
    if not inside.startswith(("/", "../")) and inside not in (".", ".."):
        yield inside


def _select_ignored(store: Store, paths: list[str]) -> set[str]:
    if not paths:
        return set()
    names = b"".join(os.fsencode(path) + b"\0" for path in paths)
    asked = ["check-ignore", "-z", "--stdin", "--no-index"]
    out = private_call(store, asked, work_tree=store.project.top, stdin=names, ok=(0, 1)).out
    return {os.fsdecode(path) for path in out.split(b"\0")[:-1]}
