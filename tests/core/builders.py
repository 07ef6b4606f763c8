"""Short ways to write down loops, verdicts and the events that lead to them.

Every loop here is made by folding legal events, so that no test starts from a state that cannot be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from msgspec.structs import asdict, replace

from ralph.core.decide.machine import decide, fold
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault, SealedAgent
from ralph.core.model.breaker_state import Footprint
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order, StartPoint
from ralph.core.model.parts import flat_fields, from_flat
from ralph.core.model.spend import Limits, Usage
from ralph.core.model.team.roles import TeamState
from ralph.core.model.verdict import Finding, GuardResult, Verdict

BASE = "t0"
COMPLETE = Claim("COMPLETE")
CRITERION = ("min_grade", "waivers", "until", "confirm", "quarantine")


def gate(name: str = "test", *, proof: bool = True, **more: Any) -> Gate:
    return Gate(name=name, run=name, argv=(name,), proof=proof, **more)


def order(*gates: Gate, task_class: Any = "test-pass", limits: Limits | None = None, **more: Any) -> Order:
    """`more` by the names that they have in a journal."""
    criterion = {key: more.pop(key) for key in CRITERION if key in more}
    made = Order(
        loop="fix-1",
        task="make it work",
        repo="repo",
        criterion=Criterion(task_class=task_class, gates=gates or (gate(),), **criterion),
        limits=limits or Limits(),
        agent=SealedAgent("demo"),
        base=StartPoint("c0", BASE),
        branch="ralph/fix-1",
    )
    return from_flat(Order, flat_fields(made) | more)


def green(name: str = "test", tree: str = "t1", **more: Any) -> Verdict:
    return Verdict(gate=name, tree=tree, **{"stage": "fast", "status": "pass", "answered": True, **more})


def red(name: str = "test", tree: str = "t1", count: int = 1, **more: Any) -> Verdict:
    values = {"stage": "fast", "status": "fail", "red_digest": f"d{count}", "signature": f"s{count}", **more}
    return Verdict(gate=name, tree=tree, red=count, **values)


def at_base(verdict: Verdict) -> Verdict:
    return replace(verdict, tree=BASE, stage="baseline")


def final(verdict: Verdict) -> Verdict:
    return replace(verdict, stage="final")


def guard(tree: str = "t1", *found: str, name: str = "inventory", **more: Any) -> GuardResult:
    findings = tuple(Finding(key=key, message=f"{key} is gone") for key in found)
    return GuardResult(
        **{"guard": name, "tree": tree, "applied": True, "summary": "", "findings": findings, **more}
    )


def measured(tree: str = "t1", *, witness: int = 1, sabotaged: int = 1, noticed: int = 1) -> tuple[Any, ...]:
    """What the guards say of the agent's own tests; by default that they are a witness."""
    return (
        guard(tree, name="witness", counted={"witness": witness}),
        guard(tree, name="sabotage", counted={"sabotaged": sabotaged, "noticed": noticed}),
    )


def started(sealed: Order | None = None, protection: str = "S2") -> Loop:
    """The workspace was made; the baseline is owed."""
    return fold(
        [
            e.LoopStarted(rules=e.RULES, order=sealed or order()),
            e.StintStarted(pid=1, host="h", version="1", protection=protection),
            e.WorkspaceMade(path="/w"),
        ]
    )


def based(sealed: Order | None = None, *verdicts: Verdict, protection: str = "S2") -> Loop:
    """The baseline is in (by default: three red); the first call is owed."""
    return judge(started(sealed, protection), *(at_base(verdict) for verdict in verdicts or (red(count=3),)))


def judge(loop: Loop, *verdicts: Verdict) -> Loop:
    return fold([e.GateEnded(iteration=loop.iteration, verdict=verdict) for verdict in verdicts], loop)


def call(loop: Loop, at: float = 0.0) -> Loop:
    owed = loop.todo[0]
    assert isinstance(owed, actions.RunAgent), loop.todo
    started = e.AgentStarted(iteration=owed.iteration, call=owed.call, agent="demo", prompt="p", at=at)
    return decide(loop, started)


def answer(loop: Loop, claim: Claim | None = None, fault: Fault | None = None, **more: Any) -> Loop:
    """The open call ended: a snapshot is owed."""
    ended = e.AgentEnded(iteration=loop.iteration, call=loop.call.number, claim=claim, fault=fault, **more)
    return decide(loop, ended)


def snapshot(tree: str, loop: Loop, lines: int = 0) -> e.CheckpointMade:
    return e.CheckpointMade(iteration=loop.iteration, tree=tree, commit=f"c-{tree}", total_lines=lines)


def work(
    loop: Loop, tree: str, claim: Claim | None = None, fault: Fault | None = None, lines: int = 0, **more: Any
) -> Loop:
    """One agent call that left this tree."""
    loop = answer(call(loop), claim, fault, **more)
    return decide(loop, snapshot(tree, loop, lines))


def iterate(loop: Loop, tree: str, *verdicts: Verdict, **more: Any) -> Loop:
    """One whole iteration: call, snapshot, fast verdicts (by default one red), and a restore if asked for."""
    loop = judge(work(loop, tree, **more), *(verdicts or (red(tree=tree, count=3),)))
    return restored(loop)


def restored(loop: Loop) -> Loop:
    if loop.todo and isinstance(loop.todo[0], actions.RestoreWorkspace):
        back = e.WorkspaceRestored(iteration=loop.iteration, tree=loop.todo[0].to.tree)
        return decide(loop, back)
    return loop


def guarding(loop: Loop, tree: str = "t1", *verdicts: Verdict, claim: Claim | None = None) -> Loop:
    """Green in the incremental and the fresh checkout: the guards are owed."""
    greens = verdicts or (green(tree=tree),)
    return judge(judge(work(loop, tree, claim), *greens), *(final(verdict) for verdict in greens))


def conclude(loop: Loop, *results: GuardResult) -> Loop:
    owed = loop.todo[0]
    assert isinstance(owed, actions.RunGuards), loop.todo
    return decide(loop, e.GuardsEnded(iteration=loop.iteration, tree=owed.tree, results=results))


def close(loop: Loop) -> Loop:
    """Do what is owed at the end: publish, then end."""
    if isinstance(loop.todo[0], actions.PublishResult):
        tree = loop.todo[0].tree
        loop = decide(loop, e.ResultPublished(branch="ralph/fix-1", commit=f"r-{tree}", tree=tree))
    owed = loop.todo[0]
    assert isinstance(owed, actions.Finish), loop.todo
    return decide(loop, e.LoopEnded(outcome=owed.outcome, reason=owed.reason, grade=owed.grade))


def verified() -> Loop:
    return close(conclude(guarding(based()), guard()))


def weakened(loop: Loop) -> Loop:
    """The same, judged without a box."""
    return loop.with_work(protection="S0").with_proof(protection="S0")


def waiting(kind: Any = "limit", **more: Any) -> Loop:
    return work(based(), BASE, fault=Fault(kind, "busy", **more))


def faulted(count: int, kind: Any = "crash") -> Loop:
    """So many calls in a row that failed and left nothing."""
    loop = based()
    for turn in range(count):
        loop = work(decide(loop, e.WaitOver()) if turn else loop, BASE, fault=Fault(kind, "busy"))
    return loop


def paused_judging() -> Loop:
    """Paused at once while a snapshot was being judged."""
    return decide(work(based(), "t1", COMPLETE), e.PauseAsked(now=True))


def outcome(kind: str) -> Loop:
    """An ended loop of each outcome."""
    match kind:
        case "verified":
            return verified()
        case "exhausted":
            return close(iterate(based(order(limits=Limits(iterations=1))), "t1"))
        case "stalled":
            loop = based()
            for _ in range(3):
                loop = restored(work(loop, BASE))
            return close(loop)
        case "blocked":
            return close(iterate(based(), "t1", claim=Claim("BLOCKED", recommendation="which one?")))
        case "aborted":
            return close(decide(based(), e.AbortAsked()))
        case "broken":
            return close(work(based(), BASE, fault=Fault("missing", "no such file")))
    raise AssertionError(kind)


def footprint(**more: Any) -> Footprint:
    """A first iteration that made progress, unless it says otherwise."""
    plain = {
        "iteration": 1,
        "tree": "t1",
        "before": BASE,
        "red_digest": "",
        "red": 0,
        "signature": "",
        "progress": True,
    }
    return Footprint(**{**plain, **more})


def spent(loop: Loop, tokens: int | None, cost: float | None) -> Loop:
    return answer(call(loop), usage=Usage(tokens=tokens, cost=cost))


def changes(before: Loop, after: Loop) -> dict[str, Any]:
    """Every field that differs, with its new value; breaker, attempts and tasks have tables of their own.

    Of the iterations those that the rules count, and of each what they compare; scores have a table too.
    """
    old, new = fields(before), fields(after)
    apart = ("progress.breaker", "progress.attempts", "team.tasks", "team.spend")
    return {name: value for name, value in new.items() if value != old[name] and name not in apart}


def compared(one: Footprint) -> Footprint:
    """A footprint without its score and what people are told beside it."""
    kept = ("iteration", "tree", "before", "red_digest", "red", "signature", "progress")
    more = ("outline", "unloaded", "worse")
    return Footprint(**{name: getattr(one, name) for name in (*kept, *more)})


def fields(state: Any) -> dict[str, Any]:
    """The fields of a loop, or of what it knows of its plan, and of their parts, by their path."""
    found = dict[str, Any]()
    for name, value in asdict(state).items():
        is_part = type(value).__module__ == type(state).__module__ or isinstance(value, TeamState)
        found |= {f"{name}.{field}": of for field, of in asdict(value).items()} if is_part else {name: value}
    if found.pop("progress.counted", None) is not None:
        found["progress.history"] = tuple(map(compared, state.progress.recent))
    return found


class Row(NamedTuple):
    """One line of the law: in this state this fact changes exactly these fields."""

    name: str
    before: Loop
    event: e.AnyEvent
    changes: dict[str, Any]
