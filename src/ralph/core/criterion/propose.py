"""From what was found to what is proposed: the synthesis of all layers. Pure.

Precedence: the user's own words, a matching item or use case, documents, CI, manifests. Nothing that was not
approved and tried is above medium, except what the user typed. Which command of a kind is the best one is
decided in `rank`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection

from msgspec.structs import replace

from ralph.core.criterion import named_tools, predicate, task_words
from ralph.core.criterion.aims import Lacking, by_class, by_names, deciding, every_check, for_criterion
from ralph.core.criterion.predicate import Predicate, Unclear, minimum
from ralph.core.criterion.proposal import (
    LAYER_WORDS,
    Alternative,
    Candidate,
    Check,
    Confidence,
    ProjectFacts,
    Proposal,
    join_commands,
    why_missing,
)
from ralph.core.criterion.rank import CriterionPart, Where, as_check, checks_of_kind, lower, pick, why_another
from ralph.core.model.gate import TaskClass
from ralph.core.toolchains.classify_command import sounds_like_check
from ralph.core.toolchains.load import toolchains

MAX_SHOWN = 8  # rejected alternatives that are told
_WORDS: dict[str, str] = {
    "test-pass": "the tests pass",
    "type-clean": "the type checker finds nothing",
    "lint-clean": "the linter finds nothing",
    "build-pass": "the build succeeds",
    "bug-fix": "a test that shows the bug fails before and passes after, and the suite is green",
    "implement-feature": "tests for the new code exist and pass, and the suite is green",
    "regression": "everything that is green now stays green",
    "custom": "the checks pass",
}
_MORE = re.compile(r"\b(?:rais|increas|improv|more|better|higher|add|writ|extend)", re.IGNORECASE)
_FAIL_UNDER = re.compile(r"--(?:cov-)?fail[-_]under[= ]\s*(\d+(?:\.\d+)?)")
_RISES = Predicate(sort="compare", kind="coverage", metric="coverage", op="rises")
_TEXTS = (".md", ".rst", ".txt", ".adoc", ".html")
EXAMPLES = (
    'ralph loop "make the tests pass" --check "npm test"',
    'ralph loop "raise the coverage of src/auth above 80%"',
    'ralph loop "fix the crash on empty input in src/parser.py"',
    'ralph loop "extract the retry logic from client.py" --check "npm test"',
)


def choose(
    task: str, task_class: TaskClass, found: ProjectFacts, *, until: str = "", prefix: str = ""
) -> Proposal:
    """The proposal for a task, not approved and not tried."""
    made = Proposal(task=task, task_class=task_class, until=until)
    place = Where(task, task_class, found, prefix, named_tools.names_in_text(task, task_class))
    if until:
        parsed = predicate.parse(until)
        if isinstance(parsed, Unclear):
            return refuse(made, f'"{parsed.text}" cannot be judged: {parsed.why}', parsed.example)
        rows = [
            (_from_predicate(one, for_criterion(text, one.kind, place)), predicate.words(one))
            for one, text in zip(parsed, predicate.parts(until), strict=True)
        ]
        return _join_parts(made, place, rows)
    items = [one for one in found.candidates if one.layer == "artifact"]
    if items:
        return _items(made, place, items)
    command = task_words.task_command(task)
    if command:
        return _explicit(made, place, [_check_from_user(command, place)])
    wish = task_words.unmeasured_quality(task)
    if wish or task_words.only_a_wish(task):
        why = f'nothing measures "{wish}"' if wish else "no object, number or kind of check is named in it"
        return refuse(made, f"the task names no state that could be checked: {why}")
    if task_class == "docs" or task_words.is_study(task):
        return _propose_for_text(replace(made, task_class="docs"), place)
    if task_class == "coverage":
        parsed = predicate.parse(f"coverage {task}")
        asked = (
            next((one for one in parsed if one.kind == "coverage"), _RISES)
            if isinstance(parsed, list)
            else _RISES
        )
        configured = _configured_minimum(place.found) if asked == _RISES else None
        if configured is not None and not _MORE.search(task):
            asked = replace(asked, sort="number", op=">=", value=configured[0])
        part = _from_predicate(asked, place)
        if configured is not None and not isinstance(part, Lacking):
            part = replace(part, why=(*part.why, f"{configured[1]} asks for at least {configured[0]:g} %"))
        return _join_parts(made, place, [(part, predicate.words(asked))])
    bound = (
        predicate.findings_bound(task) if task_class in ("lint-clean", "type-clean", "regression") else None
    )
    if bound is not None:
        made = replace(made, task_class="type-clean" if bound.kind == "types" else "lint-clean")
        return _join_parts(made, place, [(_from_predicate(bound, place), predicate.words(bound))])
    return _by_class(made, place)


def refuse(made: Proposal, why: str, example: str = "", check: str = "") -> Proposal:
    first = (f'ralph loop TASK --until "{example}"',) if example else ()
    if check:
        first = (f"ralph loop TASK --check {shlex.quote(check)}",)
    return replace(made, refused=why, examples=(*first, *EXAMPLES)[:4], next=check)


def _items(made: Proposal, place: Where, items: list[Candidate]) -> Proposal:
    """How an item says that it is verified: all of its commands, or none of them and the reason."""
    refused = next((one for one in items if one.rejected), None)
    if refused is not None:
        why = f"{refused.where} says that `{refused.run}` verifies it, which is not used: {refused.rejected}"
        kept = [one.run for one in items if not one.rejected]
        rest = (
            f"; its other commands ({', '.join(f'`{run}`' for run in kept)}) prove only a part"
            if kept
            else ""
        )
        return refuse(made, f"{why}{rest}; say with --check what is to prove it")
    return _explicit(made, place, [as_check(one, f"item-{n}") for n, one in enumerate(items, 1)])


def _check_from_user(command: str, place: Where) -> Check:
    """A command that the user named, in the local form that was found for it."""
    check = Check(name="check", run=command, kind="custom", cwd=place.prefix.rstrip("/") or ".", layer="task")
    found = place.found.candidates
    same = next((one for one in found if one.layer == "task" and one.was == command), None)
    return replace(check, run=same.run, resolved=same.resolved, tool=same.tool) if same else check


def _explicit(made: Proposal, place: Where, checks: list[Check]) -> Proposal:
    first = checks[0]
    says = (
        "the task names the command itself"
        if first.layer == "task"
        else f"{first.where} says how it is verified"
    )
    part = CriterionPart(tuple(checks), (f"{says} ({LAYER_WORDS[first.layer]})",), "high")
    return _finish(made, place, part, " and ".join(f"`{check.run}` exits 0" for check in checks))


def _join_parts(made: Proposal, place: Where, parts: list[tuple[CriterionPart | Lacking, str]]) -> Proposal:
    """All parts of a stated criterion, or the reason why one of them has no check."""
    whole = CriterionPart((), (), "high")
    for part, _ in parts:
        if isinstance(part, Lacking):
            thrown = _alternatives(place.found, ())
            return replace(refuse(made, part.why, check=part.check), alternatives_considered=thrown)
        whole = CriterionPart(
            (*whole.checks, *part.checks), (*whole.why, *part.why), lower(whole.level, part.level)
        )
    return _finish(made, place, whole, " and ".join(words for _, words in parts))


def _from_predicate(one: Predicate, place: Where) -> CriterionPart | Lacking:
    if one.command:
        check = replace(_check_from_user(one.command, place), run=predicate.as_command(one))
        return CriterionPart(
            (check,), (f"the criterion names the command itself ({LAYER_WORDS['task']})",), "high"
        )
    if one.metric == "coverage":
        return _coverage_part(one, place)
    if one.metric in ("errors", "findings"):
        return _check_with_bound(one, place)
    if not one.kind:
        return every_check(place)
    return by_names(one.kind, place, proof=one.sort != "compare")


def _coverage_part(one: Predicate, place: Where) -> CriterionPart | Lacking:
    """The tests with a coverage report: of the tool or language that was named, else the best ones."""
    whole = CriterionPart((), (), "high")
    for name in deciding(place) or (None,):
        tests = pick("test", place, name) or pick("coverage", place, name)
        if tests is None and name is not None:
            return Lacking(named_tools.missing(name, "coverage"), name.check)
        if tests is None:
            return Lacking("no test command was found whose coverage could be measured")
        measured = next(
            (made for best in tests.chosen if (made := coverage_check(best, one, place.found))), None
        )
        if measured is None:
            # `make test` hides its runner; another command for the same tests may not.
            others = [c for c in place.found.candidates if c.kind == "test" and c.resolved and not c.rejected]
            fitting = [c for c in others if name is None or named_tools.by(name, c, place.found)]
            measured = next((made for c in fitting if (made := coverage_check(c, one, place.found))), None)
        if measured is None:
            return Lacking(f"it is not known how to measure coverage with `{tests.chosen[0].run}`")
        why = (*tests.why, f"{measured.tool} can report coverage")
        level = "medium" if one.sort == "compare" else tests.level
        whole = CriterionPart((*whole.checks, measured), (*whole.why, *why), lower(whole.level, level))
    return whole


def _check_with_bound(one: Predicate, place: Where) -> CriterionPart | Lacking:
    """The linter whose findings are counted: one whose report is read finding by finding."""
    part = by_names(one.kind or "lint", place, proof=True)
    if isinstance(part, Lacking):
        return replace(part, why=f"{part.why}, so there is nothing to count")
    check = part.checks[0]
    if len(part.checks) > 1 or not any(one.countable == check.tool for one in toolchains().tools.values()):
        return Lacking(f"it is not known how to count what `{check.run}` finds")
    most = int(one.value) if one.sort == "number" else None
    counted = replace(check, counted="errors" if one.metric == "errors" else "findings", maximum=most)
    why = (*part.why, f"{check.tool} reports what it finds one by one")
    return CriterionPart((counted,), why, "medium" if one.sort == "compare" else part.level)


def _by_class(made: Proposal, place: Where) -> Proposal:
    part, notes = by_class(made.task_class, place)
    if isinstance(part, Lacking):
        thrown = _alternatives(place.found, ())
        why = part.why
        if thrown and part.kind:
            why += f"; `{thrown[0].criterion}` was dropped: {thrown[0].rejected_because}"
        return replace(refuse(made, why, check=part.check), alternatives_considered=thrown)
    criterion = _WORDS[made.task_class]
    done = _finish(made, place, part, criterion)
    return replace(done, warnings=(*notes, *done.warnings))


def _propose_for_text(made: Proposal, place: Where) -> Proposal:
    """Documents and studies: a structural check on a named output, or a refusal."""
    present = set(place.found.paths)
    named = task_words.named_paths(made.task)
    fresh = [path for path in named if path not in present and path.endswith(_TEXTS)][:3]
    if fresh:
        checks = tuple(
            Check(
                name=f"written-{number}", run=f"test -s {shlex.quote(path)}", kind="structure", layer="task"
            )
            for number, path in enumerate(fresh, 1)
        )
        part = CriterionPart(checks, ("the output is named in the task; its content is not judged",), "low")
        made = _finish(made, place, part, " and ".join(f"{path} exists and is not empty" for path in fresh))
        return replace(made, grade_at_most="C")
    part_of_docs = _docstrings(made, place) or checks_of_kind("docs", place, proof=False)
    if part_of_docs is not None:
        words = (
            "no public name lacks a docstring"
            if part_of_docs.checks[0].proof
            else "the documentation still builds"
        )
        return replace(_finish(made, place, part_of_docs, words), grade_at_most="C")
    kept, notes = by_class("regression", place)  # a README has no check of its own: the project's stay green
    if isinstance(kept, CriterionPart) and not task_words.is_study(made.task):
        done = _finish(made, place, kept, _WORDS["regression"])
        return replace(done, grade_at_most="C", warnings=(*notes, *done.warnings))
    why = "what is written can only be checked when its file is named and does not exist yet"
    return refuse(made, why, "`test -s docs/guide.md` passes")


def _docstrings(made: Proposal, place: Where) -> CriterionPart | None:
    lint = [
        one for one in place.found.candidates if one.tool == "ruff" and one.kind == "lint" and one.resolved
    ]
    if not lint or "docstring" not in made.task.lower():
        return None
    paths = place.found.paths
    inside = [
        name
        for name in task_words.named_paths(made.task)
        if any(path == name or path.startswith(name + "/") for path in paths)
    ]
    run = f"{lint[0].run.split(' check')[0]} check --select D1 {shlex.quote(inside[0] if inside else '.')}"
    check = replace(as_check(lint[0], "docs"), run=run, kind="docs")
    return CriterionPart(
        (check,), (f"{lint[0].where} has ruff, whose rules D1 find missing docstrings",), "medium"
    )


def _alternatives(found: ProjectFacts, checks: tuple[Check, ...]) -> tuple[Alternative, ...]:
    """What was seen and not taken, with the reason; what resembles a check first."""
    used = {(check.run, check.cwd) for check in checks}
    kinds = {check.kind for check in checks}
    rows: dict[str, str] = {}
    for one in sorted(found.candidates, key=lambda one: not (one.kind or sounds_like_check(one.run))):
        text = one.was or one.run
        if (one.run, one.cwd) in used or text in rows:
            continue
        why = _rejection(one, kinds, checks)
        if why and (one.rejected or not kinds or one.kind in kinds):
            rows[text] = why
    return tuple(Alternative(text[:200], why[:300]) for text, why in list(rows.items())[:MAX_SHOWN])


def _rejection(one: Candidate, kinds: Collection[str], checks: tuple[Check, ...]) -> str:
    where = one.where or "the files"
    if one.rejected.endswith(("is no check that is known", "is not used as a check here")):
        return ""
    if one.rejected:
        return f"{one.rejected} ({where})"
    if not one.where and one.kind not in kinds:
        return ""  # fits every project, and nobody looked for it
    if one.network:
        return f"{where}: it needs the network"
    if one.kind in kinds:  # something was chosen of this kind
        return f"{where}: {why_another(one, checks)}"
    return "" if one.resolved else f"{where}: {why_missing(one.run, one.hint)}"


def _finish(made: Proposal, place: Where, part: CriterionPart, criterion: str) -> Proposal:
    chosen = _unique(part.checks)
    level = part.level
    warnings = []
    for check in chosen:
        if not check.resolved:
            level = lower(level, "medium")
            warnings.append(why_missing(check.run, check.hint))
    typed = all(check.layer == "task" for check in chosen) and level == "high"
    now: Confidence = level if typed else lower(level, "medium")
    first = f"the task is of class {made.task_class} (by its wording)"
    return replace(
        made,
        criterion=criterion,
        verification_command=join_commands(chosen),
        rationale=(first, *dict.fromkeys(part.why), *place.found.demands[:2]),
        confidence=now,
        reachable=level,
        alternatives_considered=_alternatives(place.found, chosen),
        needs_human_confirmation=now != "high",
        checks=chosen,
        warnings=(*warnings, *place.found.skipped[:3]),
    )


def _unique(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Each command once, each name once."""
    found: dict[tuple[str, str], Check] = {}
    names: dict[str, int] = {}
    for check in checks:
        if (check.run, check.cwd) in found:
            continue
        names[check.name] = names.get(check.name, 0) + 1
        number = names[check.name]
        found[check.run, check.cwd] = check if number == 1 else replace(check, name=f"{check.name}-{number}")
    return tuple(found.values())


def _configured_minimum(found: ProjectFacts) -> tuple[float, str] | None:
    """The coverage that the project asks for by itself, and where it says so."""
    for manifest in found.manifests:
        for sign, line in manifest.signs.items():
            if sign.startswith("fail_under:"):
                return float(sign.partition(":")[2]), manifest.places.get(
                    sign, f"{manifest.path}:{line or 1}"
                )
    for one in found.candidates:
        if hit := _FAIL_UNDER.search(f"{one.was} {one.run} {one.executes}"):
            return float(hit[1]), one.where
    return None


def coverage_check(tests: Candidate, predicate: Predicate, found: ProjectFacts) -> Check | None:
    """The check that measures coverage with this test command; None when nobody knows how."""
    rows = {
        one.coverage.tool or name: one.coverage for name, one in toolchains().tools.items() if one.coverage
    }
    row = rows.get(tests.tool)
    if row is None:
        return None
    signs = {sign for manifest in found.manifests for sign in manifest.signs}
    text = row.otherwise if row.needs and row.needs not in signs else row.run
    beside = tests.run.split()[0].rpartition("/")[0]
    if beside.endswith("bin"):  # the environment that has the runner, not the system's interpreter
        text = text.replace("python3 ", f"{beside}/python3 ")
    old, new = row.replace
    run = tests.run.replace(old, new, 1) if old else tests.run
    if re.match(r"npm (?:run |test\b|t\b)", run) and " -- " not in run:
        run += " --"  # else npm takes the options for its own
    check = replace(as_check(tests, "coverage"), kind="coverage", read="coverage")
    return replace(check, run=text.replace("{run}", run), minimum=minimum(predicate))
