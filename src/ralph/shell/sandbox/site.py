"""What all calls of one stint have in common: order, state, store, environment, level of the sandbox."""

from __future__ import annotations

import os

import msgspec

from ralph.clock import Clock
from ralph.core.model.gate import Gate
from ralph.core.model.order import Order
from ralph.shell.git.project import object_mounts
from ralph.shell.git.store import Store
from ralph.shell.process.fork_client import ForkClient
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.own_env import clean_path
from ralph.shell.state.directory import State

OBJECTS_AT = "/run/objects"  # where the user's object stores stand inside an agent's box


class Site(msgspec.Struct, frozen=True, kw_only=True):
    order: Order
    state: State
    store: Store
    env: dict[str, str]  # the user's
    clock: Clock
    config_dir: str
    bwrap: str | None
    unshare: str | None
    level: str
    words: tuple[str, ...]
    other_user: bool = False  # of root's: calls in a box are somebody else to the kernel
    known: tools.ToolMemory = msgspec.field(default_factory=tools.ToolMemory)
    fork_client: ForkClient | None = None
    hosted: bool = False  # under the worker: the agent's calls outlive a crash of the runner
    look: str = ""  # a judge's: the checkout that stands, read-only, where an agent has its workspace
    aside: str = ""  # name of a home of its own, for calls at the same time and for roles of a team
    writes: bool = False  # that checkout is its own to write: a tester's

    @property
    def folder(self) -> str:
        return os.path.join(self.state.loops, self.order.loop)

    @property
    def workspace(self) -> str:
        return self.look or os.path.join(self.state.workspaces, self.order.loop)

    @property
    def home(self) -> str:
        return os.path.normpath(self.env.get("HOME") or "/")

    @property
    def home_name(self) -> str:
        """A judge and each reader has a home of its own: nothing in it was planted by who is judged."""
        return self.aside or ("judge-home" if self.look else "home")

    def own_folder(self, agent: str) -> str:
        """Where the private copies of an agent's own folders are kept."""
        return os.path.join(self.folder, "own", self.home_name, agent)

    @property
    def path(self) -> str:
        return clean_path(self.env.get("PATH", os.defpath))

    def gate_path(self, gate: Gate) -> str:
        """PATH of a gate: its own folders first, as the user would name them.

        Then the shared environment that its program stands in: tests of a command line call what is there.
        """
        repo, program = self.order.repo, gate.argv[0]
        own = [os.path.normpath(os.path.join(repo, part)) for part in gate.path]
        beside = os.path.normpath(os.path.join(repo, gate.cwd, os.path.dirname(program)))
        active = "/" in program and beside in [os.path.join(repo, one, "bin") for one in self.order.box.share]
        return os.pathsep.join((*own, *([beside] if active else []), self.path))

    @property
    def boxed(self) -> bool:
        return self.bwrap is not None

    def path_in_call(self) -> str:
        """The repository as a call sees it: at the user's own place inside a box."""
        return os.path.normpath(self.order.repo if self.boxed else self.workspace)

    def object_dirs(self) -> tuple[tuple[str, str], ...]:
        """The user's object stores, as (outside, inside)."""
        return tuple(object_mounts(self.store.project, self.objects_at))

    @property
    def objects_at(self) -> str | None:
        return OBJECTS_AT if self.boxed else None
