"""Going on with a loop that was paused, crashed, or ended without a verified result."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct

from ralph.app.drive import DriveRequest
from ralph.app.place import journal_of, project_of
from ralph.app.records import read_loop
from ralph.app.settings import settings_to_resume
from ralph.core.model.events import AnyEvent, ResumeAsked, Steered
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import FINAL, RESUMABLE
from ralph.errors import NothingToDo, UserError
from ralph.shell.git.project import find_project
from ralph.shell.journal.selection import choose_loop, find_loop


class MoreRoom(Struct, frozen=True, kw_only=True):
    """What is added to the limits of a loop."""

    iterations: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    tokens: int = 0


class ResumeRequest(Struct, frozen=True, kw_only=True):
    loop: str
    more: MoreRoom = MoreRoom()
    note: str = ""  # joins the next prompt
    done: tuple[str, ...] = ()  # items of the plan that a human has done
    checks: tuple[str, ...] = ()  # CMD or NAME=CMD: gates that join the order
    cwd: str = ""  # where those are meant from
    author: str = ""


def loop_to_resume(text: str | None, env: Mapping[str, str], cwd: str) -> str:
    """The loop that was named, else the newest of this project that can go on."""
    with journal_of(env) as reader:
        if text:
            return find_loop(reader, text)
        for row in reader.summaries(project_of(cwd)):
            if row.phase != "ended" or row.outcome in RESUMABLE:
                return row.loop
        name = choose_loop(reader, None, project_of(cwd))
    raise NothingToDo(
        "every loop here is verified or aborted", code="E-LOOP-NONE", next=f"ralph status {name}"
    )


def refuse_final(name: str, env: Mapping[str, str]) -> Loop:
    """The loop, if it can go on at all."""
    loop = read_loop(name, env).loop
    if loop.phase == "ended" and loop.outcome in FINAL:
        raise NothingToDo(
            f"loop '{name}' is {loop.outcome}, which is final",
            code="E-LOOP-FINAL",
            next=f"ralph report {name}",
        )
    return loop


def prepare_resume(request: ResumeRequest, env: Mapping[str, str]) -> DriveRequest:
    """What to drive and what is recorded before: the asking itself, raised limits, the note."""
    loop = refuse_final(request.loop, env)
    settings = settings_to_resume(env, loop.sealed.repo)
    return DriveRequest(
        name=request.loop,
        min_free=settings.retention.min_free,
        max_loops=settings.max_loops,
        first=_first_events(loop, request, _joining_gates(loop, request, env)),
    )


def _joining_gates(loop: Loop, request: ResumeRequest, env: Mapping[str, str]) -> tuple[Gate, ...]:
    """The checks that were asked for, sealed; a loop that is held to other terms is refused."""
    if not request.checks:
        return ()
    order = loop.sealed
    if order.brief is not None:
        raise UserError(
            "a plan is held to the checks that it began with",
            code="E-RESUME-CHECK",
            why="its items were verified by those; a further check is a loop of its own",
            next=f"ralph status {order.loop}",
        )
    from ralph.shell.start.gates import seal_joining

    inside = project_of(request.cwd) == order.repo
    cwd = os.path.relpath(os.path.realpath(request.cwd), order.repo) if inside else order.prefix or "."
    project = find_project(order.repo)
    return seal_joining(request.checks, order.criterion, project, order.base.commit, cwd, env)


def _first_events(loop: Loop, request: ResumeRequest, gates: tuple[Gate, ...]) -> tuple[AnyEvent, ...]:
    raised = ResumeAsked(
        author=request.author,
        more_iterations=request.more.iterations,
        more_time=request.more.seconds,
        more_cost=request.more.cost,
        more_tokens=request.more.tokens,
        done=_done_by_hand(loop, request.done),
        gates=gates,
    )
    note = (Steered(text=request.note, author=request.author),) if request.note else ()
    if loop.phase in ("paused", "ended"):
        return (raised, *note)
    if raised != ResumeAsked(author=request.author):
        raise UserError(
            "limits are raised, checks added and items named as done only when a loop is paused or has ended",
            code="E-RESUME-LIMITS",
            why=f"it is {loop.phase}: take it up first",
            next=f"ralph resume {loop.sealed.loop}",
        )
    return note


def _done_by_hand(loop: Loop, names: tuple[str, ...]) -> tuple[str, ...]:
    """Items that a human has done: only those that the plan leaves to a human."""
    items = {item.id: item for item in loop.build.plan.items} if loop.build is not None else {}
    for name in names:
        if name not in items or not items[name].human:
            left = ", ".join(item.id for item in items.values() if item.human) or "none"
            raise UserError(
                f"'{name}' is not an item that the plan leaves to a human",
                code="E-RESUME-ITEM",
                why=f"such items here: {left}; any other is ticked by Ralph alone",
                next=f"ralph plan --show {loop.sealed.loop}",
            )
    return names
