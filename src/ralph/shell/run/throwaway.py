"""Work outside of any loop: the same calls, boxes and checkouts, with nothing journaled.

What it leaves in the state directory is removed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from msgspec.structs import replace

from ralph.clock import SystemClock
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.order import BoxTerms, Order, StartPoint
from ralph.core.model.spend import Limits
from ralph.shell.dependencies import shared
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import Submodule, find_modules
from ralph.shell.git.project import Project
from ralph.shell.git.snapshot import user_tree
from ralph.shell.git.store import Store, open_store
from ralph.shell.run.site import loop_folder, open_site
from ralph.shell.sandbox.site import Site
from ralph.shell.state.directory import open_state, state_dir

FindTree = Callable[[Store, str], str]


def users_tree(store: Store, scratch: str) -> str:
    """The user's work tree as it is now."""
    return user_tree(store, os.path.join(scratch, "index"))[0]


@contextmanager
def open_judge(
    name: str,
    project: Project,
    gates: tuple[Gate, ...],
    box: BoxTerms,
    env: Mapping[str, str],
    find_tree: FindTree,
    base: StartPoint = StartPoint(),  # noqa: B008 - a frozen value
) -> Iterator[tuple[Judge, str]]:
    """The judge, and the tree that `find_tree` finds with a store and a scratch folder."""
    order = Order(
        loop=name,
        task="",
        repo=project.top,
        criterion=Criterion(task_class="custom", gates=gates, confirm=1),
        limits=Limits(),
        agent=SealedAgent(""),
        base=base,
        box=box,
    )
    with open_aside(order, project, env, find_tree) as (site, modules, tree):
        yield Judge(site, modules), tree


@contextmanager
def open_aside(
    order: Order, project: Project, env: Mapping[str, str], find_tree: FindTree
) -> Iterator[tuple[Site, tuple[Submodule, ...], str]]:
    """A site for the order, and the tree that `find_tree` finds with a store and a scratch folder."""
    state = open_state(state_dir(env), create=True)
    folder = loop_folder(state, order.loop)
    os.makedirs(folder, mode=0o700)
    try:
        store = open_store(project, os.path.join(folder, "store"))
        tree = find_tree(store, folder)
        order = replace(order, box=shared.with_usable_shares(store, tree, order.box))
        yield open_site(order, state, env, SystemClock()), find_modules(store, tree, folder), tree
    finally:
        remove_tree(folder)
