"""Failed iterations by class, the approaches among them, and what a human is asked when they are used up.

    transient      wait, the same approach again      does not count
    environmental  mend the surroundings first        does not count
    logical        a new approach                     counts
    fundamental    escalate at once                   counts

A class follows from structured facts only (kind of fault, cause of a verdict, claim, integrity), never from
the wording of an output. Nothing here ends a loop or blocks an item: who does asks `why_give_up`.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.decide.stuck.thresholds import MAX_APPROACHES, MAX_ATTEMPTS, TWEAK_LINES, TWEAK_SHARE
from ralph.core.model.breaker_state import Attempt, Class

MAX_SHOWN = 5  # of them in an escalation
NAMED_PATHS = 8
FAULT_CLASS: dict[str, Class] = {
    "auth": "environmental",
    "credit": "environmental",
    "request": "environmental",
    "missing": "environmental",
    "upgraded": "environmental",
    "disk": "environmental",
}  # every other fault is transient: it came from outside, and time or a fresh call may heal it
CAUSE_CLASS: dict[str, Class] = {
    "missing": "environmental",
    "sandbox": "environmental",
    "tool-changed": "environmental",
    "wrong-tree": "environmental",
    "killed": "transient",
    "timeout": "transient",
    "torn-report": "transient",
}  # every other cause, and plain red, is logical
NEXT: dict[Class, str] = {
    "transient": "retry",
    "environmental": "fix the environment, then retry",
    "logical": "another approach",
    "fundamental": "ask a human",
}


class FailureFacts(Struct, frozen=True, omit_defaults=True):
    """What is known of a failure, as far as its class needs it."""

    fault: str = ""  # kind of a fault that left nothing to judge
    causes: tuple[str, ...] = ()  # one for each check that stands in the way; "" = it is plainly red
    blocked: bool = False  # the agent says that it cannot go on
    denied: bool = False  # it was refused a permission
    accused: bool = False  # an integrity guard found something


class Escalation(Struct, frozen=True):
    """What a human needs in order to decide."""

    item: str  # "" = the task
    approaches: tuple[str, ...]
    cause: str
    options: tuple[str, ...]
    ask: str


def classify(facts: FailureFacts) -> Class:
    """The worst of what is known: what a human must see before what the work, and what the world did."""
    if facts.blocked or facts.accused:
        return "fundamental"
    if facts.fault:
        return FAULT_CLASS.get(facts.fault, "transient")
    classes = [CAUSE_CLASS.get(cause, "logical") for cause in facts.causes]
    if facts.denied and "logical" not in classes:
        return "environmental"
    if not classes or "logical" in classes:
        return "logical"
    return "environmental" if "environmental" in classes else "transient"


def add_attempt(attempts: tuple[Attempt, ...], attempt: Attempt) -> tuple[Attempt, ...]:
    """The record with one more. What is transient twice in a row on a judged tree is the work's own doing."""
    last = attempts[-1] if attempts else None
    again = last is not None and _mark(last) == _mark(attempt)
    if again and attempt.kind == "transient" and attempt.files:
        attempt = replace(attempt, kind="logical", next=NEXT["logical"])
    elif again and last is not None and last.kind == attempt.kind and not is_real_try(attempt):
        return (*attempts[:-1], replace(attempt, times=last.times + 1))
    return (*attempts, attempt)[-MAX_ATTEMPTS:]


def _mark(attempt: Attempt) -> tuple[str, str]:
    return attempt.item, attempt.signature


def is_real_try(attempt: Attempt) -> bool:
    """Was it a try at the work, rather than a mishap around it?"""
    return attempt.kind in ("logical", "fundamental")


def real_tries(attempts: tuple[Attempt, ...], item: str = "") -> tuple[Attempt, ...]:
    return tuple(one for one in attempts if one.item == item and is_real_try(one))


def approaches(attempts: tuple[Attempt, ...], item: str, signature: str) -> tuple[Attempt, ...]:
    """The first try of each distinct approach that ended in this error."""
    found: list[Attempt] = []
    for one in real_tries(attempts, item):
        if one.signature == signature and one.files and not any(_alike(one, other) for other in found):
            found.append(one)
    return tuple(found)


def _alike(one: Attempt, other: Attempt) -> bool:
    """The same approach: in the same files, and either by the same demand or of almost the same size."""
    if (one.paths, one.files) != (other.paths, other.files):
        return False
    room = max(TWEAK_LINES, TWEAK_SHARE * max(one.lines, other.lines))
    return one.strategy == other.strategy or abs(one.lines - other.lines) <= room


def why_give_up(attempts: tuple[Attempt, ...], item: str) -> str:
    """Why nobody should go on with this item (rule 12); empty while another approach is worth a try."""
    tries = real_tries(attempts, item)
    if not tries or not tries[-1].signature:
        return ""
    distinct = approaches(attempts, item, tries[-1].signature)
    if len(distinct) < MAX_APPROACHES:
        return ""
    return f"{len(distinct)} different approaches ended in the same error"


def escalation(attempts: tuple[Attempt, ...], item: str = "", loop: str = "") -> Escalation:
    """What was tried, what it has in common, what can be done, and the one thing that is asked for."""
    tries = real_tries(attempts, item)
    around = tuple(one for one in attempts if one.item == item and not is_real_try(one))
    newest = next((one for one in reversed(attempts) if one.item == item), None)
    shown = tries or around
    return Escalation(
        item=item,
        approaches=tuple(_line(one) for one in shown[-MAX_SHOWN:]),
        cause=_cause(shown),
        options=_options(newest, item, loop or "LOOP"),
        ask=_ask(newest, item),
    )


def _line(one: Attempt) -> str:
    how = f", asked for: {one.strategy}" if one.strategy else ""
    where = f" in {', '.join(one.paths[:NAMED_PATHS])}" if one.paths else ""
    changed = f"{one.files} file{'s' if one.files != 1 else ''} changed{where}" if one.files else "no change"
    often = f", {one.times} times" if one.times > 1 else ""
    return f"iteration {one.iteration} ({one.kind}{how}): {changed}; {one.what}{often}"


def _cause(tries: tuple[Attempt, ...]) -> str:
    if not tries:
        return "nothing was tried"
    marks = Counter(one.signature for one in tries)
    mark, often = marks.most_common(1)[0]
    what = next(one.what for one in reversed(tries) if one.signature == mark)
    if len(tries) == 1:
        return what
    if often == len(tries):
        return f"all {often} failed the same way: {what}"
    if often > 1:
        return f"{often} of {len(tries)} failed the same way: {what}"
    if all(not one.files for one in tries):
        return "none of them changed anything"
    return f"none in common: {len(marks)} different errors"


def _options(newest: Attempt | None, item: str, loop: str) -> tuple[str, ...]:
    resume = f'ralph resume {loop} --steer "…"'
    kind = newest.kind if newest is not None else "logical"
    if kind in ("transient", "environmental"):
        return (
            f"fix the environment, then: ralph resume {loop}",
            "start again with a spare agent: ralph loop --agent FIRST,SECOND",
        )
    options = [f"say what to do differently: {resume}"]
    if kind == "fundamental":
        options = [f"answer or review, then: {resume}"]
    part = f"item {item}" if item else "the task"
    return (
        *options,
        f"split {part} or make it smaller and start again",
        "start again with another agent or model: ralph loop --agent NAME --model NAME",
    )


def _ask(newest: Attempt | None, item: str) -> str:
    part = f"item {item}" if item else "this task"
    if newest is None:
        return f"What should happen with {part}?"
    if newest.kind == "fundamental":
        return f"Please decide: {newest.what}"
    if newest.kind in ("transient", "environmental"):
        return f"Please fix what the agent cannot: {newest.what}"
    return f"What would {part} have to do differently to get past this: {newest.what}?"


def escalation_lines(found: Escalation) -> tuple[str, ...]:
    """For reports and screens."""
    return (
        *(f"tried: {one}" for one in found.approaches),
        f"in common: {found.cause}",
        *(f"option: {one}" for one in found.options),
        f"asked: {found.ask}",
    )
