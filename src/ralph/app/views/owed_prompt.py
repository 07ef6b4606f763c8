"""The prompt that a loop would send now: is a call what comes next, and what would it say?"""

from __future__ import annotations

import os

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.errors import IllegalEvent, UserError
from ralph.shell.git.project import find_project
from ralph.shell.git.store import open_store
from ralph.shell.prompts.build import call_prompt
from ralph.shell.prompts.sources import PromptFiles
from ralph.shell.state.directory import State


def about_to_call(loop: Loop) -> Loop | None:
    """The loop as it is when it calls its agent next, if that is what comes next."""
    try:
        if loop.phase == "paused":
            loop = decide(loop, e.ResumeAsked(at=loop.now))
        elif loop.phase == "waiting":
            loop = decide(loop, e.WaitOver(at=loop.now))
    except IllegalEvent:
        return None
    owed = loop.owed
    return loop if isinstance(owed, actions.RunAgent) and not loop.call.running else None


def owed_text(name: str, loop: Loop, state: State) -> str:
    """The text for the call that this loop is about to make."""
    place = os.path.join(state.loops, name, "store")
    if not os.path.isdir(place):
        raise UserError(
            f"what loop '{name}' was made from is gone",
            code="E-PROMPT-GONE",
            at=place,
            why="the loop was dropped or cleaned",
            next=f"ralph prompt show {name} --iteration 1",
        )
    store = open_store(find_project(loop.sealed.repo), place)
    return call_prompt(loop, PromptFiles(store, state.blobs))
