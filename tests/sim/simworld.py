"""A world without processes, disk or clock, in which the real Runner and Scribe drive a loop and are killed.

`Disk` is what survives a kill: refs, the workspace, what became of each call. `SimHands` is a second
implementation of the runner's protocol over it, with the same questions ("did it happen already?").
The journal is the one in memory, or the real one. Every place where a kill could matter is a
tick; the tick of one's choice raises `Crash`, and everything but disk and journal is thrown away.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Generator
from typing import Any

from memory_journal import Memory, MemoryJournal
from msgspec import Struct

from ralph.core.decide.machine import fold
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, Fault, SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order, RoleTerms, StartPoint, Team
from ralph.core.model.rubric import Opinion, Rubric
from ralph.core.model.spend import Limits, Usage
from ralph.core.model.team.roles import SealedTests
from ralph.core.model.team.terms import ROLES
from ralph.core.model.verdict import Checkpoint, Finding, GuardResult, Verdict
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.record import Record, load, summary_row
from ralph.shell.journal.store import Command, JournalStore
from ralph.shell.ports import Activity, Attention
from ralph.shell.run.runner import Runner
from ralph.shell.run.scribe import Scribe

BASE = "base.3"  # a tree's name ends with the number of red tests in it
NAME = "sim"


class Crash(BaseException):
    """kill -9."""


class Ticks:
    """Counts the instants; some of them kill, some bring a command of the user."""

    def __init__(self, crash_at: set[int], at: dict[int, Callable[[], None]] | None = None) -> None:
        self.count, self.crashes = 0, 0
        self._crash_at, self._at = crash_at, at or {}

    def __call__(self) -> None:
        self.count += 1
        command = self._at.pop(self.count, None)
        if command is not None:
            command()
        if self.count in self._crash_at:
            self.crashes += 1
            raise Crash(str(self.count))


class TickingStore:
    """A journal store, with an instant before and after each of its appends; `open` gives a handle on it.

    A handle dies with its runner; `reopen` is what a new process does.
    """

    def __init__(self, open_: Callable[[], JournalStore], tick: Ticks) -> None:
        self._open, self._tick = open_, tick
        self._journal = open_()

    def begin(self, event: e.AnyEvent) -> None:
        row = summary_row(fold((event,)), 1e9)
        words = {"at": 10**12, "kind": e.kind_of(event), "v": 1, "body": e.encode(event)}
        self._journal.create(NAME, **words, summary=row)

    def append(self, *words: Any, **more: Any) -> None:
        self._tick()
        self._journal.append(*words, **more)
        self._tick()

    def tell(self, event: e.AnyEvent) -> None:
        with self._open() as teller:
            teller.inbox_put(NAME, 0, e.kind_of(event), e.encode(event))

    def inbox_open(self, loop: str) -> list[Command]:
        return self._journal.inbox_open(loop)

    def reopen(self) -> Record:
        self._journal.close()
        self._journal = self._open()
        return load(self._journal, NAME)

    def check_summary(self, loop: Loop) -> None:
        """What lists show is what the rows come to."""
        (found,) = self._journal.summaries()
        seq = max(row.seq for row in self._journal.rows(NAME))
        wanted = summary_row(loop, 1e9)
        assert (found.phase, found.outcome, found.body, found.seq) == (
            wanted.phase, wanted.outcome, wanted.body, seq
        )  # fmt: skip

    def close(self) -> None:
        self._journal.close()


def in_memory(tick: Ticks) -> TickingStore:
    memory = Memory()
    return TickingStore(lambda: MemoryJournal(memory), tick)


def on_disk(folder: str, tick: Ticks) -> TickingStore:
    return TickingStore(lambda: open_journal(folder), tick)


class SimClock:
    """Moves by itself; a new one after each crash may stand anywhere, as wall clocks do."""

    def __init__(self, start: float) -> None:
        self._now = start

    def now(self) -> float:
        self._now += 0.37
        return self._now

    def monotonic(self) -> float:
        self._now += 0.37
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


class Nobody:
    """Neither a signal nor a spectator."""

    def level(self) -> int:
        return 0

    def reason(self) -> str:
        return ""

    def by(self) -> str:
        return "person"

    def begin(self, loop: Loop, words: tuple[str, ...]) -> None: ...
    def event(self, seq: int, event: e.AnyEvent, loop: Loop) -> None: ...
    def hear(self, facts: tuple[object, ...]) -> None: ...
    def tick(self, loop: Loop, activity: Activity) -> None: ...
    def note(self, text: str) -> None: ...
    def finish(self, loop: Loop) -> None: ...


class Answer(Struct, frozen=True):
    """What one agent call comes to."""

    tree: str
    claim: Claim | None = None
    fault: Fault | None = None
    usage: Usage = Usage(tokens=10, cost=0.5)


class Script(Struct, frozen=True):
    """An agent as a function of iteration and tree, and faults that come in a fixed order."""

    kind: str
    steps: int = 2
    faults: tuple[str, ...] = ()
    judged: bool = False  # a required judge, who wants to see a second iteration
    team: bool = False  # all roles: a tester before the work, a reviewer who wants to see a second iteration

    def answer(self, iteration: int, tree: str, faults_had: int) -> Answer:
        if faults_had < len(self.faults):
            kind = self.faults[faults_had]
            return Answer(tree, fault=Fault(kind, f"fault {faults_had + 1}"), usage=Usage())
        match self.kind:
            case "honest":
                left = max(0, self.steps - iteration)
                return Answer(f"h{iteration}.{left}")
            case "claims":
                return Answer(f"h{iteration}.0", Claim("COMPLETE", exit_signal=True))
            case "asks":
                return Answer(tree, Claim("BLOCKED", recommendation="which one?"))
            case "stalls":
                return Answer(tree)
            case "turns":
                return Answer(f"turn{iteration % 2}.3")
            case "worse":
                return Answer(f"w{iteration}.{3 + iteration}" if iteration < 3 else f"w{iteration}.0")
            case "cheats":
                return Answer(f"cheat{iteration}.0")
            case "shows":
                return Answer(f"own{iteration}.0")
            case "team":
                return Answer(f"own{iteration}.0")
            case "says so later":
                return Answer("bare.0", Claim("COMPLETE") if tree == "bare.0" else None)
        raise AssertionError(self.kind)


class Disk:
    """What a kill does not touch."""

    def __init__(self, struck: Collection[int] = ()) -> None:
        self.struck, self.gate_calls = struck, 0
        self.workspace = ""
        self.refs: dict[str, str] = {}
        self.calls: dict[int, Answer | None] = {}  # None: begun, and not ended
        self.edited: set[int] = set()  # calls that changed the workspace
        self.interrupted = 0  # calls that ended before they had changed anything
        self.faults_had = 0
        self.done: Counter[str] = Counter()
        self.alive = 0  # agents at work in this very moment

    def strikes(self) -> bool:
        """Does the machine end this call of a gate? They are counted also over kills of the runner."""
        self.gate_calls += 1
        return self.gate_calls in self.struck

    def set_ref(self, ref: str, commit: str) -> None:
        """Compare-and-swap: a ref that is there already must be the one we would write."""
        if ref in self.refs:
            assert self.refs[ref] == commit, f"{ref} is {self.refs[ref]}, made again as {commit}"
            return
        self.refs[ref] = commit
        self.done[ref] += 1


class SimHands:
    """Each action over a Disk. Nothing here is remembered between two runners."""

    def __init__(self, disk: Disk, script: Script, clock: SimClock, tick: Ticks) -> None:
        self._disk, self._script, self._clock, self._tick = disk, script, clock, tick

    def opening(self) -> e.StintStarted:
        return e.StintStarted(pid=1, host="h", version="1", protection="S2")

    def make_workspace(self, loop: Loop, action: actions.MakeWorkspace) -> e.WorkspaceMade:
        self._tick()
        if not self._disk.workspace:
            self._disk.workspace = loop.sealed.base.tree
            self._disk.done["workspace"] += 1
        self._tick()
        return e.WorkspaceMade(path="/w")

    def run_gates(
        self, loop: Loop, action: actions.RunGates, attend: Attention
    ) -> Generator[e.GateEnded | e.NoVerdict, None, None]:
        for name in action.gates:
            self._tick()
            if attend(Activity("gate", (name,))):
                return
            if self._disk.strikes():
                yield _no_verdict(loop, action.stage, action.tree, name)
            else:
                yield e.GateEnded(iteration=loop.iteration, verdict=verdict(name, action))

    def run_guards(
        self, loop: Loop, action: actions.RunGuards, attend: Attention
    ) -> e.GuardsEnded | e.NoVerdict | None:
        self._tick()
        if attend(Activity("guard")):
            return None
        if self._disk.strikes():
            return _no_verdict(loop, "guards", action.tree, "test")
        found = (Finding("inventory:test", "a test is gone"),) if action.tree.startswith("cheat") else ()
        result = GuardResult("inventory", action.tree, applied=True, summary="", findings=found)
        shown = {"witness": 1, "noticed": 1} if action.tree.startswith("own") else {}
        if loop.team.sealed:
            shown |= {"sealed": 1, "altered": 1}
        measure = GuardResult("witness", action.tree, applied=True, summary="", counted=shown)
        self._tick()
        return e.GuardsEnded(iteration=loop.iteration, tree=action.tree, results=(result, measure))

    def open_call(self, loop: Loop, action: actions.RunAgent) -> e.AgentStarted:
        self._tick()
        return e.AgentStarted(iteration=action.iteration, call=action.call, agent="sim", prompt="p")

    def finish_call(self, loop: Loop, action: actions.RunAgent, attend: Attention) -> e.AgentEnded | None:
        disk = self._disk
        if action.call not in disk.calls:
            self._tick()
            self._work(action, attend)
        elif disk.calls[action.call] is None:  # it died with the runner that made it
            disk.calls[action.call] = Answer(
                disk.workspace, fault=Fault("interrupted", "lost"), usage=Usage()
            )
            disk.interrupted += action.call not in disk.edited
        answer = disk.calls[action.call]
        assert answer is not None
        self._tick()
        return e.AgentEnded(
            iteration=action.iteration,
            call=action.call,
            exit_code=0,
            usage=answer.usage,
            claim=answer.claim,
            fault=answer.fault,
        )

    def open_judge(self, loop: Loop, action: actions.AskJudge) -> e.JudgeStarted:
        self._tick()
        return e.JudgeStarted(
            iteration=loop.iteration,
            call=action.call,
            tree=action.tree,
            agent="sim",
            prompt="q",
            role=action.role,
            beside="q" if action.both else "",
        )

    def finish_judge(self, loop: Loop, action: actions.AskJudge, attend: Attention) -> e.JudgeEnded | None:
        """As an agent's call that changes nothing; one that was dropped is accounted for by who goes on."""
        answer = self._ask(action.call, action.tree, attend)
        other = self._ask(action.call + 1, action.tree, attend) if action.both and answer else None
        if answer is None or (action.both and other is None):
            return None
        self._tick()
        refused = action.tree.startswith(("h1", "own1"))
        said = {"tree": action.tree, "status": "fail" if refused else "pass", "required": True}
        opinion = Opinion(**said, weighted=6.5 if refused else 8.0)
        first = opinion if action.role == "judge" else Opinion(**said, suggestions=("more",))
        beside = None
        if other is not None:
            beside = e.SecondAnswer(None if other.fault else opinion, other.fault, usage=other.usage)
        return e.JudgeEnded(
            iteration=loop.iteration,
            call=action.call,
            tree=action.tree,
            opinion=None if answer.fault else first,
            fault=answer.fault,
            usage=answer.usage,
            role=action.role,
            beside=beside,
        )

    def _ask(self, call: int, tree: str, attend: Attention) -> Answer | None:
        """A call that changes nothing; None when it is dropped."""
        disk = self._disk
        if call not in disk.calls:
            self._tick()
            assert disk.alive == 0, "two agents at a time"
            disk.done[f"call {call}"] += 1
            disk.calls[call] = None
            self._tick()
            if attend(Activity("judge")):
                return None
            disk.calls[call] = Answer(tree)
        elif disk.calls[call] is None:
            disk.calls[call] = Answer(tree, fault=Fault("interrupted", "lost"), usage=Usage())
            disk.interrupted += 1
        return disk.calls[call]

    def open_role(self, loop: Loop, action: actions.RunRole) -> e.RoleStarted:
        self._tick()
        return e.RoleStarted(role=action.role, call=action.call, tree=action.tree, agent="sim", prompt="r")

    def finish_role(self, loop: Loop, action: actions.RunRole, attend: Attention) -> e.RoleEnded | None:
        assert self._disk.workspace == loop.sealed.base.tree, "a role saw more than the base"
        answer = self._ask(action.call, action.tree, attend)
        if answer is None:
            return None
        self._tick()
        tests = None
        if action.role == "tester" and answer.fault is None:
            self._disk.set_ref("tests", "commit of tests.2")
            tests = SealedTests("tests.2", "commit of tests.2", ("test_new.py",))
        self._tick()
        return e.RoleEnded(
            role=action.role,
            call=action.call,
            fault=answer.fault,
            usage=answer.usage,
            said="advice",
            tests=tests,
        )

    def _work(self, action: actions.RunAgent, attend: Attention) -> None:
        """The agent itself. A kill of the runner is a kill of it, in the same instant."""
        disk = self._disk
        assert disk.alive == 0, "two agents at a time"
        disk.done[f"call {action.call}"] += 1
        disk.calls[action.call], disk.alive = None, 1
        try:
            self._tick()
            answer = self._script.answer(action.iteration, disk.workspace, disk.faults_had)
            if attend(Activity("agent")):
                answer = Answer(disk.workspace, fault=Fault("interrupted", "stopped"), usage=Usage())
                disk.interrupted += 1
            elif answer.claim is None and answer.tree != disk.workspace:
                disk.workspace = answer.tree
                disk.edited.add(action.call)
                self._tick()  # what it left is judged although its last words are lost
            disk.workspace = answer.tree
            disk.faults_had += answer.fault is not None and answer.fault.kind != "interrupted"
            disk.calls[action.call] = answer
        finally:
            disk.alive = 0

    def take_snapshot(self, loop: Loop, action: actions.TakeSnapshot) -> e.CheckpointMade:
        tree, commit = self._disk.workspace, loop.work.commit
        self._tick()
        if tree != loop.work.tree_before:
            commit = f"commit of {tree} after {loop.work.commit[-12:]} at {int(loop.last_work_at)}"
            self._disk.set_ref(f"checkpoint/{action.iteration}", commit)
        self._tick()
        return e.CheckpointMade(iteration=action.iteration, tree=tree, commit=commit, total_lines=1)

    def restore(self, loop: Loop, action: actions.RestoreWorkspace) -> e.WorkspaceRestored:
        kept = ""
        if action.rejected is not None:
            rejected: Checkpoint = action.rejected
            kept = f"rejected {rejected.tree} at {int(loop.last_work_at)}"
            self._disk.set_ref(f"rejected/{rejected.iteration}", kept)
        self._tick()
        self._disk.workspace = action.to.tree
        self._tick()
        return e.WorkspaceRestored(iteration=loop.iteration, tree=action.to.tree, rejected=kept)

    def wait(self, loop: Loop, action: actions.Wait, attend: Attention) -> e.WaitOver | None:
        self._tick()
        if attend(Activity("wait", (action.why,))):
            return None
        self._clock.sleep(action.seconds)
        return e.WaitOver()

    def publish(self, loop: Loop, action: actions.PublishResult) -> e.ResultPublished:
        self._tick()
        commit = f"result {action.tree} at {int(loop.last_work_at)}"
        self._disk.set_ref("result", commit)
        self._tick()
        return e.ResultPublished(branch="b", commit=commit, tree=action.tree)

    def finish(self, loop: Loop, action: actions.Finish) -> e.LoopEnded:
        self._tick()
        if action.outcome not in ("verified", "unproven"):
            self._disk.refs.pop("result", None)  # of a runner that was killed before it could say so
        self._tick()
        return e.LoopEnded(outcome=action.outcome, reason=action.reason, grade=action.grade)


def _no_verdict(loop: Loop, stage: Any, tree: str, gate: str) -> e.NoVerdict:
    return e.NoVerdict(iteration=loop.iteration, stage=stage, tree=tree, gate=gate, cause="keeper-lost")


def verdict(gate: str, owed: actions.RunGates) -> Verdict:
    """Gates are functions of a tree; `lint` is always green."""
    tree, stage = owed.tree, "final" if owed.fresh else owed.stage
    red = 0 if gate == "lint" else int(tree.rpartition(".")[2])
    if not red:
        witness = 0 if tree.startswith(("own", "bare", "base")) else 3
        return Verdict(gate, tree, stage, "pass", per_test=True, fixed_count=3, witness_count=witness)
    return Verdict(
        gate, tree, stage, "fail", per_test=True, red=red, red_digest=f"d{red}", signature=f"s{red}"
    )


def order(iterations: int = 6, *, judged: bool = False, team: bool = False) -> Order:
    gates = (
        Gate("test", "test", ("test",), proof=True),
        Gate("lint", "lint", ("lint",)),
    )
    return Order(
        loop=NAME,
        task="make it work",
        repo="/repo",
        criterion=Criterion("implement-feature" if team else "test-pass", gates),
        limits=Limits(iterations=iterations),
        agent=SealedAgent("sim"),
        base=StartPoint("c0", "base.0" if team else BASE),
        branch="ralph/sim",
        rubric=Rubric(dimensions=(), required=True) if judged else None,
        judge=SealedAgent("sim") if judged else None,
        team=Team("loop-1", {role: RoleTerms(SealedAgent("sim")) for role in ROLES}, parallel=judged)
        if team
        else None,
    )


class Ended(Struct):
    loop: Loop
    disk: Disk
    kinds: list[str]
    ticks: int
    crashes: int
    beside: int = 0  # calls that were begun together with another one


def live(
    script: Any,
    crash_at: set[int],
    commands: dict[int, e.AnyEvent] | None = None,
    seed: int = 0,
    journal: Callable[[Ticks], TickingStore] = in_memory,
    hands: Callable[[Disk, Any, SimClock, Ticks], SimHands] | None = None,
    sealed: Order | None = None,
    disk: Disk | None = None,
) -> Ended:
    """One loop to its end through as many runners as it takes."""
    chance, tick = random.Random(seed), Ticks(crash_at)
    disk, store = disk or Disk(), journal(tick)
    for at, command in (commands or {}).items():
        tick._at[at] = lambda command=command: store.tell(command)
    store.begin(
        e.LoopStarted(rules=e.RULES, order=sealed or order(judged=script.judged, team=script.team), at=1e9)
    )
    for _ in range(len(crash_at) + 20):
        clock = SimClock(1e9 + chance.uniform(-1e6, 1e6))
        scribe = Scribe(store, NAME, store.reopen(), clock, Nobody(), "/nowhere")
        try:
            if scribe.loop.phase == "paused":
                scribe.append(e.ResumeAsked())
            made = (hands or SimHands)(disk, script, clock, tick)
            loop = Runner(made, scribe, clock, Nobody(), Nobody()).drive()
        except Crash:
            assert disk.alive == 0
            continue
        if loop.phase == "ended":
            record = store.reopen()
            assert record.loop == loop, "what was folded anew is not what was alive"
            store.check_summary(loop)
            both = sum(isinstance(one, e.JudgeStarted) and bool(one.beside) for one in record.events)
            kinds = [entry.row.kind for entry in record.entries]
            return Ended(loop, disk, kinds, tick.count, tick.crashes, both)
    raise AssertionError("it never ended")
