"""How red is a tree, and what was an iteration worth? Everything that is measured is measured here, once.

A checkpoint is ranked by how red it is. An iteration is one `Footprint`: its score against the iteration
before it, whether it made progress, whether it is worse than the best. Rules, breaker, warnings and prompts
read that and measure nothing of their own; the numbers they compare it with are in `thresholds`.
"""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.decide.stuck import thresholds as limit
from ralph.core.model.breaker_state import Footprint
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Checkpoint, Verdict
from ralph.core.proof import exit_gate

HOUR = 3600.0
# Ends of a call that are not the agent's doing. No kill is among them: it changes nothing that is decided.
OUTSIDE = frozenset({"limit", "overload", "server", "network", "auth", "credit", "disk", "upgraded"})


def item_of(loop: Loop) -> str:
    """The item at hand; empty in a loop without a plan."""
    return loop.build.item.id if loop.build.item is not None else ""


def base_checkpoint(loop: Loop) -> Checkpoint:
    """Where the loop began, measured like every checkpoint after it."""
    order = loop.sealed
    return measure_checkpoint(loop, Checkpoint(0, order.base.tree, order.base.commit), loop.proof.baseline)


def measure_checkpoint(loop: Loop, checkpoint: Checkpoint, verdicts: dict[str, Verdict]) -> Checkpoint:
    required = [gate for gate in loop.sealed.criterion.gates if gate.required]
    reds = red_verdicts(loop, verdicts)
    hidden = sum(red.unloaded for red in reds)
    count = sum(max(1, red.red) for red in reds)
    return replace(checkpoint, passing=len(required) - len(reds), red=count, unloaded=hidden)


def red_verdicts(loop: Loop, verdicts: dict[str, Verdict]) -> list[Verdict]:
    required = (gate for gate in loop.sealed.criterion.gates if gate.required)
    return [verdicts[gate.name] for gate in required if _is_red(loop, gate, verdicts)]


def measure_iteration(loop: Loop, *, accused: bool) -> tuple[Loop, Footprint]:
    """What this iteration came to; a tree that is the best so far becomes the best checkpoint."""
    verdicts = loop.newest_verdicts
    reds = red_verdicts(loop, verdicts)
    newest = measure_checkpoint(loop, loop.checkpoint, verdicts)
    best = loop.progress.best
    assert best is not None
    # What a guard keeps saying is an error that stays the same, also where every check is green.
    looked = accused or loop.proof.guards_tree == loop.work.tree
    guilt = "|".join(finding.key for result in loop.proof.guards for finding in result.findings if looked)
    progress = not accused and _red(newest) < _least(loop, best)
    cut = not (progress or accused) and _was_cut_short(loop)
    outlines = "|".join(f"{verdict.gate}:{verdict.outline}" for verdict in reds if verdict.outline)
    footprint = Footprint(
        iteration=loop.iteration,
        tree=loop.work.tree,
        before=loop.work.tree_before,
        red_digest="|".join(f"{verdict.gate}:{verdict.red_digest}" for verdict in reds) + guilt,
        red=newest.red,
        signature="|".join(f"{verdict.gate}:{verdict.signature}" for verdict in reds) + guilt,
        progress=progress,
        outline=outlines + guilt if outlines else "",
        unloaded=newest.unloaded,
        cut=cut,
        worse=not (progress or cut) and (_red(newest) > _red(best) or newest.passing < best.passing),
    )
    footprint = _complete(loop, footprint, base_checkpoint(loop), accused=accused)
    if not accused and (rank(newest) < rank(best) or _goes_on(loop, newest, best)):
        loop = loop.with_progress(best=newest)
    return loop, footprint


def _was_cut_short(loop: Loop) -> bool:
    """Something else ended the call before the agent said what it had done."""
    fault = loop.call.fault
    return loop.rules > 6 and fault is not None and fault.kind in OUTSIDE and loop.call.claim is None


def measure_done_item(loop: Loop, red: int) -> Footprint:
    """An item was verified: the best thing that an iteration can come to. `red`: what others still owe."""
    tree, before = loop.work.tree, loop.work.tree_before
    footprint = Footprint(loop.iteration, tree, before, red_digest="", red=red, signature="", progress=True)
    return _complete(loop, footprint, footprint, items=1)


def _complete(
    loop: Loop, footprint: Footprint, base: Checkpoint | Footprint, *, accused: bool = False, items: int = 0
) -> Footprint:
    """The score, and what people are told of the iteration beside it."""
    counts = [verdict.counts for verdict in loop.newest_verdicts.values() if verdict.counts is not None]
    trace = loop.progress.breaker.trace
    return replace(
        footprint,
        score=_score_in(loop, footprint, base, accused=accused, items=items),
        at=loop.now,
        state=loop.progress.breaker.state,
        item=item_of(loop),
        items=items,
        files=trace.files,
        passed=sum(one.passed for one in counts) if counts else None,
        failed=sum(one.failed for one in counts) if counts else None,
        skipped=sum(one.skipped for one in counts) if counts else None,
        written=trace.written,
        calls_left=calls_left(loop),
        testing=loop.call.claim is not None and loop.call.claim.work == "TESTING",
    )


def _score_in(
    loop: Loop, footprint: Footprint, base: Checkpoint | Footprint, *, accused: bool, items: int
) -> int:
    progress = loop.progress
    first = replace(footprint, red=base.red, unloaded=base.unloaded, signature="")
    previous = progress.tries[-1] if progress.tries else first
    if item_of(loop) != progress.breaker.item:  # the error of another item is no error of this one
        previous = replace(previous, signature="")
    seen = {
        loop.sealed.base.tree,
        *(old.tree for old in progress.recent if old.iteration < footprint.iteration),
    }
    undone = footprint.tree != footprint.before and footprint.tree in seen
    points = score(previous, footprint, items=items, undone=undone)
    # Tampering gains nothing. By earlier rules its score was shown all the same.
    return min(0, points) if accused and loop.rules > 3 else points


def score(previous: Footprint | None, current: Footprint, *, items: int = 0, undone: bool = False) -> int:
    """Worth of one iteration: what it fixed, finished and changed, less what it broke, repeated or undid."""
    points = limit.CHANGED if current.tree != current.before else limit.UNCHANGED
    points += limit.ITEM_DONE * items + limit.UNDONE * undone
    if previous is None:
        return points
    fixed = previous.red - current.red  # below 0: broken
    if current.unloaded < previous.unloaded:  # what is red now stood behind what could not be loaded
        fixed = previous.unloaded - current.unloaded
    points += limit.PER_CHECK * max(-limit.CHECKS_CAP, min(limit.CHECKS_CAP, fixed))
    if current.signature and current.signature == previous.signature:
        points += limit.SAME_ERROR_AGAIN
    elif previous.signature:
        points += limit.OTHER_ERROR
    return points


def calls_used(loop: Loop) -> int:
    """Calls of the last hour, as far as they are remembered."""
    return sum(at > loop.now - HOUR for at in loop.call.times)


def calls_left(loop: Loop) -> int | None:
    cap = loop.limits.calls_per_hour
    return None if cap is None else max(0, cap - calls_used(loop))


def _red(one: Checkpoint | Footprint) -> tuple[int, int]:
    """How red it is. What cannot be loaded hides any number of red tests, so it comes first."""
    return (one.unloaded, one.red)


def _goes_on(loop: Loop, newest: Checkpoint, best: Checkpoint) -> bool:
    """Both green, so that only a witness or a word is missing: the newest is what the next call builds on."""
    unseen = loop.jury.opinion is None  # a judge that saw them says which it liked more
    return loop.rules > 1 and unseen and newest.red == best.red == 0 and newest.tree != best.tree


def _least(loop: Loop, best: Checkpoint) -> tuple[int, int]:
    """The fewest red so far, also of a tree that broke something else and so is not the best."""
    if loop.rules < 2:
        return _red(best)
    innocent = (one for one in loop.progress.recent if one.tree not in loop.progress.accused_trees)
    return min([_red(best), *(_red(one) for one in innocent)])


def _is_red(loop: Loop, gate: Gate, verdicts: dict[str, Verdict]) -> bool:
    """Old red that does not block is no error of this loop: it may stay the same for ever."""
    verdict = verdicts.get(gate.name)
    return verdict is not None and exit_gate.blocks(gate, loop.proof.baseline.get(gate.name), verdict)


def rank(checkpoint: Checkpoint) -> tuple[int, int, int, int]:
    """Rule 31: most required checks passing, then fewest red, then the smallest diff."""
    return (-checkpoint.passing, *_red(checkpoint), checkpoint.changed_lines)


def verified_checkpoint(loop: Loop) -> Checkpoint:
    base = loop.build.base
    return base if base is not None and base.passing >= 0 else base_checkpoint(loop)
