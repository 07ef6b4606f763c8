"""Which checks a class of task needs, held to the tools and languages that were named. Pure.

A named tool that is not found is a refusal, and so is a named language where the aim is that something
becomes green. A feature or a fix may name a language as its subject ("highlight Rust code"): there a language
that is not found only takes the certainty away, so that somebody is asked. A language that is the subject of
something else ("the tests of the Ruby lexer") decides only where there is a package of it.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.criterion import named_tools, task_words
from ralph.core.criterion.named_tools import GREEN, Name, NamedInTask
from ralph.core.criterion.proposal import why_missing
from ralph.core.criterion.rank import CriterionPart, Where, checks_of_kind, lower, of_tool
from ralph.core.model.gate import TaskClass
from ralph.core.toolchains.kinds import AIMS
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import Kind

_MISSING = {"test": "runs the tests", "types": "checks types", "lint": "lints", "build": "builds"}
_CLASSES: dict[str, TaskClass] = {
    "test": "test-pass",
    "coverage": "coverage",
    "types": "type-clean",
    "lint": "lint-clean",
    "format": "lint-clean",
    "build": "build-pass",
}


class Lacking(Struct, frozen=True):
    """Why there is no check; `check` is one that would do."""

    why: str
    check: str = ""
    kind: str = ""  # what was looked for, where nothing was named


def missing_kind(kind: str) -> str:
    return _MISSING.get(kind, f"is a check of kind {kind}")


def for_criterion(text: str, kind: str, place: Where) -> Where:
    """The place for one part of a stated criterion: its own names, else those of the task that concern it."""
    own = named_tools.names_in_text(text, _CLASSES.get(kind, "test-pass"))
    if not own.names:
        tools = tuple(name for name in place.named.tools if name.many or name.kind == kind)
        there = tuple(name for name in place.named.languages if named_tools.present(name, place.found))
        own = NamedInTask(tools, there)
    return replace(place, named=own)


def deciding(place: Where) -> tuple[Name, ...]:
    """Everything that is named and must be what is judged."""
    return (*place.named.tools, *_languages(place))


def by_names(kind: Kind, place: Where, *, proof: bool) -> CriterionPart | Lacking:
    """The checks of a kind by everything that was named; without a name, the best one."""
    names = deciding(place)
    if not names:
        part = checks_of_kind(kind, place, proof=proof)
        return part if part is not None else Lacking(f"no command that {missing_kind(kind)} was found")
    whole = CriterionPart((), (), "high")
    for name in names:
        if name.kind is None:
            part = checks_of_kind(kind, place, proof=proof, name=name)
        else:
            part = of_tool(name, place, (kind,))
            part = part and replace(part, checks=tuple(replace(one, proof=proof) for one in part.checks))
        if part is None:
            return Lacking(named_tools.missing(name, kind), _example(name, kind))
        whole = _both(whole, part)
    return whole


def every_check(place: Where) -> CriterionPart | Lacking:
    """Tests, and types, lint and build as far as they can be started here: nothing may fail."""
    whole = CriterionPart((), (), "high")
    for kind in ("test", "types", "lint", "build"):
        part = checks_of_kind(kind, place, proof=True)
        weak = part is not None and whole.checks and part.checks[0].tool == "compileall"
        if part is None or weak:
            continue
        if kind == "test" or all(check.resolved for check in part.checks):  # tests that cannot start are told
            whole = _both(whole, part)
    return whole if whole.checks else Lacking("no command that checks anything was found")


def by_class(aim: TaskClass, place: Where) -> tuple[CriterionPart | Lacking, tuple[str, ...]]:
    """Everything that a class asks for, and what is to be said about it."""
    proofs, keeps = AIMS[aim]
    whole = CriterionPart((), (), "high")
    for name in place.named.tools:
        part = of_tool(name, place, proofs)
        if part is None:
            return Lacking(named_tools.missing(name), name.check), ()
        whole = _both(whole, part)
    covered = {check.kind for check in whole.checks} | {
        kind for name in place.named.tools for kind in name.also
    }
    if whole.checks and aim in GREEN and not named_tools.generic(place.named, aim):
        proofs, keeps = (), ()  # the tool's own name was what made it this class
    notes: list[str] = []
    left_out: list[str] = []
    for kind in (*proofs, *keeps):
        if kind in proofs and kind in covered:
            continue
        found = _of_languages(kind, place, proof=kind in proofs, strict=aim in GREEN, notes=notes)
        if isinstance(found, Lacking):
            return found, ()
        part = found
        if part is None and kind in proofs and not (whole.checks and aim not in GREEN):
            why = f"no command that {missing_kind(kind)} was found in documents, manifests or CI"
            return Lacking(why, kind=kind), ()
        if part is None or (kind in keeps and not _worth_keeping(kind, part)):
            continue
        away = next((one for one in part.checks if not one.resolved), None)
        if away and kind in keeps and kind != "test":  # without its tests nothing would be judged
            left_out.append(f"{why_missing(away.run, away.hint)}; it is not asked to stay green")
            continue
        whole = _both(whole, part)
    if not whole.checks:
        return Lacking("no command that checks anything was found in documents, manifests or CI"), ()
    if notes:
        whole = replace(whole, level="low")
    elif aim == "regression":
        # A verb that says nothing of its aim: green checks cannot tell whether the wish was granted.
        whole = replace(whole, level=lower(whole.level, "medium"))
    return whole, tuple(dict.fromkeys((*notes, *left_out)))


def _of_languages(
    kind: Kind, place: Where, *, proof: bool, strict: bool, notes: list[str]
) -> CriterionPart | Lacking | None:
    languages = _languages(place)
    whole: CriterionPart | None = None
    for name in languages:
        part = checks_of_kind(kind, place, proof=proof, name=name)
        if part is None and strict:
            return Lacking(named_tools.missing(name, kind), _example(name, kind))
        if part is None and kind == "test":
            notes.append(
                f"the task names {name.says}, and nothing was found here that checks {name.says} code"
            )
        whole = part if whole is None else whole if part is None else _both(whole, part)
    for name in () if languages else _spoken_by(place):
        whole = whole or checks_of_kind(kind, place, proof=proof, name=name)
    if whole is not None and proof:
        return whole
    rest = checks_of_kind(kind, place, proof=proof)  # what may not break is not only what was named
    return rest if whole is None else whole if rest is None else _both(whole, rest)


def _languages(place: Where) -> tuple[Name, ...]:
    """The languages that decide: those that were named, else those of the files that were named."""
    found = place.found
    said = tuple(name for name in place.named.languages if not name.weak or named_tools.present(name, found))
    if said or place.named.tools:
        return said
    files = [path for path in task_words.named_paths(place.task) if path in set(found.paths)]
    spoken = {
        name.family: name
        for name in reversed(toolchains().named_languages)
        if any(path.endswith(name.endings) for path in files)
    }
    return tuple(
        name
        for name in spoken.values()
        if any(named_tools.by(name, one, found) and one.kind == "test" for one in found.candidates)
    )


def _spoken_by(place: Where) -> tuple[Name, ...]:
    """The languages of the tools that were named: "the tests and ESLint" are more likely Node's tests."""
    families = {name.family for name in place.named.tools}
    return tuple(name for name in toolchains().named_languages if name.family in families and not name.weak)


def _example(name: Name, kind: str) -> str:
    if name.kind is not None or kind in ("test", "coverage"):
        return name.check
    return toolchains().examples.get((name.family, kind), name.check)


def _worth_keeping(kind: str, part: CriterionPart) -> bool:
    """Tests and builds are; style only where documents or CI ask for it (rule 20)."""
    first = part.checks[0]
    return first.tool != "compileall" and (kind in ("test", "build") or first.layer in ("docs", "ci"))


def _both(one: CriterionPart, other: CriterionPart) -> CriterionPart:
    return CriterionPart((*one.checks, *other.checks), (*one.why, *other.why), lower(one.level, other.level))
