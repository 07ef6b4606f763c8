"""Is what is shared with a tree right for it?

A folder is right for a tree when it has, in a fitting version, everything that the tree asks for and the
base did not. What the tree asks for no more may stay, as long as nothing in it is used.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache, partial
from glob import glob

import msgspec

from ralph.shell.dependencies.ranges import npm_allows, pip_allows
from ralph.shell.dependencies.requirements import OPAQUE, Requirements, Want, plain, requirements_in
from ralph.shell.git.store import Store, private_call
from ralph.shell.git.trees import read_blob, tree_entries

_INFO = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.(?:dist|egg)-info")
_MARKER = re.compile(r"""python_(?:full_)?version\s*(<=|>=|==|!=|<|>)\s*["']([\d.]+)["']""")
_LOCAL = re.compile(r"(workspace|file|link|portal):(.*)")
_SOURCES = ("*.py", "*.pyi", "*.js", "*.cjs", "*.mjs", "*.jsx", "*.ts", "*.cts", "*.mts", "*.tsx", "*.vue")
# Code that no check loads: whoever runs it installs what it needs.
_ASIDE = ("bench", "benchmark", "benchmarks", "example", "examples")
_BESIDE = (
    *(f":(exclude,glob)**/{name}/**" for name in _ASIDE),
    ":(exclude)*.test-d.ts",
    # Settings of linters and bundlers. A check that does load them says itself what it misses.
    *(
        f":(exclude,glob)**/{name}"
        for name in ("*.config.[cm]js", "*.config.js", "*.config.ts", ".*rc.[cm]js", ".*rc.js")
    ),
)
_NATIVE = (
    *(".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".pyx", ".pxd", ".rs", ".go", ".f90", ".swg", ".m"),
    ".zig",
)
_BUILDS = ("setup.py", "Cargo.toml", "binding.gyp", "CMakeLists.txt", "meson.build")
COMPILED = (".so", ".pyd", ".node")


class Installed:
    """The user's dependency folders, by paths below the top of their checkout."""

    def __init__(self, top: str, folders: Iterable[str]) -> None:
        self._top, self._folders = top, tuple(folders)

    def has(self, want: Want, folder: str) -> bool:
        """Is it there for a file in `folder`, in a version that fits?"""
        if want.kind == "python":
            return all(_fits(want, version) for version in self._pythons())
        if want.kind == "pip":
            if not self._applies(want):
                return True
            return any(_fits(want, version) for version in self.distributions().get(want.name, ()))
        if want.kind == "npm":
            if local := _LOCAL.fullmatch(want.spec):
                return self._links_to(want.name, folder, local[1], local[2])
            return any(npm_allows(want.spec, version) for version in self._packages(want.name, folder))
        if want.kind == "pinned":
            found = list(self._at(posixpath.join(folder, want.name)))
            return want.spec in found or (not want.spec and bool(found))
        return True

    def present(self, want: Want, folder: str) -> bool:
        """Is it there at all?"""
        return (
            self.has(msgspec.structs.replace(want, spec=""), folder)
            if want.kind != "pinned"
            else bool(list(self._at(posixpath.join(folder, want.name))))
        )

    def modules(self, name: str) -> set[str]:
        """What a distribution is imported as."""
        found = {name.replace("-", "_"), name.replace("-", ".")}
        for site in self._sites():
            for info in os.listdir(site):
                match = _INFO.fullmatch(info)
                if match and plain(match["name"]) == name:
                    found |= _top_level(os.path.join(site, info))
        return found

    @cache  # noqa: B019
    def distributions(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for site in self._sites():
            for info in os.listdir(site):
                if match := _INFO.fullmatch(info):
                    found.setdefault(plain(match["name"]), set()).add(match["version"])
        return found

    def _sites(self) -> Iterator[str]:
        for folder in self._folders:
            yield from glob(os.path.join(glob_escape(self._top), folder, "lib", "python*", "site-packages"))

    def _pythons(self) -> Iterator[str]:
        for site in self._sites():
            yield os.path.basename(os.path.dirname(site)).removeprefix("python")

    def _applies(self, want: Want) -> bool:
        """What is for other versions of Python asks for nothing here; other conditions are taken as met."""
        match = _MARKER.fullmatch(want.marker)
        return match is None or any(pip_allows(f"{match[1]}{match[2]}", one) for one in self._pythons())

    def _packages(self, name: str, folder: str) -> Iterator[str]:
        """Where node looks: beside the file, then upwards; the nearest counts."""
        while True:
            found = list(self._at(posixpath.join(folder, "node_modules", name)))
            if found or not folder:
                yield from found
                return
            folder = posixpath.dirname(folder)

    def _links_to(self, name: str, folder: str, how: str, said: str) -> bool:
        """Is a folder of this repository there under the name, and is it the one that was named?"""
        above = folder
        while not os.path.isdir(place := os.path.join(self._top, above, "node_modules", name)):
            if not above:
                return False
            above = posixpath.dirname(above)
        real = os.path.realpath(place)
        if how != "workspace":
            return real == os.path.realpath(os.path.join(self._top, folder, said))
        own = real.startswith(os.path.realpath(self._top) + os.sep)
        return own and f"{os.sep}node_modules{os.sep}" not in real[len(os.path.realpath(self._top)) :]

    def _at(self, path: str) -> Iterator[str]:
        if any(path.startswith(folder + "/") for folder in self._folders):
            try:
                with open(os.path.join(self._top, path, "package.json"), "rb") as file:
                    yield str(msgspec.json.decode(file.read(), type=dict[str, object]).get("version", ""))
            except (OSError, msgspec.DecodeError):
                return


def glob_escape(path: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", path)


def _fits(want: Want, version: str) -> bool:
    if want.spec.startswith("poetry "):
        said = want.spec.removeprefix("poetry ")
        return npm_allows(said, version) or pip_allows(said, version)
    return pip_allows(want.spec, version)


def _top_level(info: str) -> set[str]:
    try:
        with open(os.path.join(info, "RECORD"), encoding="utf-8") as file:
            paths = [line.partition(",")[0] for line in file]
    except (OSError, UnicodeDecodeError):
        return set()
    first = {path.partition("/")[0] for path in paths if not path.startswith("..")}
    return {name.partition(".")[0] for name in first if not name.endswith((".dist-info", ".egg-info"))}


def read_requirements(store: Store, tree: str) -> dict[str, Requirements]:
    """Every file of a tree that decides what is installed, and what it says."""
    found = {}
    for path, entry in tree_entries(store, tree).items():
        file = requirements_in(path, entry.oid, partial(read_blob, store, tree, path))
        if file is not None:
            found[path] = file
    return found


def unmet(store: Store, base: str, tree: str, installed: Installed) -> list[str]:
    """The files of `tree` that ask for what these folders do not have, though they were right for `base`."""
    if base == tree:
        return []
    before, after = read_requirements(store, base), read_requirements(store, tree)
    # A file that is gone asks for nothing; a new lockfile is not what these folders were made from.
    bad = {
        path
        for path, now in after.items()
        if now.rest != before.get(path, Requirements()).rest
        and (path in before or posixpath.basename(path) not in OPAQUE)
    }
    doubt: list[
        tuple[Want, str]
    ] = []  # not there, or there although nothing asks for it: if used, it is wrong
    for path, now in after.items():
        was = before.get(path, Requirements()).wants
        fresh = {want for want in now.wants - was if want.kind != "build"}
        for want in fresh:
            if _lacks(installed, want, posixpath.dirname(path), was):
                if _stands_aside(path):
                    doubt.append((want, path))
                else:
                    bad.add(path)
            elif want.group not in ("", "lock") and not installed.present(want, posixpath.dirname(path)):
                # What the base asked for in vain as well, at whatever version, nobody has missed so far.
                doubt += [] if any(_same(old, want) for old in was) else [(want, path)]
    asked = {(want.kind, want.name) for file in after.values() for want in file.wants}
    for path, file in before.items():
        doubt += [(want, path) for want in file.wants if (want.kind, want.name) not in asked]
    return sorted(bad | _used(store, tree, doubt, installed))


def _stands_aside(path: str) -> bool:
    """Is it the manifest of benchmarks or examples? What only they need, no check misses."""
    return not set(_ASIDE).isdisjoint(path.split("/")[:-1])


def _lacks(installed: Installed, want: Want, folder: str, was: frozenset[Want]) -> bool:
    if want.kind == "script":  # one that is new is not there, which a test would say; an old one is stale
        return any(old.kind == "script" and old.name == want.name for old in was)
    former = [old for old in was if _same(old, want)]
    if _comes_from_elsewhere(installed, want, folder, former):
        return True
    if former and not any(installed.has(old, folder) for old in former):
        return False  # the user works with something else than the base asks for, and goes on with it
    mates = [old for old in was if old.group == want.group]
    if want.group == "lock":  # a new one is not what the folder was made from
        known = installed.present(want, folder) or bool(former)
        return bool(mates) and known and not installed.has(want, folder)
    # Few install all of an extra or of what development needs: what is absent is wrong only where it is used.
    return (not want.group or installed.present(want, folder)) and not installed.has(want, folder)


def _comes_from_elsewhere(installed: Installed, want: Want, folder: str, former: list[Want]) -> bool:
    """Does it come from elsewhere, or hash to something else, than what is there at the same version?"""
    held = [
        old for old in former if want.group != "lock" or old.spec == want.spec or installed.has(old, folder)
    ]
    return bool(held) and all(old.source != want.source for old in held)


def _same(old: Want, want: Want) -> bool:
    return (old.kind, old.name) == (want.kind, want.name)


def _used(store: Store, tree: str, doubt: list[tuple[Want, str]], installed: Installed) -> set[str]:
    """The files that have to do with something that the tree's own code imports."""
    gone: dict[str, set[str]] = {}
    for want, path in doubt:
        if want.kind in ("pip", "npm") and want.group != "lock":
            for name in installed.modules(want.name) if want.kind == "pip" else {want.name}:
                gone.setdefault(name, set()).add(path)
    if not gone:
        return set()
    words = "|".join(re.escape(name) for name in sorted(gone))
    found: set[str] = set()
    python = rf"^[ \t]*(import|from)[ \t]+({words})([. \t,]|$)"
    node = rf"""(require\(|from|import\(?)[ \t]*["']({words})["'/]"""
    asked_words = ["grep", "-h", "-o", "-E", "-I", "-e", python, "-e", node, tree, "--", *_SOURCES, *_BESIDE]
    out = private_call(store, asked_words, ok=(0, 1)).out.decode("utf-8", "replace")
    for name, paths in gone.items():
        if re.search(rf"""(^|[\s"']){re.escape(name)}([\s.,"'/]|$)""", out, re.MULTILINE):
            found |= paths
    return found


def stale_files(store: Store, base: str, tree: str, paths: Collection[str]) -> dict[str, str]:
    """Of shared files those whose source differs between two trees, with that source."""
    if base == tree or not paths:
        return {}
    before, after = tree_entries(store, base), tree_entries(store, tree)
    changed = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    found = {path: next((one for one in sorted(changed) if _made_from(path, one)), "") for path in paths}
    return {path: source for path, source in found.items() if source}


def _made_from(made: str, source: str) -> bool:
    if made.endswith(COMPILED):
        return source.endswith(_NATIVE) or posixpath.basename(source) in _BUILDS
    if source.endswith(".py"):
        return False
    stem = posixpath.basename(made).removesuffix(".py").removesuffix(".mo")
    stem = re.sub(r"_pb2(_grpc)?$", "", stem)
    return posixpath.basename(source).partition(".")[0] == stem
