"""The name of a new loop, and of the branch for its result."""

from __future__ import annotations

import re

from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.git.project import Project, user_call
from ralph.shell.plan.request import FROM_SPECS
from ralph.shell.start.request import StartRequest
from ralph.shell.state.directory import safe_name


def loop_name(request: StartRequest, token: str) -> str:
    if request.loop_id:
        return safe_name(request.loop_id.removeprefix("ralph-"))
    about = request.plan.mode if request.plan is not None and request.task == FROM_SPECS else request.task
    slug = re.sub(r"[^a-z0-9]+", "-", about.lower()).strip("-")[:30].strip("-")
    return safe_name(f"{slug or 'loop'}-{token}")


def result_branch(request: StartRequest, settings: config.Settings, project: Project, name: str) -> str:
    """The result branch; refused now if it could not be made at the end."""
    branch = request.branch or f"{settings.branch_prefix}/{name}"
    if user_call(project, ["check-ref-format", f"refs/heads/{branch}"], ok=None).code:
        raise UserError(f"'{branch}' is not a branch name", code="E-BRANCH-NAME", next="git branch --list")
    parts = branch.split("/")
    for count in range(1, len(parts) + 1):
        above = "/".join(parts[:count])
        if user_call(project, ["rev-parse", "-q", "--verify", f"refs/heads/{above}"], ok=None).code == 0:
            raise UserError(
                f"branch '{above}' is in the way of the result branch '{branch}'",
                code="E-BRANCH-TAKEN",
                why="Ralph never moves a branch that it did not make",
                next='ralph loop TASK --check CMD --branch "results/one"',
            )
    return branch
