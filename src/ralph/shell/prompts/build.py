"""Words that leave the shell: the prompt of the next call, and the message of a result's commit.

What an agent is told is chosen in `core.prompt.facts`; here the newest verdicts are turned into excerpts, and
the sources (`sources`) and the template are put together. Findings were cleaned and redacted when their
verdicts were made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ralph.core.decide.stuck.measure import item_of
from ralph.core.model.actions import PublishResult
from ralph.core.model.breaker_state import Attempt, Footprint
from ralph.core.model.loop import Loop
from ralph.core.model.rubric import JUDGE, for_prompt
from ralph.core.model.rubric import opinion_line as opinion_words
from ralph.core.model.team.roles import REVIEWER
from ralph.core.model.verdict import Verdict
from ralph.core.prompt.facts import Feedback, PromptFacts, add_required_parts, facts_of, kind_of, render
from ralph.core.prompt.for_role import coder_part, planner_part
from ralph.core.prompt.standing_rules import Kind
from ralph.core.proof.grade import at_least
from ralph.core.text.clean import one_line
from ralph.errors import RalphError
from ralph.shell.prompts.sources import PromptFiles, shipped_template


def call_prompt(loop: Loop, given: PromptFiles) -> str:
    """The text of the call that is owed now."""
    notes = loop.build.planning.reader_notes
    said = tuple((note.area, note.text or f"no notes: {note.fault}") for note in notes)
    return _text(loop, given, kind_of(loop), notes=said)


def reader_prompt(loop: Loop, given: PromptFiles, area: Sequence[str]) -> str:
    """The text for a reader: a call that compares these paths with the specs and answers with notes."""
    return _text(loop, given, "read", area=area)


def _text(
    loop: Loop,
    given: PromptFiles,
    kind: Kind,
    *,
    notes: Sequence[tuple[str, str]] = (),
    area: Sequence[str] = (),
) -> str:
    newest = (
        loop.proof.finals
        if loop.proof.finals_tree == loop.work.tree and loop.proof.finals
        else loop.proof.verdicts
    )
    feedback = tuple(
        Feedback(gate=verdict.gate, excerpt=_excerpt(verdict))
        for verdict in newest.values()
        if verdict.status != "pass" and verdict.findings
    )
    for name, jury in ((JUDGE, loop.jury), (REVIEWER, loop.team.review)):
        if said := for_prompt(jury.opinion, loop.iteration):
            feedback = (*feedback, Feedback(gate=name, excerpt=said))
    # Not random, so that the same loop gives the same prompt; not guessable from inside the workspace.
    words = f"{loop.sealed.loop}/{loop.call.number}/{loop.now}/{loop.sealed.config_digest}"
    nonce = hashlib.sha256(words.encode()).hexdigest()[:16]
    sources = given.sources(loop, notes=notes, area=area)
    facts = facts_of(loop, feedback, _past_attempts(loop), nonce, sources, kind=kind)
    text = add_required_parts(_render_prompt(loop, given, kind, facts), facts)
    team = planner_part(loop) if kind == "plan" else ""
    team = coder_part(loop, nonce) if kind in ("prompt", "build") else team
    return f"{text.rstrip()}\n\n{team}\n" if team else text


def _render_prompt(loop: Loop, given: PromptFiles, kind: Kind, facts: PromptFacts) -> str:
    try:
        return render(given.template(loop, kind), facts)
    except RalphError:
        # A template of the project was tried at the start with all kinds of facts. One that fails on these
        # nevertheless must not end a loop that cannot get another: its base is sealed.
        if kind not in loop.sealed.templates:
            raise
        return render(shipped_template(kind), facts)


def _excerpt(verdict: Verdict) -> str:
    parts = []
    for finding in verdict.findings:
        place = f"{finding.path}:{finding.line}: " if finding.path else ""
        parts.append(f"{place}{finding.key}\n{finding.message}")
    more = verdict.red - verdict.unseen - len(verdict.findings)
    return "\n\n".join(parts) + (f"\n\n… and {more} more" if more > 0 else "")


def _past_attempts(loop: Loop) -> tuple[str, ...]:
    """What came of the iterations before, on this item or task."""
    item = item_of(loop)
    attempts = tuple(_attempt(one) for one in loop.progress.attempts if one.item == item)
    return attempts or tuple(map(_footprint, loop.progress.recent))


def _attempt(attempt: Attempt) -> str:
    asked = f", asked to {attempt.strategy}" if attempt.strategy else ""
    more = f" and {attempt.files - len(attempt.paths)} more" if attempt.files > len(attempt.paths) else ""
    where = f" (in {', '.join(attempt.paths)}{more})" if attempt.paths else ""
    return f"iteration {attempt.iteration}{asked}: {attempt.what}{where}"


def _footprint(footprint: Footprint) -> str:
    if footprint.tree == footprint.before:
        return f"iteration {footprint.iteration} changed nothing"
    return f"iteration {footprint.iteration} left {footprint.red} red"


def result_message(loop: Loop, action: PublishResult) -> str:
    """The message of the result's commit: the task, the proof, what is not proven."""
    order = loop.sealed
    title = order.task.partition("\n")[0] if order.item else order.task
    lines = [one_line(title, 72), ""]
    proven = at_least(action.grade, order.criterion.min_grade)
    word = "Verified by ralph" if proven else "Green, but not proven, by ralph"
    lines += [f"{word}: grade {action.grade}, sandbox {loop.judged_in}, tree {action.tree}.", ""]
    for gate in order.criterion.gates:
        verdict = loop.proof.finals[gate.name]
        role = "proof" if gate.proof else "required" if gate.required else "advisory"
        lines.append(f"  {gate.name} ({role}): {verdict.status}, {one_line(verdict.summary, 100)}")
        # Later agents read the history: a hidden check must not be told there either.
        run = "(hidden)" if gate.hidden else f"$ {one_line(gate.run, 200)}"
        lines.append(f"    {run}  evidence {verdict.evidence[:16]}")
    for name, jury in ((REVIEWER, loop.team.review), (JUDGE, loop.jury)):
        opinion = jury.opinion
        if opinion is not None and opinion.tree == action.tree:
            role = "required" if opinion.required else "advisory"
            said = one_line(f"{opinion.status}, {opinion_words(opinion)}", 200)
            lines.append(f"  {name}, {opinion.agent} ({role}): {said}")
    lines += [f"Not proven: {one_line(sentence, 200)}" for sentence in loop.proof.unproven]
    trailers = [
        f"Ralph-Loop: {order.loop}",
        f"Ralph-Grade: {action.grade}",
        f"Ralph-Base: {order.base.commit}",
    ]
    trailers += [f"Ralph-Item: {order.item}"] if order.item else []
    return "\n".join([*lines, "", *trailers]) + "\n"
