"""The law of endings, the best checkpoint, taking back and waiting."""

from __future__ import annotations

from typing import Any

import builders as b
from builders import BASE, Row
from law_after_judging import again, done, judging, last, sealed
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.decide.stuck import take_back
from ralph.core.model import actions
from ralph.core.model import actions as model_actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault
from ralph.core.model.loop import Loop
from ralph.core.model.spend import Limits, Spend
from ralph.core.model.verdict import Checkpoint, Verdict

READY = b.based()
RED = b.red(count=2)
PAIR = (b.gate(), b.gate("lint", proof=False))


def spent(**used: Any) -> Spend:
    return Spend(calls=1, blind=1, **used)


def blocked(recommendation: str, limits: Limits | None = None) -> Loop:
    return judging(limits, claim=Claim("BLOCKED", recommendation=recommendation))


def denied_before(loop: Loop) -> Loop:
    """A call that was refused something, judged red; the next is refused too."""
    return b.work(b.iterate(loop, "t1", denials=("mv",)), "t2", denials=("rm", "dd"))


EXHAUSTED_1 = done("exhausted", "1 of 1 iterations used")
ENDINGS = [
    Row(
        "the agent says it is blocked: a human is asked",
        *last(blocked("which port?"), RED),
        {"phase": "judging", "todo": done("blocked", "the agent asks: which port?")},
    ),
    Row(
        "blocked without a reason",
        *last(blocked("", Limits(iterations=1)), RED),
        {"todo": done("blocked", "the agent asks: no reason given")},
    ),
    Row(
        "a claim to be complete ends nothing",
        *last(judging(claim=b.COMPLETE), RED),
        {"todo": again(2)},
    ),
    Row("refused once", *last(judging(denials=("rm",)), RED), {"agents.denials_in_row": 1, "todo": again(2)}),
    Row(
        "refused twice in a row: blocked, with what was refused",
        *last(denied_before(READY), b.red(tree="t2", count=1)),
        {"todo": done("blocked", "permission was denied twice in a row: rm, dd")},
    ),
    Row("every iteration used", *last(judging(Limits(iterations=1)), RED), {"todo": EXHAUSTED_1}),
    Row("one iteration left", *last(judging(Limits(iterations=2)), RED), {"todo": again(2)}),
    Row(
        "no bound on iterations",
        *last(judging(Limits(iterations=None, time=9.0)), RED),
        {"todo": again(2)},
    ),
    Row(
        "the time is used up, waits included",
        *last(judging(Limits(time=60.0), spent(seconds=20.0, waited=40.0)), RED),
        {"todo": done("exhausted", "time limit of 60 s reached")},
    ),
    Row(
        "some time is left",
        *last(judging(Limits(time=60.0), spent(seconds=20.0, waited=39.0)), RED),
        {"todo": again(2)},
    ),
    Row(
        "the money is used up",
        *last(judging(Limits(cost=1.5), spent(cost=1.5)), RED),
        {"todo": done("exhausted", "cost limit of 1.5 USD reached (1.50)")},
    ),
    Row("some money is left", *last(judging(Limits(cost=1.5), spent(cost=1.4)), RED), {"todo": again(2)}),
    Row(
        "an unknown cost is not zero and no limit", *last(judging(Limits(cost=1.5)), RED), {"todo": again(2)}
    ),
    Row(
        "the tokens are used up",
        *last(judging(Limits(tokens=10), spent(tokens=10)), RED),
        {"todo": done("exhausted", "token limit of 10 reached (10)")},
    ),
    Row("some tokens are left", *last(judging(Limits(tokens=10), spent(tokens=9)), RED), {"todo": again(2)}),
    Row("unknown tokens", *last(judging(Limits(tokens=10)), RED), {"todo": again(2)}),
    Row(
        "the baseline alone can use up the time",
        b.started(sealed(Limits(time=5.0))),
        e.GateEnded(iteration=0, verdict=b.at_base(RED), took=5.0),
        {"phase": "working", "iteration": 0, "todo": done("exhausted", "time limit of 5 s reached")},
    ),
    Row(
        "a pause asked during the judgement comes after it",
        *last(decide(judging(), e.PauseAsked(reason="lunch")), RED),
        {
            "phase": "paused",
            "reason": "lunch",
            "control.pause_reason": "",
            "control.held_todo": (),
            "control.held_phase": "working",
            "proof.not_yet": ("test: fail",),
            "todo": (),
        },
    ),
]


def pair(base: Verdict, *, loop_lint: Verdict | None = None, **order: Any) -> Loop:
    """Two gates, one of them the proof."""
    return b.based(b.order(*PAIR, **order), base, loop_lint or b.green("lint"))


def tried(loop: Loop, tree: str, test: Verdict, lint: Verdict, lines: int = 0) -> tuple[Loop, e.GateEnded]:
    """An iteration that left this tree, at its last verdict."""
    return last(b.judge(b.work(loop, tree, lines=lines), test), lint)


def both(loop: Loop, tree: str, test: Verdict, lint: Verdict, lines: int = 0) -> Loop:
    return b.restored(decide(*tried(loop, tree, test, lint, lines)))


FIVE = pair(b.red(count=5))
OLD = pair(b.red(count=3), loop_lint=b.red("lint", count=4))
ADVISED = b.based(
    b.order(b.gate(), b.gate("lint", proof=False, required=False)), b.red(count=3), b.green("lint")
)
# Red fell from 5 to 4, but in two gates instead of one: shrinking, and not the best.
SPREAD = both(FIVE, "t1", b.red(count=2), b.red("lint", count=2))
BEST_0 = Checkpoint(0, BASE, "c0", passing=1, red=5)
BESTS = [
    Row(
        "fewer red is better",
        *tried(FIVE, "t1", b.red(count=4), b.green("lint"), lines=70),
        {"progress.best": Checkpoint(1, "t1", "c-t1", passing=1, red=4, changed_lines=70)},
    ),
    Row(
        "more checks passing is better, however much is red in the other",
        *tried(
            both(FIVE, "t1", b.red(count=5), b.red("lint", count=1)),
            "t2",
            b.green(tree="t2"),
            b.red("lint", "t2", 9),
        ),
        {"progress.best": BEST_0},
    ),
    Row(
        "fewer checks passing is worse, however little is red",
        *tried(FIVE, "t1", b.red(), b.red("lint")),
        {"progress.best": BEST_0},
    ),
    Row(
        "no better is not better",
        *tried(FIVE, "t1", b.red(count=5), b.green("lint")),
        {"progress.best": BEST_0},
    ),
    Row(
        "of two equals the smaller change is better",
        *tried(
            both(FIVE, "t1", b.red(count=4), b.green("lint"), lines=70),
            "t2",
            b.red(tree="t2", count=4),
            b.green("lint", "t2"),
            lines=69,
        ),
        {"progress.best": Checkpoint(2, "t2", "c-t2", passing=1, red=4, changed_lines=69)},
    ),
    Row(
        "a gate that could not be judged counts as one red at least",
        *tried(FIVE, "t1", b.red(count=0, status="error"), b.red("lint", count=2)),
        {
            "progress.history": (
                b.footprint(red=3, red_digest="test:d0|lint:d2", signature="test:s0|lint:s2"),
            )
        },
    ),
    Row(
        "old red that does not block is no error of this loop",
        *tried(OLD, "t1", b.red(count=2), b.red("lint", count=4)),
        {
            "progress.best": Checkpoint(1, "t1", "c-t1", passing=1, red=2),
            "progress.history": (b.footprint(red=2, red_digest="test:d2", signature="test:s2"),),
        },
    ),
    Row(
        "an advisory gate is no measure",
        *tried(ADVISED, "t1", b.red(count=2), b.red("lint", count=4)),
        {
            "progress.best": Checkpoint(1, "t1", "c-t1", passing=0, red=2),
            "progress.history": (b.footprint(red=2, red_digest="test:d2", signature="test:s2"),),
        },
    ),
]


def second(count: int, signature: str = "", **order: Any) -> tuple[Loop, e.GateEnded]:
    """First three red as at the base, then so many."""
    loop = b.iterate(b.based(sealed(**order)), "t1")
    more = {"signature": signature} if signature else {}
    return last(b.work(loop, "t2"), b.red(tree="t2", count=count, **more))


def back(red: int, iteration: int = 2, why: str = take_back.WORSE) -> tuple[model_actions.Action, ...]:
    tree = f"t{iteration}"
    return (
        actions.RestoreWorkspace(READY.progress.best, Checkpoint(iteration, tree, f"c-{tree}", red=red), why),
    )  # type: ignore[arg-type]


def twice(first: Verdict, then: Verdict, base: Loop = READY) -> tuple[Loop, e.GateEnded]:
    """Two iterations with these verdicts, the second at its last."""
    return last(b.work(b.iterate(base, "t1", first), "t2"), replace(then, tree="t2"))


def worse(times: int, loop: Loop = READY) -> Loop:
    """So many iterations in a row that are worse than the best."""
    for _ in range(times):
        tree = f"t{loop.iteration}"
        loop = b.iterate(loop, tree, b.red(tree=tree, count=9))
    return loop


def worse_once() -> Loop:
    return b.work(b.iterate(READY, "t1", b.red(count=4)), "t2")


LOADS_NOT = b.red(unloaded=1, per_test=True)  # one file of tests that cannot be loaded, and no test seen
NO_SIGN = b.based(None, LOADS_NOT)
TAKEN = [
    Row("worse once: kept", *second(9), {"phase": "working", "todo": again(3)}),
    Row(
        "worse than the best twice in a row: back to it",
        *twice(b.red(count=4), b.red(count=9)),
        {"phase": "working", "todo": back(9)},
    ),
    Row("the same error again: kept", *second(3), {"todo": again(3)}),
    Row("another error, as many red: kept", *second(3, "other"), {"todo": again(3)}),
    Row("worse, then as good as the best: kept", *twice(b.red(count=4), b.red(count=3)), {"todo": again(3)}),
    Row(
        "tests that no longer load, twice: back, however few are red",
        *twice(b.red(count=1, unloaded=1), b.red(count=1, unloaded=1)),
        {"todo": back(1)},
    ),
    Row(
        "what could not be loaded and now can is better, however many are red then",
        *twice(b.red(count=9, per_test=True), b.red(count=8, per_test=True), NO_SIGN),
        {"progress.best": Checkpoint(2, "t2", "c-t2", passing=0, red=8), "todo": again(3)},
    ),
    Row(
        "after going back two more count",
        *last(b.work(worse(3), "t9"), b.red(tree="t9", count=3)),
        {"todo": again(5)},
    ),
    Row("kept when the user keeps everything", *second(9, on_fail="keep"), {"todo": again(3)}),
    Row(
        "taken back when the user wants it so",
        *last(judging(on_fail="revert"), b.red(count=3)),
        {"todo": back(3, 1, take_back.FAILED)},
    ),
    Row("never taken back: the best itself", *last(judging(on_fail="revert"), RED), {"todo": again(2)}),
    Row(
        "shrinking: kept, even when it is the same error and not the best",
        *tried(SPREAD, "t2", b.red(tree="t2", count=2), b.red("lint", "t2", 2)),
        {"progress.best": BEST_0, "todo": again(3)},
    ),
    Row(
        "a pause comes first, and what goes back goes after it",
        *last(decide(worse_once(), e.PauseAsked()), b.red(tree="t2", count=9)),
        {"phase": "paused", "work.tree": "t2", "todo": (), "control.held_todo": back(9)},
    ),
]


def limited(
    at: float, reset_at: float | None = None, limits: Limits | None = None, kind: Any = "limit"
) -> tuple[Loop, e.AnyEvent]:
    """A call that failed and left nothing, at this time of the clock."""
    loop = b.answer(b.call(b.based(sealed(limits))), fault=Fault(kind, "busy", reset_at=reset_at))
    return loop, replace(b.snapshot(BASE, loop), at=at)


def wait(seconds: float, until: float | None = None, why: str = "limit: busy") -> dict[str, Any]:
    return {
        "phase": "waiting",
        "control.wait_until": until,
        "control.wait_reason": why,
        "todo": (actions.Wait(seconds=seconds, until=until, why=why),),
    }


def calls(cap: int, *times: float) -> Loop:
    """Iterations whose calls began at these times; the last stands at its last verdict."""
    loop = b.based(sealed(Limits(calls_per_hour=cap), on_fail="keep"))
    for turn, at in enumerate(times):
        if turn:
            loop = decide(*hour(loop, at))
        if loop.phase == "waiting":
            loop = decide(loop, e.WaitOver(at=at))
        loop = b.answer(b.call(loop, at))
        loop = decide(loop, replace(b.snapshot(f"t{turn + 1}", loop), at=at))
    return loop


def hour(loop: Loop, at: float) -> tuple[Loop, e.AnyEvent]:
    return loop, e.GateEnded(
        iteration=loop.iteration, verdict=b.red(tree=loop.work.tree, count=10 + loop.iteration), at=at
    )


PAST = "limit: busy; waiting would exceed the time limit"
HELD_UP = b.work(b.based(b.order(on_fail="revert")), "t1", fault=Fault("overload", "busy"))
WAITS = [
    Row("a limit without a time backs off", *limited(50.0), wait(300.0)),
    Row("a limit with a time waits until then", *limited(50.0, 90.0), wait(40.0, 90.0)),
    Row("a time that has passed is a breath", *limited(50.0, 20.0), wait(1.0, 51.0)),
    Row(
        "a wait that would pass the time limit ends the loop",
        *limited(50.0, 90.0, Limits(time=39.0)),
        {"phase": "working", "iteration": 0, "todo": done("exhausted", PAST)},
    ),
    Row("a wait that just fits is waited", *limited(50.0, 90.0, Limits(time=40.0)), wait(40.0, 90.0)),
    *(
        Row(
            f"{kind} is retried after a first wait",
            *limited(0.0, kind=kind),
            wait(seconds, None, f"{kind}: busy"),
        )
        for kind, seconds in (
            ("overload", 20.0),
            ("network", 20.0),
            ("disk", 30.0),
            ("crash", 1.0),
            ("timeout", 1.0),
            ("idle", 1.0),
        )
    ),
    Row(
        "a prompt that was too long is tried again at once",
        *limited(0.0, kind="context"),
        {"todo": again(1, 2)},
    ),
    Row(
        "no wait without a named time is longer than an hour",
        limited(0.0)[0].with_agents(outages_in_row=4),
        limited(0.0)[1],
        wait(3600.0),
    ),
    Row(
        "a fault that left a red tree waits after its judgement",
        *last(b.work(READY, "t1", fault=Fault("overload", "busy")), RED),
        {**wait(20.0, None, "overload: busy"), "iteration": 1, "proof.not_yet": ("test: fail",)},
    ),
    Row(
        "a fault that left a tree to take back waits after that",
        b.judge(HELD_UP, b.red(count=3)),
        e.WorkspaceRestored(iteration=1, tree=BASE),
        {**wait(20.0, None, "overload: busy"), "work.tree": BASE},
    ),
    Row(
        "the hour's calls are used up",
        *hour(calls(1, 0.0), 100.0),
        wait(3500.0, 3600.0, "1 calls per hour used"),
    ),
    Row("the hour is over", *hour(calls(1, 0.0), 3600.0), {"phase": "working", "todo": again(2)}),
    Row("the hour is nearly over", *hour(calls(1, 0.0), 3599.5), wait(0.5, 3600.0, "1 calls per hour used")),
    Row(
        "a clock set back makes no wait longer than an hour",
        *hour(calls(1, 500.0), 0.0),
        wait(3600.0, 3600.0, "1 calls per hour used"),
    ),
    Row("one call of two is left", *hour(calls(2, 0.0), 100.0), {"todo": again(2)}),
    Row(
        "the oldest call that counts says how long",
        *hour(calls(2, 0.0, 1000.0, 3700.0), 3800.0),
        {**wait(800.0, 4600.0, "2 calls per hour used"), "call.times": (1000.0, 3700.0)},
    ),
    Row(
        "a wait for a provider and then one for the hour that would pass the time limit",
        b.work(b.based(sealed(Limits(calls_per_hour=1, time=9.0))), BASE, fault=Fault("crash", "busy")),
        e.WaitOver(at=10.0),
        {
            "phase": "working",
            "todo": done("exhausted", "1 calls per hour used; waiting would exceed the time limit"),
        },
    ),
    Row(
        "a wait for a provider and then one for the hour",
        b.work(b.based(sealed(Limits(calls_per_hour=1))), BASE, fault=Fault("crash", "busy")),
        e.WaitOver(at=10.0),
        wait(3590.0, 3600.0, "1 calls per hour used"),
    ),
]
ROWS = [*ENDINGS, *BESTS, *TAKEN, *WAITS]
