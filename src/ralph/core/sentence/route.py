"""From a sentence to a proposal: which kind of loop is meant, its task, criterion and bounds, or none.

A pure function over the phrase tables. It decides nothing that costs anything: what it returns is shown
first, and whatever is not beyond doubt stands in `ask`. Where a check is missing, the shell infers one
and completes the proposal with `with_check`. Commands and screens are in `ui`.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.sentence import flags_in_text as peel
from ralph.core.sentence import match as match_
from ralph.core.sentence.ask_bounds import route_with_bounds
from ralph.core.sentence.goal_hosts import GOALS
from ralph.core.sentence.intent import (
    MAX_TEXT_CHARS,
    KnownHere,
    KnownLoop,
    Route,
    RouteChoice,
    RouteQuestion,
    Where,
    check_question,
    no_route,
    with_confidence,
)
from ralph.core.sentence.phrases import Form, PhraseTable, any_of, languages
from ralph.core.text.clean import clean


def route(
    text: str,
    known: KnownHere = KnownHere(),  # noqa: B008
    tables: tuple[PhraseTable, ...] | None = None,
) -> Route:
    """What `text` asks for. Never raises; nothing in the result holds a control character."""
    said = peel.fold(clean(text))
    if len(said) > MAX_TEXT_CHARS:
        return no_route("long", said)
    spoken = languages() if tables is None else tables
    return route_with_bounds(said, _first(said, known, spoken), lambda rest: _first(rest, known, spoken))


def _first(said: str, known: KnownHere, tables: tuple[PhraseTable, ...]) -> Route:
    """What the first language in which it means something makes of it."""
    first: Route | None = None
    for language in tables:
        found = _route(said, known, language)
        if found.route != "none" or found.confidence == "high":
            return found
        first = first or found
    return first or no_route("unmatched", said)


def _route(said: str, known: KnownHere, language: PhraseTable) -> Route:
    if said.lower().startswith("/goal "):
        return _host_goal(said, language)
    text, dropped = peel.drop_opening(said.rstrip("? "), language)
    polite = any(words in language.polite for words in dropped)
    asks = said.endswith("?") and not polite
    control = _route_control(peel.drop_closing(text, language), known, language)
    if control is not None:
        return control
    if text.lower().startswith("/parallel"):  # items come from the backlog, not from a sentence
        return no_route("parallel", said)
    if peel.begins(text, language.negations):
        return no_route("negated", said)
    if not _explicit(text) and (asks or (not polite and peel.begins(text, language.questions))):
        return no_route("question" if _about_loops(text, language) else "unmatched", said)
    return _request(text, asks, known, language)


def _host_goal(said: str, language: PhraseTable) -> Route:
    """A line for a host's own goal command starts no loop beside it; what a loop of the same would be."""
    goal = peel.fold(said[6:])
    text, criterion = _completion(goal, language)
    measured = match_.measurable(goal, language) and not peel.begins(goal, language.work)
    until = criterion or (goal if measured else "")
    task = text if not measured or criterion else match_.task_for_criterion(goal, language) or text
    return no_route("goal", task, until)


def _explicit(text: str) -> bool:
    """After "ralph this:" whatever follows is a task, or nothing that a loop could do."""
    head = text[:80].lower()
    return ":" in head and head.lstrip("/").startswith(
        ("ralph", "al:", "al ", "agent-loop", "agent loop", "loop")
    )


def _about_loops(text: str, language: PhraseTable) -> bool:
    """It speaks of loops, so an answer about loops is in place."""
    words = rf"(?<!\w)(?:loops|looping|iterations?|{any_of(language.keep)})(?!\w)"
    return re.search(words, text, re.IGNORECASE) is not None


def _request(text: str, asks: bool, known: KnownHere, language: PhraseTable) -> Route:
    flags = peel.flags_of(text)
    text, lead = peel.peel_agent(flags.rest, language)
    text, front = peel.peel_start(text, language)
    front = (*lead, *front)
    text, criterion = _completion(text, language)
    whole = peel.drop_closing(text, language)
    text, tail = peel.peel_end(text.rstrip(" :"), language)
    summoned = text.lower().startswith("ralph, ")
    text, _ = peel.drop_opening(text[7:] if summoned else text, language)
    said = (*front, *tail)
    external = any(one.about == "outside" for one in said)
    found = match_.matches(text, language, external=external)
    bound = any(one.about in ("tries", "endless") and one.firm for one in (*flags.peeled, *said))
    bound = bound or any(one.about in ("hours", "money") for one in front)  # in front it is about the loop
    if (
        found is None
        and peel.begins(text, language.work)
        and (summoned or bound or criterion or flags.criterion or lead)
    ):
        found = match_.Match(Form("{work}", task="{work}", sure=not lead), text, "")
    if found is None and any(one.about == "outside" for one in front):
        found = match_.Match(Form("{task}"), text, "")  # "in the background: …" can only be a request
    if found is None:
        return no_route("unmatched", peel.fold(whole))
    if known.specs and found.task and not found.criterion:
        inner = match_.matches(found.task, language, external=False)  # "ralph this: implement the specs"
        if inner is not None and inner.row.build:
            found = replace(inner, row=replace(inner.row, team=found.row.team), peeled=found.peeled)
    if found.row.build and not known.specs:
        found = match_.matches(text, language, external=external, build=False)
        if found is None:
            return no_route("specs", peel.fold(whole))
    rest, inside = peel.peel_end(found.task.rstrip(" ,"), language)  # "… in the background until …"
    if found.task.endswith(",") or (found.criterion and all(one.about == "outside" for one in inside)):
        found = replace(found, task=rest, peeled=(*found.peeled, *inside))
    loose = tuple(one for one in tail if not one.firm) if _open_ended(found) else ()
    task = " ".join([found.task, *(one.text for one in reversed(loose))]) if loose else found.task
    said = (*flags.peeled, *front, *found.peeled, *(one for one in tail if one not in loose))
    stated = criterion or flags.criterion or found.criterion or match_.ending(found.task, language)
    if _unprovable(task, asks, language):
        return no_route("opinion", task)
    return _proposal(_Said(task, stated, flags.loop_id, said, loose, found.row), known, language)


def _open_ended(found: match_.Match) -> bool:
    """The sentence ends with the task, so that words at its end may belong to it."""
    return found.row.say.endswith(("{task}", "{work}", "{list}")) and not found.row.only_external


def _completion(text: str, language: PhraseTable) -> tuple[str, str]:
    """The text without "; completion: X" or ", done when X", and X."""
    said = language.criteria.completion
    pattern = rf"(?:^|[;,.]\s?|\s)(?:{any_of(said)})\s?[:=]\s?(\S.*)$"
    clause = rf"[;,.]\s(?:and\s)?(?:{any_of(tuple(one for one in said if ' ' in one))})\s(\S.*)$"
    found = re.search(pattern, text, re.IGNORECASE) or re.search(clause, text, re.IGNORECASE)
    return (text[: found.start()].rstrip(" :"), peel.fold(found[1])) if found else (text, "")


def _unprovable(task: str, asks: bool, language: PhraseTable) -> bool:
    """A question or an opinion as a task. A text that is to be written into a file can be checked."""
    if not (asks or task.endswith("?") or peel.begins(task, language.opinions)):
        return False
    return not any("." in word.strip(".,;:") or "/" in word for word in task.split())


class _Said(Struct, frozen=True):
    task: str
    criterion: str
    loop_id: str
    peeled: tuple[peel.Peeled, ...]
    loose: tuple[peel.Peeled, ...]
    row: Form


def _proposal(said: _Said, known: KnownHere, language: PhraseTable) -> Route:
    stated, extra = _split_criterion(said.criterion, language)
    criterion = "" if match_.says_done(stated, language) else stated
    command, refused = match_.command_in(criterion, language) if criterion else ("", "")
    build = said.row.build or (said.row.bare and known.specs and not criterion)
    task, guessed, ask = ("", False, []) if build else _task(said, criterion, known, language)
    if said.row.external or any(one.about == "outside" for one in said.peeled):
        where: Where = "external"
    else:
        # A host's goal command knows no plan and no reviewer.
        where = "goal" if known.host in GOALS and not said.row.team else "internal"
    ask += [_place(one) for one in said.loose]
    ask += [_clause(text) for text in (*extra, *(one.text for one in said.peeled if one.about == "beyond"))]
    bounds, wrong = _bounds(said.peeled)
    ask += wrong
    if not command and not build:
        ask.append(check_question(_why_no_check(criterion, refused, language)))
    found = Route(
        route=where,
        task=task or None,
        agent=",".join(dict.fromkeys(_agents(said.peeled, language))) or None,
        build=build,
        criterion=criterion or (f"`{command}` passes" if command else None),
        verification_command=command or None,
        checks=(command,) if command else (),
        **_limits(bounds),
        stated=criterion != "",
        loop_id=said.loop_id or None,
        host=known.host or None,
        ask=tuple(ask),
        guessed=guessed or not (said.row.sure or any(one.about == "outside" for one in said.peeled)),
        team=said.row.team,
    )
    return with_confidence(found)


def _task(
    said: _Said, criterion: str, known: KnownHere, language: PhraseTable
) -> tuple[str, bool, list[RouteQuestion]]:
    """(task, whether it was guessed, what to ask about it)."""
    pointed = said.task.lower() in language.meanwhile
    if said.task and not pointed:
        return said.task, False, []
    meant = match_.task_for_criterion(criterion, language) if criterion else ""
    if meant:
        return meant, False, []
    last = next((loop.task for loop in known.loops if loop.task), "")
    if criterion and not match_.is_vague(criterion, language):
        return language.criteria.attain.replace("{criterion}", criterion), True, []
    if last:
        return " ".join(clean(last).split()), True, []
    choices = (RouteChoice("the task", ""),)
    return (
        "",
        True,
        [RouteQuestion("task", "what is to be done? no task was said and no loop was here before", choices)],
    )


def _why_no_check(criterion: str, refused: str, language: PhraseTable) -> str:
    if refused:
        return f"the command in the text is not taken: {refused}"
    if criterion and match_.is_vague(criterion, language):
        return f"no check can decide '{criterion}'"
    return ""


def _agents(peeled: tuple[peel.Peeled, ...], language: PhraseTable) -> list[str]:
    return [peel.agent_in(one.text, language) for one in peeled if one.about == "agent"]


_JOINTS = re.compile(r"(?:,|;|\.\s|\s)\s*(?:and\s+then|and|then)\s+|[,;]\s+", re.IGNORECASE)


_STATE = re.compile(r"\S+\s(?:is|are|be|pass|passes|succeeds?|works?|stays?|has|have)\b", re.IGNORECASE)


def _split_criterion(criterion: str, language: PhraseTable) -> tuple[str, tuple[str, ...]]:
    """The state that is to be reached, and what follows it that is something to do instead."""
    for joint in _JOINTS.finditer(criterion):
        rest = criterion[joint.end() :]
        if _STATE.match(rest):  # "until tests and lint are green": a noun
            continue
        if peel.begins(rest, (*language.actions, *language.work)) and "`" not in criterion[joint.start() :]:
            return criterion[: joint.start()], (rest,)
    return criterion, ()


def _clause(text: str) -> RouteQuestion:
    choices = (RouteChoice("go on without it", "drop", text), RouteChoice("part of the task", "task", text))
    return RouteQuestion("clause", f"'{text}' is nothing that a loop does by itself", choices)


def _place(one: peel.Peeled) -> RouteQuestion:
    choices = (
        RouteChoice("how this loop works", "loop", one.text),
        RouteChoice("part of the task", "task", one.text),
    )
    return RouteQuestion("place", f"'{one.text}': is that about this loop, or part of the task?", choices)


def _bounds(peeled: tuple[peel.Peeled, ...]) -> tuple[dict[str, float], list[RouteQuestion]]:
    """The strictest bound of each kind, and a question for each that cannot be one."""
    values: dict[str, float] = {}
    ask = []
    for one in peeled:
        if one.about in ("outside", "agent", "beyond"):
            continue
        if one.value is None:
            ask.append(
                RouteQuestion(
                    "bound",
                    f"'{one.text}' is no limit; expected 1 to {peel.MAX_TRIES} iterations, or up to 30 days",
                    (RouteChoice("the default limits", "default"),),
                )
            )
        else:
            values[one.about] = min(one.value, values.get(one.about, one.value))
    return values, ask


def _limits(bounds: dict[str, float]) -> dict[str, Any]:
    return {
        "max_iterations": int(bounds["tries"]) if "tries" in bounds else None,
        "timeout": int(bounds["hours"]) if "hours" in bounds else None,
        "max_cost": bounds.get("money"),
    }


# What can be asked of a loop in which state; the others take the newest.
_NEEDS = {"abort": "unfinished", "pause": "unfinished", "resume": "resumable", "attach": "unfinished"}


def _route_control(text: str, known: KnownHere, language: PhraseTable) -> Route | None:
    """The control that a sentence is; with a bound, an agent or a place at its end, one that goes on."""
    names = tuple(loop.name for loop in known.loops)
    rest, tail = peel.peel_end(text, language)
    asked = match_.controls(rest, language, names) if tail else None
    if asked is None or asked.verb != "resume" or asked.rest:
        asked = match_.controls(text, language, names)
        return None if asked is None else _control(asked, known, language)
    bounds, wrong = _bounds(tail)
    found = _control(asked, known, language)
    clauses = [_clause(one.text) for one in tail if one.about == "beyond"]
    return with_confidence(
        replace(
            found,
            agent=",".join(dict.fromkeys(_agents(tail, language))) or None,
            detach=any(one.about == "outside" for one in tail),
            ask=(*found.ask, *clauses, *wrong),
            **_limits(bounds),
        )
    )


def _control(asked: match_.Ordered, known: KnownHere, language: PhraseTable) -> Route:
    name, ask = _which(asked, known)
    after = _after(asked.rest, known, language) if asked.rest else None
    base = after if after is not None else Route(route="control")
    guessed = asked.rest != "" and after is None
    return with_confidence(
        replace(
            base,
            route="control",
            verb=asked.verb,
            loop_id=name or None,
            host=known.host or None,
            guessed=guessed or base.guessed,
            count=int(asked.count) if asked.count else None,
            paths=tuple(asked.paths.split()),
            ask=(*ask, *(one for one in base.ask if one.about != "start")),
            why=f"'{asked.rest}' was not understood" if guessed else "",
        )
    )


def _after(rest: str, known: KnownHere, language: PhraseTable) -> Route | None:
    """The new task that follows a control: a request of its own, or words that begin with a verb."""
    rest, _ = peel.drop_opening(rest, language)
    found = _request(rest, False, replace(known, host=""), language)
    if found.route in ("internal", "external"):
        return found
    if not peel.begins(rest, language.work):
        return None
    said = _Said(peel.drop_closing(rest, language), "", "", (), (), Form("{work}"))
    return _proposal(said, replace(known, host=""), language)


def _which(asked: match_.Ordered, known: KnownHere) -> tuple[str, list[RouteQuestion]]:
    """The loop that is meant, or the question which."""
    need = _NEEDS.get(asked.verb, "")
    fitting = [loop for loop in known.loops if not need or getattr(loop, need)]
    if asked.loop:
        names = match_.loops_by_name(asked.loop, tuple(loop.name for loop in known.loops))
        if len(names) == 1:
            return names[0], []
        fitting = [loop for loop in fitting if loop.name in names]
        question = (
            f"there is no loop '{asked.loop}'" if not names else f"'{asked.loop}' matches {len(names)} loops"
        )
        return "", [RouteQuestion("loop", question, _loops(fitting))]
    if not need:
        return (fitting[0].name if asked.pointed and fitting else ""), []
    if len(fitting) == 1:
        return fitting[0].name, []
    question = f"which loop? {len(fitting)} are {need}" if fitting else f"there is no {need} loop here"
    return "", [RouteQuestion("loop", question, _loops(fitting))]


def _loops(loops: list[KnownLoop]) -> tuple[RouteChoice, ...]:
    return tuple(
        RouteChoice(" ".join(clean(loop.task).split())[:80] or loop.name, loop.name) for loop in loops[:9]
    )
