"""Which loops take the places when there is none left: said together with the refusal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ralph.app.place import journal_of
from ralph.app.views.rows import list_row
from ralph.app.words.format import safe
from ralph.errors import Busy
from ralph.shell.state.stints import many_loops_names


@contextmanager
def naming_loops(env: Mapping[str, str]) -> Iterator[None]:
    """A refusal for want of a place names each loop at work: number, iteration, task, and how to end it."""
    try:
        yield
    except Busy as full:
        if full.code != "E-LOOPS-MANY":
            raise
        names = many_loops_names(full)
        with journal_of(env) as reader:
            found = {row.loop: row for row in reader.summaries(active=True) if row.loop in names}
            rows = [(found[name].number, list_row(found[name], reader)) for name in names if name in found]
        lines = [
            f"#{number}  it {row.body.get('iteration', 0)}  {safe(row.body.get('task', ''), 60)}"
            f"  ralph abort {row.name}"
            for number, row in rows
        ]
        why = "\n".join(
            [full.why.split(": ")[0] + ":", *lines, "--queue waits for a place in the background"]
        )
        raise Busy(full.what, code=full.code, why=why, next=full.next) from None
