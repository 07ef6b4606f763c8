"""One stamped line for each event and one footer for each iteration: for logs, pipes and CI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, TYPE_CHECKING

from ralph.app.words.format import safe, stamp
from ralph.app.words.lines import event_words
from ralph.app.words.story import StoryCall, call_line, is_settled, update_call
from ralph.core.decide.machine import EVENTS
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.ui.display.none import Silent
from ralph.ui.display.stint_words import alert_words, doing_words, header

if TYPE_CHECKING:
    from ralph.app.drive import Activity

HEARTBEAT_SECONDS = 60.0  # seconds of nothing to say before saying that it still goes on
MAX_SENTENCES = 5


class Plain(Silent):
    def __init__(self, stdout: IO[str], stderr: IO[str], env: Mapping[str, str], number: int = 0) -> None:
        super().__init__(stdout, stderr, env, number)
        self._call: StoryCall | None = None
        self._beat = 0.0

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        for line in header(loop, words, self.number):
            self.tell(line)

    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None:  # noqa: ARG002
        self._beat = 0.0
        label = EVENTS[type(event)].label
        if label:  # the header has said what the others say
            self.tell(f"{stamp(event.at)}  {label:<11}  {event_words(event)}")
        before, self._call = self._call, update_call(self._call, event)
        if before is not None and isinstance(event, e.AgentStarted):
            self._footer(before, loop)
        if self._call is not None and is_settled(self._call, loop):
            self._footer(self._call, loop)
            self._call = None
        if loop.phase == "waiting" and not isinstance(event, e.WaitOver):
            self.tell(f"{stamp(event.at)}  {'waiting':<11}  {safe(loop.control.wait_reason)}")

    def tick(self, loop: Loop, activity: Activity) -> None:
        if activity.seconds - self._beat < HEARTBEAT_SECONDS:
            return
        self._beat = activity.seconds
        self.tell(f"{'':8}  {'':<11}  {doing_words(loop, activity)}")

    def _footer(self, call: StoryCall, loop: Loop) -> None:
        limit = loop.limits.iterations
        self.tell(call_line(call).replace(f"it {call.iteration}", f"it {call.iteration}/{limit or '∞'}", 1))
        if not call.published:
            for sentence in loop.proof.not_yet[:MAX_SENTENCES]:
                self.tell(f"{'':8}  {'not yet':<11}  {safe(sentence, 300)}")
        warned = "" if call.published else alert_words(loop)
        if warned:
            self.tell(f"{'':8}  {'alert':<11}  {warned}")
