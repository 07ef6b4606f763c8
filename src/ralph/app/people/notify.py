"""Telling people who look elsewhere: that a loop ended, waits for them, or has used 80 % of a limit.

A watcher beside the one that shows the loop. Messages are sent beside the work, by threads that nobody waits
for while the loop goes on; when it has stopped they have a few seconds left. What could not be sent is a note
in the loop's log and nothing else. Addresses may hold passwords, so none is sealed into a loop: they are read
from the user's configuration, and from the project's as far as it is approved, whenever there is news.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Thread

import msgspec

from ralph.app.settings import project_settings, user_settings
from ralph.app.words.ending import standing
from ralph.app.words.format import iso, safe
from ralph.app.words.next_steps import next_steps
from ralph.clock import SystemClock
from ralph.core.model.events import AnyEvent, LoopEnded
from ralph.core.model.loop import Loop
from ralph.core.views.notices import Notice, notices_of
from ralph.errors import RalphError
from ralph.shell.config.settings import NotifySettings
from ralph.shell.git.project import find_project
from ralph.shell.notify import issue
from ralph.shell.notify.send import Message, send
from ralph.shell.ports import Activity, Quiet, Watcher

CLOSE_SECONDS = 6.0  # that messages have to get away once the loop has stopped


class Notifier:
    """A watcher that hands on everything it hears to another, and tells people of some of it."""

    def __init__(self, watcher: Watcher, env: Mapping[str, str], tell: Callable[[str], None]) -> None:
        self._watcher, self._env, self._tell = watcher, env, tell
        self._before: Loop | None = None
        self._sending: list[Thread] = []
        self._troubles: list[str] = []

    def event(self, seq: int, event: AnyEvent, loop: Loop) -> None:
        self._watcher.event(seq, event, loop)
        before, self._before = self._before or loop, loop
        for notice in notices_of(before, event, loop):
            self._start(partial(self._send, make_message(notice, seq, event, loop), loop))
        if isinstance(event, LoopEnded) and loop.sealed.people.issue:
            self._start(lambda: [self._comment(loop)])

    def _start(self, work: Callable[[], list[str]]) -> None:
        thread = Thread(target=lambda: self._troubles.extend(filter(None, work())), daemon=True)
        self._sending.append(thread)
        thread.start()

    def _send(self, message: Message, loop: Loop) -> list[str]:
        settings, env = settings_for(loop, self._env), {**loop.host.env, **self._env}
        return list(send(message, settings, env)) if message.kind in settings.on else []

    def _comment(self, loop: Loop) -> str:
        order = loop.sealed
        try:
            return issue.comment(order.people.issue, comment_text(loop), find_project(order.repo), self._env)
        except RalphError as gone:
            return f"no comment on issue {order.people.issue}: {gone.what}"

    def close(self) -> None:
        """What is still on its way has a moment; then it is given up."""
        clock = SystemClock()
        until = clock.monotonic() + CLOSE_SECONDS
        for thread in self._sending:
            thread.join(max(0.0, until - clock.monotonic()))
        if any(thread.is_alive() for thread in self._sending):
            self._troubles.append(f"a notification was not sent within {CLOSE_SECONDS:.0f} s")
        for trouble in dict.fromkeys(self._troubles):
            self._tell(safe(trouble, 300))

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None:
        self._before = loop
        self._watcher.begin(loop, words)

    def hear(self, facts: tuple[object, ...]) -> None:
        self._watcher.hear(facts)

    def tick(self, loop: Loop, activity: Activity) -> None:
        self._watcher.tick(loop, activity)

    def note(self, text: str) -> None:
        self._watcher.note(text)

    def finish(self, loop: Loop) -> None:
        self._watcher.finish(loop)


@contextmanager
def telling_people(
    env: Mapping[str, str], tell: Callable[[str], None] = lambda _: None, *, wait: bool = True
) -> Iterator[Watcher]:
    """For facts that no runner records. `wait`: until what is to be said of them is on its way."""
    notifier = Notifier(Quiet(), env, tell)
    try:
        yield notifier
    finally:
        if wait:
            notifier.close()
        else:
            Thread(target=notifier.close).start()


def settings_for(loop: Loop, env: Mapping[str, str]) -> NotifySettings:
    """What counts for the loop's repository; a file that somebody broke meanwhile does not."""
    repo = loop.sealed.repo
    try:
        return project_settings(env, repo, repo).notify
    except RalphError:
        try:
            return user_settings(env, repo).notify
        except RalphError:
            return NotifySettings()


def make_message(notice: Notice, seq: int, event: AnyEvent, loop: Loop) -> Message:
    """The message, with the JSON object for programs (docs/notifications.md)."""
    order, spend = loop.sealed, loop.spend
    steps = [step.command for step in next_steps(standing(loop))]
    body = {
        "v": 1,
        "event": notice.kind,
        "at": iso(event.at),
        "loop": f"ralph-{order.loop}",
        "repo": safe(order.repo, 1000),
        "task": safe(order.task, 500),
        "phase": loop.phase,
        "outcome": loop.outcome,
        "grade": loop.grade,
        "text": notice.text,
        "iteration": loop.iteration,
        "seconds": round(loop.elapsed_seconds, 1),
        "tokens": spend.tokens,
        "cost": spend.cost,
        "next": steps,
    }
    return Message(
        kind=notice.kind,
        id=f"ralph-{order.loop}/{seq}",
        at=int(event.at),
        title=f"ralph {order.loop}",
        text=notice.text,
        body=msgspec.json.encode(body),
    )


def comment_text(loop: Loop) -> str:
    """What the issue is told. Words of an agent stand in a code block, where they mention and link nobody."""
    order = loop.sealed
    lines = [f"**{loop.outcome}**" + (f" (grade {loop.grade})" if loop.grade else ""), ""]
    reason = safe(loop.reason, 500).replace("```", "'''")
    lines += ["```", reason, "```", ""] if reason else []
    lines += [f"ralph loop `{order.loop}`, {loop.iteration} iterations"]
    lines += [f"- `{step.command}`" for step in next_steps(standing(loop))]
    return "\n".join(lines) + "\n"
