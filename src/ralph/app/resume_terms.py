"""The terms on which a loop may go on: the user's word on findings, and room under its limits."""

from __future__ import annotations

from typing import Any

from msgspec.structs import asdict, replace

from ralph.app.words.next_steps import ALL_ASKED, room_flag
from ralph.core.decide.grants import open_waivers
from ralph.core.decide.machine import decide
from ralph.core.model.actions import Finish
from ralph.core.model.events import ResumeAsked
from ralph.core.model.loop import Loop
from ralph.errors import NothingToDo, UserError
from ralph.shell.config.schema import FLAGS
from ralph.shell.config.values import parse_text, parse_words


def refuse_idle(loop: Loop, raised: ResumeAsked) -> None:
    """A loop whose limit is reached would end again at once: nothing is recorded of an asking in vain."""
    after = decide(loop, replace(raised, at=loop.now))
    ending = after.todo[0] if after.todo else None
    if loop.phase == "ended" and isinstance(ending, Finish) and ending.outcome == "exhausted":
        room = room_flag(loop.iteration, asdict(loop.limits), asdict(loop.spend))
        raise NothingToDo(
            f"loop '{loop.sealed.loop}' has no room left: {ending.reason}",
            code="E-RESUME-LIMIT",
            why="raise the limit that it reached",
            next=f"ralph resume {loop.sealed.loop} {room}".rstrip(),
        )


def waivers(loop: Loop, allowed: tuple[str, ...], asked: str) -> dict[str, Any]:
    """The user's word on findings, held to the rules of the options that start a loop."""
    try:
        given = parse_words(FLAGS["--allow"], list(allowed)) if allowed else {}
        kinds = str(parse_text(FLAGS["--allow-asked"], asked)) if asked else ""
    except ValueError as error:
        raise UserError(
            f"--allow and --allow-asked: expected {error}", code="E-USAGE", next="ralph resume --help"
        ) from None
    words = dict(given) if isinstance(given, dict) else {}
    if ALL_ASKED in words:
        words |= {one.key: words[ALL_ASKED] for one in open_waivers(loop) if one.key not in words}
        del words[ALL_ASKED]
    return {"allow": words, "allow_asked": tuple(filter(None, kinds.split(",")))}
