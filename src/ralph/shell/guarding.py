"""Guards, performed: the facts they look at, and the further gate call that one of them may ask for.

What a guard thinks is in `gates.guards`. Here the base's tests and configs are put over the new source,
judged in a fresh checkout, and handed back with everything else.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.loop import Loop
from ralph.core.model import Finding, GuardResult, Reading
from ralph.core.text import one_line, trim
from ralph.gates.guards import Facts, inspect, overlay_request
from ralph.shell.gittrees import overlay_tree
from ralph.shell.guardfacts import look
from ralph.shell.judge import Judge
from ralph.shell.runner import Attention

SHOWN = 20


def run_guards(judge: Judge, loop: Loop, tree: str, attend: Attention) -> tuple[GuardResult, ...] | None:
    """Every guard's result for `tree`; None when asked to drop it."""
    order, store = judge.site.order, judge.site.store
    base: dict[str, Reading] = {}
    for gate in order.criterion.gates:
        reading = judge.base_reading(gate.name, loop.baseline)
        if reading is not None:
            base[gate.name] = reading
    trees = look(store, order.base_tree, tree)
    facts = Facts(
        tree=tree,
        gates=order.criterion.gates,
        base=base,
        final={name: judge.reading(verdict) for name, verdict in loop.finals.items()},
        changes=trees.changes,
        read_base=trees.read_base,
        read_result=trees.read_result,
        executed={name: seen for name, verdict in loop.finals.items() if (seen := judge.executed(verdict))},
        protect=order.protect,
        waivers=order.criterion.waivers,
        base_paths=trees.base_paths,
        task=order.task,
    )
    request = overlay_request(facts)
    if request is not None:
        overlay = overlay_tree(store, order.base_tree, tree, restore=request.restore, drop=request.drop)
        readings: dict[str, Reading] = {}
        gates = tuple(gate for gate in order.criterion.gates if gate.required)
        for _ in judge.judge(gates, overlay, "overlay", loop.baseline, attend, readings):
            pass
        if len(readings) < len(gates):
            return None
        facts = replace(facts, overlay=readings)
    return tuple(_bounded(result) for result in inspect(facts))


def _bounded(result: GuardResult) -> GuardResult:
    """What fits into the journal and onto a screen; the count stays true in the summary."""
    kept = tuple(
        Finding(
            key=finding.key[:300],
            message=one_line(finding.message, 400),
            path=finding.path[:300],
            line=finding.line,
            severity=finding.severity,
        )
        for finding in result.findings[:SHOWN]
    )
    more = len(result.findings) - len(kept)
    summary = trim(result.summary, 5, 600) + (f" (and {more} more findings)" if more else "")
    return replace(result, findings=kept, summary=summary)
