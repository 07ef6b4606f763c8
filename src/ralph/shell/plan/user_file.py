"""The plan's file in the user's work tree: whether it may be replaced, and replacing it.

Ralph writes it only when asked to by name. A file with changes that git does not have is not replaced without
`--force`; nor is one that changed meanwhile.
"""

from __future__ import annotations

import os
import stat
from shlex import quote

import msgspec

from ralph.core.model.plan.items import NAME, Plan
from ralph.core.plan.file import parse_plan
from ralph.core.plan.layout import lay_out
from ralph.errors import NeedsHuman, NothingToDo, SetupError, UserError
from ralph.shell.files.write_whole import write_whole
from ralph.shell.git.project import Project, user_call
from ralph.shell.plan.brief import code_digest


class PlanFileFound(msgspec.Struct, frozen=True):
    """The file as it was found; `data` None: there is none."""

    path: str
    data: bytes | None = None

    @property
    def plan(self) -> Plan:
        return Plan() if self.data is None else parse_plan(self.data.decode("utf-8", "replace")).plan


def find_plan_file(project: Project) -> PlanFileFound:
    path = os.path.join(project.top, NAME)
    try:
        state = os.lstat(path)
    except FileNotFoundError:
        return PlanFileFound(path)
    if not stat.S_ISREG(state.st_mode):
        raise UserError(f"{NAME} is not a regular file", code="E-PLAN-FILE", next=f"ls -l {NAME}")
    with open(path, "rb") as file:
        return PlanFileFound(path, file.read())


def refuse_edited(project: Project, found: PlanFileFound, *, force: bool) -> None:
    """An edited plan that git does not have would be lost for good."""
    if found.data is None or force:
        return
    asked = ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored", "--", f":(top){NAME}"]
    state = user_call(project, asked).out
    if state:
        raise UserError(
            f"{NAME} has changes that are not committed",
            code="E-PLAN-EDITED",
            why="a new plan would overwrite them" + (", and git ignores it" if state[:2] == b"!!" else ""),
            next="ralph plan --force"
            if state[:2] == b"!!"
            else f"git add {quote(os.path.relpath(found.path))} && git commit -m plan",
        )


def refuse_current(found: PlanFileFound, *, stale: str, refresh: bool) -> None:
    """A plan that is made for these specs and this code is made anew only when asked for."""
    if found.data is not None and not stale and not refresh:
        raise NothingToDo(
            "the plan is made for these specs and this code",
            code="E-PLAN-CURRENT",
            next="ralph plan --refresh",
        )


def render_file(plan: Plan, project: Project, *, specs: str) -> bytes:
    """The plan as its file, with what it was made from."""
    code = code_digest(user_call(project, ["ls-tree", "-z", project.head]).out)
    return lay_out(msgspec.structs.replace(plan, specs=specs, code=code))


def replace_file(found: PlanFileFound, data: bytes, *, instead: str) -> None:
    """Write the plan, unless the file is no longer the one that was found. `instead`: how to see it then."""
    try:
        with open(found.path, "rb") as file:
            now: bytes | None = file.read()
    except FileNotFoundError:
        now = None
    if now != found.data:
        raise NeedsHuman(
            f"{NAME} was changed while the plan was made; it was left as it is",
            code="E-PLAN-MOVED",
            next=instead,
        )
    try:
        write_whole(found.path, data)
    except OSError as trouble:
        why = (trouble.strerror or "unknown error").lower()
        raise SetupError(f"{NAME} cannot be written: {why}", code="E-PLAN-WRITE", next=instead) from trouble
