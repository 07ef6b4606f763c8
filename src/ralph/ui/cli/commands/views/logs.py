"""`ralph logs`: the journal of a loop, line by line; with `--iteration` also what the agent printed."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ralph.app.words.format import safe, safe_lines, stamp
from ralph.clock import SystemClock
from ralph.errors import JournalError, RalphError
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.record import RecordEntry, choose_loop, decode_row
from ralph.shell.journal.store import JournalReader, JournalRow
from ralph.shell.state.blobs import get
from ralph.ui.ask.place import project_here, state_here

POLL_SECONDS = 0.3


@click.command(short_help="Show what happened in a loop.")
@click.argument("loop", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on printing while somebody drives the loop.")
@click.option(
    "--iteration", type=click.IntRange(min=0), metavar="N", help="One iteration, with the agent's output."
)
@click.option("--kind", type=click.Choice(["agent", "gate", "loop"]), help="Only lines of this kind.")
@click.option("--json", "as_json", is_flag=True, help="Event lines as JSON; see docs/json.md.")
def command(loop: str | None, follow: bool, iteration: int | None, kind: str | None, as_json: bool) -> int:
    """Show the journal of LOOP, by default the newest of this project.

    \b
    Examples:
      ralph logs
      ralph logs fix-auth -f
      ralph logs fix-auth --iteration 2
    """
    state = state_here()
    with read_journal(state.root) as reader:
        name = choose_loop(reader, loop, project_here())
        for row in _rows(reader, name, follow=follow):
            entry = RecordEntry(row, decode_row(row))
            if not _is_wanted(entry, iteration, kind):
                continue
            if as_json:
                from ralph.ui.words.event_json import row_line

                print(row_line(row).decode(), flush=follow)
                continue
            print(entry_text(entry), flush=follow)
            if iteration is not None and kind != "gate":
                _print_output(entry, state.blobs)
    return 0


def _rows(reader: JournalReader, name: str, *, follow: bool) -> Iterator[JournalRow]:
    seq = 0
    while True:
        # Asked before reading: whoever stopped after this question wrote its last row before the reading.
        driven = follow and _is_driven(reader, name)
        for row in reader.rows(name, seq):
            seq = row.seq
            yield row
        if not driven:
            return
        SystemClock().sleep(POLL_SECONDS)


def _is_driven(reader: JournalReader, name: str) -> bool:
    try:
        return reader.driver(name) is not None
    except RalphError:
        return True  # another user's loop: whether its lock is held cannot be seen, so go on looking


def _is_wanted(entry: RecordEntry, iteration: int | None, kind: str | None) -> bool:
    from ralph.app.words.lines import group

    if kind is not None and group(entry.row.kind) != kind:
        return False
    return iteration is None or getattr(entry.event, "iteration", None) == iteration


def entry_text(entry: RecordEntry) -> str:
    """412  10:31:02  GateEnded        it 3  tests  fail  …"""
    from ralph.app.words.lines import event_words

    row = entry.row
    words = f"v{row.v}, written by a newer Ralph" if entry.event is None else event_words(entry.event)
    return f"{row.seq:>4}  {stamp(row.at / 1000)}  {safe(row.kind, 40):<17}  {words}".rstrip()


def _print_output(entry: RecordEntry, blobs: str) -> None:
    digest = getattr(entry.event, "output", "")
    if not digest:
        return
    try:
        text = safe_lines(get(blobs, digest).decode("utf-8", "replace"))
    except JournalError as exc:
        text = f"({exc.what})"
    for line in text.rstrip("\n").split("\n"):
        print(f"      | {line}")
