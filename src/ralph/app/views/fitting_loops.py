"""Which loop a command that acts means when none is named: the only one here on which it can act."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from ralph.app.place import journal_of, project_of
from ralph.core.model.outcome import RESUMABLE
from ralph.errors import NothingToDo
from ralph.shell.journal.selection import find_loop, several_loops_error
from ralph.shell.journal.store import ENDED, SummaryRow


class _ResultState(Struct, frozen=True):
    """As much of a summary as the choice needs."""

    result: str = ""
    landing: str = ""
    dropped: bool = False


def loop_to_act_on(text: str | None, verb: str, env: Mapping[str, str], cwd: str) -> str:
    """The loop that was named; without a name the only one of this project on which `verb` can act."""
    repo = project_of(cwd)
    with journal_of(env) as reader:
        if text is not None:
            return find_loop(reader, text, repo)
        found = [row.loop for row in reader.summaries(repo) if fits_verb(row, verb)]
    if not found:
        raise NothingToDo(f"there is no loop here to {verb}", code="E-LOOP-NONE", next="ralph status --all")
    if len(found) > 1:
        raise several_loops_error(f"`ralph {verb}`", found, f"ralph {verb} {found[0]}")
    return found[0]


def fits_verb(row: SummaryRow, verb: str) -> bool:
    """Can `ralph VERB` act on this loop?"""
    try:
        made = msgspec.json.decode(row.body, type=_ResultState)
    except msgspec.DecodeError:
        return False  # a damaged one is named by `ralph status`
    if made.dropped:
        return False
    unfinished = row.phase != ENDED
    if verb == "merge":
        green = row.outcome in ("verified", "unproven")
        return green and made.result != "" and made.landing in ("", "landing")
    if verb == "undo":
        return made.landing in ("landed", "undoing")
    if verb == "discard":
        return not unfinished and made.landing == ""
    if verb == "resume":
        return unfinished or (row.outcome in RESUMABLE and made.landing == "")
    if verb == "answer":
        return unfinished or row.outcome == "blocked"
    return unfinished and not (verb == "pause" and row.phase == "paused")
