"""Where a loop works: its folder, and what all its calls have in common."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from msgspec.structs import replace

from ralph.clock import Clock
from ralph.core.model.order import Order
from ralph.shell.git.child import Heed
from ralph.shell.git.command import find_git
from ralph.shell.git.project import find_project
from ralph.shell.git.store import open_store
from ralph.shell.process.fork_client import ForkClient
from ralph.shell.sandbox.probe import find_protection, for_order
from ralph.shell.sandbox.site import Site
from ralph.shell.sandbox.tools import ToolMemory
from ralph.shell.state.directory import State, config_dir


def loop_folder(state: State, name: str) -> str:
    return os.path.join(state.loops, name)


def open_site(
    order: Order,
    state: State,
    env: Mapping[str, str],
    clock: Clock,
    fork_client: ForkClient | None = None,
    *,
    hosted: bool = False,
    heed: Heed | None = None,
) -> Site:
    """What all calls of a stint have in common; the sandbox is looked at anew each time."""
    project = find_project(order.repo, replace(find_git(), heed=heed))
    bwrap, shield = find_protection(order.box.sandbox, order.box.network, state.root, env)
    shield = for_order(shield, order, project.object_dirs, state.root, env)
    return Site(
        known=ToolMemory(os.path.join(state.root, "hashes.json")),
        order=order,
        state=state,
        store=open_store(project, os.path.join(loop_folder(state, order.loop), "store")),
        env=dict(env),
        clock=clock,
        config_dir=config_dir(env),
        bwrap=bwrap,
        unshare=shutil.which("unshare", path=env.get("PATH")),
        level=shield.level,
        words=shield.words,
        other_user=shield.other_user,
        fork_client=fork_client,
        hosted=hosted,
    )
