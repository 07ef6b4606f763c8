"""Where a loop works: its folder, its lock, and what all its calls have in common."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from ralph.core.model.order import Order
from ralph.shell.git.project import find_project
from ralph.shell.git.store import open_store
from ralph.shell.process.fork_client import ForkClient
from ralph.shell.sandbox.site import Site
from ralph.shell.start.order import find_protection
from ralph.shell.state import locks
from ralph.shell.state.directory import State, config_dir


def loop_folder(state: State, name: str) -> str:
    return os.path.join(state.loops, name)


def lock_path(state: State, name: str) -> str:
    return os.path.join(loop_folder(state, name), "lock")


def take_lock(state: State, name: str, now: float) -> locks.Lock:
    os.makedirs(loop_folder(state, name), mode=0o700, exist_ok=True)
    return locks.acquire(lock_path(state, name), locks.this_process(int(now * 1000), "runner"))


def open_site(
    order: Order, state: State, env: Mapping[str, str], fork_client: ForkClient | None = None
) -> Site:
    """What all calls of a stint have in common; the sandbox is looked at anew each time."""
    project = find_project(order.repo)
    bwrap, shield = find_protection(order.sandbox, order.network, state.root, env)
    return Site(
        order=order,
        state=state,
        store=open_store(project, os.path.join(loop_folder(state, order.loop), "store")),
        env=dict(env),
        config_dir=config_dir(env),
        bwrap=bwrap,
        unshare=shutil.which("unshare", path=env.get("PATH")),
        level=shield.level,
        words=shield.words,
        fork_client=fork_client,
    )
