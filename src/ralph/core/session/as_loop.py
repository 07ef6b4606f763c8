"""A session told as the loop that it goes on as: each judged stop is one iteration of it.

Baseline, checkpoints, verdicts and guards are the very facts of the session, so nothing is judged twice and
every count goes on. What does not lead to a next call by the machine's own rules is left out; the newest tree
never is, and what is owed on it is owed by the loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.core.model.actions import RunAgent
from ralph.core.model.agent import Claim
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.session.record import Fact, Session, SessionStarted, StopAsked
from ralph.errors import IllegalEvent, UserError


def loop_events(
    session: Session,
    facts: Iterable[Fact],
    order: Order,
    *,
    prompt: str,
    workspace: str,
    pid: int,
    version: str,
) -> list[e.Event]:
    """Everything after LoopStarted, in the order in which a loop would have recorded it."""
    events: list[e.Event] = [
        # Nothing held the agent of the session, whatever its checks ran in: that is no box.
        e.StintStarted(pid=pid, host=session.host, version=version, protection="S0"),
        e.WorkspaceMade(path=workspace, shares=order.box.share),
    ]
    loop = fold([e.LoopStarted(order=order, rules=e.RULES), *events])
    baseline = [e.GateEnded(iteration=0, verdict=one) for one in session.loop.proof.baseline.values()]
    loop, events = fold(baseline, loop), [*events, *baseline]
    if not isinstance(loop.owed, RunAgent):
        raise UserError(
            "there is nothing to go on with outside",
            code="E-SESSION-CONTINUE",
            why="the checks have not all judged the start of this session, or they pass there already",
            next="ralph session list",
        )
    rounds = _rounds(facts)
    for number, (claim, made, answers) in enumerate(rounds, 1):
        newest = number == len(rounds)
        try:
            after, told = _one_round(loop, claim, made, answers, session.host, prompt)
        except IllegalEvent:
            if newest:
                raise
            continue
        if newest or isinstance(after.owed, RunAgent):
            loop, events = after, [*events, *told]
    return events


Round = tuple[Claim | None, e.CheckpointMade, list[e.Event]]


def _rounds(facts: Iterable[Fact]) -> list[Round]:
    """Each checkpoint with what was said and answered about it."""
    found: list[Round] = []
    claim: Claim | None = None
    for fact in facts:
        if isinstance(fact, SessionStarted):
            found, claim = [], None  # what was judged before belongs to another task
        elif isinstance(fact, StopAsked):
            claim = fact.claim
        elif isinstance(fact, e.CheckpointMade):
            found.append((claim, fact, []))
        elif found and isinstance(fact, e.GateEnded | e.GuardsEnded):
            tree = fact.verdict.tree if isinstance(fact, e.GateEnded) else fact.tree
            if tree == found[-1][1].tree:
                found[-1][2].append(fact)
    return found


def _one_round(
    loop: Loop, claim: Claim | None, made: e.CheckpointMade, answers: list[e.Event], host: str, prompt: str
) -> tuple[Loop, list[e.Event]]:
    number = loop.iteration
    call = loop.call.number + 1
    claim = None if claim is not None and claim.status == "BLOCKED" else claim
    told: list[e.Event] = [
        e.AgentStarted(iteration=number, call=call, agent=host, prompt=prompt),
        e.AgentEnded(
            iteration=number, call=call, claim=claim, said="in the session that this loop goes on from"
        ),
        replace(made, iteration=number),
    ]
    loop = fold(told, loop)
    for answer in answers:
        one = replace(answer, iteration=number)
        try:
            loop = fold([one], loop)
        except IllegalEvent:  # asked for in another order, or not at all: the loop judges it itself
            continue
        told.append(one)
    return loop, told
