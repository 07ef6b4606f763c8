"""What follows a call that failed and left nothing: wait, go on, let another agent stand in, or give up.

A fault refunds the iteration, never the spend. What a fault that left a changed tree means is judged like
any other work (`on_event.checkpoint_made`). Here too: a gate that gave no answer through no fault of the work
(`no_verdict`). It is asked again, then a human is told.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from ralph.core.decide import after_judging, failover
from ralph.core.decide.failover import CUT_CAP, FAULT_CAP, HEALED_BY_TIME, LIMIT_CAP
from ralph.core.decide.stuck import apply
from ralph.core.model.actions import Finish, RunGates, RunGuards
from ralph.core.model.agent import Fault
from ralph.core.model.events import NoVerdict
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Outcome
from ralph.core.proof.causes import MACHINE, TRIES

UNCOUNTED = frozenset({"interrupted", "budget"})
USED_UP = frozenset({"timeout", "idle", "budget"})  # it was at work for as long as it might
_KEY = re.compile(r"api[ _-]?key|bearer|token (?:is )?invalid|incorrect .{0,20}key", re.IGNORECASE)
_EXPIRED = re.compile(r"expired|log ?in|sign ?in|oauth", re.IGNORECASE)


def after_fault(loop: Loop, fault: Fault) -> Loop:
    """The call failed and left nothing: refund the iteration, then wait, go on, or give up."""
    loop = replace(
        loop.with_control(steers=(*loop.control.steers_in_call, *loop.control.steers), steers_in_call=()),
        iteration=loop.iteration - 1,
    )
    loop = apply.record_fault(loop, fault)
    if loop.control.abort_reason:
        return after_judging.finish(loop, Finish("aborted", loop.control.abort_reason))
    if loop.sealed.spares:
        after = _with_spares(loop, fault)
        if after is not None:
            return after
    if fault.kind == "auth":
        return after_judging.finish(loop, Finish("blocked", f"{_login_words(fault)}: {fault.message}"))
    if fault.kind in ("credit", "upgraded"):
        return after_judging.finish(loop, Finish("blocked", fault.message))
    if fault.kind == "missing":
        return after_judging.finish(loop, Finish("broken", f"the agent cannot be started: {fault.message}"))
    loop = _count_fault(loop, fault)
    agents = loop.agents
    in_row = (agents.faults_in_row, agents.outages_in_row, agents.cut_in_row)
    if any(count >= cap for count, cap in zip(in_row, (FAULT_CAP, LIMIT_CAP, CUT_CAP), strict=True)):
        count = max(in_row)
        # An agent that is at work for as long as it may is no broken one: it does not get anywhere.
        outcome: Outcome = "stalled" if fault.kind in USED_UP and loop.rules > 3 else "broken"
        return after_judging.finish(
            loop, Finish(outcome, f"{count} faults in a row, the last: {fault.message}")
        )
    return after_judging.pause_or_call(loop)


def _login_words(fault: Fault) -> str:
    """A wrong key is not a login that ran out, and needs something else of its user."""
    if _KEY.search(fault.message) and not _EXPIRED.search(fault.message):
        return "the agent's key was not accepted"
    if _EXPIRED.search(fault.message):
        return "the agent's login has expired"
    return "the agent was not let in"


def _count_fault(loop: Loop, fault: Fault) -> Loop:
    if fault.kind in HEALED_BY_TIME:
        return failover.note_outage(loop, fault).with_agents(outages_in_row=loop.agents.outages_in_row + 1)
    if fault.kind == "interrupted" and loop.rules > 6 and not loop.control.pause_reason:
        # Nobody asked for it, and each may have a cause outside the loop: patience, but not for ever.
        return loop.with_agents(cut_in_row=loop.agents.cut_in_row + 1)
    # What stops at the bound of every single call, and leaves nothing, would go on doing so.
    counted = fault.kind not in UNCOUNTED or (
        fault.kind == "budget" and loop.limits.iteration_cost is not None
    )
    return loop.with_agents(faults_in_row=loop.agents.faults_in_row + 1) if counted else loop


def _with_spares(loop: Loop, fault: Fault) -> Loop | None:
    """Another agent stands in, or the first that is back is waited for; None when it is as with one agent."""
    counted = _count_fault(loop, fault)
    rested = failover.rest_agent(counted, fault, broken=counted.agents.faults_in_row >= FAULT_CAP)
    if rested is counted:
        return None
    if failover.can_switch_agent(rested):
        rested = rested.with_agents(faults_in_row=0, outages_in_row=0)
    elif failover.earliest(rested) is None or rested.agents.outages_in_row >= LIMIT_CAP:
        return None
    rested = rested.with_call(fault=None)
    return after_judging.pause_or_call(rested)


GUARDS = "guards"


def no_verdict(loop: Loop, event: NoVerdict) -> Loop:
    if not _is_owed(loop, event):
        loop.refuse(event, "nothing of the kind was asked for")
    if event.doubt and loop.proof.doubted_tree == event.tree:
        loop.refuse(event, "what was in doubt before on this tree is the tree's own doing")
    mark = (event.stage, event.tree, event.gate if event.stage != GUARDS else "")
    missed = (*(one for one in loop.proof.no_answers if one[:2] == mark[:2]), mark)
    loop = loop.with_proof(
        no_answers=missed, doubted_tree=event.tree if event.doubt else loop.proof.doubted_tree
    )
    return loop if missed.count(mark) < TRIES else _pause(loop, event)


def _is_owed(loop: Loop, event: NoVerdict) -> bool:
    owed = loop.owed
    if isinstance(owed, RunGates):
        return (event.stage, event.tree) == (owed.stage, owed.tree) and event.gate in owed.gates
    return isinstance(owed, RunGuards) and (event.stage, event.tree) == (GUARDS, owed.tree)


def _pause(loop: Loop, event: NoVerdict) -> Loop:
    """What is owed stays owed: the same tree is judged again when somebody takes the loop up."""
    said = event.why or MACHINE.get(event.cause, event.cause)
    why = f'gate "{event.gate}" gave no answer {TRIES} times, and the work is not the cause: {said}'
    owed, phase = loop.todo, loop.phase
    loop = after_judging.pause_loop(
        loop.with_control(pause_reason=why, stopped_by="machine").with_proof(no_answers=())
    )
    return loop.with_control(held_todo=owed, held_phase=phase)
