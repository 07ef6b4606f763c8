"""How red is a tree? Every checkpoint and every iteration is measured here, and ranked by it."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.decide.stuck import signs
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Checkpoint, Footprint, Verdict
from ralph.core.proof import exit_gate


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


def note_footprint(loop: Loop, *, accused: bool) -> Loop:
    """Remember this iteration for the stall rules and, if it is the best so far, as the best checkpoint."""
    verdicts = loop.newest_verdicts
    reds = red_verdicts(loop, verdicts)
    newest = measure_checkpoint(loop, loop.checkpoint, verdicts)
    best = loop.progress.best
    assert best is not None
    # What a guard keeps saying is an error that stays the same, also where every check is green.
    looked = accused or loop.proof.guards_tree == loop.work.tree
    guilt = "|".join(finding.key for result in loop.proof.guards for finding in result.findings if looked)
    progress = not accused and _red(newest) < _least(loop, best)
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
        worse=not progress and (_red(newest) > _red(best) or newest.passing < best.passing),
    )
    if not accused and (rank(newest) < rank(best) or _goes_on(loop, newest, best)):
        best = newest
    return loop.with_progress(history=(*loop.progress.history, footprint)[-signs.MAX_KEPT :], best=best)


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
    innocent = (one for one in loop.progress.history if one.tree not in loop.progress.accused_trees)
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
