"""A loop's record, read from its journal: what happened, and the loop that it makes."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from ralph.app.background.call_output import CallOutput
from ralph.app.place import is_driven, journal_of, project_of, state_of
from ralph.clock import SystemClock
from ralph.core.model.events import AgentEnded, AgentStarted
from ralph.errors import JournalError
from ralph.shell.journal.entries import Record, RecordEntry, decode_row
from ralph.shell.journal.record import load
from ralph.shell.journal.selection import choose_loop
from ralph.shell.journal.store import JournalReader
from ralph.shell.state import blobs

POLL_SECONDS = 0.3
__all__ = ["Record", "RecordEntry"]


def read_loop(name: str, env: Mapping[str, str]) -> Record:
    """The record of this loop; JournalError when it is damaged, UserError when there is none."""
    with journal_of(env) as reader:
        return load(reader, name)


def read_newest(text: str | None, env: Mapping[str, str], cwd: str) -> Record:
    """The record of the loop that was named, else of the newest of the project around `cwd`."""
    with journal_of(env) as reader:
        return load(reader, choose_loop(reader, text, project_of(cwd)))


def follow_loop(
    text: str | None, env: Mapping[str, str], cwd: str, *, follow: bool = False
) -> Generator[RecordEntry | str]:
    """What happened in a loop, row by row; with `follow` on and on while somebody drives it.

    Then also, line by line, what the agent prints while it is at work.
    """
    with journal_of(env) as reader:
        name, seq, call = choose_loop(reader, text, project_of(cwd)), 0, 0
        output = CallOutput(name, env)
        while True:
            # Asked before reading: whoever stopped after this question wrote its last row before the reading.
            driven = follow and (is_driven(name, env) or is_queued(name, reader))
            live = follow and seq > 0
            for row in reader.rows(name, seq):
                seq, event = row.seq, decode_row(row)
                if live and isinstance(event, AgentEnded):  # its last words come before its end
                    yield from output.lines(call, last=True)
                yield RecordEntry(row, event)
                if isinstance(event, AgentStarted | AgentEnded):
                    call = event.call if follow and isinstance(event, AgentStarted) else 0
            yield from output.lines(call)
            if not driven:
                return
            SystemClock().sleep(POLL_SECONDS)


def is_queued(name: str, reader: JournalReader) -> bool:
    return any(row.loop == name and row.phase == "queued" for row in reader.summaries(active=True))


def stored_text(digest: str, env: Mapping[str, str]) -> str:
    """Text that the journal keeps beside its rows; a sentence in brackets where it is gone."""
    try:
        return blobs.get(state_of(env).blobs, digest).decode("utf-8", "replace")
    except JournalError as gone:
        return f"({gone.what})"
