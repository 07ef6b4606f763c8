"""The runner: drives one loop from where its journal stands to a pause or an end.

Its law: decide, append the event, commit, then perform what is owed, append the result. It keeps no
state of its own that matters: everything it needs to go on after a kill is in the journal, and the
performer asks of each action "did it happen already?". How each action is done lives there; here is
only the order of things, the inbox, Ctrl-C, and what happens when the machine gets in the way.
"""

from __future__ import annotations

from contextlib import closing, suppress
from typing import Protocol

from ralph.clock import Clock
from ralph.core.decide.stints.wake import lost_box
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.errors import Bug, Busy, IllegalEvent, RalphError, machine_error
from ralph.shell.ports import Activity, Dropped, Recorder, Signals, Watcher

STOP_SECONDS = 1.0  # that a git may go on when the loop is to stop; then what it was for is left for a resume
SHOWN_SECONDS = 1.0  # a git that takes longer is shown
OVERTIME_SECONDS = 30.0  # beyond the loop's own limit, for keeping what an agent left

# What other processes may ask of a runner: each becomes a fact.
COMMANDS = frozenset({"Steered", "PauseAsked", "AbortAsked", "ResumeAsked", "PriorityAsked"})


class Performer(Protocol):
    """Has one method for each action, named in ACTIONS. Each is safe to repeat after a crash at any point.

    It takes the loop, the action and, where the action attends, an `Attention`; it gives the fact that it is
    done, several of them one after the other, or None when it was dropped on request.
    """

    def opening(self) -> e.StintStarted: ...


class Runner:
    """Drives one loop whose lock the caller holds."""

    def __init__(
        self, hands: Performer, scribe: Recorder, clock: Clock, signals: Signals, watcher: Watcher
    ) -> None:
        self._hands, self._scribe, self._clock = hands, scribe, clock
        self._signals, self._watcher = signals, watcher
        self._asked = 0
        self._looked = 0.0
        self._doing: actions.Action | None = None
        self._stopping: float | None = None  # since when what is being done is to stop

    def drive(self) -> Loop:
        """Perform what is owed until nothing is: the loop is paused or ended then."""
        scribe = self._scribe
        if scribe.loop.todo or scribe.loop.phase == "queued":
            opening, before = self._hands.opening(), scribe.loop.work.protection
            if lost := lost_box(before, opening):  # first: killed in between, nobody would know of the box
                scribe.append(e.PauseAsked(reason=lost, now=True, by="limit"))
            scribe.append(opening)
            self._watcher.begin(scribe.loop, opening.words)
        while scribe.loop.todo:
            self._attend_now()
            if not scribe.loop.todo:
                break
            action = scribe.loop.todo[0]
            try:
                self._perform(action)
            except Dropped:
                continue
            except (Busy, Bug):
                raise
            except RalphError as trouble:
                self._lay_down(trouble)
                raise
            except OSError as error:
                if (lacks := machine_error(error)) is None:
                    raise
                self._lay_down(lacks)
                raise lacks from error
        self._watcher.finish(scribe.loop)
        return scribe.loop

    def _perform(self, action: actions.Action) -> None:
        """Record that it begins, where that is a fact of its own; do it; record what came of it."""
        scribe, self._doing, self._stopping = self._scribe, action, None
        work = actions.ACTIONS[type(action)]
        if work.opens and not work.is_open(scribe.loop):
            scribe.append(getattr(self._hands, work.opens)(scribe.loop, action))
        attend = (self._attend,) if work.attends else ()
        done = getattr(self._hands, work.by)(scribe.loop, action, *attend)
        if done is None:
            return  # it was dropped on request: the request itself moved the loop
        if isinstance(done, e.Event):
            scribe.append(done)
            return
        with closing(done) as facts:
            for event in facts:
                scribe.append(event)
                if not scribe.loop.todo or not _same(scribe.loop.todo[0], action):
                    break  # the last one that was owed, or no answer so often that the loop pauses

    def _attend(self, activity: Activity) -> bool:
        """Between two breaths of an action: show it, hear the inbox and Ctrl-C."""
        self._watcher.tick(self._scribe.loop, activity)
        self._attend_now()
        loop = self._scribe.loop
        return (
            bool(loop.control.abort_reason)
            or loop.control.pause_now
            or (not loop.call.running and (not loop.todo or not _same(loop.todo[0], self._doing)))
        )

    def heed(self, command: str, seconds: float) -> None:
        """While a git is at work: the same, and what takes too long is given up."""
        if seconds > SHOWN_SECONDS:
            self._watcher.tick(self._scribe.loop, Activity("git", (command,), seconds))
        self._attend_now()
        scribe, now = self._scribe, self._clock.monotonic()
        if self._doing is None or scribe.loop.call.running:
            return
        control = scribe.loop.control
        if scribe.loop.todo and _same(scribe.loop.todo[0], self._doing):
            reason = control.pause_reason or control.abort_reason or "interrupted by the user"
            if not (control.pause_now or control.abort_reason):
                reason = self._overtime(command, seconds)
            elif self._stopping is None:
                self._stopping = now
            if not reason or (self._stopping is not None and now - self._stopping < STOP_SECONDS):
                return
            scribe.append(e.PauseAsked(reason=reason, now=True))
        raise Dropped

    def _overtime(self, command: str, seconds: float) -> str:
        loop = self._scribe.loop
        limit = loop.limits.time
        if limit is None or loop.elapsed_seconds + seconds < limit + OVERTIME_SECONDS:
            return ""
        return f"time limit of {limit:.0f} s reached while git {command} was at work"

    def _attend_now(self) -> None:
        level = self._signals.level()
        if level >= 3:
            raise KeyboardInterrupt
        scribe = self._scribe
        if level > self._asked and scribe.loop.phase not in ("paused", "ended"):
            self._asked = level
            scribe.append(e.PauseAsked(reason=self._signals.reason(), now=level >= 2, by=self._signals.by()))
            self._watcher.note(_NEXT_SIGNAL[level])
        now = self._clock.monotonic()
        if now - self._looked < 0.2:
            return
        self._looked = now
        for number, kind, body in scribe.inbox():
            self._obey(number, kind, body)

    def _obey(self, number: int, kind: str, body: bytes) -> None:
        """One command from another process becomes one event.

        What the loop cannot take as it stands stays in the inbox: whoever sent it finds it there when this
        runner is gone, and takes it back.
        """
        if kind not in COMMANDS:
            raise Bug(f"command {kind} in the inbox of a loop that is {self._scribe.loop.phase}")
        with suppress(IllegalEvent):
            self._scribe.append(e.decode(body), taken=(number,))

    def _lay_down(self, trouble: RalphError) -> None:
        """The machine got in the way: leave the loop paused, with the reason, ready for a resume."""
        loop = self._scribe.loop
        if loop.phase in ("paused", "ended") or loop.call.running:
            return
        try:
            self._scribe.append(
                e.PauseAsked(reason=f"{trouble.what} [{trouble.code}]", now=True, by="machine")
            )
        except RalphError:
            self._watcher.note("the reason could not be recorded; the loop is unchanged")


def _same(owed: actions.Action, doing: actions.Action | None) -> bool:
    """Still the same debt? Verdicts shorten the list of gates while they come in."""
    if isinstance(owed, actions.RunGates) and isinstance(doing, actions.RunGates):
        return (owed.stage, owed.tree) == (doing.stage, doing.tree)
    return owed == doing


_NEXT_SIGNAL = {
    1: "stopping after this iteration; Ctrl-C again stops now and keeps a checkpoint",
    2: "stopping now; Ctrl-C again kills everything at once",
}
