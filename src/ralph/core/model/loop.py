"""The state of one loop: what a fold over its events gives.

`Loop` is made by `machine.decide` only. `todo` is what the shell still owes it; after a crash the
same fold gives the same `todo`, so starting and recovering are one path. What belongs together is a part
of its own: where the work stands, the newest call, the agents over all calls, the proof, the progress,
what people asked for, and the way of the result into the project. `loop.with_call(running=False)` is the loop
with that part changed; its own fields change by `replace`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.actions import Action
from ralph.core.model.agent import AgentSession, Claim, Fault, Steer
from ralph.core.model.breaker_state import Attempt, Breaker, Footprint
from ralph.core.model.gate import Grade
from ralph.core.model.order import Order
from ralph.core.model.outcome import Outcome, Phase, Priority, Stopper
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.model.rubric import Jury, Rubric
from ralph.core.model.spend import Limits, Spend
from ralph.core.model.team.roles import TaskStatus, TeamState
from ralph.core.model.team.terms import Seat
from ralph.core.model.verdict import Checkpoint, GuardResult, Stage, Verdict
from ralph.errors import IllegalEvent


class WorkState(Struct, frozen=True):
    """Where the work is done, and the version that is at hand."""

    workspace: str = ""
    protection: str = ""
    tree: str = ""  # after the newest snapshot
    commit: str = ""  # newest checkpoint
    tree_before: str = ""  # tree the current iteration began with
    changed_lines: int = 0  # against the base
    left_out: tuple[str, ...] = ()  # of the newest snapshot: what was too large or too many, in words


class CallState(Struct, frozen=True):
    """The newest call of the agent, and what it said."""

    number: int = 0
    running: bool = False  # it was started and has not been accounted for
    agent: int = 0  # 0 = the one that is wanted, else a spare one
    prompt: str = ""  # blob
    prompt_halvings: int = 0  # how often the prompt was halved because the agent could not read it all
    times: tuple[float, ...] = ()  # wall clock of calls, for the hourly limit
    session: AgentSession | None = None  # the agent's newest conversation, when it is to go on
    claim: Claim | None = None
    fault: Fault | None = None
    denials: tuple[str, ...] = ()
    cost: float | None = None  # that it told, where that is bounded and it did not stop there by itself


class AgentsState(Struct, frozen=True):
    """What is known of the agents over all calls: who rests, what fails in a row, what they left."""

    programs: dict[str, str] = {}  # agent -> hash of the program that this loop began with
    rest_until: dict[int, float] = {}  # agent -> wall clock at which it may be called again
    failover_reason: str = ""  # why the newest of them rests
    faults_in_row: int = 0
    cut_in_row: int = 0  # calls that something else ended while this runner lived
    outages_in_row: int = 0  # usage limits, overloads, failures of provider and network
    denials_in_row: int = 0  # calls that were refused a permission
    down_since: float = 0.0  # wall clock at which the provider was first not reached
    learnings: tuple[str, ...] = ()  # what agents left for the calls after them


class ProofState(Struct, frozen=True):
    """What gates and guards say, each of one tree, and what is missing for the exit."""

    stage: Stage = "baseline"
    baseline: dict[str, Verdict] = {}
    generated: tuple[str, ...] = ()  # ignored files of the user's checkout that the checks need
    verdicts: dict[str, Verdict] = {}  # newest verdict of each gate, of verdicts_tree
    verdicts_tree: str = ""
    finals: dict[str, Verdict] = {}  # verdicts from a fresh checkout, of finals_tree
    finals_tree: str = ""
    guards: tuple[GuardResult, ...] = ()
    guards_tree: str = ""
    claimed_tree: str = ""  # all of it is green and the agent said COMPLETE, but the proof was too weak
    not_yet: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()
    no_answers: tuple[tuple[str, str, str], ...] = ()  # stage, tree and gate, each time that none came
    insisted_tree: str = ""  # judged without what was red before: the agent insists that it is done
    doubted_tree: str = ""  # one call on it may have been ended from outside: that is believed once
    again: bool = False  # gates joined, and no agent was called since: the tree at hand is judged anew
    protection: str = ""  # the weakest box of the stints that judged the tree at hand


class ProgressState(Struct, frozen=True):
    """Is it getting anywhere: the best so far, what was tried, and what the next prompt asks for."""

    best: Checkpoint | None = None
    history: tuple[Footprint, ...] = ()  # newest judged iterations, also of before a resume
    counted: int = 0  # of them, from the newest: those that the rules may still look at
    integrity_hits: int = 0  # iterations in which an integrity guard found something
    accused_trees: tuple[str, ...] = ()  # of those: never the best checkpoint, whatever they show later
    breaker: Breaker = Breaker()
    attempts: tuple[Attempt, ...] = ()  # iterations that did not do it, by class
    redirect: str = ""  # why the next prompt must ask for another approach
    revert_note: str = ""  # what was taken back before the next call, for the prompt

    @property
    def recent(self) -> tuple[Footprint, ...]:
        """What the rules count: a resume, a new plan or another item starts from nothing."""
        return tuple(one for one in self.history[len(self.history) - self.counted :] if not one.cut)

    @property
    def tries(self) -> tuple[Footprint, ...]:
        """The iterations that the agent itself ended."""
        return tuple(one for one in self.history if not one.cut)


class ControlState(Struct, frozen=True):
    """What people asked of the loop, and why it stands still."""

    pause_reason: str = ""  # a pause is asked for
    pause_now: bool = False  # do not wait for the judgement
    stopped_by: Stopper = "person"  # who asked for the newest pause
    abort_reason: str = ""
    held_todo: tuple[Action, ...] = ()  # what was owed when the loop was paused
    held_phase: Phase = "working"
    wait_until: float | None = None
    wait_reason: str = ""
    steers: tuple[Steer, ...] = ()  # not yet given to an agent
    steers_in_call: tuple[Steer, ...] = ()  # they come back if the call failed and left nothing
    approved: dict[str, str] = {}  # what a person agreed to -> the commit that was meant


class HostState(Struct, frozen=True, omit_defaults=True):
    """Who keeps the loop going when its runner is gone: nobody, or the worker."""

    background: bool = False
    priority: Priority = "medium"
    queued_at: float = 0.0  # wall clock; while it waits for a place
    stints: int = 0  # begun by the worker in a row, without one fact of work between them
    stint_at: float = 0.0  # wall clock of the newest of them
    needs: tuple[str, ...] = ()  # variables that the agent gets its keys from
    most: int = 4  # loops of its repository that may be at work at once
    env: dict[str, str] = {}  # of the starter: where programs are found


class LandingState(Struct, frozen=True):
    """The result and its way into the project."""

    branch: str = ""
    result: str = ""  # commit on the result branch
    state: str = ""  # "", landing, landed, undoing
    old: str = ""
    new: str = ""
    was_dropped: bool = False


class Loop(Struct, frozen=True):
    order: Order | None = None
    rules: int = 1  # of what it decides; a record is folded by those that it began with
    phase: Phase = "new"
    outcome: Outcome | None = None
    reason: str = ""
    grade: Grade | None = None
    limits: Limits = Limits()
    spend: Spend = Spend()
    now: float = 0.0  # wall clock of the newest event
    last_work_at: float = 0.0  # wall clock of the newest event of the work itself: the date of commits
    iteration: int = 0

    work: WorkState = WorkState()
    call: CallState = CallState()
    agents: AgentsState = AgentsState()
    proof: ProofState = ProofState()
    progress: ProgressState = ProgressState()
    control: ControlState = ControlState()
    host: HostState = HostState()
    build: PlanState = PlanState()
    jury: Jury = Jury()
    team: TeamState = TeamState()
    landing: LandingState = LandingState()
    todo: tuple[Action, ...] = ()

    @property
    def sealed(self) -> Order:
        """What was agreed at the start; there is one from the first event on."""
        assert self.order is not None
        return self.order

    @property
    def owed(self) -> Action | None:
        return self.todo[0] if self.todo else None

    @property
    def checkpoint(self) -> Checkpoint:
        """The version at hand, whatever gates say of it."""
        work = self.work
        return Checkpoint(self.iteration, work.tree, work.commit, changed_lines=work.changed_lines)

    @property
    def newest_verdicts(self) -> dict[str, Verdict]:
        """The verdicts that count: from the fresh checkout where this tree was judged there."""
        proof = self.proof
        return proof.finals if proof.finals_tree == self.work.tree and proof.finals else proof.verdicts

    @property
    def judged_in(self) -> str:
        """The level of the box behind the newest judgement; before there is one, that of this stint."""
        return self.proof.protection or self.work.protection

    @property
    def has_plan(self) -> bool:
        """For screens and the like; what a plan decides otherwise is behind `after_judging.mode_of`."""
        return self.build.mode != "task"

    @property
    def elapsed_seconds(self) -> float:
        return self.spend.seconds + self.spend.waited

    def refuse(self, event: object, why: str) -> NoReturn:
        """Its phase allows the event, and its state does not."""
        raise IllegalEvent(f"{type(event).__name__} in phase {self.phase}: {why}")

    def begin_calls(self, first: int, at: float, count: int = 1) -> Loop:
        """Calls begin: from here on they count as spent, also for the hourly limit."""
        times = (*self.call.times, *([at] * count))[-(self.limits.calls_per_hour or 1) :]
        return self.with_call(number=first + count - 1, times=times)

    def charge(self, role: str, change: Callable[[Spend], Spend]) -> Loop:
        """What a call uses, of the loop and, in a team, of its role."""
        loop = replace(self, spend=change(self.spend))
        if self.sealed.team is None:
            return loop
        return loop.with_team(spend={**self.team.spend, role: change(self.team.spend.get(role, Spend()))})

    def with_task(
        self, subject: str, role: str, status: TaskStatus = "in_progress", blockers: Sequence[str] = ()
    ) -> Loop:
        """The team's list with this task as it now stands; without a team there is none."""
        if self.sealed.team is None:
            return self
        return replace(self, team=self.team.with_task(subject, role, status, blockers))

    def jury_of(self, seat: Seat) -> Jury:
        return self.jury if seat == "judge" else self.team.review

    def rubric_of(self, seat: Seat) -> Rubric | None:
        """On which terms it is asked; None: nobody sits there."""
        if seat == "judge":
            return self.sealed.rubric
        terms = self.sealed.team.roles.get("reviewer") if self.sealed.team is not None else None
        return None if terms is None else Rubric((), required=True, timeout=terms.timeout)

    def with_jury(self, seat: Seat, jury: Jury) -> Loop:
        return replace(self, jury=jury) if seat == "judge" else self.with_team(review=jury)

    def with_work(self, **changes: Any) -> Loop:
        return replace(self, work=replace(self.work, **changes))

    def with_call(self, **changes: Any) -> Loop:
        return replace(self, call=replace(self.call, **changes))

    def with_agents(self, **changes: Any) -> Loop:
        return replace(self, agents=replace(self.agents, **changes))

    def with_proof(self, **changes: Any) -> Loop:
        return replace(self, proof=replace(self.proof, **changes))

    def with_progress(self, **changes: Any) -> Loop:
        return replace(self, progress=replace(self.progress, **changes))

    def with_control(self, **changes: Any) -> Loop:
        return replace(self, control=replace(self.control, **changes))

    def with_host(self, **changes: Any) -> Loop:
        return replace(self, host=replace(self.host, **changes))

    def with_team(self, **changes: Any) -> Loop:
        return replace(self, team=replace(self.team, **changes))

    def with_landing(self, **changes: Any) -> Loop:
        return replace(self, landing=replace(self.landing, **changes))
