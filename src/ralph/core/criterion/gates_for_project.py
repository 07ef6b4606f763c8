"""Which gates a project should have: one of each kind a language and package, by level. Pure.

For a loop one criterion is chosen (`propose`); here all checks that fit are collected, each with the
reason why it is there and the level at which it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ralph.core.criterion.manifests import language_of
from ralph.core.criterion.proposal import LAYER_WORDS, Candidate, Check, Manifest, ProjectFacts
from ralph.core.criterion.rank import best_of, rank
from ralph.core.model.gate import Gate
from ralph.core.toolchains.classify_command import sort_command
from ralph.core.toolchains.kinds import LEVEL_OF, LEVELS, Level, gate_kind
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import KINDS, Kind
from ralph.core.toolchains.split_command import split

_NAMES = {"test": "tests"}
_NODE_RUNNERS = ("npm:", "yarn:", "pnpm:", "bun:")
_IMPLIED = frozenset({"compileall"})  # whatever compiles, tests and linters see too
_ORDER: tuple[Kind, ...] = ("lint", "format", "types", "build", "test", "docs", "security")


class Planned(Struct, frozen=True, kw_only=True):
    """A gate to be, and why."""

    name: str
    kind: Kind
    level: Level
    run: str
    cwd: str
    why: str
    network: bool = False
    resolved: bool = True
    hint: str = ""
    required: bool = True
    executes: str = ""
    where: str = ""

    def as_check(self) -> Check:
        return Check(
            name=self.name,
            run=self.run,
            kind=self.kind,
            cwd=self.cwd,
            proof=False,
            where=self.where,
            executes=self.executes,
            resolved=self.resolved,
            hint=self.hint,
        )


def kinds_at(level: Level) -> frozenset[str]:
    """The kinds of check that run at a level: its own and those of every level below."""
    upto = LEVELS[: LEVELS.index(level) + 1]
    return frozenset(kind for kind in KINDS if LEVEL_OF[kind] in upto)


def plan_gates(found: ProjectFacts, level: Level) -> tuple[Planned, ...]:
    """The gates for a project, in the order in which they are cheap."""
    usable = [one for one in found.candidates if one.kind and not one.rejected and one.tool not in _IMPLIED]
    wanted = kinds_at(level)
    chosen: list[tuple[Candidate, str]] = []
    for kind in _ORDER:
        if kind in wanted and kind != "docs":
            chosen += _security(usable) if kind == "security" else _of_kind(kind, usable, found.manifests)
    names: dict[str, int] = {}
    planned = []
    once = {(one.run, one.cwd): (one, language) for one, language in reversed(chosen)}
    for one, language in chosen:
        if once[one.run, one.cwd] != (one, language):
            continue  # `go vet` lints and checks types: one gate is enough
        base = one.tool.split()[0] if one.kind == "security" else _NAMES.get(one.kind, one.kind)
        name = base if base not in names else f"{base}-{_slug(one.cwd, language, names[base])}"
        names[base] = names.get(base, 0) + 1
        planned.append(_plan_gate(one, name))
    return tuple(planned)


def checks_beside(found: ProjectFacts, gates: Iterable[Gate]) -> dict[str, str]:
    """Kinds of check that the project has and that these gates are not, each with its command.

    Only what a file of the project tells of; a tool that a gate's own script names is part of that gate.
    """
    bodies = {one.run: one.executes for one in found.candidates if one.executes}
    texts = [f"{gate.run} ; {bodies.get(gate.run, '')}" for gate in gates]
    parts = [" ".join(words) for text in texts for words in split(text)]
    covered = {sort_command(part).kind for part in parts} | {gate_kind(gate.name, gate.run) for gate in gates}
    named = " ".join(texts)
    beside: dict[str, str] = {}
    coverage = [one for one in found.candidates if one.kind == "coverage" and not one.rejected]
    planned = [*plan_gates(found, LEVELS[-1]), *(_plan_gate(one, "coverage") for one in coverage[:1])]
    for one in planned:
        tool = sort_command(one.run).tool
        inside = bool(tool) and re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", named) is not None
        if one.where and one.kind not in covered and not inside:
            beside.setdefault(one.kind, one.run)
    return beside


def _of_kind(
    kind: Kind, usable: list[Candidate], manifests: tuple[Manifest, ...]
) -> list[tuple[Candidate, str]]:
    """In each folder what `ralph infer` would choose there, then the own tool of each language beside it."""
    found: list[tuple[Candidate, str]] = []
    here = [one for one in usable if one.kind == kind and not one.network]
    spoken: set[str] = set()  # languages that the top has a check for: packages below it are part of that
    for folder in dict.fromkeys([".", *(manifest.folder for manifest in manifests)]):
        inside = [one for one in here if one.cwd == folder]
        languages = [one.language for one in manifests if one.folder == folder and language_of(one.path)]
        if folder != "." and spoken & set(languages):
            inside = [one for one in inside if one.layer in ("docs", "ci")]
        if not inside:
            continue
        best = best_of(inside)
        own = [language for language in languages if _speaks(best, language)]
        found.append((best, own[0] if own else ""))
        for language in languages if own else ():
            other = [one for one in inside if _speaks(one, language) and not rank(one)[3]]
            if language not in own and other:
                found.append((best_of(other), language))
        spoken |= set(languages) if folder == "." else set()
    unique: dict[tuple[str, str], tuple[Candidate, str]] = {}
    for one, language in found:
        unique.setdefault((one.run, one.cwd), (one, language))
    return list(unique.values())


def _speaks(one: Candidate, language: str) -> bool:
    """Is this a tool of the language, and not a task file's word for something?"""
    if language == "node" and one.tool.startswith(_NODE_RUNNERS):
        return True
    return one.tool in {row.tool for row in toolchains().languages[language].rows}


def _security(usable: list[Candidate]) -> list[tuple[Candidate, str]]:
    found: dict[str, Candidate] = {}
    for one in sorted((one for one in usable if one.kind == "security"), key=rank):
        found.setdefault(f"{one.tool} {one.cwd}", one)
    return [(one, "") for one in found.values()]


def _plan_gate(one: Candidate, name: str) -> Planned:
    asked = one.layer in ("docs", "ci")
    why = f"{one.where or 'every project'}, {LAYER_WORDS[one.layer]}"
    if one.note:
        why += f"; {one.note}"
    return Planned(
        name=name[:30],
        kind=one.kind if one.kind in KINDS else "test",
        level=LEVEL_OF[one.kind],
        run=one.run,
        cwd=one.cwd,
        why=why,
        network=one.network,
        resolved=one.resolved,
        hint=one.hint,
        required=asked or one.kind in ("test", "build", "types", "lint", "security"),
        executes=one.executes,
        where=one.where,
    )


def _slug(folder: str, language: str, number: int) -> str:
    text = folder if folder != "." else language or str(number + 1)
    return "".join(char if char.isalnum() else "-" for char in text.lower()).strip("-")[-18:].strip("-")
