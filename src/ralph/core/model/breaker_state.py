"""What a loop knows of being stuck: the breaker, its history, and the attempts behind it. Nouns only."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

State = Literal["CLOSED", "HALF_OPEN", "OPEN"]


class Turn(Struct, frozen=True, rename={"was": "from"}):
    """One move."""

    at: float
    iteration: int
    was: State
    to: State
    why: str


class Trace(Struct, frozen=True, omit_defaults=True):
    """What the open iteration is known to have left, before it is judged."""

    written: int | None = None  # tokens that the model wrote; None when nobody said
    files: int = 0
    lines: int = 0  # added and removed
    paths: tuple[str, ...] = ()  # the first few


class Footprint(Struct, frozen=True, omit_defaults=True):
    """One judged iteration: what it left, and what it was worth. Every rule and every warning reads this."""

    iteration: int
    tree: str
    before: str
    red_digest: str  # over all required gates
    red: int
    signature: str  # normalised error signature, "" when nothing failed
    progress: bool  # an item done, or fewer red than ever before, in a tree that nobody accused
    outline: str = ""  # the signature but for its numbers
    unloaded: int = 0
    cut: bool = False  # something else than the agent ended its call: half done, so no rule counts it
    worse: bool = False  # than the best checkpoint, in a tree that nobody has taken back
    score: int = 0  # against the iteration before it, also across a resume
    at: float = 0.0
    state: State = "CLOSED"  # of the breaker, before it was judged
    item: str = ""
    items: int = 0  # completed by it
    files: int = 0
    passed: int | None = None  # None where the checks do not tell tests apart
    failed: int | None = None
    skipped: int | None = None
    written: int | None = None
    calls_left: int | None = None  # of this hour's; None = not bounded
    testing: bool = False  # by its own word it only saw to tests


class Breaker(Struct, frozen=True, omit_defaults=True):
    state: State = "CLOSED"
    why: str = ""  # of the newest move
    since: int = 0  # iteration of the newest move
    opens: int = 0
    trouble: Trouble | None = None  # what the work stalled on, until it is overcome and no longer watched
    diagnosis: str = ""  # why that ended the work
    watch: int = 0  # iterations left in which it may not come back
    marks: tuple[str, ...] = ()  # by which it would be known again
    trail: tuple[Turn, ...] = ()
    trace: Trace = Trace()
    demands: tuple[Demand, ...] = ()  # strategies that were asked of the agent
    item: str = ""
    on_item: int = 0  # iterations spent on it

    @property
    def probing(self) -> bool:
        """The next judged iteration decides whether a stall is overcome."""
        return self.state == "HALF_OPEN" and self.trouble is not None and not self.watch


Trouble = Literal["no-progress", "same-error", "test-loop", "circular"]


class Demand(Struct, frozen=True, omit_defaults=True):
    """A strategy that was asked of the agent, for the iteration after `iteration`."""

    iteration: int
    trouble: Trouble
    strategy: str
    item: str = ""


Class = Literal["transient", "environmental", "logical", "fundamental"]


class Attempt(Struct, frozen=True, omit_defaults=True):
    """One iteration that did not do it."""

    iteration: int
    kind: Class
    what: str  # what happened, in one line
    next: str
    item: str = ""
    signature: str = ""  # normalised error
    strategy: str = ""  # what had been demanded of it
    paths: tuple[str, ...] = ()  # changed files, the first few
    files: int = 0
    lines: int = 0
    times: int = 1  # so often in a row, for what does not count
