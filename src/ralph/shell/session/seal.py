"""The order of a session: task, criterion, gates and judge sealed, the user's files pinned as the base.

The agent is the host's own and the work tree the user's, so the base is what stands in it now, changes that
are not committed included: they are not the agent's.
"""

from __future__ import annotations

import os

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.order import Order, StartPoint
from ralph.shell import config
from ralph.shell.dependencies import shared
from ralph.shell.git.project import Project, start_warnings
from ralph.shell.git.snapshot import start_refs, user_tree
from ralph.shell.git.store import open_store
from ralph.shell.git.workspace import remove_loop
from ralph.shell.session.work_tree import unseen_parts
from ralph.shell.start.agents import JudgeChoice
from ralph.shell.start.request import StartRequest


class Draft(Struct, frozen=True):
    """What is known of the order before the user's files are looked at."""

    name: str
    host: str
    criterion: Criterion
    seated: JudgeChoice
    notes: tuple[str, ...]
    now: int


def seal_order(
    draft: Draft, request: StartRequest, settings: config.Settings, project: Project, folder: str
) -> tuple[Order, dict[str, str]]:
    """The order, and what of the user's files no check will look at."""
    store = open_store(project, os.path.join(folder, "store"))
    remove_loop(project, draft.name)  # of the time before, when a session is started again
    changed = not request.base
    pinned = start_refs(
        store, draft.name, request.base or None, with_changes=changed, date=draft.now, scratch=folder
    )
    left_out = user_tree(store, os.path.join(folder, "work.index"))[1]  # which the first stop goes on with
    order = Order(
        loop=draft.name,
        task=request.task,
        repo=project.top,
        criterion=draft.criterion,
        limits=settings.limits,
        agent=SealedAgent(draft.host),
        base=StartPoint(
            commit=pinned.base_commit,
            tree=pinned.base_tree,
            user_start=pinned.user_start_commit,
            head_commit=project.head,
            head_branch=(project.branch or "").removeprefix("refs/heads/"),
        ),
        box=shared.with_usable_shares(
            store, pinned.base_tree, replace(settings.box, network=settings.net == "on")
        ),
        prefix=project.prefix.rstrip("/"),
        with_changes=changed,
        protect=(*settings.paths.protect_paths, *request.protect),
        warnings=(*request.notes, *settings.warnings, *draft.notes, *start_warnings(project)),
        config_digest=config.digest(settings),
        rubric=draft.seated.rubric,
        judge=draft.seated.judge,
    )
    return order, unseen_parts(store, left_out, folder)
