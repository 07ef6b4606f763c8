"""What plan and build mode begin with: specs and plan, read once, before an agent is called.

Specs are read from the commit that the loop starts from: what an agent is told to build must be what it can
read. The plan is read from the work tree, because `ralph plan` writes it there and it may be edited by hand.
A plan that contradicts itself is refused; one that was made for other specs or other code is made anew.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable

from ralph.core.model.order import Brief
from ralph.core.model.plan.items import NAME, Plan, digest_of, stale
from ralph.core.model.verdict import Finding
from ralph.core.plan.file import check_file, parse_plan
from ralph.core.specs.lint import check_specs, clarity_of
from ralph.core.specs.parse import criteria_of, parse_spec
from ralph.errors import UserError
from ralph.shell.git.project import Project, user_call
from ralph.shell.plan.request import FROM_SPECS, Briefed, PlanAsk
from ralph.shell.plan.spec_files import FOLDER, MAX_BYTES, MAX_FILES, read_text

# What only says that the plan is not made for these specs; the rest contradicts itself.
_OUTDATED = ("plan-uncovered", "plan-criterion", "plan-missing", "plan-empty")
MAX_ATTEMPTS = 5


def brief_of(ask: PlanAsk, project: Project, base: str, task: str, *, with_changes: bool) -> Briefed:
    texts = _specs(project, base, with_changes=with_changes)
    specs = [parse_spec(path, text) for path, text in sorted(texts.items())]
    findings = check_specs(specs)
    warnings = []
    serious = [one for one in findings if one.severity != "P2"]
    if serious:
        first = serious[0]
        warnings.append(
            f"problems in the specs: {len(serious)}; the first: {first.path}:{first.line}: {first.message}"
            " (all of them: ralph specs check)"
        )
    criteria = tuple(criteria_of(specs)) if texts else None
    digest = digest_of(texts) if texts else ""
    code = code_digest(user_call(project, ["ls-tree", "-z", base]).out)
    plan, planning = _plan(project, criteria, digest, code, refuse=ask.mode != "plan" and not ask.refresh)
    if plan is not None and not planning and task != FROM_SPECS:
        planning = "a task was given, and the plan may be for another"
    if not texts and plan is None and task == FROM_SPECS:
        raise UserError(
            "there is nothing to plan from",
            code="E-PLAN-NOTHING",
            why="expected specs in specs/, an IMPLEMENTATION_PLAN.md, or a task in words",
            next='ralph specs new "log in"',
        )
    tracked = user_call(project, ["cat-file", "-e", f"{base}:{NAME}"], ok=None).code == 0
    there = os.path.lexists(os.path.join(project.top, NAME))
    if there and tracked and _is_changed(project, NAME) and not with_changes:
        warnings.append(f"{NAME} has changes that are not committed: commit it before you merge the result")
    ignored = user_call(project, ["check-ignore", "-q", NAME], ok=None).code == 0
    if not tracked and (there or ignored):
        why = "ignored by git" if ignored else "not committed"
        warnings.append(f"{NAME} is {why}, so it stays out of the result; ralph plan --show has its ticks")
    brief = Brief(
        mode="plan" if ask.mode == "plan" else "build",
        specs=digest,
        criteria=criteria,
        clarity=clarity_of(specs, findings),
        plan=plan,
        in_tree=tracked or not (there or ignored),
        planning="asked for" if ask.mode == "plan" or ask.refresh else planning,
        replan_every=ask.replan_every,
        readers=ask.readers,
        allow_red=ask.allow_red,
        attempts=MAX_ATTEMPTS,
    )
    return Briefed(brief, texts, tuple(warnings))


def staleness(project: Project, base: str) -> tuple[str, str]:
    """Why the plan of the work tree must be made anew ("" = it need not), and the digest of the specs."""
    texts = _specs(project, base, with_changes=False)
    criteria = tuple(criteria_of([parse_spec(path, text) for path, text in texts.items()])) if texts else None
    specs = digest_of(texts) if texts else ""
    code = code_digest(user_call(project, ["ls-tree", "-z", base]).out)
    return _plan(project, criteria, specs, code, refuse=False)[1], specs


def code_digest(listing: bytes) -> str:
    """What the plan calls the code: everything at the top of a tree but the plan itself, as git lists it."""
    lines = [line for line in listing.split(b"\0") if line and line.partition(b"\t")[2] != os.fsencode(NAME)]
    return hashlib.sha256(b"\0".join(sorted(lines))).hexdigest()


def _plan(
    project: Project, criteria: Iterable[str] | None, specs: str, code: str, *, refuse: bool = True
) -> tuple[Plan | None, str]:
    """The plan of the work tree, and why it must be made anew; "" when it can be worked by as it is."""
    if not os.path.lexists(os.path.join(project.top, NAME)):
        return None, "there is no plan"
    text = read_text(project.top, NAME)
    if not isinstance(text, str):
        raise text
    parsed = parse_plan(text)
    findings = check_file(parsed, criteria)
    wrong = [one for one in findings if one.severity != "P2" and not one.key.startswith(_OUTDATED)]
    if wrong and refuse:
        raise _invalid_plan_error(wrong)
    old = next((one for one in findings if one.severity != "P2"), None)
    if old is not None:
        return parsed.plan, old.message
    return parsed.plan, "; ".join(stale(parsed.plan, specs=specs, code=code))


def _invalid_plan_error(wrong: list[Finding]) -> UserError:
    first = wrong[0]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return UserError(
        f"the plan is not executable: {first.message}{more}",
        code="E-PLAN-INVALID",
        at=f"{NAME}:{first.line}",
        why="fix it by hand, or re-plan from the specs",
        next="ralph plan --refresh",
    )


def _specs(project: Project, base: str, *, with_changes: bool) -> dict[str, str]:
    if not with_changes and _is_changed(project, FOLDER):
        raise UserError(
            f"{FOLDER}/ has changes that are not committed",
            code="E-SPECS-UNCOMMITTED",
            why="the agent works on a copy of the commit, where they are not",
            next=f"git add {FOLDER} && git commit -m specs",
        )
    if with_changes:
        place = os.path.join(project.top, FOLDER)
        names = [f"{FOLDER}/{name}" for name in sorted(os.listdir(place))] if os.path.isdir(place) else []
    else:
        listed = user_call(project, ["ls-tree", "-z", "--name-only", base, f"{FOLDER}/"]).out
        names = [os.fsdecode(name) for name in listed.split(b"\0")[:-1]]
    names = [name for name in names if name.endswith(".md") and name.lower() != f"{FOLDER}/readme.md"]
    if len(names) > MAX_FILES:
        raise UserError(
            f"there are {len(names)} specs, expected at most {MAX_FILES}",
            code="E-SPEC-MANY",
            next=f"ralph specs check {shlex.quote(names[0])}",
        )
    texts = {}
    for name in names:
        text = read_text(project.top, name) if with_changes else _blob(project, base, name)
        if not isinstance(text, str):
            raise text
        texts[name] = text
    return texts


def _blob(project: Project, base: str, name: str) -> str | UserError:
    data = user_call(project, ["cat-file", "blob", f"{base}:{name}"]).out
    if len(data) > MAX_BYTES:
        return UserError(
            f"'{name}' is larger than {MAX_BYTES} bytes", code="E-SPEC-LARGE", next="ralph specs check"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return UserError(f"'{name}' is not valid UTF-8", code="E-SPEC-TEXT", next="ralph specs check")


def _is_changed(project: Project, path: str) -> bool:
    asked = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--", f":(top){path}"]
    return bool(user_call(project, asked).out)
