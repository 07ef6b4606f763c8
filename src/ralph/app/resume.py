"""Going on with a loop that was paused, crashed, or ended without a verified result."""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.drive import DriveRequest
from ralph.app.place import is_driven, journal_of, project_of
from ralph.app.records import read_loop
from ralph.app.resume_terms import refuse_idle, waivers
from ralph.app.settings import settings_to_resume
from ralph.app.views.fitting_loops import fits_verb
from ralph.core.model.agent import SealedAgent
from ralph.core.model.events import AnyEvent, CheckpointMade, ResumeAsked, Steered
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import FINAL
from ralph.core.model.verdict import Checkpoint
from ralph.errors import NothingToDo, UserError
from ralph.shell.git.project import find_project
from ralph.shell.journal.selection import choose_loop


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
    allow: tuple[str, ...] = ()  # findings to waive, each as ID=REASON
    allow_asked: str = ""  # kinds that are granted when the agent asks, with commas
    checks: tuple[str, ...] = ()  # CMD or NAME=CMD: gates that join the order
    cwd: str = ""  # where those are meant from
    author: str = ""
    agent: str = ""  # another one goes on with it
    agent_cmd: str = ""
    checkpoint: int | None = None  # the work goes on from here

    @property
    def only_room(self) -> bool:
        """Nothing but more room is asked for: that can also join a loop at work."""
        return replace(self, loop="", more=MoreRoom(), cwd="", author="") == ResumeRequest(loop="")


def last_to_resume(env: Mapping[str, str], cwd: str) -> str:
    """The newest loop of this project that can go on."""
    with journal_of(env) as reader:
        for row in reader.summaries(project_of(cwd)):
            if fits_verb(row, "resume"):
                return row.loop
        name = choose_loop(reader, None, project_of(cwd))
    raise NothingToDo(
        "no loop here can go on: they are verified, aborted, merged or discarded",
        code="E-LOOP-NONE",
        next=f"ralph status {name}",
    )


def refuse_final(name: str, env: Mapping[str, str]) -> Loop:
    """The loop, if it can go on at all."""
    loop = read_loop(name, env).loop
    landing = loop.landing
    word = "discarded" if landing.was_dropped else "merged" if landing.state else loop.outcome
    if loop.phase == "ended" and (loop.outcome in FINAL or word != loop.outcome):
        raise NothingToDo(
            f"loop '{name}' is {word}, which is final", code="E-LOOP-FINAL", next=f"ralph report {name}"
        )
    return loop


def raise_at_work(request: ResumeRequest, env: Mapping[str, str]) -> bool:
    """More room for a loop that a runner drives right now; False when there is none, or more is asked for."""
    if not (request.only_room and request.more != MoreRoom() and is_driven(request.loop, env)):
        return False
    from ralph.app.tell import send_and_wait

    more = request.more
    event = ResumeAsked(
        author=request.author,
        more_iterations=more.iterations,
        more_time=more.seconds,
        more_cost=more.cost,
        more_tokens=more.tokens,
    )
    send_and_wait(request.loop, env, event, until="", drive=False)
    return True


def prepare_resume(request: ResumeRequest, env: Mapping[str, str]) -> DriveRequest:
    """What to drive and what is recorded before: the asking itself, raised limits, the note."""
    loop = refuse_final(request.loop, env)
    settings = settings_to_resume(env, loop.sealed.repo)
    return DriveRequest(
        name=request.loop,
        min_free=settings.retention.min_free,
        max_loops=settings.places.max_loops,
        max_loops_machine=settings.places.max_loops_machine,
        first=_first_events(loop, request, _joining_gates(loop, request, env), env),
    )


def _joining_gates(loop: Loop, request: ResumeRequest, env: Mapping[str, str]) -> tuple[Gate, ...]:
    """The checks that were asked for, sealed; a loop that is held to other terms is refused."""
    if not request.checks:
        return ()
    order = loop.sealed
    if loop.has_plan:
        raise UserError(
            "a plan is held to the checks that it began with",
            code="E-RESUME-CHECK",
            why="its items were verified by its checks; start another loop for another check",
            next=f"ralph status {order.loop}",
        )
    from ralph.shell.start.gates import seal_joining

    inside = project_of(request.cwd) == order.repo
    cwd = os.path.relpath(os.path.realpath(request.cwd), order.repo) if inside else order.prefix or "."
    return seal_joining(request.checks, loop, find_project(order.repo), cwd, env)


def checkpoint_of(name: str, iteration: int, env: Mapping[str, str]) -> Checkpoint:
    """The checkpoint after this iteration of a loop; 0 is its base."""
    record = read_loop(name, env)
    if record.loop.has_plan:
        raise UserError(
            "a loop with a plan goes on from where its items stand",
            code="E-RESUME-CHECKPOINT",
            why="its verified items are on the result branch already",
            next=f"ralph resume {name}",
        )
    base = record.loop.sealed.base
    if iteration == 0:
        return Checkpoint(iteration=0, tree=base.tree, commit=base.commit)
    made = {one.iteration: one for one in record.events if isinstance(one, CheckpointMade)}
    if iteration not in made:
        raise UserError(
            f"loop '{name}' has no checkpoint {iteration}",
            code="E-CHECKPOINT-UNKNOWN",
            why=f"expected one of: {', '.join(map(str, (0, *sorted(made))))}",
            next=f"ralph checkpoints {name}",
        )
    found = made[iteration]
    return Checkpoint(
        iteration=iteration, tree=found.tree, commit=found.commit, changed_lines=found.total_lines
    )


def _other_agent(loop: Loop, request: ResumeRequest, env: Mapping[str, str]) -> SealedAgent | None:
    if not (request.agent or request.agent_cmd):
        return None
    from ralph.shell.start.agents import choose_agents

    settings = settings_to_resume(env, loop.sealed.repo)
    settings = replace(settings, agent=request.agent or settings.agent)
    project = find_project(loop.sealed.repo)
    chosen = choose_agents(settings, project, env, command=request.agent_cmd)[0]
    return replace(chosen.agent, model=settings.model)


def _first_events(
    loop: Loop, request: ResumeRequest, gates: tuple[Gate, ...], env: Mapping[str, str]
) -> tuple[AnyEvent, ...]:
    raised = ResumeAsked(
        author=request.author,
        more_iterations=request.more.iterations,
        more_time=request.more.seconds,
        more_cost=request.more.cost,
        more_tokens=request.more.tokens,
        done=_done_by_hand(loop, request.done),
        **waivers(loop, request.allow, request.allow_asked),
        gates=gates,
        agent=_other_agent(loop, request, env),
        to=None if request.checkpoint is None else checkpoint_of(request.loop, request.checkpoint, env),
    )
    told = [f"allowed from now on: {key} ({why})" for key, why in raised.allow.items()]
    told += [request.note] if request.note else []
    note = (Steered(text="; ".join(told), author=request.author),) if told else ()
    if loop.phase in ("paused", "ended"):
        refuse_idle(loop, raised)
        return (raised, *note)
    if raised != ResumeAsked(author=request.author):
        raise UserError(
            "limits, checks, waivers and items done by hand join a loop only while it is paused or has ended",
            code="E-RESUME-LIMITS",
            why=f"it is {loop.phase}: take it up first",
            next=f"ralph resume {loop.sealed.loop}",
        )
    return note


def _done_by_hand(loop: Loop, names: tuple[str, ...]) -> tuple[str, ...]:
    """Items that a human has done: only those that the plan leaves to a human."""
    items = {item.id: item for item in loop.build.plan.items}
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
