"""What the gates say of the base tree: all of them at the start, and later those that join the order.

A gate that joins is a witness like any other: red at the base, green on the tree at hand. So that tree is
judged anew before any agent is called, and what was written already may turn out to be proven.
"""

from __future__ import annotations

import msgspec.structs

from ralph.core.decide import after_judging
from ralph.core.decide.stuck import measure
from ralph.core.model import actions as a
from ralph.core.model.events import GateEnded
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import Phase
from ralph.core.model.verdict import Verdict
from ralph.core.proof import exit_gate
from ralph.errors import IllegalEvent

replace = msgspec.structs.replace
_BEFORE_JUDGING = (a.TakeSnapshot, a.RestoreWorkspace)  # until then it is not known which tree is at hand


def take_baseline(loop: Loop) -> Loop:
    """Ask for every gate on the base tree; a criterion without gates cannot even begin."""
    names = after_judging.gate_names(loop)
    loop = replace(loop.with_proof(baseline={}), phase="baseline")
    if loop.sealed.plan_brief.mode == "plan":  # a plan is held to its own rules, not to gates
        return after_judging.limit_or_call(
            replace(loop.with_progress(best=measure.base_checkpoint(loop)), phase="working")
        )
    if not names:
        why = exit_gate.cannot_start(loop.sealed.criterion, {})
        return after_judging.finish(loop, a.Finish("broken", why))
    return replace(loop, todo=(a.RunGates(stage="baseline", tree=loop.work.tree, gates=names),))


def join_gates(loop: Loop, gates: tuple[Gate, ...]) -> Loop:
    """The order with these gates too; what was judged without them does not count any more."""
    order, claim = loop.sealed, loop.call.claim
    criterion = replace(order.criterion, gates=(*order.criterion.gates, *gates))
    if claim is not None and claim.status == "BLOCKED":
        loop = loop.with_call(claim=None)  # who adds a check has answered
    return replace(
        loop.with_proof(verdicts_tree="", finals_tree="", guards_tree=""),
        order=replace(order, criterion=criterion),
    )


def take_missing_baseline(loop: Loop, held: tuple[a.Action, ...], held_phase: Phase) -> Loop:
    """Ask what gates that joined say of the base. Of what a pause held, only the workspace still counts."""
    owed = held[0] if held else None
    if isinstance(owed, a.MakeWorkspace):
        return replace(loop, phase=held_phase, todo=held)  # every gate is judged right after it
    if isinstance(owed, a.RunAgent):
        loop = replace(loop, iteration=owed.iteration - 1)  # its call was never made
    rest = held if isinstance(owed, _BEFORE_JUDGING) else ()
    names = tuple(name for name in after_judging.gate_names(loop) if name not in loop.proof.baseline)
    todo = a.RunGates(stage="baseline", tree=loop.sealed.base.tree, gates=names)
    loop = loop.with_proof(again=not rest).with_control(wait_until=None, wait_reason="")
    return replace(loop, phase="baseline", todo=(todo, *rest))


def baseline_gate_ended(loop: Loop, event: GateEnded) -> Loop:
    verdict = event.verdict
    owed, rest = gates_still_owed(loop, event), loop.todo[1:]
    loop = loop.with_proof(baseline={**loop.proof.baseline, verdict.gate: verdict})
    order, began = loop.sealed, loop.progress.best is None
    if event.shares:  # every later tree is judged with them, by whoever drives the loop
        share = tuple(dict.fromkeys((*order.box.share, *event.shares)))
        order = replace(order, box=replace(order.box, share=share))
        generated = (*loop.proof.generated, *event.shares)
        loop = replace(loop, order=order).with_proof(generated=generated)
    if owed.gates:
        return replace(loop, todo=(owed, *rest))
    broken = exit_gate.cannot_start(order.criterion, loop.proof.baseline)
    if broken:
        loop = loop if began else _without_broken_gates(loop)
        return after_judging.finish(loop, a.Finish("broken", broken))
    loop = loop.with_progress(best=measure.base_checkpoint(loop))
    if rest or loop.work.tree != order.base.tree:
        return _judge_tree_at_hand(loop.with_progress(counted=0), rest)
    loop = loop.with_proof(verdicts=dict(loop.proof.baseline), verdicts_tree=loop.work.tree)
    ending = None if loop.call.number else after_judging.mode_of(loop).already_done(loop)
    if ending is not None:
        return after_judging.finish(loop, ending)
    if after_judging.needs_test_links(loop):
        return replace(loop, todo=(a.TieTests(tree=loop.work.tree),))
    return after_judging.pause_or_call(loop)


def _judge_tree_at_hand(loop: Loop, rest: tuple[a.Action, ...]) -> Loop:
    """Gates that joined are in: as if a call had left this tree, once it is known which it is."""
    if rest:
        return replace(loop, phase="working", todo=rest)
    loop = after_judging.judge_again(loop)
    return after_judging.hold(loop) if loop.control.pause_reason else loop


def _without_broken_gates(loop: Loop) -> Loop:
    """A check that joined and cannot run leaves again, so that a slip in it does not spoil the loop."""
    order, kept = loop.sealed, dict(loop.proof.baseline)
    gates = order.criterion.gates
    for gate in gates:
        if gate.required and exit_gate.cannot_start(replace(order.criterion, gates=(gate,)), kept):
            del kept[gate.name]
    criterion = replace(order.criterion, gates=tuple(gate for gate in gates if gate.name in kept))
    return replace(loop.with_proof(baseline=kept), order=replace(order, criterion=criterion))


def _may_answer(verdict: Verdict, owed: a.RunGates) -> bool:
    """A checkout made anew is always good enough."""
    return verdict.stage == owed.stage or (verdict.stage, owed.stage) == ("final", "fast")


def gates_still_owed(loop: Loop, event: GateEnded) -> a.RunGates:
    """What is still owed after this verdict; a verdict on another tree is not a verdict."""
    owed, verdict = loop.owed, event.verdict
    where = f"GateEnded in phase {loop.phase}"
    if not isinstance(owed, a.RunGates) or verdict.tree != owed.tree or not _may_answer(verdict, owed):
        raise IllegalEvent(f"{where}: no verdict was asked for on this tree")
    if verdict.gate not in owed.gates:
        raise IllegalEvent(f"{where}: gate {verdict.gate} was not asked for or has answered")
    return replace(owed, gates=tuple(name for name in owed.gates if name != verdict.gate))
