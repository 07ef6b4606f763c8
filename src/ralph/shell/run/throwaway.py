"""A judge for a tree outside of any loop: the same gates, boxes and checkouts, with nothing journaled.

What it leaves in the state directory is removed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from ralph.clock import SystemClock
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.order import BoxTerms, Order, StartPoint
from ralph.core.model.spend import Limits
from ralph.shell.dependencies import shared
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import find_modules
from ralph.shell.git.project import Project
from ralph.shell.git.store import Store, open_store
from ralph.shell.run.site import loop_folder, open_site
from ralph.shell.state.directory import open_state, state_dir


@contextmanager
def open_judge(
    name: str,
    project: Project,
    gates: tuple[Gate, ...],
    box: BoxTerms,
    env: Mapping[str, str],
    find_tree: Callable[[Store, str], str],
    base: StartPoint = StartPoint(),  # noqa: B008 - a frozen value
) -> Iterator[tuple[Judge, str]]:
    """The judge, and the tree that `find_tree` finds with a store and a scratch folder."""
    state = open_state(state_dir(env), create=True)
    folder = loop_folder(state, name)
    os.makedirs(folder, mode=0o700)
    try:
        store = open_store(project, os.path.join(folder, "store"))
        tree = find_tree(store, folder)
        order = Order(
            loop=name,
            task="",
            repo=project.top,
            criterion=Criterion(task_class="custom", gates=gates, confirm=1),
            limits=Limits(),
            agent=SealedAgent(""),
            base=base,
            box=shared.with_usable_shares(store, tree, box),
        )
        yield Judge(open_site(order, state, env, SystemClock()), find_modules(store, tree, folder)), tree
    finally:
        remove_tree(folder)
