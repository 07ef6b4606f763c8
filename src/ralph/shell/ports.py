"""What a runner needs from the world, as protocols: signals, watcher, and a method for each action."""

from __future__ import annotations

from typing import Protocol

import msgspec

from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Stopper


class Activity(msgspec.Struct, frozen=True):
    """What is going on right now, for a screen."""

    what: str  # workspace, agent, gate, guard, wait, git
    names: tuple[str, ...] = ()
    seconds: float = 0.0
    output_bytes: int = 0
    quiet_seconds: float = 0.0
    left_seconds: float | None = None
    stages: tuple[str, ...] = ()  # of gate calls: what each is for (`gate_run.answers.GateCall.stage`)
    waiting: int = 0  # gate calls that are still to be made, as far as is known


class Watcher(Protocol):
    """Who looks on. A watcher can neither stop nor change a loop; what it raises is a bug."""

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None: ...
    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None: ...
    def hear(self, facts: tuple[object, ...]) -> None: ...
    def tick(self, loop: Loop, activity: Activity) -> None: ...
    def note(self, text: str) -> None: ...
    def finish(self, loop: Loop) -> None: ...


class Quiet:
    """A watcher that looks away."""

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None: ...
    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None: ...
    def hear(self, facts: tuple[object, ...]) -> None: ...
    def tick(self, loop: Loop, activity: Activity) -> None: ...
    def note(self, text: str) -> None: ...
    def finish(self, loop: Loop) -> None: ...


class Attention(Protocol):
    """How an action in progress hears of the world: call it often; True = drop what you do, now."""

    def __call__(self, activity: Activity) -> bool: ...


class Dropped(Exception):  # noqa: N818
    """What is being done was given up on request; the request itself has moved the loop."""


class Signals(Protocol):
    """How often the user asked to stop: 1 after this iteration, 2 now, 3 at once without a checkpoint."""

    def level(self) -> int: ...
    def reason(self) -> str: ...
    def by(self) -> Stopper: ...


class Recorder(Protocol):
    """The one writer of a loop: decides, and appends before anybody acts on it."""

    loop: Loop

    def append(self, event: e.AnyEvent, taken: tuple[int, ...] = ()) -> Loop: ...
    def inbox(self) -> list[tuple[int, str, bytes]]: ...
