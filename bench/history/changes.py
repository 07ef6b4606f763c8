"""The table of projects, and the changes that follow from it: two successive releases, in one of three ways.

- `fix`: the base is the old release with the tests of the new one, which are red there.
- `feature`: the base is the old release whole; the new one brings its own tests, some of them red without it.
- `other`: like `feature`, but no test of the new release is red on the old source (a refactoring, documents,
  packaging). Nothing can prove such a change; the honest ending is that nothing got worse.

`trial` finds out which of them a pair of releases is, by calling the check without Ralph.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

import msgspec
import registry
from msgspec import Struct

Kind = Literal["fix", "feature", "other"]
Files = dict[str, tuple[bytes, bool]]  # by path: content, executable
# What a user of either language keeps out of git; added to the project's own list in base and result alike.
IGNORED = "\n# local\n.venv/\nnode_modules/\n__pycache__/\n.pytest_cache/\n.hypothesis/\n"
_CHANGELOG = re.compile(
    r"^(?:docs?/)?(?:[^/]*(?:change|history|news|release)[^/]*|readme[^/]*)\.?\w*$", re.IGNORECASE
)
_RELEASE = re.compile(
    r"^(?:#+\s*|[*-]\s+|\.\.\s+)?\W{0,3}(?:version|release)?\s*v?(\d+(?:\.\d+)+)\b", re.IGNORECASE
)
_MAX_NOTES = 3000
TESTS = (
    "tests/*",
    "test/*",
    "testing/*",
    "*/tests/*",
    "*/test/*",
    "test_*.py",
    "test.js",
    "tests.py",
    "conftest.py",
)


class Project(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One row of projects.toml."""

    name: str
    registry: Literal["pypi", "npm"]
    versions: tuple[str, ...]
    check: str
    needs: tuple[str, ...]  # what the check needs besides the project, as pip and npm write it
    tests: tuple[str, ...] = TESTS
    source: str = ""  # folder that an editable install puts on the path
    generated: tuple[str, ...] = ()  # in the release, but ignored by the project's git: made by its build
    without: tuple[str, ...] = ()  # in the release, but not in the project's git


class Pair(Struct, frozen=True):
    project: Project
    old: str
    new: str

    @property
    def name(self) -> str:
        return f"{self.project.name.replace('/', '+')}-{self.new}"


class Change(Struct, frozen=True):
    """One honest change."""

    pair: Pair
    kind: Kind

    @property
    def name(self) -> str:
        return f"{self.pair.name}-{self.kind}"


class Sides(Struct, frozen=True):
    """What is committed before and after, and what stands beside it without being committed."""

    base: Files
    result: Files
    generated: Files


def projects(path: Path) -> list[Project]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return msgspec.convert(table["project"], list[Project])


def pairs(project: Project) -> Iterator[Pair]:
    for old, new in zip(project.versions, project.versions[1:], strict=False):
        yield Pair(project, old, new)


def sides(cache: Path, pair: Pair, kind: Kind) -> Sides:
    project = pair.project
    old, new = (_files(cache, project, version) for version in (pair.old, pair.new))
    generated = {path: file for path, file in old.items() if _one_of(path, project.generated)}
    for files in (old, new):
        for path in [path for path in files if _one_of(path, project.generated + project.without)]:
            del files[path]
        ignored = files.get(".gitignore", (b"", False))[0]
        own = "".join(f"/{path}\n" for path in project.generated)
        files[".gitignore"] = (ignored + f"{IGNORED}{own}".encode(), False)
    if kind == "fix":
        old = {path: file for path, file in old.items() if not _one_of(path, project.tests)}
        old |= {path: file for path, file in new.items() if _one_of(path, project.tests)}
    return Sides(old, new, generated)


def release_notes(files: Files, old: str, new: str) -> str:
    """What the changelog says of the releases after `old`, up to `new`; "" where there is none."""
    after, last = _numbers(old), _numbers(new)
    for path in sorted(files, key=lambda path: ("readme" in path.lower(), path.count("/"), path)):
        if not _CHANGELOG.search(path):
            continue
        found: list[str] = []
        taken = False
        for line in files[path][0].decode("utf-8", "replace").splitlines():
            head = _RELEASE.match(line)
            if head:
                taken = after < _numbers(head[1]) <= last
            if taken and line.strip(" =-~^#*"):
                found.append(line.rstrip())
        if found:
            return "\n".join(found)[:_MAX_NOTES]
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _files(cache: Path, project: Project, version: str) -> Files:
    top = registry.unpacked(cache, project.registry, project.name, version)
    return {
        path.relative_to(top).as_posix(): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def _one_of(path: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(path, pattern) for pattern in patterns)
