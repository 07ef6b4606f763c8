"""What a judge of a session works on, one tree of one task, and the facts that its answers make."""

from __future__ import annotations

from typing import Literal

from ralph.clock import Clock
from ralph.core.model import events as e
from ralph.core.model.verdict import Stage, Verdict
from ralph.core.proof.causes import is_missing
from ralph.core.session.answer_stop import owed
from ralph.core.session.record import Fact, Session
from ralph.core.text.clean import one_line
from ralph.shell.session.stream import add_fact, read_session
from ralph.shell.state.directory import State

_LOOK_SECONDS = 1.0


class Question:
    """Open until somebody changes the tree, ends the session or starts another task in it."""

    def __init__(self, state: State, name: str, session: Session, clock: Clock) -> None:
        self._place, self.session, self._clock = (state, name), session, clock
        self._looked = clock.monotonic()

    def is_open(self, now: Session) -> bool:
        """A baseline outlives new work; a tree's verdicts do not."""
        if not now.active or now.began != self.session.began:
            return False
        return owed(self.session) == "baseline" or now.loop.work.tree == self.session.loop.work.tree

    def add(self, fact: Fact) -> Session:
        """An answer to a question that nobody asks any more is not recorded."""
        return add_fact(*self._place, self._clock, lambda now: fact if self.is_open(now) else None)[0]

    def read(self) -> Session:
        return read_session(*self._place)

    def is_dropped(self, activity: object) -> bool:  # noqa: ARG002
        """For whoever works on it: looked at once in a while."""
        if self._clock.monotonic() - self._looked < _LOOK_SECONDS:
            return False
        self._looked = self._clock.monotonic()
        return not self.is_open(self.read())


def verdict_fact(session: Session, verdict: Verdict, shares: tuple[str, ...], stage: Stage) -> e.Event:
    if is_missing(verdict, settled=True):
        return no_verdict(session, stage, verdict.gate, verdict.cause, verdict.summary)
    return e.GateEnded(iteration=session.loop.iteration, verdict=verdict, shares=shares)


def no_verdict(
    session: Session, stage: Stage | Literal["guards"], gate: str, cause: str, why: str
) -> e.Event:
    said = f'gate "{gate}" gave no answer: {one_line(why, 400) or cause}'
    loop = session.loop
    return e.NoVerdict(
        iteration=loop.iteration, stage=stage, tree=loop.work.tree, gate=gate, cause=cause, why=said
    )
