"""The breaker, the ladder and the record of attempts at work in a loop.

Called by the machine's handlers, once for each fact that matters; every function takes the loop and gives it
back. The rules themselves are elsewhere: `measure` (the one score), `thresholds` (its numbers), `signs`
(trouble), `breaker` (states), `strategies` (what is asked for), `attempts` (classes), `health` (warnings).
"""

from __future__ import annotations

import msgspec.structs

from ralph.core.decide.stuck import attempts, measure, strategies
from ralph.core.decide.stuck import breaker as breaker_
from ralph.core.decide.stuck import signs as stuck_signs
from ralph.core.decide.stuck.measure import item_of
from ralph.core.decide.stuck.thresholds import DENIAL_CAP, INTEGRITY_CAP, MAX_DEMANDS, MAX_FOOTPRINTS
from ralph.core.model import breaker_state
from ralph.core.model.actions import Finish
from ralph.core.model.agent import Fault
from ralph.core.model.breaker_state import Breaker, Demand, Footprint, Trace, Trouble
from ralph.core.model.events import AgentEnded, CheckpointMade
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE
from ralph.core.model.verdict import Verdict
from ralph.core.text.clean import one_line

replace = msgspec.structs.replace
HIDDEN = "hidden"  # origin of a gate that no agent may hear of, not even as something that was tried
UNSHOWN = "a check that is not shown is red"
STOPPED = "interrupted"  # no attempt: somebody stopped the call
MAX_SENTENCE = 300


def call_ended(loop: Loop, event: AgentEnded) -> Loop:
    return _with(loop, replace(loop.progress.breaker, trace=Trace(written=event.usage.written)))


def record_changes(loop: Loop, event: CheckpointMade, *, changed: bool) -> Loop:
    """What the call changed, for the record of attempts. One that came through ends what was waited for."""
    paths = tuple(one_line(path, MAX_SENTENCE) for path in event.paths[: attempts.NAMED_PATHS])
    trace = Trace(
        written=loop.progress.breaker.trace.written,
        files=event.files,
        lines=event.added + event.removed,
        paths=paths,
    )
    breaker = replace(loop.progress.breaker, trace=trace)
    if loop.call.fault is None or changed:
        breaker = breaker_.note_answered_call(breaker, at=loop.now, iteration=loop.iteration)
    return _with(loop, breaker)


def open_for_wait(loop: Loop, why: str) -> Loop:
    """A fault is waited out: no call until then."""
    return _with(
        loop, breaker_.move_state(loop.progress.breaker, "trip", why, at=loop.now, iteration=loop.iteration)
    )


def start_probe(loop: Loop, iteration: int) -> Loop:
    """An agent call is asked for: after a wait or a resume it is the one that tries."""
    breaker = loop.progress.breaker
    return _with(loop, breaker_.move_state(breaker, "probe", breaker.why, at=loop.now, iteration=iteration))


def record_fault(loop: Loop, fault: Fault) -> Loop:
    """A call failed and left nothing, or half of something: kept among the attempts, and counts as none."""
    if fault.kind == STOPPED:
        return loop
    kind = attempts.classify(attempts.FailureFacts(fault=fault.kind))
    what = one_line(f"{fault.kind}: {fault.message}", MAX_SENTENCE)
    return _add_attempt(loop, kind, what, f"fault {fault.kind}")


def record_judgement(
    loop: Loop, footprint: Footprint, reds: list[Verdict], missing: tuple[str, ...], *, accused: bool
) -> Loop:
    """An iteration was judged and is not enough: keep it, class it, and see what it decides."""
    loop = _add_footprint(loop, footprint)
    if footprint.cut and loop.call.fault is not None:
        return record_fault(loop, loop.call.fault)
    facts = attempts.FailureFacts(
        causes=tuple(verdict.cause if verdict.status != "fail" else "" for verdict in reds),
        blocked=loop.call.claim is not None and loop.call.claim.status == "BLOCKED",
        denied=bool(loop.call.denials),
        accused=accused,
    )
    loop = _add_attempt(
        loop, attempts.classify(facts), _what(loop, reds, missing, facts), footprint.signature
    )
    if accused and loop.rules < 4:  # by those its score was shown, and counted as nothing
        footprint = replace(footprint, score=0)
    return _with(loop, breaker_.note_judged_iteration(loop.progress.breaker, footprint, at=loop.now))


def item_done(loop: Loop, red: int) -> Loop:
    footprint = measure.measure_done_item(loop, red)
    loop = _add_footprint(loop, footprint)
    return _with(loop, breaker_.note_judged_iteration(loop.progress.breaker, footprint, at=loop.now))


def diagnose(loop: Loop) -> tuple[stuck_signs.Track, Trouble | None]:
    """Is the work going anywhere, by the rules that the loop began with?"""
    return stuck_signs.diagnose(loop.progress.recent, loop.rules)


def review_missed_item(loop: Loop, track: stuck_signs.Track) -> tuple[Loop, str, bool]:
    """An item was missed: what is demanded next, why nobody should go on with it, and does it count?"""
    why = (
        track.why if track.kind == "stalled" else attempts.why_give_up(loop.progress.attempts, item_of(loop))
    )
    return set_redirect(loop), why, attempts.is_real_try(loop.progress.attempts[-1])


def open_on_stall(loop: Loop, trouble: Trouble, why: str) -> Loop:
    """A rule ends the work: open, and the probe after a resume is asked for the next strategy."""
    after = breaker_.open_on_stall(
        loop.progress.breaker,
        trouble,
        why,
        breaker_.marks_of(trouble, loop.progress.recent),
        at=loop.now,
        iteration=loop.iteration,
    )
    return add_demand(_with(loop, after), trouble, why)


def demand_after_reopening(loop: Loop) -> Loop:
    """A probe failed, or the trouble came back: the next probe is asked for something else again."""
    trouble = loop.progress.breaker.trouble
    assert trouble is not None  # only a stall is probed and watched
    return add_demand(loop, trouble, loop.progress.breaker.why)


def set_redirect(loop: Loop) -> Loop:
    """What the next prompt demands, by the first rule that has something to say; nothing if none has."""
    track, trouble = diagnose(loop)
    if trouble is not None:
        return add_demand(loop, trouble, track.why)
    coverage = loop.sealed.criterion.task_class == "coverage"
    signs = stuck_signs.first_signs(loop.progress.recent) or stuck_signs.downward_signs(
        loop.progress.tries, only_tests_wanted=coverage
    )
    if signs is not None:
        return add_demand(loop, *signs)
    return loop.with_progress(redirect="")


def add_demand(loop: Loop, trouble: Trouble, why: str) -> Loop:
    breaker, item = loop.progress.breaker, item_of(loop)
    rung = strategies.next_rung(breaker.demands, trouble, item)
    before = strategies.already_asked(breaker.demands, trouble, item)
    made = Demand(iteration=loop.iteration, trouble=trouble, strategy=rung.strategy, item=item)
    loop = _with(loop, replace(breaker, demands=(*breaker.demands, made)[-MAX_DEMANDS:]))
    return loop.with_progress(redirect=strategies.demand_text(why, rung, before))


def close_on_finish(loop: Loop, action: Finish) -> Loop:
    """No loop ends half open; one that the machinery broke ends open."""
    breaker = loop.progress.breaker
    if action.outcome == "broken" and loop.call.fault is not None:
        return open_for_wait(loop, action.reason)
    after = breaker_.note_loop_end(
        breaker, action.reason, verified=action.outcome in DONE, at=loop.now, iteration=loop.iteration
    )
    return _with(loop, after)


def is_denied_again(loop: Loop) -> bool:
    """No agent goes on without what it was refused: a human must allow it."""
    return loop.agents.denials_in_row >= DENIAL_CAP


def is_accused_again(loop: Loop) -> bool:
    return loop.progress.integrity_hits >= INTEGRITY_CAP


def _with(loop: Loop, breaker: Breaker) -> Loop:
    return loop if breaker is loop.progress.breaker else loop.with_progress(breaker=breaker)


def _add_footprint(loop: Loop, footprint: Footprint) -> Loop:
    breaker, progress = loop.progress.breaker, loop.progress
    on_item = (breaker.on_item if footprint.item == breaker.item else 0) + (not footprint.cut)
    return loop.with_progress(
        history=(*progress.history, footprint)[-MAX_FOOTPRINTS:],
        counted=min(progress.counted + 1, MAX_FOOTPRINTS),
        breaker=replace(breaker, item=footprint.item, on_item=on_item),
    )


def _add_attempt(loop: Loop, kind: breaker_state.Class, what: str, signature: str) -> Loop:
    breaker, trace = loop.progress.breaker, loop.progress.breaker.trace
    newest = breaker.demands[-1] if breaker.demands else None
    asked = (
        newest.strategy
        if newest is not None and loop.progress.redirect and newest.item == item_of(loop)
        else ""
    )
    attempt = breaker_state.Attempt(
        iteration=loop.iteration,
        item=item_of(loop),
        kind=kind,
        what=what,
        next=attempts.NEXT[kind],
        signature=signature,
        strategy=asked,
        paths=trace.paths,
        files=trace.files,
        lines=trace.lines,
    )
    return loop.with_progress(attempts=attempts.add_attempt(loop.progress.attempts, attempt))


def _what(loop: Loop, reds: list[Verdict], missing: tuple[str, ...], facts: attempts.FailureFacts) -> str:
    """One line that may also be read by an agent: hidden checks are not told."""
    if facts.blocked and loop.call.claim is not None:
        return one_line(
            f"the agent asks: {loop.call.claim.recommendation or 'no reason given'}", MAX_SENTENCE
        )
    if facts.accused:
        return "tests or gates were tampered with"
    hidden = {gate.name for gate in loop.sealed.criterion.gates if gate.origin == HIDDEN}
    shown = [verdict for verdict in reds if verdict.gate not in hidden]
    for verdict in shown:
        said = verdict.summary or verdict.cause or verdict.status
        more = f" (and {len(shown) - 1} more red)" if len(shown) > 1 else ""
        return one_line(f"{verdict.gate}: {said}{more}", MAX_SENTENCE)
    if reds:
        return UNSHOWN
    if facts.denied:
        return one_line(f"permission denied: {', '.join(loop.call.denials)}", MAX_SENTENCE)
    return one_line(
        missing[0] if missing else "the checks are green, and something is still missing", MAX_SENTENCE
    )
