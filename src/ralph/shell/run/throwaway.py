"""A judge for a tree outside of any loop: the same gates, boxes and checkouts, with nothing journaled.

What it leaves in the state directory is removed again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import msgspec

from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.order import Order
from ralph.core.model.spend import Limits
from ralph.shell.dependencies import shared
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.checkout import find_modules
from ralph.shell.git.project import Project
from ralph.shell.git.store import Store, open_store
from ralph.shell.run.site import loop_folder, open_site
from ralph.shell.state.directory import open_state, state_dir

Sandbox = Literal["auto", "require", "none"]


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What the gates stand on: how they are boxed, and where dependencies come from."""

    sandbox: Sandbox
    share: tuple[str, ...] = ()
    setup: str = ""
    setup_cwd: str = "."
    base_tree: str = ""


@contextmanager
def open_judge(
    name: str,
    project: Project,
    gates: tuple[Gate, ...],
    terms: Terms,
    env: Mapping[str, str],
    find_tree: Callable[[Store, str], str],
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
            agent="",
            sandbox=terms.sandbox,
            share=_shares(store, tree, terms),
            setup=terms.setup,
            setup_cwd=terms.setup_cwd,
            base_tree=terms.base_tree,
        )
        yield Judge(open_site(order, state, env), find_modules(store, tree, folder)), tree
    finally:
        remove_tree(folder)


def _shares(store: Store, tree: str, terms: Terms) -> tuple[str, ...]:
    if terms.setup:
        return tuple(shared.safe_paths(terms.share))
    return tuple(found.path for found in shared.shareable_folders(store, tree, terms.share))
