"""Exceptions: what the agent asks for, what was granted beforehand, what waits for a user's word.

A waiver is a user's word with a reason. One that was given before anything was seen (`--allow-asked`) counts
for the kinds that it names, once the agent asks, and never for a finding that accuses (`gates.guards`).
"""

from __future__ import annotations

import msgspec.structs
from msgspec import Struct

from ralph.core.model.agent import Claim
from ralph.core.model.events import ResumeAsked
from ralph.core.model.gate import STILL_RED
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order
from ralph.core.model.verdict import Finding
from ralph.core.proof.grade import unwaived_red
from ralph.core.text.waiver_name import waiver_name

replace = msgspec.structs.replace
MAX_NAMED = 3
ASKED_TWICE = 2
STOPPED = ("stalled", "exhausted")
ASKING = ("blocked", "unproven", *STOPPED)  # outcomes that a word of the user may change
QUESTION = "your decision is needed, because this may be intended"


class OpenWaiver(Struct, frozen=True):
    """One exception that a user could grant, and what it is about."""

    key: str
    says: str
    accuses: bool = False  # no question: only who meant it would grant it


def take_beforehand(order: Order, claim: Claim | None) -> tuple[Order, Claim | None]:
    """What the agent asks for and was granted before is granted; with all of it, nothing blocks any more."""
    kinds = order.criterion.allow_asked
    if claim is None or not claim.asks or not kinds:
        return order, claim
    taken = {
        ask.key: f"{ask.why} (requested by the agent, allowed in advance)"
        for ask in claim.asks
        if ask.kind in kinds
    }
    granted = {**order.criterion.granted, **taken}
    left = tuple(ask for ask in claim.asks if ask.kind not in kinds)
    order = replace(order, criterion=replace(order.criterion, granted=granted))
    return order, replace(claim, asks=left) if left else None


def grant(loop: Loop, event: ResumeAsked) -> Loop:
    """The user's word, with who said it; the question is answered."""
    if not event.allow and not event.allow_asked:
        return loop
    who = f" (granted by {event.author})" if event.author else ""
    criterion = loop.sealed.criterion
    waivers = {**criterion.waivers, **{key: f"{why}{who}" for key, why in event.allow.items()}}
    kinds = tuple(dict.fromkeys((*criterion.allow_asked, *event.allow_asked)))
    order = replace(loop.sealed, criterion=replace(criterion, waivers=waivers, allow_asked=kinds))
    order, claim = take_beforehand(order, loop.call.claim)
    blocked = claim is not None and claim.status == "BLOCKED"
    return replace(loop.with_call(claim=None if blocked else claim), order=order)


def open_questions(loop: Loop) -> tuple[Finding, ...]:
    """What guards ask about this tree, where nothing else stands in the way of the exit."""
    if loop.proof.guards_tree != loop.work.tree:
        return ()
    found = tuple(finding for result in loop.proof.guards for finding in result.findings)
    return found if all(finding.asks for finding in found) else ()


def asks_again(loop: Loop) -> bool:
    """Were the same questions there after an earlier iteration? Then the agent has no other answer."""
    if not open_questions(loop) or not loop.progress.recent:
        return False
    last = loop.progress.recent[-1].signature
    return sum(one.signature == last for one in loop.progress.recent) >= ASKED_TWICE


def open_waivers(loop: Loop) -> tuple[OpenWaiver, ...]:
    """What a user could grant now, one for each thing it is about: the agent's wishes, then the guards'."""
    claim = loop.call.claim
    asks = claim.asks if claim is not None and claim.status == "BLOCKED" else ()
    said = {finding.key: finding.message for result in loop.proof.guards for finding in result.findings}
    found = {
        ask.subject: OpenWaiver(ask.key, f"{said.get(ask.key, 'requested by the agent')}: {ask.why}")
        for ask in asks
    }
    for finding in open_questions(loop):
        subject = finding.key.partition(":")[2]
        if not any(subject == known or subject.startswith(f"{known}::") for known in found if known):
            found = {name: one for name, one in found.items() if not name.startswith(f"{subject}::")}
            found[subject] = OpenWaiver(waiver_name(finding.key), finding.message)
    return (*found.values(), *_still_red(loop))


def _still_red(loop: Loop) -> tuple[OpenWaiver, ...]:
    """What an unproven result was judged without: a few by their names, more of it as a whole."""
    if loop.outcome != "unproven":
        return ()
    left = unwaived_red(loop.sealed.criterion, loop.proof.finals.values())
    if len(left) > MAX_NAMED:
        return (OpenWaiver(STILL_RED, f"{len(left)} of the checks' findings were red before the loop"),)
    return tuple(
        OpenWaiver(waiver_name(f"{STILL_RED}:{key}"), f"{key} was red before the loop") for key in left
    )


def accusations(loop: Loop) -> tuple[OpenWaiver, ...]:
    """All that guards found in a tree that one of them accused, or at which the loop stopped for what they
    mind: who meant it can still allow it."""
    if loop.proof.guards_tree != loop.work.tree:
        return ()
    stopped = loop.outcome in STOPPED
    found = [one for result in loop.proof.guards if result.integrity or stopped for one in result.findings]
    if all(one.asks for one in found):
        return ()
    return tuple(OpenWaiver(waiver_name(one.key), one.message, accuses=True) for one in found)


def left_to_do(loop: Loop) -> tuple[str, ...]:
    """What the agent has still to do. What guards only ask about waits for the user instead."""
    waits = loop.outcome == "blocked" and open_questions(loop)
    return () if waits else loop.proof.not_yet


def question(loop: Loop) -> str:
    """Why a user's word is needed, in words that accuse nobody."""
    waiting = open_waivers(loop)
    more = f" and {len(waiting) - MAX_NAMED} more" if len(waiting) > MAX_NAMED else ""
    named = "; ".join(one.says for one in waiting[:MAX_NAMED])
    later = sum(result.left_out for result in loop.proof.guards)
    after = f" (up to {later} more questions may follow these)" if later else ""
    return f"{QUESTION}: {named}{more}{after}"
