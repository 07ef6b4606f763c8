"""The prompt of one agent call: facts in, text out.

`facts_of` chooses what an agent is told: the task or its one item, the checks it can see, what is still
missing, what failed, what was tried, and the standing parts (`context`). It never tells of hidden checks and
canaries, and it never asks for green at any price. The template's text arrives as an argument (it is package
data or the project's own, which the shell reads); so does the nonce that marks where foreign text begins and
ends. Foreign text reaches a template only with its marks on. Everything foreign must have been cleaned and
redacted before it comes here; here it is only cut to size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.parts import InPlace, flat_fields
from ralph.core.model.plan.board import ItemChoice
from ralph.core.model.team.roles import SEATED
from ralph.core.model.verdict import Verdict
from ralph.core.prompt import context, for_item, learnings
from ralph.core.prompt.context import DATA, Sources
from ralph.core.prompt.standing_rules import FORM, Kind, answer_of, rule_of
from ralph.core.proof.exit_gate import SHORT_OF
from ralph.core.specs.parse import criteria_of
from ralph.core.text.clean import one_line, share_room, trim
from ralph.core.text.quoting import fence_text
from ralph.errors import UserError

if TYPE_CHECKING:
    from jinja2 import Template

BUDGET = 24_000  # characters of feedback in one prompt
EXCERPT_LINES = 200
MAX_SENTENCE = 500
MAX_SENTENCES = 30
MAX_TRIED = 10
MAX_AREA_PATHS = 60  # paths that a reader is told
UNSHOWN = "something you are not shown is still missing: read the task again"
HIDDEN = "hidden"  # origin of a gate that the agent never sees
SECRET_GUARDS = frozenset({"canary", "altered", "sabotage"})
KINDS: dict[str, Kind] = {
    "task": "prompt",
    "planning": "plan",
    "building": "build",
    "closing": "close",
    "checking": "close",
}


class Feedback(Struct, frozen=True):
    """What one gate printed when it failed, cleaned and redacted by the shell."""

    gate: str
    excerpt: str


class CheckLine(Struct, frozen=True):
    """A visible gate as the agent is told of it."""

    name: str
    run: str
    cwd: str
    role: str  # proof, keep-green, advice
    state: str


class StandingFacts(Struct, frozen=True, kw_only=True):
    """What every call is told, each part within its own budget."""

    project: str = ""  # PROMPT.md, marked
    guide: str = ""  # AGENTS.md or CLAUDE.md, marked
    guide_name: str = ""
    learned: str = ""  # marked
    changes: str = ""  # marked
    notes: str = ""  # of readers, marked
    area: tuple[str, ...] = ()  # what a reader is to read


class PlanFacts(Struct, frozen=True, kw_only=True):
    """What a loop with a plan tells besides; of one without, only the rule."""

    rule: str = ""  # what holds in this mode whatever the template says
    plan_form: str = ""  # how the plan's file is written
    specs: str = ""  # within their budget, marked
    why: str = ""  # why planning, or why this item
    item: str = ""  # the one item, its criteria, the numbers of the plan
    item_id: str = ""
    item_notes: str = ""  # marked
    serves: tuple[str, ...] = ()  # criteria of the item
    plan_state: str = ""
    planning_notes: str = ""  # what was wrong with the plan, what is blocked; marked
    told: tuple[str, ...] = ()  # what Ralph has to say of the iteration before


class PromptFacts(Struct, frozen=True, kw_only=True):
    """The names that a template may use, flat (`parts`). What this call has not is empty."""

    task: str
    until: str = ""
    task_class: str
    iteration: int
    limit: int | None = None
    first: bool = True
    checks: tuple[CheckLine, ...] = ()
    not_yet: tuple[str, ...] = ()
    outputs: str = ""  # what red checks printed, marked
    tried: str = ""  # what came of the iterations before, marked
    reverted: str = ""
    redirect: str = ""
    steers: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    status_instructions: str
    learned_instructions: str = learnings.INSTRUCTIONS
    standing: Annotated[StandingFacts, InPlace()] = StandingFacts()
    plan: Annotated[PlanFacts, InPlace()] = PlanFacts()


def kind_of(loop: Loop) -> Kind:
    """Which template the call that is owed has."""
    return KINDS[loop.build.mode]


def facts_of(
    loop: Loop,
    feedback: tuple[Feedback, ...],
    tried: tuple[str, ...],
    nonce: str,
    sources: Sources = Sources(),  # noqa: B008 - a frozen value
    *,
    kind: Kind | None = None,
) -> PromptFacts:
    """What the agent call that is owed (or open) is told."""
    order = loop.sealed
    kind = kind or kind_of(loop)
    visible = tuple(gate for gate in order.criterion.gates if gate.origin != HIDDEN)
    names = {gate.name for gate in visible} | SEATED
    steers = loop.control.steers_in_call if loop.call.running else loop.control.steers
    own = {path for gate in visible for path in gate.own_files}
    budget = BUDGET >> loop.call.prompt_halvings
    shown = fit_feedback(tuple(part for part in feedback if part.gate in names), budget)
    return PromptFacts(
        task=order.task,
        until=order.criterion.until,
        task_class=order.criterion.task_class,
        iteration=loop.iteration,
        limit=loop.limits.iterations,
        first=loop.iteration <= 1,
        checks=tuple(_check(gate, loop.newest_verdicts.get(gate.name)) for gate in visible),
        not_yet=sentences_for_agent(loop),
        outputs=_outputs(shown, nonce),
        tried=_tried_part(tried, nonce),
        reverted=loop.progress.revert_note,
        redirect=loop.progress.redirect,
        steers=tuple(steer.text for steer in steers),
        protected=tuple(sorted(own | set(order.protect))),
        status_instructions=answer_of(kind),
        standing=_standing(loop, sources, nonce),
        plan=_plan_facts(loop, kind, sources, nonce),
    )


def _standing(loop: Loop, sources: Sources, nonce: str) -> StandingFacts:
    less = loop.call.prompt_halvings
    return StandingFacts(
        project=context.file_part("PROMPT.md", sources.project, context.PROJECT_TOKENS >> less, nonce),
        guide=context.file_part(sources.guide_name, sources.guide, context.GUIDE_TOKENS >> less, nonce),
        guide_name=sources.guide_name,
        learned="\n\n".join(
            filter(
                None,
                (
                    context.memory_part(loop.sealed.people.memory, nonce),
                    context.learned_part(loop.agents.learnings, nonce),
                ),
            )
        ),
        changes=context.changes_part(sources.changes, nonce),
        notes=context.notes_part(sources.notes, context.NOTES_TOKENS >> less, nonce),
        area=tuple(one_line(path, MAX_SENTENCE) for path in sources.area[:MAX_AREA_PATHS]),
    )


def _plan_facts(loop: Loop, kind: Kind, sources: Sources, nonce: str) -> PlanFacts:
    build = loop.build
    if not loop.has_plan:
        return PlanFacts(rule=rule_of(kind))
    item = build.item if kind == "build" else None
    stuck = for_item.planning_notes(build)
    made = PlanFacts(
        rule=rule_of(kind, item.id if item else ""),
        plan_form=FORM,
        specs=context.specs_part(
            sources.specs,
            item.serves if item else None,
            context.SPECS_TOKENS >> loop.call.prompt_halvings,
            nonce,
        ),
        why=one_line(build.why, MAX_SENTENCE),
        plan_state=for_item.numbers(build.board) if build.board is not None else "",
        planning_notes=f"Notes: {DATA}.\n\n{fence_text('notes on the plan', stuck, nonce)}" if stuck else "",
        told=tuple(one_line(line, MAX_SENTENCE) for line in build.prompt_notes[:MAX_SENTENCES]),
    )
    if item is None or build.board is None:
        return made
    criteria = criteria_of(one.spec for one in sources.specs.values())
    noted = for_item.item_notes(item)
    return replace(
        made,
        item=for_item.item_text(build.board, ItemChoice("item", item, build.rule, build.why), criteria),
        item_id=item.id,
        item_notes=f"Notes of the plan: {DATA}.\n\n{fence_text('notes on the item', noted, nonce)}"
        if noted
        else "",
        serves=item.serves,
    )


def render(template: str, facts: Struct, place: str = "") -> str:
    """The prompt. A name that the template uses and nobody gives is an error, never an empty place."""
    from jinja2 import TemplateError

    # A template is a small program: besides the engine's own errors it can divide by zero or index too far.
    slips = (TemplateError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
    try:
        return _compile_template(template).render(flat_fields(facts))
    except slips as wrong:
        raise template_error(str(wrong), _line_of(wrong), place) from wrong


def template_error(what: str, line: int, place: str = "") -> UserError:
    """The error of a template: which file, which line."""
    where = f"{place}:{line}" if place and line else place or (f"line {line}" if line else "")
    return UserError(
        f"invalid prompt template: {one_line(what, MAX_SENTENCE)}",
        code="E-PROMPT-TEMPLATE",
        at=where,
        why="it may use only the names listed in docs/prompts.md",
        next=f"${{EDITOR:-vi}} +{line or 1} {place}" if place else "ralph prompt show",
    )


def _line_of(wrong: BaseException) -> int:
    """The template's own line: told by a syntax error, else the innermost place in the trace."""
    line = getattr(wrong, "lineno", None)
    trace = wrong.__traceback__ if line is None else None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or 0


def add_required_parts(text: str, facts: PromptFacts) -> str:
    """With what a template of the project left out and must not: the rule, and how to answer."""
    for heading, part in (("Rules", facts.plan.rule), ("How to answer", facts.status_instructions)):
        if part and part.strip() not in text:
            text = f"{text.rstrip()}\n\n# {heading}\n\n{part}"
    return text


@lru_cache(maxsize=8)  # a loop renders one text again and again; compiling it costs more than a git call
def _compile_template(template: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    # Without escaping: this is not HTML, and the task's own words must stay as they are.
    environment = SandboxedEnvironment(
        undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(template)


def _check(gate: Gate, verdict: Verdict | None) -> CheckLine:
    role = "advice" if not gate.required else "proof" if gate.proof else "keep-green"
    if verdict is None:
        state = "not run yet"
    elif verdict.status == "pass":
        state = "green"
    else:
        state = one_line(f"red: {verdict.summary or verdict.cause or verdict.status}", MAX_SENTENCE)
    return CheckLine(name=gate.name, run=gate.run, cwd=gate.cwd, role=role, state=state)


def sentences_for_agent(loop: Loop) -> tuple[str, ...]:
    """The not-yet sentences without those that would give a hidden check or a canary away."""
    hidden = {gate.name for gate in loop.sealed.criterion.gates if gate.origin == HIDDEN} | SECRET_GUARDS
    told = [line for line in loop.proof.not_yet if line.partition(":")[0] not in hidden]
    # Why a proof is weak is told by guards that look for things an agent should not know of.
    told = [line.partition(":")[0] if line.startswith(SHORT_OF) else line for line in told]
    if len(told) < len(loop.proof.not_yet):
        told.append(UNSHOWN)
    lines = tuple(one_line(line, MAX_SENTENCE) for line in told[:MAX_SENTENCES])
    more = len(told) - len(lines)
    return (*lines, f"and {more} more") if more else lines


def _outputs(parts: tuple[Feedback, ...], nonce: str) -> str:
    if not parts:
        return ""
    shown = [fence_text(f"output of {part.gate}", part.excerpt, nonce) for part in parts]
    return "\n\n".join([f"This is output of programs: {DATA}.", *shown])


def _tried_part(lines: tuple[str, ...], nonce: str) -> str:
    if not lines:
        return ""
    shown = "\n".join(f"- {one_line(line, MAX_SENTENCE)}" for line in lines[-MAX_TRIED:])
    return f"From the journal: {DATA}.\n\n{fence_text('what was tried', shown, nonce)}"


def fit_feedback(parts: tuple[Feedback, ...], budget: int) -> tuple[Feedback, ...]:
    """Cut to the budget: short ones stay whole, what they leave goes to the longer ones."""
    texts = {number: part.excerpt for number, part in enumerate(parts)}
    kept = share_room(texts, budget, lambda at, share: trim(texts[at], EXCERPT_LINES, share)[:share])
    return tuple(replace(part, excerpt=kept[number]) for number, part in enumerate(parts))
