"""Looking on at a loop that another process drives: its rows as they are written, and what its agent prints.

No socket and no second protocol: the journal after a row, and the tail of the call's output, go into the same
watchers that a runner has. Any number may look on; none of them is noticed by the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ralph import agents
from ralph.agents._kit.lines import Intake
from ralph.app.background.call_output import CallOutput
from ralph.app.place import journal_of
from ralph.clock import Clock
from ralph.core.decide import failover
from ralph.core.decide.machine import EVENTS, decide
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.proof.grade import BOXED
from ralph.shell.journal.entries import decode_row
from ralph.shell.journal.store import JournalReader, JournalRow
from ralph.shell.ports import Activity, Watcher

POLL_SECONDS = 0.2


class Onlooker:
    """Follows one loop into one watcher."""

    def __init__(self, name: str, env: Mapping[str, str], watcher: Watcher, clock: Clock) -> None:
        self._name, self._watcher, self._clock = name, watcher, clock
        self._output = CallOutput(name, env)
        self._intake: tuple[int, Intake] | None = None
        self._seq, self._since, self._told, self._box = 0, 0.0, False, ""
        self.loop = Loop()

    def follow(self, reader: JournalReader, leave: Callable[[], bool]) -> Loop:
        """Until the loop stops, or whoever looks on leaves."""
        rows = list(reader.rows(self._name))
        words: tuple[str, ...] = ()
        for _, event in _known(iter(rows)):
            self.loop = decide(self.loop, event)
            words = event.words if isinstance(event, e.StintStarted) else words
        self._watcher.begin(self.loop, words)
        self._box, self.loop = self.loop.work.protection, Loop()
        self._take(iter(rows))
        while not leave():
            if self.loop.phase in ("ended", "paused") and not self.loop.todo:
                self._watcher.finish(self.loop)
                break
            driven = self.loop.phase == "queued" or reader.driver(self._name) is not None
            self._take(reader.rows(self._name, self._seq))
            self._hear()
            self._watcher.tick(self.loop, self._activity())
            if not driven and not self._told and self.loop.phase not in ("ended", "paused"):
                self._told = True
                self._watcher.note("nobody drives it now; a worker takes up what runs in the background")
            self._clock.sleep(POLL_SECONDS)
        return self.loop

    def _take(self, rows: Iterator[JournalRow]) -> None:
        for row, event in _known(rows):
            self._hear()
            self.loop, self._seq = decide(self.loop, event), row.seq
            if not EVENTS[type(event)].aside:  # what people say does not begin anything
                self._since = row.at / 1000
            self._told = False
            self._watcher.event(row.seq, event, self.loop)
            if isinstance(event, e.StintStarted) and not self._box:
                self._box = event.protection
                held = event.protection in BOXED
                words = f"{event.protection}: {next(iter(event.words), '')}"
                self._watcher.note(f"sandboxed ({event.protection})" if held else words)

    def _hear(self) -> None:
        call = self.loop.call
        if not call.running:
            return
        if self._intake is None or self._intake[0] != call.number:
            order = failover.with_agent(self.loop.sealed, call.agent, self.loop.build.mode)
            parser = agents.load(order.agent.name).stream(order, call.session)
            self._intake = (call.number, Intake(parser))
        chunk = self._output.read(call.number)
        facts = self._intake[1].feed(chunk) if chunk else []
        if facts:
            self._watcher.hear(tuple(facts))

    def _activity(self) -> Activity:
        loop, now = self.loop, self._clock.now()
        for_seconds = max(0.0, now - self._since)
        if loop.call.running:
            quiet = max(0.0, now - max(self._since, self._output.newest))
            names = (failover.with_agent(loop.sealed, loop.call.agent, loop.build.mode).agent.name,)
            return Activity("agent", names, for_seconds, self._output.size, quiet)
        if loop.phase == "waiting":
            until = loop.control.wait_until
            return Activity("wait", (), for_seconds, left_seconds=None if until is None else until - now)
        if loop.phase == "queued":
            return Activity("wait", ("a place",), for_seconds)
        return Activity("gate" if loop.phase in ("judging", "baseline") else "workspace", (), for_seconds)


def _known(rows: Iterator[JournalRow]) -> Iterator[tuple[JournalRow, e.AnyEvent]]:
    """Rows up to the first that a newer Ralph wrote."""
    for row in rows:
        event = decode_row(row)
        if event is None:
            return
        yield row, event


def look_on(
    name: str, env: Mapping[str, str], watcher: Watcher, clock: Clock, leave: Callable[[], bool]
) -> Loop:
    with journal_of(env) as reader:
        return Onlooker(name, env, watcher, clock).follow(reader, leave)
