"""Guards, performed: the facts they look at, and the further gate calls that some of them ask for.

What a guard thinks is in `gates.guards`. First those that only look at trees and readings; when they find
nothing, one batch of calls in fresh boxes: the base's tests over the new source, the result again with
canaries, the result's new tests over the base source. Then, where new tests are the witness, the sabotage.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.decide.plan_facts import criteria_to_show
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.plan.items import NAME as PLAN
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.text.clean import one_line, trim
from ralph.gates.guards import (
    CALLED,
    READ,
    Asked,
    Broken,
    GuardFacts,
    Sabotage,
    WitnessRequest,
    inspect,
    needs_witness,
    overlay_request,
    sabotage_request,
    source_changes,
    witness_request,
    witnesses,
)
from ralph.shell.gate_run.answers import Batch, GateCall, Heard, answers
from ralph.shell.gate_run.break_calls import MACHINERY, try_breaks
from ralph.shell.gate_run.guard_calls import call_gates, forgive_base_flakes, narrow_gate
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.diff_facts import compare_trees
from ralph.shell.git.trees import edited_tree, overlay_tree
from ralph.shell.ports import Attention

MAX_SHOWN = 20
SABOTAGE_SECONDS = 60.0  # at least this long, or as long as the suite itself took
SABOTAGE_SLOTS = 2
SABOTAGE_CALL_SECONDS = 15.0  # seconds for one call, or four times what the gate took


def run_guards(
    judge: Judge, loop: Loop, tree: str, attend: Attention
) -> tuple[GuardResult, ...] | Heard | None:
    """Every guard's result for `tree`, as far as it was looked; None when asked to drop it.

    A call without an answer instead, where the machine ended one: no guard may go by that.
    """
    facts = _facts(judge, loop, tree)
    facts = replace(facts, criteria=_spec_demands(judge, loop, facts))
    looked = inspect(facts, READ)
    if any(not finding.asks for result in looked for finding in result.findings):
        return tuple(_bound_result(result) for result in looked)  # it is refused already, at no further cost
    over, show = overlay_request(facts), witness_request(facts)
    trees = {}
    store, base_tree = judge.site.store, judge.site.order.base.tree
    if over is not None:
        mended = edited_tree(store, tree, over.edit) if over.edit else tree
        trees["overlay"] = overlay_tree(store, base_tree, mended, restore=over.restore, drop=over.drop)
    if show is not None:
        before = edited_tree(store, base_tree, show.edit) if show.edit else base_tree
        trees["witness"] = overlay_tree(store, tree, before, restore=show.take, drop=show.drop)
    batch = Batch(settled=loop.proof.doubted_tree == tree)
    patience = {name: _patience(verdict.seconds) for name, verdict in loop.proof.finals.items()}
    if not call_gates(judge, facts, trees, show, batch, attend, patience):
        return batch.missing
    forgive_base_flakes(judge, facts, batch, attend)
    facts = replace(
        facts,
        overlay=batch.overlay if over is not None else None,
        repeats=batch.repeats,
        witness=batch.witness if show is not None else None,
        altered=batch.altered,
        coverage=batch.coverage,
    )
    if show is not None and needs_witness(facts):
        broken = _try_sabotage(judge, loop, facts, show, batch, attend)
        if broken is None:
            return batch.missing
        facts = replace(facts, sabotage=broken)
    called = inspect(facts, CALLED)
    if not any(result.findings for result in called):
        breaks = try_breaks(judge, facts, batch, patience, attend)
        if breaks is None:
            return batch.missing
        called = inspect(replace(facts, breaks=breaks), CALLED)
    evidence = {
        "base_tests": batch.evidence.get("overlay", ()),
        "repeat": batch.evidence.get("final", ()),
        "diff_coverage": (*batch.evidence.get("canary", ()), *batch.evidence.get("final", ())),
        **{name: batch.evidence.get(name, ()) for name in ("canary", "altered", "witness", "sabotage")},
    }
    called = tuple(replace(result, evidence=evidence.get(result.guard, ())) for result in called)
    return tuple(_bound_result(result) for result in (*looked, *called))


def _spec_demands(judge: Judge, loop: Loop, facts: GuardFacts) -> Asked | None:
    """What the specs ask of this tree; None without specs, or where its tests are not tied to them."""
    build = loop.build
    if build.base is None or build.links.tree != facts.tree:
        return None
    since = compare_trees(judge.site.store, build.base.tree, facts.tree).changes
    since = tuple(change for change in since if change.path != PLAN)
    return Asked(
        ties=build.links.tests,
        wanted=criteria_to_show(loop),
        shown=build.links.shown_criteria,
        worked=bool(source_changes(replace(facts, changes=since, memo={}))),
    )


def _facts(judge: Judge, loop: Loop, tree: str) -> GuardFacts:
    order, store = judge.site.order, judge.site.store
    base: dict[str, Reading] = {}
    for gate in order.criterion.gates:
        reading = judge.base_reading(gate.name, loop.proof.baseline)
        if reading is not None:
            base[gate.name] = reading
    trees = compare_trees(store, order.base.tree, tree)
    own = order.rendered_files  # and nothing to be broken
    return GuardFacts(
        tree=tree,
        gates=order.criterion.gates,
        base=base,
        final={name: judge.reading(verdict) for name, verdict in loop.proof.finals.items()},
        changes=tuple(change for change in trees.changes if change.path not in own),
        read_base=trees.read_base,
        read_result=trees.read_result,
        executed={
            name: seen for name, verdict in loop.proof.finals.items() if (seen := judge.how_executed(verdict))
        },
        protect=order.protect,
        waivers=loop.sealed.criterion.waivers,
        granted=loop.sealed.criterion.granted,
        base_paths=trees.base_paths,
        task=order.task,
        task_class=order.criterion.task_class if order.brief is None else None,
        confirm=order.criterion.confirm,
    )


def _try_sabotage(
    judge: Judge, loop: Loop, facts: GuardFacts, show: WitnessRequest, batch: Batch, attend: Attention
) -> tuple[Broken, ...] | None:
    """Each sabotage tried on the witness tests, while there is time; None when asked to drop it."""
    shown = set(witnesses(facts)[0])
    if not shown:
        return ()
    asked = sabotage_request(facts)
    gates = [gate for gate in facts.gates if gate.name in batch.witness and _shows(gate, facts, shown)]
    seconds = max([SABOTAGE_SECONDS, *(loop.proof.finals[gate.name].seconds for gate in gates)])
    until = judge.site.clock.monotonic() + seconds
    patience = max((_patience(loop.proof.finals[gate.name].seconds) for gate in gates), default=0.0)
    noticed: dict[str, bool] = {}
    owed: dict[str, str] = {}
    wanted: list[GateCall] = []
    for number, item in enumerate(asked):
        broken = _broken_tree(judge, facts.tree, item)
        owed[broken] = item.name
        for gate in gates:
            narrow = narrow_gate(facts, gate, show)
            narrow = replace(narrow, timeout=min(gate.timeout, patience))  # broken code may never end
            slot = judge.slot(gate, f"broken{number % SABOTAGE_SLOTS}")
            wanted.append(GateCall(narrow, broken, "sabotage", slot, fresh=False))
    total, heard_of = len(wanted), 0
    for heard in answers(judge, wanted, facts.tree, batch, attend):
        heard_of += 1
        name = owed[heard.call.tree]
        noticed[name] = noticed.get(name, False) or is_noticed(
            heard.reading, shown, facts.final[heard.call.gate.name]
        )
        if heard.evidence:
            batch.evidence["sabotage"] = (*batch.evidence.get("sabotage", ()), heard.evidence)
        if judge.site.clock.monotonic() > until:
            total -= len(wanted)
            wanted.clear()
    if heard_of < total:
        return None
    return tuple(Broken(item.name, noticed.get(item.name), item.other) for item in asked)


def _patience(seconds: float) -> float:
    """How long a call on other source may take, by what the gate took on the result."""
    return max(SABOTAGE_CALL_SECONDS, 4 * seconds)


def _broken_tree(judge: Judge, tree: str, item: Sabotage) -> str:
    store = judge.site.store
    if item.content is not None:
        return edited_tree(store, tree, {item.path: item.content})
    return overlay_tree(store, judge.site.order.base.tree, tree, restore=(item.path,))


def _shows(gate: Gate, facts: GuardFacts, shown: set[str]) -> bool:
    tests = facts.final[gate.name].tests
    return gate.name in shown if tests is None else any(name in shown for name in tests)


def is_noticed(reading: Reading, shown: set[str], final: Reading) -> bool:
    """Is one of this gate's witnesses red, or not loaded? Others may be red for reasons of their own."""
    if reading.status == "pass" or reading.cause in MACHINERY or reading.doubt:
        return False
    if reading.tests is None:
        return True
    return any(reading.tests.get(name) != "pass" for name in shown.intersection(final.tests or ()))


def _bound_result(result: GuardResult) -> GuardResult:
    """What fits into the journal and onto a screen; the count stays true in the summary."""
    kept = tuple(
        Finding(
            key=finding.key[:300],
            message=one_line(finding.message, 400),
            path=finding.path[:300],
            line=finding.line,
            severity=finding.severity,
            way=one_line(finding.way, 400),
            asks=finding.asks,
        )
        for finding in result.findings[:MAX_SHOWN]
    )
    more = len(result.findings) - len(kept)
    summary = trim(result.summary, 5, 600) + (f" (and {more} more findings)" if more else "")
    return replace(result, findings=kept, summary=summary)
