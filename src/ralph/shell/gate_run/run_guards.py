"""Guards, performed: the facts they look at, and the further gate calls that some of them ask for.

What a guard thinks is in `gates.guards`. First those that only look at trees and readings; when they find
nothing, the experiments (`experiments`, performed by `schedule`): the base's tests over the new source, the
result again with canaries, its new tests over the base source, its code broken on purpose.
"""

from __future__ import annotations

import os

from msgspec.structs import replace

from ralph.core.decide.plan_facts import criteria_to_show
from ralph.core.model.loop import Loop
from ralph.core.model.plan.items import NAME as PLAN
from ralph.core.model.verdict import Finding, GuardResult, Reading
from ralph.core.proof.still_red import leave_out
from ralph.core.text.clean import one_line, trim
from ralph.gates.guards import CALLED, READ, Asked, GuardFacts, inspect, source_changes
from ralph.shell.gate_run.answers import Heard
from ralph.shell.gate_run.experiments.plan_all import STAGES, plan_experiments
from ralph.shell.gate_run.experiments.repeat_calls import forgive_base_flakes
from ralph.shell.gate_run.schedule import Lab, how_busy, perform
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.diff_facts import compare_trees
from ralph.shell.git.trees import read_blob
from ralph.shell.ports import Attention

MAX_SHOWN = 20


def run_guards(
    judge: Judge, loop: Loop, tree: str, attend: Attention
) -> tuple[GuardResult, ...] | Heard | None:
    """Every guard's result for `tree`, as far as it was looked; None when asked to drop it.

    A call without an answer instead, where the machine ended one: no guard may go by that.
    """
    facts = _facts(judge, loop, tree)
    judge.omissions.allow({name: frozenset(final.left_out) for name, final in facts.final.items()})
    facts = replace(
        facts, criteria=_spec_demands(judge, loop, facts), item=_done_for_item(judge, loop, facts)
    )
    looked = inspect(facts, READ)
    if any(not finding.asks for result in looked for finding in result.findings):
        return tuple(_bound_result(result) for result in looked)  # it is refused already, at no further cost
    busy = how_busy(os.getloadavg()[0], os.cpu_count() or 1)
    lab = Lab(judge, facts, loop.proof.finals, settled=loop.proof.doubted_tree == tree, busy=busy)
    if not perform(lab, plan_experiments(lab), attend):
        return lab.missing
    forgive_base_flakes(lab, attend)
    called = tuple(
        replace(result, evidence=_evidence(result.guard, lab.evidence)) for result in inspect(facts, CALLED)
    )
    return tuple(_bound_result(result) for result in (*looked, *called))


def _evidence(guard: str, by_stage: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The gate calls that a guard's result rests on."""
    stages = STAGES.get(guard, (guard,))
    return tuple(blob for stage, blobs in by_stage.items() if stage.startswith(stages) for blob in blobs)


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


def _done_for_item(judge: Judge, loop: Loop, facts: GuardFacts) -> GuardFacts | None:
    """The change since the last verified item; None without an item, or where nothing can prove it."""
    build = loop.build
    if build.base is None or build.item is None or build.item.no_proof:
        return None
    since = compare_trees(judge.site.store, build.base.tree, facts.tree)
    own = (PLAN, *judge.site.order.rendered_files)
    return replace(
        facts,
        changes=tuple(change for change in since.changes if change.path not in own),
        read_base=since.read_base,
        read_result=since.read_result,
        task=build.item.title,
        memo={},
    )


def _facts(judge: Judge, loop: Loop, tree: str) -> GuardFacts:
    order, store = judge.site.order, judge.site.store
    final = {name: judge.reading(verdict) for name, verdict in loop.proof.finals.items()}
    base: dict[str, Reading] = {}
    for gate in order.criterion.gates:
        reading = judge.base_reading(gate.name, loop.proof.baseline)
        if reading is not None:  # what is left out of the result's reading is left out of the base's too
            gone = final[gate.name].left_out if gate.name in final else ()
            base[gate.name] = leave_out(reading, frozenset(gone), gate)
    trees = compare_trees(store, order.base.tree, tree)
    own = order.rendered_files  # and nothing to be broken
    return GuardFacts(
        tree=tree,
        gates=order.criterion.gates,
        base=base,
        final=final,
        changes=tuple(change for change in trees.changes if change.path not in own),
        read_base=trees.read_base,
        read_result=trees.read_result,
        protect=order.protect,
        waivers=loop.sealed.criterion.waivers,
        granted=loop.sealed.criterion.granted,
        base_paths=trees.base_paths,
        task=order.task,
        task_class=order.criterion.task_class if order.brief is None else None,
        confirm=order.criterion.confirm,
        sealed=_tests_of_tester(judge, loop),
    )


def _tests_of_tester(judge: Judge, loop: Loop) -> dict[str, bytes]:
    tests = loop.team.tests
    if tests is None or not loop.team.sealed:
        return {}
    found = {path: read_blob(judge.site.store, tests.tree, path) for path in tests.paths}
    return {path: text for path, text in found.items() if text is not None}


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
    return replace(result, findings=kept, left_out=more, summary=summary)
