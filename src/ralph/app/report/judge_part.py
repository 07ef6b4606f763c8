"""The judge in a report: what it was asked by, what it said of the newest tree, and each of its calls.

Data for `report_data`; how it reads in Markdown is in `markdown`.
"""

from __future__ import annotations

from msgspec import Struct

from ralph.app.words.format import safe
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.rubric import Opinion, opinion_line
from ralph.core.views.team_view import TeamLine, team_line


class Scored(Struct, frozen=True):
    dimension: str
    weight: float
    score: float | None  # None: it was not given
    reasoning: str


class Judgement(Struct, frozen=True, kw_only=True):
    """`status` is pass, fail, error, skipped, or "not asked"."""

    agent: str
    model: str
    same_agent: bool  # the judge is the agent that did the work
    required: bool
    after: str
    threshold: float
    status: str
    weighted: float | None
    claimed: float | None  # the judge's own sum, where it is another one
    scores: tuple[Scored, ...]
    summary: str
    suggestions: tuple[str, ...]
    why: str
    tree: str
    evidence: str


class JudgeCall(Struct, frozen=True):
    iteration: int
    call: int
    agent: str
    line: str
    seconds: float
    cost: float | None
    tokens: int | None


def judgement(loop: Loop) -> Judgement | None:
    """None where the loop has no judge."""
    rubric, judge, opinion = loop.sealed.rubric, loop.sealed.judge, loop.jury.opinion
    if rubric is None or judge is None:
        return None
    said = {one.dimension: one for one in opinion.scores} if opinion is not None else {}
    return Judgement(
        agent=safe(judge.name),
        model=safe(judge.model),
        same_agent=rubric.same_agent,
        required=rubric.required,
        after=rubric.after,
        threshold=rubric.threshold,
        status=opinion.status if opinion is not None else "not asked",
        weighted=opinion.weighted if opinion is not None else None,
        claimed=opinion.claimed if opinion is not None else None,
        scores=tuple(
            Scored(
                safe(one.name, 60),
                one.weight,
                said[one.name].score if one.name in said else None,
                safe(said[one.name].reasoning, 1000) if one.name in said else "",
            )
            for one in rubric.dimensions
        ),
        summary=safe(opinion.summary, 1000) if opinion is not None else "",
        suggestions=tuple(safe(text, 1000) for text in opinion.suggestions) if opinion is not None else (),
        why=safe(opinion.why, 500) if opinion is not None else "",
        tree=opinion.tree if opinion is not None else "",
        evidence=opinion.evidence if opinion is not None else "",
    )


def team_part(loop: Loop) -> TeamLine | None:
    """What each role of a team cost and did; None where one agent does it all."""
    return team_line(loop)


def judge_calls(events: tuple[e.AnyEvent, ...]) -> tuple[JudgeCall, ...]:
    """Every call of the judge, also one that was begun and never accounted for."""
    calls: dict[int, JudgeCall] = {}
    for event in events:
        if isinstance(event, e.JudgeStarted) and event.role == "judge":
            line = "started, no result recorded"
            calls[event.call] = JudgeCall(
                event.iteration, event.call, safe(event.agent), line, 0.0, None, None
            )
        elif isinstance(event, e.JudgeEnded) and event.role == "judge":
            agent = calls[event.call].agent if event.call in calls else ""
            line = _line(event.opinion, event)
            usage = event.usage
            calls[event.call] = JudgeCall(
                event.iteration, event.call, agent, line, event.seconds, usage.cost, usage.tokens
            )
    return tuple(calls.values())


def _line(opinion: Opinion | None, event: e.JudgeEnded) -> str:
    if event.fault is not None:
        return f"fault {event.fault.kind}: {safe(event.fault.message, 200)}"
    return safe(f"{opinion.status}: {opinion_line(opinion)}", 300) if opinion is not None else "nothing"
