"""The prompt of one agent call: facts in, text out.

`facts_of` chooses what an agent is told: the task, the checks it can see, what is still missing, what
failed, what was tried. It never tells of hidden checks and canaries, and it never asks for green at any
price. The template's text arrives as an argument (it is package data that the shell reads); so does the
nonce that marks where foreign output begins and ends. Everything foreign must have been cleaned and
redacted before it comes here; here it is only cut to size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from ralph.core.exitgate import SHORT_OF
from ralph.core.loop import Loop
from ralph.core.model import Gate, Verdict
from ralph.core.status import STATUS_INSTRUCTIONS
from ralph.core.text import one_line, trim
from ralph.errors import UserError

if TYPE_CHECKING:
    from jinja2 import Template

BUDGET = 24_000  # characters of feedback in one prompt
EXCERPT_LINES = 200
SENTENCE = 500
SENTENCES = 30
TRIED = 10
UNSHOWN = "something that is not shown to you is still missing: look again at what the task asks for"
HIDDEN = "hidden"  # origin of a gate that the agent never sees
SECRET_GUARDS = frozenset({"canary", "altered", "sabotage"})


class Feedback(Struct, frozen=True):
    """What one gate printed when it failed, cleaned and redacted by the shell."""

    gate: str
    excerpt: str


class Check(Struct, frozen=True):
    """A visible gate as the agent is told of it."""

    name: str
    run: str
    cwd: str
    role: str  # proof, keep-green, advice
    state: str


class PromptFacts(Struct, frozen=True, kw_only=True):
    task: str
    until: str
    task_class: str
    iteration: int
    limit: int | None
    first: bool
    checks: tuple[Check, ...]
    not_yet: tuple[str, ...]
    feedback: tuple[Feedback, ...]
    tried: tuple[str, ...]
    reverted: str
    redirect: str
    steers: tuple[str, ...]
    protected: tuple[str, ...]
    status_instructions: str
    nonce: str


def facts_of(loop: Loop, feedback: tuple[Feedback, ...], tried: tuple[str, ...], nonce: str) -> PromptFacts:
    """What the agent call that is owed (or open) is told."""
    order = loop.sealed
    visible = tuple(gate for gate in order.criterion.gates if gate.origin != HIDDEN)
    names = {gate.name for gate in visible}
    steers = loop.given if loop.calling else loop.steers
    own = {path for gate in visible for path in gate.own_files}
    return PromptFacts(
        task=order.task,
        until=order.criterion.until,
        task_class=order.criterion.task_class,
        iteration=loop.iteration,
        limit=loop.limits.iterations,
        first=loop.iteration <= 1,
        checks=tuple(_check(gate, loop.newest.get(gate.name)) for gate in visible),
        not_yet=_told(loop),
        feedback=_fitted(
            tuple(part for part in feedback if part.gate in names), nonce, BUDGET >> loop.squeezed
        ),
        tried=tuple(one_line(line, SENTENCE) for line in tried[-TRIED:]),
        reverted=loop.reverted,
        redirect=loop.redirect,
        steers=tuple(steer.text for steer in steers),
        protected=tuple(sorted(own | set(order.protect))),
        status_instructions=STATUS_INSTRUCTIONS,
        nonce=nonce,
    )


def render(template: str, facts: PromptFacts) -> str:
    """The prompt. A name that the template uses and nobody gives is an error, never an empty place."""
    from jinja2 import TemplateError

    try:
        return _compiled(template).render(asdict(facts))
    except TemplateError as wrong:
        raise UserError(
            f"the prompt template cannot be used: {one_line(str(wrong), SENTENCE)}",
            code="E-PROMPT-TEMPLATE",
            at=f"line {line}" if (line := getattr(wrong, "lineno", None)) else "",
            why="every name in it must be one that Ralph gives",
            next="ralph config show --origin",
        ) from wrong


@lru_cache(maxsize=1)  # a loop renders one text again and again; compiling it costs more than a git call
def _compiled(template: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    # Without escaping: this is not HTML, and the task's own words must stay as they are.
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template)


def _check(gate: Gate, verdict: Verdict | None) -> Check:
    role = "advice" if not gate.required else "proof" if gate.proof else "keep-green"
    if verdict is None:
        state = "not judged yet"
    elif verdict.status == "pass":
        state = "green"
    else:
        state = one_line(f"red: {verdict.summary or verdict.cause or verdict.status}", SENTENCE)
    return Check(name=gate.name, run=gate.run, cwd=gate.cwd, role=role, state=state)


def _told(loop: Loop) -> tuple[str, ...]:
    """The not-yet sentences without those that would give a hidden check or a canary away."""
    hidden = {gate.name for gate in loop.sealed.criterion.gates if gate.origin == HIDDEN} | SECRET_GUARDS
    told = [line for line in loop.not_yet if line.partition(":")[0] not in hidden]
    # Why a proof is weak is told by guards that look for things an agent should not know of.
    told = [line.partition(":")[0] if line.startswith(SHORT_OF) else line for line in told]
    if len(told) < len(loop.not_yet):
        told.append(UNSHOWN)
    lines = tuple(one_line(line, SENTENCE) for line in told[:SENTENCES])
    more = len(told) - len(lines)
    return (*lines, f"and {more} more") if more else lines


def _fitted(parts: tuple[Feedback, ...], nonce: str, budget: int) -> tuple[Feedback, ...]:
    """Cut to the budget: short ones stay whole, what they leave goes to the longer ones."""
    room = budget
    fitted: dict[int, Feedback] = {}
    by_length = sorted(range(len(parts)), key=lambda number: len(parts[number].excerpt))
    for done, number in enumerate(by_length):
        share = room // (len(parts) - done)
        excerpt = parts[number].excerpt
        if nonce:
            excerpt = excerpt.replace(nonce, "")  # nothing quoted may end its own quotation
        excerpt = trim(excerpt, EXCERPT_LINES, share)[:share]
        room -= len(excerpt)
        fitted[number] = Feedback(gate=parts[number].gate, excerpt=excerpt)
    return tuple(fitted[number] for number in range(len(parts)))
