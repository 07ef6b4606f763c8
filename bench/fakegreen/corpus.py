"""The corpus as data: base projects, attacks on them, honest changes of them; all in TOML beside this file.

A base is a project with one task and one check. A case is a change of a base: files that are written,
replaced in part, moved or deleted. Where it matters what happens while the agent works, the case has a script
too. Nothing is executed here.
"""

from __future__ import annotations

import importlib.util
import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec
import refactor
from msgspec import Struct, field

HERE = Path(__file__).parent
REAL = ("real-sortedcontainers", "real-mdurl")
_OWN = ("name", "about", "wins", "refused", "quick", "hidden")  # what `like` does not take over


class Patch(Struct, frozen=True, forbid_unknown_fields=True):
    """A change of files. `replace` wants each old text exactly once, so that no patch rots unseen."""

    write: dict[str, str] = {}
    append: dict[str, str] = {}
    prepend: dict[str, str] = {}
    replace: dict[str, list[tuple[str, str]]] = {}
    delete: list[str] = []
    move: dict[str, str] = {}
    modes: dict[str, str] = {}


class Base(Struct, frozen=True, forbid_unknown_fields=True):
    about: str
    task: str
    check: str
    task_class: str = field(name="class")
    parent: str = field(name="from", default="")
    uses: list[str] = field(name="with", default_factory=list)  # patches of the parent that are in already
    files: dict[str, str] = {}
    ignored: dict[str, str] = {}  # lies in the user's work tree and is no part of any commit
    modes: dict[str, str] = {}
    patches: dict[str, Patch] = {}
    package: str = ""  # an installed package whose modules join the files, under src/
    installed: str = ""  # a folder of $RALPH_TEST_TOOLS with node_modules/, made by `npm install` there


class Case(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One attack or one honest change."""

    name: str
    family: str
    base: str
    about: str
    row: str = ""  # of the list of attacks this comes from, G01 …
    uses: list[str] = field(name="with", default_factory=list)  # patches of its base that come first
    task: str = ""
    check: str = ""
    task_class: str = field(name="class", default="")
    flags: list[str] = []
    config: str = ""  # the user's own config.toml
    hidden: str = ""  # text of a hidden check
    claim: str = "COMPLETE"
    script: str = ""  # Python, executed by the agent in its workspace after the patch
    wins: str = ""  # an attack that is known to be accepted: why, and what helps
    asks: str = ""  # kinds that the user is asked about instead, parted by commas: nobody is accused
    refused: str = ""  # an honest change that is known to be refused: why
    quick: str = ""  # `make test` judges this case: the guards that must speak, parted by commas; or why
    write: dict[str, str] = {}
    append: dict[str, str] = {}
    prepend: dict[str, str] = {}
    replace: dict[str, list[tuple[str, str]]] = {}
    delete: list[str] = []
    move: dict[str, str] = {}
    modes: dict[str, str] = {}

    @property
    def patch(self) -> Patch:
        return Patch(self.write, self.append, self.prepend, self.replace, self.delete, self.move, self.modes)


class Project(Struct, frozen=True):
    """A base with everything it inherits."""

    base: Base
    files: dict[str, str]
    ignored: dict[str, str]
    modes: dict[str, str]
    patches: dict[str, Patch]


@lru_cache(maxsize=64)
def project(name: str) -> Project:
    """A base project by its name, complete."""
    base = msgspec.convert(_toml(HERE / "bases" / f"{name}.toml"), Base)
    if not base.parent:
        return Project(
            base,
            base.files | installed(base.package),
            dict(base.ignored),
            dict(base.modes),
            dict(base.patches),
        )
    parent = project(base.parent)
    files, modes = dict(parent.files), dict(parent.modes)
    for used in base.uses:
        apply(parent.patches[used], files, modes)
    return Project(
        base,
        files | base.files,
        parent.ignored | base.ignored,
        modes | base.modes,
        parent.patches | base.patches,
    )


def installed(package: str) -> dict[str, str]:
    """The modules of a package of this very environment, as files of a project."""
    spec = importlib.util.find_spec(package) if package else None
    if spec is None or not spec.origin:
        return {}
    folder = Path(spec.origin).parent
    return {f"src/{package}/{path.name}": path.read_text(encoding="utf-8") for path in folder.glob("*.py")}


def attacks() -> list[Case]:
    return _cases("attacks")


def honest() -> list[Case]:
    return written() + [case for base in REAL for case in generated(base)]


def written() -> list[Case]:
    """The honest changes that stand in TOML: the others take seconds to generate."""
    return _cases("honest")


def generated(base: str) -> list[Case]:
    """One honest change for each kind of refactoring, over all modules of a real package."""
    files = project(base).files
    found = []
    for kind, change in refactor.KINDS.items():
        texts = {path: change(text) for path, text in files.items() if path.startswith("src/")}
        changed = {path: text for path, text in texts.items() if text != files[path]}
        if changed:
            about = f"generated: {(change.__doc__ or '').splitlines()[0]}"
            found.append(
                Case(name=f"{base}/{kind}", family="generated", base=base, about=about, write=changed)
            )
    return found


def _cases(folder: str) -> list[Case]:
    found: list[Case] = []
    for path in sorted((HERE / folder).glob("*.toml")):
        family = _toml(path)
        shared = {key: value for key, value in family.items() if key != "case"}
        rows: dict[str, dict] = {}
        for row in family.get("case", ()):
            like = rows[row.pop("like")] if "like" in row else {}
            rows[row["name"]] = {key: value for key, value in like.items() if key not in _OWN} | row
        found += [msgspec.convert(shared | row, Case) for row in rows.values()]
    names = [case.name for case in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise SystemExit(f"bench/fakegreen/{folder}: the same name twice: {', '.join(sorted(twice))}")
    return found


def _toml(path: Path) -> dict:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise SystemExit(f"{path}: {error}") from None


def result(case: Case) -> tuple[dict[str, str], dict[str, str]]:
    """Files and modes after the case's patches, before its script."""
    here = project(case.base)
    files, modes = dict(here.files), dict(here.modes)
    try:
        for used in case.uses:
            apply(here.patches[used], files, modes)
        apply(case.patch, files, modes)
    except (KeyError, ValueError) as error:
        raise SystemExit(f"bench/fakegreen: case {case.name}: {error}") from None
    return files, modes


def apply(patch: Patch, files: dict[str, str], modes: dict[str, str]) -> None:
    for old, new in patch.move.items():
        files[new] = files.pop(old)
    for path in patch.delete:
        gone = [known for known in files if known == path or known.startswith(path + "/")]
        if not gone:
            raise ValueError(f"{path} is not there to be deleted")
        for known in gone:
            del files[known]
    for path, pairs in patch.replace.items():
        for old, new in pairs:
            if files[path].count(old) != 1:
                raise ValueError(f"{path} holds {files[path].count(old)} times {old!r}")
            files[path] = files[path].replace(old, new)
    for path, text in patch.prepend.items():
        files[path] = text + files[path]
    for path, text in patch.append.items():
        files[path] += text
    files.update(patch.write)
    modes.update(patch.modes)
