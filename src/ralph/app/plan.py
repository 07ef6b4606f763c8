"""Plans: made by a loop or imported, written to the project's file, and shown as they stand in a loop."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ralph.app.records import read_loop
from ralph.app.words.format import safe
from ralph.core.model.plan.board import plan_with_states
from ralph.core.model.plan.items import Plan
from ralph.core.model.plan.plan_rules import check_plan
from ralph.core.plan.diff import carry_states
from ralph.core.plan.import_markdown import import_plan
from ralph.core.plan.import_words import Imported
from ralph.errors import NothingToDo, UserError
from ralph.shell.git.project import Project, find_project
from ralph.shell.plan import user_file
from ralph.shell.plan.brief import staleness
from ralph.shell.plan.user_file import PlanFileFound


class PlanPlace(Struct, frozen=True):
    """The project and its plan file as it was found before anything is made."""

    project: Project
    file: PlanFileFound


def find_plan(cwd: str, *, force: bool) -> PlanPlace:
    """Where a new plan would be written; refused where that would lose edits."""
    project = find_project(cwd)
    found = user_file.find_plan_file(project)
    user_file.refuse_edited(project, found, force=force)
    return PlanPlace(project, found)


def specs_for_plan(place: PlanPlace, base: str, *, refresh: bool) -> str:
    """The digest of the specs to plan for; refused when the plan is made for them already."""
    stale, specs = staleness(place.project, base or place.project.head)
    user_file.refuse_current(place.file, stale=stale, refresh=refresh)
    return specs


def write_plan(place: PlanPlace, plan: Plan, *, specs: str, instead: str) -> None:
    """Write the plan's file; `instead` is how to see the plan when the file changed meanwhile."""
    data = user_file.render_file(plan, place.project, specs=specs)
    user_file.replace_file(place.file, data, instead=instead)


def plan_of_loop(name: str, env: Mapping[str, str]) -> Plan:
    """The plan of a loop as it stands now."""
    loop = read_loop(name, env).loop
    build = loop.build
    if not loop.has_plan:
        raise NothingToDo(f"loop '{safe(name, 80)}' has no plan", code="E-PLAN-NONE", next="ralph status")
    return build.plan if build.board is None else plan_with_states(build.plan, build.board)


def import_file(place: PlanPlace, path: str, *, refresh: bool) -> Imported:
    """A PRD or task list as the plan, written to its file; `unread` says what was passed over."""
    user_file.refuse_current(place.file, stale="", refresh=refresh)
    shown = safe(path, 200)
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(8 << 20)
    except (OSError, UnicodeDecodeError) as trouble:
        why = getattr(trouble, "strerror", None) or "it is not valid UTF-8"
        raise UserError(
            f"'{shown}' cannot be read", code="E-PLAN-IMPORT", why=why.lower(), next="ralph plan --help"
        ) from None
    taken = import_plan(text, path)
    plan = carry_states(Plan(), taken.plan)  # a tick in somebody's list is not a verified item
    wrong = check_plan(plan, None)
    if wrong:
        raise UserError(
            f"'{shown}' makes no plan: {wrong[0].message}", code="E-PLAN-IMPORT", next="ralph plan --help"
        )
    _, specs = staleness(place.project, place.project.head)
    write_plan(place, plan, specs=specs, instead="ralph plan --help")
    return Imported(plan, taken.unread)
