"""A session in a host: the facts in its stream, and the `Session` that they make.

The host calls the agent, so this is no loop and `decide` never folds it. What is judged is judged as in a
loop: snapshots, verdicts and guards are the loop's own events, and `Session.loop` holds what gates, guards
and the exit gate are asked with. A session that is started again begins from nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal, Union

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.decide import opinion
from ralph.core.model import events as e
from ralph.core.model.actions import AskJudge, Finish, PublishResult, Wait
from ralph.core.model.agent import Claim
from ralph.core.model.gate import Grade
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.errors import IllegalEvent

Ending = Literal["verified", "unproven", "satisfied", "broken", "stopped", "continued"]


class SessionFact(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    at: float = 0.0


class SessionStarted(SessionFact, frozen=True, tag="SessionStarted"):
    host: str
    session: str
    order: Order
    protection: str  # of the checks: the agent is the user's own, and nothing holds it
    path: str = ""  # where programs are found: a host may give its hooks another one than its shell
    unseen: dict[str, str] = {}  # what is in no snapshot, in words, with a mark that changes when it does


class StopAsked(SessionFact, frozen=True, tag="StopAsked"):
    """The agent wants to stop. What it left is the checkpoint that follows, when that is a new tree."""

    tree: str
    claim: Claim | None = None  # in its last message; None = stopping is all it says
    left_out: tuple[str, ...] = ()  # made or changed since the task began, and in no snapshot: in words


class SessionClaimed(SessionFact, frozen=True, tag="SessionClaimed"):
    """What the agent says of its work by a command; it counts at the next stop, as a claim."""

    claim: Claim


class HookAnswered(SessionFact, frozen=True, tag="HookAnswered"):
    event: str
    refused: bool
    why: str  # a word of `answer_stop`, or the name of what was found
    tree: str = ""
    words: tuple[str, ...] = ()


class SubagentStarted(SessionFact, frozen=True, tag="SubagentStarted"):
    agent: str
    tree: str


class StateNoted(SessionFact, frozen=True, tag="StateNoted"):
    """What an agent says of its state by `ralph state`: claims, shown beside what Ralph knows."""

    type: str
    values: dict[str, str] = {}
    deleted: bool = False


class ActionStarted(SessionFact, frozen=True, tag="ActionStarted"):
    skill: str
    description: str = ""


class ActionEnded(SessionFact, frozen=True, tag="ActionEnded"):
    claimed: str  # completed, failed or partial, in the agent's words
    status: str  # as recorded: never more than the checks show
    summary: str = ""


class SessionEnded(SessionFact, frozen=True, tag="SessionEnded"):
    outcome: Ending
    reason: str
    tree: str = ""
    grade: Grade | None = None
    unproven: tuple[str, ...] = ()
    loop: str = ""  # that it goes on as


class Session(Struct, frozen=True):
    host: str = ""
    id: str = ""
    loop: Loop = Loop()  # order, iteration, work and proof; without an order Ralph only counts its answers
    claimed: Claim | None = None  # since the last stop
    stops: int = 0
    refusals: dict[str, int] = {}  # in a row, by event
    refused: int = 0  # in all
    said: HookAnswered | None = None  # the newest answer
    subagents: dict[str, str] = {}  # by id: the tree that each began with
    ended: SessionEnded | None = None
    began: float = 0.0
    notes: dict[str, dict[str, str]] = {}  # by type: what was claimed by `ralph state`
    noted: dict[str, float] = {}  # by type: when the newest of it was
    action: ActionStarted | None = None  # under way
    before_action: tuple[int, int] = (0, 0)  # stops and refusals when it began
    path: str = ""
    unseen: dict[str, str] = {}

    @property
    def active(self) -> bool:
        return self.loop.order is not None and self.ended is None

    def note_of(self, kind: str, now: float) -> dict[str, str] | None:
        """What was claimed of this type; None when nothing was, or not for a day."""
        return self.notes.get(kind) if now - self.noted.get(kind, 0.0) <= STATE_SECONDS else None


Fact = SessionFact | e.Event
OWN_KINDS: tuple[type[SessionFact], ...] = tuple(SessionFact.__subclasses__())
VERSION = 1
_MAX_SUBAGENTS = 50
STATE_SECONDS = 86_400.0  # after which a state that nobody touched is forgotten
_OWN: msgspec.json.Decoder[SessionFact] = msgspec.json.Decoder(Union[(*OWN_KINDS,)])
_OWN_NAMES = frozenset(kind.__name__ for kind in OWN_KINDS)


def encode_fact(fact: Fact) -> bytes:
    return e.encode(fact) if isinstance(fact, e.Event) else msgspec.json.encode(fact)


def decode_fact(kind: str, body: bytes) -> Fact | None:
    """The fact in a row; None for a kind or a value that this Ralph does not know."""
    try:
        return _OWN.decode(body) if kind in _OWN_NAMES else e.decode(body)
    except msgspec.ValidationError:
        return None


def apply_fact(session: Session, fact: Fact) -> Session:
    match fact:
        case SessionStarted():
            fresh = replace(_start(fact), notes=session.notes, noted=session.noted, action=session.action)
            # Folders of calls outlive a task: numbered from 1 again, the judge would "have answered" already.
            return replace(fresh, loop=fresh.loop.with_call(number=session.loop.call.number))
        case StopAsked():
            claim = session.claimed or fact.claim or Claim(status="COMPLETE", exit_signal=True)
            loop = session.loop.with_call(claim=claim).with_proof(no_answers=())
            loop = replace(loop.with_work(left_out=fact.left_out), now=fact.at)
            return replace(session, loop=loop, stops=session.stops + 1, claimed=None)
        case SessionClaimed():
            return replace(session, claimed=fact.claim)
        case HookAnswered():
            return _count_answer(session, fact)
        case SubagentStarted():
            known = {**session.subagents, fact.agent: fact.tree}
            return replace(session, subagents=dict(list(known.items())[-_MAX_SUBAGENTS:]))
        case StateNoted():
            known = (session.note_of(fact.type, fact.at) or {}) | fact.values
            rest = {key: value for key, value in session.notes.items() if key != fact.type}
            notes = rest if fact.deleted else rest | {fact.type: known}
            return replace(session, notes=notes, noted=session.noted | {fact.type: fact.at})
        case ActionStarted():
            return replace(session, action=fact, before_action=(session.stops, session.refused))
        case ActionEnded():
            return replace(session, action=None)
        case SessionEnded():
            return replace(session, ended=fact, refusals={})
        case e.Event():
            return replace(session, loop=_judge_fact(session.loop, fact))
        case _:
            return session


def _start(fact: SessionStarted) -> Session:
    base = fact.order.base
    loop = Loop(order=fact.order, rules=e.RULES).with_work(
        tree=base.tree, commit=base.commit, protection=fact.protection
    )
    return Session(
        host=fact.host, id=fact.session, loop=loop, began=fact.at, path=fact.path, unseen=fact.unseen
    )


def _count_answer(session: Session, fact: HookAnswered) -> Session:
    row = session.refusals.get(fact.event, 0) + 1 if fact.refused else 0
    loop = session.loop
    if fact.event == "Stop":  # insisting on a tree that lacks nothing but proof is the agent's last word
        only_proof = fact.refused and fact.why == "proof"
        loop = loop.with_proof(claimed_tree=fact.tree if only_proof else "")
    return replace(
        session,
        loop=loop,
        said=fact,
        refusals={**session.refusals, fact.event: row},
        refused=session.refused + fact.refused,
    )


def _judge_fact(loop: Loop, fact: e.Event) -> Loop:
    """What a loop would make of the same event, as far as a session has a use for it."""
    proof = loop.proof
    match fact:
        case e.CheckpointMade():
            loop = loop.with_work(
                tree=fact.tree, commit=fact.commit, tree_before=loop.work.tree, changed_lines=fact.total_lines
            )
            loop = loop.with_jury("judge", replace(loop.jury, open=False))  # who is asked of an older tree
            return replace(loop, iteration=fact.iteration, todo=())
        case e.GateEnded() if fact.verdict.stage == "baseline":
            loop = loop.with_proof(baseline={**proof.baseline, fact.verdict.gate: fact.verdict})
            return _share_more(loop, fact.shares)
        case e.GateEnded():
            tree = fact.verdict.tree
            before = proof.finals if proof.finals_tree == tree else {}
            return loop.with_proof(finals={**before, fact.verdict.gate: fact.verdict}, finals_tree=tree)
        case e.GuardsEnded():
            return loop.with_proof(guards=fact.results, guards_tree=fact.tree)
        case e.NoVerdict():
            return loop.with_proof(no_answers=(*proof.no_answers, (fact.stage, fact.tree, fact.why)))
        case e.JudgeStarted() | e.JudgeEnded():
            with suppress(IllegalEvent):  # of a call that nobody asked for: it says nothing
                return _hear(loop, fact)
            return loop
        case _:
            return loop


def _hear(loop: Loop, fact: e.JudgeStarted | e.JudgeEnded) -> Loop:
    """Its opinion; what keeps it from one is no answer, as with a gate, and the next stop asks again."""
    if isinstance(fact, e.JudgeStarted):
        ask = AskJudge(fact.tree, fact.call, PublishResult(tree=fact.tree, grade="B"))
        return opinion.judge_started(replace(loop, todo=(ask,)), fact)
    loop, step = opinion.take_answer(loop, fact)
    if isinstance(step, Wait | Finish):
        why = step.why if isinstance(step, Wait) else step.reason
        loop = loop.with_proof(no_answers=(*loop.proof.no_answers, ("judge", fact.tree, why)))
    return replace(loop, todo=())


def _share_more(loop: Loop, shares: tuple[str, ...]) -> Loop:
    if not shares:
        return loop
    order = loop.sealed
    share = tuple(dict.fromkeys((*order.box.share, *shares)))
    loop = replace(loop, order=replace(order, box=replace(order.box, share=share)))
    return loop.with_proof(generated=(*loop.proof.generated, *shares))
