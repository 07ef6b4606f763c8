"""Calls of the team before work begins: the planner's advice, the tester's tests and their trial.

Advice is data for the prompt and proves nothing. Tests are tried on the base at once: those that are green
there show nothing, and those that break another check could never be mended by an agent that must not touch
them. What passes the trial becomes the ground on which the work begins. A role that cannot be called, or
whose answer is of no use twice, is gone without, and the proof says so. With a plan the tester is asked for
each item, on the tree of what is verified.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.decide import after_judging, failover
from ralph.core.decide.failover import FAULT_CAP, HEALED_BY_TIME, asked_key
from ralph.core.decide.stuck import measure
from ralph.core.model.actions import RestoreWorkspace, RunGates, RunRole, Wait
from ralph.core.model.agent import Fault
from ralph.core.model.events import Event, RoleEnded, RoleStarted
from ralph.core.model.loop import Loop
from ralph.core.model.spend import add_side_calls, add_usage
from ralph.core.model.team.roles import MAX_TRIES, SealedTests, TeamState
from ralph.core.model.verdict import Checkpoint, Verdict

SUBJECTS = {"planner": "Plan the task", "tester": "Write tests for"}
NO_TESTS = "it left no new test file"
GREEN = "its tests pass without the change, so they show nothing"


def role_started(loop: Loop, event: RoleStarted) -> Loop:
    owed = _owed_role(loop, event)
    if loop.team.open or (event.role, event.call, event.tree) != (owed.role, owed.call, owed.tree):
        loop.refuse(event, "no such call was asked for")
    loop = loop.begin_calls(event.call, event.at).charge(event.role, add_side_calls)
    return loop.with_task(_subject(loop, event.role), event.role).with_team(
        open=event.role, prompt=event.prompt
    )


def role_ended(loop: Loop, event: RoleEnded) -> Loop:
    owed = _owed_role(loop, event)
    if not loop.team.open or (event.role, event.call) != (owed.role, owed.call):
        loop.refuse(event, "no such call is open")
    loop = loop.charge(event.role, lambda spend: add_usage(spend, event.usage)).with_team(open="")
    if event.fault is not None:
        return _after_fault(loop, event.role, event.fault)
    if event.role == "planner":
        return after_judging.pause_or_call(_done(loop, "planner", advice=event.said))
    if event.tests is None or not event.tests.paths:
        return _not_taken(loop, NO_TESTS)
    return _try_tests(loop, replace(event.tests, protection=loop.work.protection))


def _after_fault(loop: Loop, role: str, fault: Fault) -> Loop:
    """What time may heal is waited for; without a role that stays away the work begins all the same."""
    if fault.kind == "interrupted":  # each has a cause outside the loop
        return after_judging.pause_or_call(loop)
    loop = loop.with_team(tries=loop.team.tries + 1)
    why = f"{fault.kind}: {fault.message}"
    if fault.kind not in HEALED_BY_TIME or loop.team.tries >= FAULT_CAP:
        return after_judging.pause_or_call(_done(loop, role, without=f"it could not be called ({why})"))
    seconds = failover.BACK_OFF[fault.kind] * 2 ** (loop.team.tries - 1)
    if fault.reset_at is not None:
        seconds = max(1.0, fault.reset_at - loop.now)
    wait = Wait(min(seconds, failover.HOUR), None, f"the {role}: {why}")
    if loop.control.pause_reason:
        return after_judging.pause_loop(loop)
    return after_judging.wait_for(loop, wait)


def _try_tests(loop: Loop, tests: SealedTests) -> Loop:
    """Every check on the ground of the work with these tests, as if a call had left that tree."""
    gates = tuple(name for name in after_judging.gate_names(loop) if not _gate_hidden(loop, name))
    loop = loop.with_team(tests=tests, sealed=False).with_proof(
        stage="fast", verdicts={}, verdicts_tree=tests.tree
    )
    return replace(loop, phase="judging", todo=(RunGates(stage="fast", tree=tests.tree, gates=gates),))


def on_trial(loop: Loop) -> bool:
    """Are the tester's tests being tried?"""
    tests = loop.team.tests
    return tests is not None and not loop.team.sealed and loop.proof.verdicts_tree == tests.tree


def trial_gate_ended(loop: Loop, verdict: Verdict, owed: RunGates) -> Loop:
    """`owed` is what is still to be judged after this verdict."""
    loop = loop.with_proof(verdicts={**loop.proof.verdicts, verdict.gate: verdict})
    if owed.gates:
        return replace(loop, todo=(owed,))
    red = [one for one in loop.proof.verdicts.values() if _turned_red(loop, one)]
    spoilt = [one for one in red if not _reads_tests(loop, one)]
    if not red:
        return _not_taken(loop, GREEN)
    if spoilt:
        return _not_taken(loop, f"its tests break {spoilt[0].gate} ({spoilt[0].summary})")
    return _seal(loop)


def _turned_red(loop: Loop, verdict: Verdict) -> bool:
    base = loop.proof.baseline.get(verdict.gate)
    return verdict.status != "pass" and (
        base is None or base.status == "pass" or verdict.new_red_count > 0 or verdict.unloaded > base.unloaded
    )


def _reads_tests(loop: Loop, verdict: Verdict) -> bool:
    """May red tests be why it is red? By its exit code alone nobody knows."""
    if loop.sealed.criterion.gate(verdict.gate).read == "exit":
        return True
    return bool(verdict.counts or verdict.unloaded) or verdict.status == "error"


def _seal(loop: Loop) -> Loop:
    """From here on they belong to what the work is judged by, and it begins on top of them."""
    tests = loop.team.tests
    assert tests is not None
    if loop.team.kept is not None:
        paths = tuple(dict.fromkeys((*loop.team.kept.paths, *tests.paths)))
        loop = loop.with_team(tests=replace(tests, paths=paths))
    loop = _done(loop, "tester", sealed=True)
    ground = Checkpoint(loop.iteration, tests.tree, tests.commit)
    best = measure.measure_checkpoint(loop, ground, loop.proof.verdicts)
    loop = loop.with_progress(best=best)
    back = RestoreWorkspace(to=ground, rejected=None)
    if loop.control.pause_reason:  # the workspace comes first, whenever it is taken up again
        return after_judging.pause_loop(loop).with_control(held_todo=(back,), held_phase="working")
    return replace(loop, phase="working", todo=(back,))


def _not_taken(loop: Loop, why: str) -> Loop:
    """Once more, with the reason; after that the work begins without a tester's tests."""
    if loop.has_plan:  # what the checks say of this ground is asked when there is work on it
        loop = loop.with_proof(verdicts={}, verdicts_tree="")
    else:
        loop = loop.with_proof(verdicts=dict(loop.proof.baseline), verdicts_tree=loop.work.tree)
    team = loop.team.take_back_tests()
    loop = replace(loop, team=replace(team, tries=team.tries + 1, trouble=why))
    if loop.team.tries >= MAX_TRIES:
        loop = _done(loop, "tester", without=why)
    return after_judging.pause_or_call(replace(loop, phase="working"))


def _done(loop: Loop, role: str, *, without: str = "", advice: str = "", sealed: bool = False) -> Loop:
    loop = loop.with_task(
        _subject(loop, role), role, "failed" if without else "completed", (without,) if without else ()
    )
    state: TeamState = loop.team
    if without and not sealed and role == "tester":
        state = state.take_back_tests()  # what was tried before it stayed away is nobody's
    return replace(loop, team=state).with_team(
        asked=(*state.asked, asked_key(loop) if role == "tester" else role),
        tries=0,
        trouble="",
        advice=advice or state.advice,
        sealed=sealed or state.sealed,
        without={**state.without, role: without} if without else state.without,
    )


def _subject(loop: Loop, role: str) -> str:
    item = loop.build.item
    return SUBJECTS[role] + (f" {item.id if item else 'the task'}" if role == "tester" else "")


def _gate_hidden(loop: Loop, name: str) -> bool:
    return loop.sealed.criterion.gate(name).hidden


def _owed_role(loop: Loop, event: Event) -> RunRole:
    owed = loop.owed
    if not isinstance(owed, RunRole):
        loop.refuse(event, "no role was asked for")
    return owed
