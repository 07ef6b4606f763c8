"""Around `core.sentence.route`: what is known here, a check from the project, and answers to its questions.

Nothing here starts anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ralph.app.criterion.infer import propose_here
from ralph.app.place import journal_of, project_of
from ralph.app.settings import required_gates
from ralph.app.words.format import safe
from ralph.core.criterion.named_tools import named_class, names_without_gate
from ralph.core.criterion.predicate import names_measure
from ralph.core.criterion.proposal import Proposal
from ralph.core.model.outcome import RESUMABLE
from ralph.core.model.plan.items import NAME as PLAN_NAME
from ralph.core.sentence.ask_bounds import DEFAULT, take_answer
from ralph.core.sentence.goal_hosts import host_of
from ralph.core.sentence.intent import (
    KnownHere,
    KnownLoop,
    Route,
    RouteChoice,
    RouteQuestion,
    check_question,
    why_asked,
    with_check,
    with_confidence,
)
from ralph.core.sentence.route import route
from ralph.shell.plan.spec_files import FOLDER as SPECS

MAX_LOOPS = 50  # loops that a sentence may speak of
# kinds of check -> a task whose check it is
KIND_TASKS = {
    "test": "make the tests pass",
    "types": "fix the type errors",
    "lint": "fix the lint findings",
    "build": "make the build pass",
}
INFERRED = "as inferred"


def is_open(found: Route, about: str) -> bool:
    """Is there still a question about this?"""
    return any(one.about == about for one in found.ask)


def known_here(host: str, env: Mapping[str, str], cwd: str) -> KnownHere:
    """Loops of this project, newest first, and the host ("auto": the one this runs in)."""
    named = host_of(env) if host == "auto" else host
    loops, newest = [], list[bool]()
    with journal_of(env) as reader:
        for row in reader.summaries(project_of(cwd), MAX_LOOPS):
            newest.append(_has_plan(row.body))
            unfinished = row.phase != "ended"
            resumable = unfinished or row.outcome in RESUMABLE
            loops.append(KnownLoop(row.loop, _task_of(row.body), unfinished, resumable))
    return KnownHere(tuple(loops), named, _has_specs(cwd, bool(newest) and newest[0]))


def _has_specs(cwd: str, built: bool) -> bool:
    """Is there something that `ralph build` would take up?"""
    top = project_of(cwd)
    if top is None:
        return False
    folder = os.path.join(top, SPECS)
    specs = os.path.isdir(folder) and any(name.endswith(".md") for name in os.listdir(folder))
    return built or specs or os.path.isfile(os.path.join(top, PLAN_NAME))


def _task_of(body: bytes) -> str:
    task = _read_summary(body).get("task", "")
    return task if isinstance(task, str) else ""


def _has_plan(body: bytes) -> bool:
    return bool(_read_summary(body).get("plan"))


def _read_summary(body: bytes) -> dict[str, object]:
    try:
        told = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def add_check(found: Route, env: Mapping[str, str], cwd: str, *, infer: bool = True) -> Route:
    """With a check from the project's own gates, or an inferred one; what cannot be found stays open."""
    if found.task is None or found.verification_command or not is_open(found, "check"):
        return found
    said = found.criterion or ""
    own = {} if names_measure(said) else required_gates(env, cwd)
    if own and not names_without_gate(found.task, said, named_class(found.task), own.values()):
        words = f"the gates of this project pass: {', '.join(own)}"
        return with_check(found, words, " && ".join(own.values()), "high")
    # Words that were refused as a check must not come back through inference.
    until = "" if why_asked(found) else found.criterion or ""
    proposal = propose_here(found.task, until, cwd) if infer else None
    if proposal is None:
        return found
    if proposal.refused or not proposal.verification_command:
        return _with_kinds(found, cwd, (), safe(proposal.refused, 300))
    done = with_check(found, proposal.criterion, proposal.verification_command, proposal.confidence)
    if proposal.confidence == "high":
        return done
    return _with_kinds(done, cwd, (_choice(INFERRED, proposal),))


def _with_kinds(found: Route, cwd: str, first: tuple[RouteChoice, ...], why: str = "") -> Route:
    """The question for a check: what was inferred, then each kind with this project's command for it."""
    made = [(kind, propose_here(task, "", cwd)) for kind, task in KIND_TASKS.items()]
    choices = tuple(_choice(kind, one) for kind, one in made if one is not None and not one.refused)
    asked = next(one for one in found.ask if one.about == "check")
    question = check_question(why_asked(found) or why, (*first, *choices))
    ask = tuple(question if one is asked else one for one in found.ask)
    return with_confidence(replace(found, ask=ask))


def _choice(label: str, proposal: Proposal) -> RouteChoice:
    """A proposal as an answer. The scripts that its commands start are shown with it."""
    scripts = [safe(check.executes, 300) for check in proposal.checks if check.executes]
    note = f"its script: {'; '.join(scripts)}" if scripts else ""
    return RouteChoice(label, proposal.verification_command, note)


def with_answer(found: Route, one: RouteQuestion, chosen: RouteChoice) -> Route:
    """The route once a question of it is answered."""
    value = chosen.value
    rest = tuple(other for other in found.ask if other is not one)
    found = replace(found, ask=rest)
    if one.about == "check":
        if chosen.label == INFERRED:
            return with_check(found, "", value, "high")
        if not found.stated:  # what was inferred before was about another check
            found = replace(found, criterion=f"`{value}` passes")
        return with_check(found, "", value, "high", (value,))
    if one.about == "task":
        return with_confidence(replace(found, task=" ".join(value.split()) or None, guessed=False))
    if one.about == "loop":
        return with_confidence(replace(found, loop_id=value))
    if one.about == "bound" and value != DEFAULT:
        flag = one.question.rsplit(" ", 1)[-1]
        bound = take_answer(found, flag, value)
        return bound if bound is not None else replace(found, ask=(one, *rest))
    if one.about == "clause" and value == "task":
        return with_confidence(
            replace(found, task=f"{found.task}, {chosen.note}" if found.task else chosen.note)
        )
    if one.about == "place" and value == "loop":
        return _move_phrase(found, chosen.note)
    return with_confidence(found)


def _move_phrase(found: Route, phrase: str) -> Route:
    """What stood at the end of the task is about the loop: say it again, set off."""
    task = (found.task or "").removesuffix(phrase).rstrip()
    said = route(f"ralph this: {task}, {phrase}")
    return with_confidence(
        replace(
            found,
            task=task,
            route="external" if said.route == "external" else found.route,
            max_iterations=said.max_iterations or found.max_iterations,
            timeout=said.timeout or found.timeout,
            max_cost=said.max_cost or found.max_cost,
        )
    )
