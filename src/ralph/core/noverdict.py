"""A gate gave no answer, and that is not the tree's doing: nothing is known that was not known before.

Such a gate is asked again, twice at most, and then the loop pauses: no verdict is made up, so none can be a
witness, a baseline, half of a flaky pair or a rank. Which end of a call is whose doing is found out by the
shell (`shell.machinecause`); what a tree does to its own check is a verdict like any other, and red.
"""

from __future__ import annotations

from typing import NoReturn

from msgspec.structs import replace

from ralph.core import settle
from ralph.core.causes import MACHINE
from ralph.core.events import NoVerdict, RunGates, RunGuards
from ralph.core.loop import Loop
from ralph.errors import IllegalEvent

TRIES = 3  # of one gate on one tree, before a human is told
GUARDS = "guards"


def no_verdict(loop: Loop, event: NoVerdict) -> Loop:
    if not _is_owed(loop, event):
        _illegal(loop, event, "nothing of the kind was asked for")
    if event.doubt and loop.doubted == event.tree:
        _illegal(loop, event, "what was in doubt before on this tree is the tree's own doing")
    mark = (event.stage, event.tree, event.gate if event.stage != GUARDS else "")
    missed = (*(one for one in loop.unheard if one[:2] == mark[:2]), mark)
    loop = replace(loop, unheard=missed, doubted=event.tree if event.doubt else loop.doubted)
    return loop if missed.count(mark) < TRIES else _pause(loop, event)


def _is_owed(loop: Loop, event: NoVerdict) -> bool:
    owed = loop.todo[0] if loop.todo else None
    if isinstance(owed, RunGates):
        return (event.stage, event.tree) == (owed.stage, owed.tree) and event.gate in owed.gates
    return isinstance(owed, RunGuards) and (event.stage, event.tree) == (GUARDS, owed.tree)


def _pause(loop: Loop, event: NoVerdict) -> Loop:
    """What is owed stays owed: the same tree is judged again when somebody takes the loop up."""
    said = event.why or MACHINE.get(event.cause, event.cause)
    why = f'gate "{event.gate}" gave no answer {TRIES} times, through no fault of the work: {said}'
    owed, phase = loop.todo, loop.phase
    loop = settle.paused(replace(loop, pausing=why, unheard=()))
    return replace(loop, held=owed, held_phase=phase)


def _illegal(loop: Loop, event: NoVerdict, why: str) -> NoReturn:
    raise IllegalEvent(f"{type(event).__name__} in phase {loop.phase}: {why}")
