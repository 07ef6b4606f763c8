"""The runner: drives one loop from where its journal stands to a pause or an end.

Its law: decide, append the event, commit, then perform what is owed, append the result. It keeps no
state of its own that matters: everything it needs to go on after a kill is in the journal, and the
hands ask of each action "did it happen already?". How each action is done lives in `hands`; here is
only the order of things, the inbox, Ctrl-C, and what happens when the machine gets in the way.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Protocol

import msgspec

from ralph.core import events as e
from ralph.core.loop import Loop
from ralph.core.machine import decide
from ralph.core.summary import summarise
from ralph.errors import Bug, Busy, RalphError, SetupError
from ralph.shell import record, statedir
from ralph.shell.journal import Journal
from ralph.shell.journal import Summary as SummaryRow

DISK_PATIENCE = 30  # looks, a second apart, for space to come back before the loop is left for a resume


class Activity(msgspec.Struct, frozen=True):
    """What is going on right now, for a screen."""

    what: str  # workspace, agent, gate, guard, wait
    names: tuple[str, ...] = ()
    seconds: float = 0.0
    output_bytes: int = 0
    quiet_seconds: float = 0.0
    left_seconds: float | None = None


class Watcher(Protocol):
    """Who looks on. A watcher can neither stop nor change a loop; what it raises is a bug."""

    def opened(self, loop: Loop, words: tuple[str, ...]) -> None: ...
    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None: ...
    def said(self, facts: tuple[object, ...]) -> None: ...
    def tick(self, loop: Loop, activity: Activity) -> None: ...
    def note(self, text: str) -> None: ...
    def closed(self, loop: Loop) -> None: ...


class Attention(Protocol):
    """How an action in progress hears of the world: call it often; True = drop what you do, now."""

    def __call__(self, activity: Activity) -> bool: ...


class Hands(Protocol):
    """One method for each action of the core. Each is safe to repeat after a crash at any point."""

    def opening(self) -> e.StintStarted: ...
    def make_workspace(self, loop: Loop, action: e.MakeWorkspace) -> e.WorkspaceMade: ...
    def run_gates(
        self, loop: Loop, action: e.RunGates, attend: Attention
    ) -> Generator[e.GateEnded | e.NoVerdict, None, None]: ...
    def run_guards(
        self, loop: Loop, action: e.RunGuards, attend: Attention
    ) -> e.GuardsEnded | e.NoVerdict | None: ...
    def open_call(self, loop: Loop, action: e.RunAgent) -> e.AgentStarted: ...
    def finish_call(
        self, loop: Loop, action: e.RunAgent, attend: Attention, watcher: Watcher
    ) -> e.AgentEnded | None: ...
    def open_judge(self, loop: Loop, action: e.AskJudge) -> e.JudgeStarted: ...
    def finish_judge(
        self, loop: Loop, action: e.AskJudge, attend: Attention, watcher: Watcher
    ) -> e.JudgeEnded | None: ...
    def take_snapshot(self, loop: Loop, action: e.TakeSnapshot) -> e.CheckpointMade: ...
    def restore(self, loop: Loop, action: e.RestoreWorkspace) -> e.WorkspaceRestored: ...
    def wait(self, loop: Loop, action: e.Wait, attend: Attention) -> e.WaitOver | None: ...
    def publish(self, loop: Loop, action: e.PublishResult) -> e.ResultPublished: ...
    def publish_item(self, loop: Loop, action: e.PublishItem) -> e.ItemPublished: ...
    def open_readers(self, loop: Loop, action: e.RunReaders) -> e.ReadersStarted: ...
    def finish_readers(
        self, loop: Loop, action: e.RunReaders, attend: Attention
    ) -> e.ReadersEnded | None: ...
    def tie_tests(self, loop: Loop, action: e.TieTests) -> e.TestsTied: ...
    def closing(self, loop: Loop, action: e.Finish) -> None: ...


class Clock(Protocol):
    def now(self) -> float: ...
    def monotonic(self) -> float: ...
    def sleep(self, seconds: float) -> None: ...


class Signals(Protocol):
    """How often the user asked to stop: 1 after this iteration, 2 now, 3 at once without a checkpoint."""

    def level(self) -> int: ...
    def reason(self) -> str: ...


class Scribe:
    """The one writer of a loop's journal: decides, stamps, appends, tells the watcher."""

    def __init__(
        self,
        journal: Journal,
        name: str,
        record_: record.Record,
        clock: Clock,
        watcher: Watcher,
        state_root: str,
    ) -> None:
        if record_.newer:
            raise SetupError(
                f"loop '{name}' was written by a newer Ralph",
                code="E-LOOP-NEWER",
                why="it holds facts that this version does not know; going on would be guessing",
                next="ralph version",
            )
        self._journal, self._name, self._clock, self._watcher = journal, name, clock, watcher
        self._root = state_root
        self._mark = clock.monotonic()
        self._started = record_.entries[0].row.at / 1000 if record_.entries else clock.now()
        self.loop = record_.loop
        self.seq = record_.entries[-1].row.seq if record_.entries else 0

    def append(self, event: e.AnyEvent, taken: tuple[int, ...] = ()) -> Loop:
        """The loop after this fact, once it is on disk."""
        now, mark = self._clock.now(), self._clock.monotonic()
        event = msgspec.structs.replace(event, at=now, took=max(0.0, mark - self._mark))
        after = decide(self.loop, event).loop
        self._write(event, after, taken)
        self._mark, self.loop, self.seq = mark, after, self.seq + 1
        self._watcher.event(self.seq, event, after)
        return after

    def _write(self, event: e.AnyEvent, after: Loop, taken: tuple[int, ...]) -> None:
        kind, body = e.kind_of(event), e.encode(event)
        row = summary_row(after, self._started)
        waited = False
        for attempt in range(DISK_PATIENCE + 1):
            try:
                self._journal.append(
                    self._name,
                    self.seq,
                    at=int(event.at * 1000),
                    kind=kind,
                    v=e.VERSIONS[kind],
                    body=body,
                    summary=row,
                    taken=taken,
                )
            except SetupError as full:
                if full.code != "E-DISK-FULL" or attempt == DISK_PATIENCE:
                    raise
                if not statedir.reserve_release(self._root):
                    if not waited:
                        self._watcher.note("the disk is full: waiting for space, nothing is lost")
                    waited = True
                    self._clock.sleep(1.0)
            else:
                return

    def inbox(self) -> list[tuple[int, str, bytes]]:
        return [(command.id, command.kind, command.body) for command in self._journal.inbox_open(self._name)]


def summary_row(loop: Loop, started: float) -> SummaryRow:
    """The cached line that lists are made from."""
    return SummaryRow(
        loop=loop.sealed.loop,
        repo=loop.sealed.repo,
        phase=loop.phase,
        outcome=loop.outcome or "",
        body=msgspec.json.encode(summarise(loop, started)),
    )


class Runner:
    """Drives one loop whose lock the caller holds."""

    def __init__(
        self, hands: Hands, scribe: Scribe, clock: Clock, signals: Signals, watcher: Watcher
    ) -> None:
        self._hands, self._scribe, self._clock = hands, scribe, clock
        self._signals, self._watcher = signals, watcher
        self._asked = 0
        self._looked = 0.0
        self._doing: e.Action | None = None

    def drive(self) -> Loop:
        """Perform what is owed until nothing is: the loop is paused or ended then."""
        scribe = self._scribe
        if scribe.loop.todo:
            opening = self._hands.opening()
            scribe.append(opening)
            self._watcher.opened(scribe.loop, opening.words)
        while scribe.loop.todo:
            self._attend_now()
            if not scribe.loop.todo:
                break
            action = scribe.loop.todo[0]
            try:
                self._perform(action)
            except (Busy, Bug):
                raise
            except RalphError as trouble:
                self._lay_down(trouble)
                raise
        self._watcher.closed(scribe.loop)
        return scribe.loop

    def _perform(self, action: e.Action) -> None:
        hands, scribe, self._doing = self._hands, self._scribe, action
        loop = scribe.loop
        match action:
            case e.MakeWorkspace():
                scribe.append(hands.make_workspace(loop, action))
            case e.RunGates():
                with closing(hands.run_gates(loop, action, self._attend)) as heard:
                    for event in heard:
                        scribe.append(event)
                        if not scribe.loop.todo or not _same(scribe.loop.todo[0], action):
                            break  # the last one that was owed, or no answer so often that the loop pauses
            case e.RunGuards():
                self._append_if(hands.run_guards(loop, action, self._attend))
            case e.RunReaders():
                if loop.build is not None and not loop.build.reading:
                    loop = scribe.append(hands.open_readers(loop, action))
                self._append_if(hands.finish_readers(loop, action, self._attend))
            case e.RunAgent():
                if not loop.calling:
                    loop = scribe.append(hands.open_call(loop, action))
                self._append_if(hands.finish_call(loop, action, self._attend, self._watcher))
            case e.AskJudge():
                if not loop.jury.open:
                    loop = scribe.append(hands.open_judge(loop, action))
                self._append_if(hands.finish_judge(loop, action, self._attend, self._watcher))
            case e.TakeSnapshot():
                scribe.append(hands.take_snapshot(loop, action))
            case e.RestoreWorkspace():
                scribe.append(hands.restore(loop, action))
            case e.Wait():
                self._append_if(hands.wait(loop, action, self._attend))
            case e.TieTests():
                scribe.append(hands.tie_tests(loop, action))
            case e.PublishResult():
                scribe.append(hands.publish(loop, action))
            case e.PublishItem():
                scribe.append(hands.publish_item(loop, action))
            case e.Finish():
                hands.closing(loop, action)
                scribe.append(e.LoopEnded(outcome=action.outcome, reason=action.reason, grade=action.grade))
            case _:
                raise Bug(f"nobody knows how to perform {action}")

    def _append_if(self, event: e.AnyEvent | None) -> None:
        """An action that was dropped on request has no result: the request itself moved the loop."""
        if event is not None:
            self._scribe.append(event)

    def _attend(self, activity: Activity) -> bool:
        """Between two breaths of an action: show it, hear the inbox and Ctrl-C."""
        self._watcher.tick(self._scribe.loop, activity)
        self._attend_now()
        loop = self._scribe.loop
        return (
            bool(loop.aborting)
            or loop.pause_now
            or (not loop.calling and (not loop.todo or not _same(loop.todo[0], self._doing)))
        )

    def _attend_now(self) -> None:
        level = self._signals.level()
        if level >= 3:
            raise KeyboardInterrupt
        scribe = self._scribe
        if level > self._asked and scribe.loop.phase not in ("paused", "ended"):
            self._asked = level
            scribe.append(e.PauseAsked(reason=self._signals.reason(), now=level >= 2))
            self._watcher.note(_NEXT_SIGNAL[level])
        now = self._clock.monotonic()
        if now - self._looked < 0.2:
            return
        self._looked = now
        for number, kind, body in scribe.inbox():
            self._obey(number, kind, body)

    def _obey(self, number: int, kind: str, body: bytes) -> None:
        """One command from another process becomes one event."""
        event = e.decode(body)
        scribe = self._scribe
        if isinstance(event, (e.Steered, e.PauseAsked, e.AbortAsked)) and scribe.loop.phase != "ended":
            scribe.append(event, taken=(number,))
        else:
            raise Bug(f"command {kind} in the inbox of a loop that is {scribe.loop.phase}")

    def _lay_down(self, trouble: RalphError) -> None:
        """The machine got in the way: leave the loop paused, with the reason, ready for a resume."""
        loop = self._scribe.loop
        if loop.phase in ("paused", "ended") or loop.calling:
            return
        try:
            self._scribe.append(e.PauseAsked(reason=f"{trouble.what} [{trouble.code}]", now=True))
        except RalphError:
            self._watcher.note("the reason could not be recorded; the loop stands as it was")


def _same(owed: e.Action, doing: e.Action | None) -> bool:
    """Still the same debt? Verdicts shorten the list of gates while they come in."""
    if isinstance(owed, e.RunGates) and isinstance(doing, e.RunGates):
        return (owed.stage, owed.tree) == (doing.stage, doing.tree)
    return owed == doing


_NEXT_SIGNAL = {
    1: "stopping after this iteration; Ctrl-C again stops now and keeps a checkpoint",
    2: "stopping now; Ctrl-C again kills everything at once",
}
