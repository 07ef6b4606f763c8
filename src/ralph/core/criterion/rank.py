"""The best command of one kind in the packages a task is about, and how sure that is. Pure.

Rule 28: high needs documents or CI, one more layer that agrees on the tool, and a command that resolves; one
layer alone is medium.
"""

from __future__ import annotations

import posixpath
import re
import shlex

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.criterion import named_tools, task_words
from ralph.core.criterion.named_tools import Name, NamedInTask
from ralph.core.criterion.proposal import (
    LAYER_WORDS,
    TRUST,
    Candidate,
    Check,
    Confidence,
    Layer,
    ProjectFacts,
    why_missing,
)
from ralph.core.toolchains.classify_command import script_of, sort_command
from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.narrow import EXAMPLE, WHOLE, narrowness
from ralph.core.toolchains.rows import Kind, ToolRow
from ralph.core.toolchains.split_command import split

MAX_PACKAGES = 4  # packages that one criterion may join
_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


class Where(Struct, frozen=True):
    """A task and the place it was given at."""

    task: str
    task_class: str
    found: ProjectFacts
    prefix: str  # folder inside the repository where ralph was called
    named: NamedInTask = NamedInTask()  # tools and languages that decide


class Picked(Struct, frozen=True):
    chosen: tuple[Candidate, ...]
    why: tuple[str, ...]
    level: Confidence


class CriterionPart(Struct, frozen=True):
    """Checks with their reasons: one part of a criterion."""

    checks: tuple[Check, ...]
    why: tuple[str, ...]
    level: Confidence


def lower(one: Confidence, other: Confidence) -> Confidence:
    return min(one, other, key=_ORDER.index)


def pick(kind: Kind | None, place: Where, name: Name | None = None) -> Picked | None:
    """The best command of a kind in each package the task is about; None when there is none.

    With a name only commands by that tool or for that language; without a kind, those that do it besides.
    """
    kinds = (kind,) if kind else ()
    usable = [
        one
        for one in place.found.candidates
        if (kind is None or one.kind == kind)
        and not (one.rejected or one.network or not one.kind)
        and (name is None or named_tools.by(name, one, place.found, kinds))
    ]
    chosen: list[Candidate] = []
    for folder in _folders(place, usable):
        here = [one for one in usable if one.cwd == folder]
        pure = [one for one in here if name is None or named_tools.pure(name, one)]
        chosen.append(best_of(pure or here))
        refused = [
            one for one in place.found.candidates if one.rejected and one.executes and one.cwd == folder
        ]
        if name is None and kind == "lint" and any(_script(one)[1] == "lint" for one in refused):
            chosen += _of_other_languages(chosen[-1], here)
    why: list[str] = []
    level: Confidence = "high"
    for best in chosen:
        here = [one for one in usable if one.cwd == best.cwd]
        agreeing = {_group(one.layer): one for one in here if one.tool == best.tool and one is not best}
        agreeing.pop(_group(best.layer), None)
        why.append(_reason(best))
        why += [f"{one.where} agrees ({LAYER_WORDS[one.layer]})" for one in agreeing.values() if one.where]
        groups = {_group(best.layer), *agreeing}
        strong = bool(groups & {"docs", "ci"}) and len(groups) > 1 and best.resolved
        level = lower(level, "high" if strong else "medium")
    return Picked(tuple(chosen), tuple(why), level) if chosen else None


def _of_other_languages(best: Candidate, here: list[Candidate]) -> list[Candidate]:
    """Where the project's own `lint` cannot be used, no linter of one language stands for all of them."""
    family = toolchains().family_of
    return [
        best_of([one for one in here if family(one.tool) == other])
        for other in sorted({family(one.tool) for one in here} - {family(best.tool), ""})
    ]


def _folders(place: Where, usable: list[Candidate]) -> list[str]:
    """The packages to take a command from: those the task names, else the top, else all if they are few."""
    asked = task_words.scopes(place.task, place.prefix, place.found.manifests)
    here = {one.cwd for one in usable}
    named = [folder for folder in asked if folder in here]
    if named or "." in here:
        return named or ["."]
    return sorted(here) if len(here) <= MAX_PACKAGES else []


def checks_of_kind(
    kind: Kind, place: Where, *, proof: bool, name: Name | None = None
) -> CriterionPart | None:
    """The checks of one kind, named after it."""
    picked = pick(kind, place, name)
    return None if picked is None else _part(picked, kind, place, proof=proof)


def of_tool(name: Name, place: Where, aims: tuple[Kind, ...]) -> CriterionPart | None:
    """The checks by a tool that was named: of the kind that the task is about, else of its own kind."""
    kinds = named_tools.kinds_of(name, aims)
    for kind in kinds:
        part = checks_of_kind(kind, place, proof=True, name=name)
        if part is not None:
            return part
    # `make lint` may start a linter and a type checker: it is by both.
    picked = None if name.many and aims else pick(None, place, name)
    return None if picked is None else _part(picked, kinds[0], place, proof=True)


def _part(picked: Picked, kind: Kind, place: Where, *, proof: bool) -> CriterionPart:
    single = len(picked.chosen) == 1
    checks = tuple(
        replace(as_check(one, kind if single else f"{kind}-{_slug(one.cwd)}"), proof=proof)
        for one in picked.chosen
    )
    part = CriterionPart(checks, picked.why, picked.level)
    return _narrow_to_named(part, place) if kind == "test" and proof and single else part


def _narrow_to_named(part: CriterionPart, place: Where) -> CriterionPart:
    """The named test files as the proof, the whole suite beside it."""
    check = part.checks[0]
    named = task_words.named_tests(place.task, place.found.paths)
    inside = [path for path in named if check.cwd == "." or path.startswith(check.cwd + "/")]
    if not inside or place.task_class not in ("test-pass", "bug-fix"):
        return part
    runner = check
    if not _select(check.tool):  # `make test` cannot be told which test; the runner itself can
        usable = [one for one in place.found.candidates if one.kind == "test" and one.resolved]
        other = [one for one in usable if one.cwd == check.cwd and _select(one.tool) and not one.rejected]
        if not other:
            return part
        runner = as_check(other[0], check.name)
    files = [path if check.cwd == "." else path[len(check.cwd) + 1 :] for path in inside]
    run = f"{runner.run} {_select(runner.tool).format(' '.join(shlex.quote(path) for path in files))}"
    why = f"the task names {', '.join(inside)}: those tests are the proof, the suite stays green"
    checks = (replace(runner, name="test-named", run=run), replace(check, proof=False))
    return CriterionPart(checks, (*part.why, why), part.level)


def _select(tool: str) -> str:
    """How a runner is told which test files to execute; "" where it cannot be."""
    return toolchains().tools.get(tool, ToolRow()).select


def _group(layer: Layer) -> str:
    return "manifest" if layer == "table" else layer


def rank(one: Candidate) -> tuple[object, ...]:
    """Smaller is better; min() is stable, and CI files put their main verification first.

    Whether its tool is here does not count: a check that is right and not installed is said with its install
    line, and another one that happens to be installed is not what was asked (`best_of`).
    """
    text = one.was or one.run
    last = posixpath.basename(text.split()[-1])
    plain = one.layer != "manifest" or last in ("test", "lint", "build", "check", "typecheck")
    unclear = one.kind == "test" and one.tool.rsplit(":", 1)[-1] == "check"  # "check" is often lint
    narrow = narrowness(text) if one.kind in ("test", "coverage") else WHOLE
    script = "/" in text.split()[0] and not re.match(r"(?:\./)?(?:vendor|node_modules|\.?venv|build)/", text)
    absent = script and not one.resolved  # a file that is not there is nothing to install
    # Only what the project itself says can be wider: a usual command stands behind a part that it names.
    whole = (absent, narrow == EXAMPLE, one.usual or one.aside, narrow)
    trust = 9 if one.usual and one.layer == "docs" else TRUST[one.layer]  # a name that a sentence mentions
    return (*whole, one.aside, trust, unclear, not plain)


def best_of(here: list[Candidate]) -> Candidate:
    """The best command of one kind in one folder: the one answer of `ralph infer` and `ralph init`."""
    return _installed_twin(_own_script(min(here, key=rank), here), here)


def _own_script(best: Candidate, here: list[Candidate]) -> Candidate:
    """The project's own `lint` for a part of it, and its own package manager for a script that CI starts."""
    runner, name = _script(best)
    if best.kind == "lint" and name != "lint" and best.tool != "pre-commit":
        own = [one for one in here if _script(one)[1] == "lint" and _lints_with(one) != {best.tool}]
        return min(own, key=rank, default=best)
    others = toolchains().packagers - {runner}
    if best.layer == "ci" and runner in toolchains().packagers:
        own = [one for one in here if one.layer == "manifest" and _script(one)[0] in others]
        return next((one for one in own if _script(one)[1] == name and one.resolved >= best.resolved), best)
    return best


def _script(one: Candidate) -> tuple[str, str]:
    return script_of(one.was or one.run) or ("", "")


def _lints_with(one: Candidate) -> set[str]:
    """The linters in the body of a script; nothing where it starts other scripts."""
    told = [sort_command(shlex.join(words)) for words in split(one.executes.rsplit(" -> ", 1)[-1])]
    return {part.tool for part in told if part.kind == "lint"}


def makes_environments(tool: str) -> bool:
    return toolchains().tools.get(tool.split(":", maxsplit=1)[0], ToolRow()).environment == "makes"


def _installed_twin(best: Candidate, here: list[Candidate]) -> Candidate:
    """The same check in a form that starts here: by the same tool, or by what its environment starts."""
    tools = toolchains().tools
    around = makes_environments(best.tool)
    if best.resolved and not (around and best.kind == "test"):  # a box has no network to make environments
        return best
    if not around and len(split(best.executes or best.was or best.run)) > 1:
        return best  # `mocha && tsd` is more than mocha
    twins = [
        one
        for one in here
        if one.resolved
        and narrowness(one.was or one.run) <= narrowness(best.was or best.run)
        and (
            (one.tool == best.tool and not best.resolved)
            or (around and one.tool in tools and tools[one.tool].environment == "inside")
        )
        and not (best.resolved and one.layer == "table")
    ]
    return min(twins, key=rank) if twins else best


def why_another(one: Candidate, checks: tuple[Check, ...]) -> str:
    """Why a command of the kinds that were chosen is not among these checks."""
    if one.kind == "test" and narrowness(one.was or one.run) != WHOLE:
        return "it executes only some of the tests"
    trust = min(TRUST[check.layer] for check in checks)
    if TRUST[one.layer] > trust:
        return "less trusted than what was chosen"
    if not one.resolved:
        return why_missing(one.run, one.hint)
    if makes_environments(one.tool):
        return "it makes environments first, which needs the network"
    if one.usual or one.aside:
        return "only its name is mentioned" if one.usual else "not every change goes through its CI job"
    return f"another command {'of the same place ' if TRUST[one.layer] == trust else ''}was chosen"


def _reason(one: Candidate) -> str:
    text = f"{one.where or 'the files'}: `{one.was or one.run}` ({LAYER_WORDS[one.layer]})"
    if one.executes:
        text += f", which executes `{one.executes}`"
    if one.was and one.was != one.run:
        text += f"; here as `{one.run}`"
    return text + (f"; {one.note}" if one.note else "")


def as_check(one: Candidate, name: str) -> Check:
    return Check(
        name=name[:30],
        run=one.run,
        kind=one.kind or "custom",
        cwd=one.cwd,
        layer=one.layer,
        where=one.where,
        executes=one.executes,
        resolved=one.resolved,
        hint=one.hint,
        tool=one.tool,
    )


def _slug(folder: str) -> str:
    text = "".join(char if char.isalnum() else "-" for char in folder.lower()).strip("-")
    return text[-20:].strip("-") or "top"
