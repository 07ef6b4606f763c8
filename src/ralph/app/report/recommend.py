"""What to do otherwise next time: sentences computed from a loop's record, each with the facts it rests on.

Nothing here is an opinion of a model. A rule that has no fact to point at says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from ralph.app.report.loop_report import Told
from ralph.app.words.format import clock, plural
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.views.analytics import IterationLine, iteration_lines, trajectory

_SLOW_SECONDS = 60.0
_HEALED_BY_WAITING = frozenset({"limit", "overload", "server"})


class ReportFacts(Struct, frozen=True):
    """What rules look at."""

    loop: Loop
    lines: Sequence[IterationLine]
    claims: int  # of being done, that were judged
    refused: int  # of those, by the checks
    old_red: tuple[str, ...]
    not_run: tuple[str, ...]


def recommend(
    loop: Loop,
    events: Sequence[e.AnyEvent],
    told: Sequence[Told],
    old_red: tuple[str, ...],
    not_run: tuple[str, ...],
) -> tuple[str, ...]:
    """What the record calls for; nothing when there is nothing to point at."""
    claims = [one for one in told if one.claim == "COMPLETE" and one.agrees is not None]
    refused = sum(one.agrees is False for one in claims)
    facts = ReportFacts(loop, iteration_lines(events), len(claims), refused, old_red, not_run)
    return tuple(sentence for rule in _RULES for sentence in rule(facts))


class SharedAdvice(Struct, frozen=True):
    """What several loops' records call for."""

    what: str
    loops: tuple[str, ...]
    why: str  # of the newest of them


def recommend_across(said: Sequence[tuple[str, Sequence[str]]]) -> tuple[SharedAdvice, ...]:
    """The recommendations of loops, newest first, put together; what most of them call for comes first."""
    found: dict[str, SharedAdvice] = {}
    for loop, sentences in said:
        for sentence in sentences:
            what, _, why = sentence.partition(": ")
            was = found.get(what, SharedAdvice(what, (), why))
            if loop not in was.loops:
                found[what] = SharedAdvice(what, (*was.loops, loop), was.why)
    return tuple(sorted(found.values(), key=lambda one: -len(one.loops)))


def _tampering(facts: ReportFacts) -> Iterator[str]:
    trees = len(facts.loop.progress.accused_trees)
    if trees:
        yield f"Read the diff before you use anything of it: guards accused {plural(trees, 'tree')}."


def _lack_of_proof(facts: ReportFacts) -> Iterator[str]:
    if facts.loop.outcome == "unproven":
        if any(verdict.still_red for verdict in facts.loop.proof.finals.values()):
            yield "Find out whether what was red before the loop, and still is, has to do with the task."
            return
        more = f"ralph resume {facts.loop.sealed.loop} --check CMD"
        yield f"Add a check that fails on the base: {more} (the proof is grade {facts.loop.grade})."


def _room(facts: ReportFacts) -> Iterator[str]:
    if facts.loop.outcome != "exhausted":
        return
    seen = [one for one in facts.lines if one.red is not None and one.red_before is not None]
    last = f"the last iteration went from {seen[-1].red_before} red to {seen[-1].red}" if seen else ""
    if seen and (seen[-1].delta or 0) > 0:
        yield f"Resume it with more room: {last}."
    elif seen:
        yield f"More room alone will not help: {last}, and quality is {trajectory(facts.lines)}."


def _claims(facts: ReportFacts) -> Iterator[str]:
    if facts.refused > 1:
        yield (
            f"Try another agent or a stronger model: the checks refused {facts.refused} of"
            f" {plural(facts.claims, 'claim')} of being done."
        )


def _faults(facts: ReportFacts) -> Iterator[str]:
    kinds = [one.fault for one in facts.lines if one.fault]
    slow = sum(kind in ("timeout", "idle") for kind in kinds)
    if slow > 1:
        yield f"Give calls more time or ask for smaller steps: {plural(slow, 'call')} ran out of time."
    held = sum(kind in _HEALED_BY_WAITING for kind in kinds)
    if held and not facts.loop.sealed.spares:
        waited = clock(facts.loop.spend.waited)
        yield f"Name a spare agent (--agent A,B): {plural(held, 'call')} met a limit; {waited} was waited."


def _slow_checks(facts: ReportFacts) -> Iterator[str]:
    checks = sum(one.gate_seconds for one in facts.lines)
    agent = sum(one.agent_seconds for one in facts.lines)
    if checks > max(agent, _SLOW_SECONDS):
        yield f"Make the checks faster: they took {clock(checks)}, the agent {clock(agent)}."


def _unknown_cost(facts: ReportFacts) -> Iterator[str]:
    blind = facts.loop.spend.blind
    if blind:
        yield f"Give prices in a profile: the cost of {plural(blind, 'call')} is unknown."


def _checks(facts: ReportFacts) -> Iterator[str]:
    for gate in facts.old_red:
        yield f"Repair the check {gate}: it failed before the loop and still does."
    if facts.not_run:
        yield f"Add the checks that were found but not run (ralph init): {'; '.join(facts.not_run)}."


_RULES: tuple[Callable[[ReportFacts], Iterator[str]], ...] = (
    _tampering,
    _lack_of_proof,
    _room,
    _claims,
    _faults,
    _slow_checks,
    _unknown_cost,
    _checks,
)
