"""The state of one loop: what a fold over its events gives.

`Loop` is made by `machine.decide` only. `todo` is what the shell still owes it; after a crash the
same fold gives the same `todo`, so starting and recovering are one path.
"""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.actions import Action
from ralph.core.model.agent import AgentSession, Claim, Fault, Steer
from ralph.core.model.breaker_state import Attempt, Breaker
from ralph.core.model.gate import Grade
from ralph.core.model.order import Order, Outcome, Phase
from ralph.core.model.plan.plan_state import PlanState
from ralph.core.model.rubric import Jury
from ralph.core.model.spend import Limits, Spend
from ralph.core.model.verdict import Checkpoint, Footprint, GuardResult, Stage, Verdict


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
    worked: float = 0.0  # wall clock of the newest event of the work itself: the date of commits

    iteration: int = 0
    call: int = 0
    calling: bool = False  # an agent call was started and has not been accounted for
    prompt: str = ""  # blob of the newest call's prompt
    call_times: tuple[float, ...] = ()  # wall clock of calls, for the hourly limit
    workspace: str = ""
    protection: str = ""

    tree: str = ""  # after the newest snapshot
    commit: str = ""  # newest checkpoint
    before: str = ""  # tree the current iteration began with
    lines: int = 0  # lines changed against the base
    stage: Stage = "baseline"
    baseline: dict[str, Verdict] = {}
    verdicts: dict[str, Verdict] = {}  # newest verdict of each gate, of judged_tree
    judged_tree: str = ""
    finals: dict[str, Verdict] = {}  # verdicts from a fresh checkout, of final_tree
    final_tree: str = ""
    guards: tuple[GuardResult, ...] = ()
    guarded_tree: str = ""
    best: Checkpoint | None = None
    unheard: tuple[tuple[str, str, str], ...] = ()  # stage, tree and gate that gave no answer, each time
    doubted: str = ""  # tree of which one call may have been ended from outside: that is believed once

    claim: Claim | None = None
    fault: Fault | None = None
    faults: int = 0  # in a row
    limits_hit: int = 0  # in a row: usage limits, overloads, failures of provider and network
    down_since: float = 0.0  # wall clock at which the provider was first not reached
    squeezed: int = 0  # how often the prompt was halved because the agent could not read it all
    session: AgentSession | None = None  # the agent's newest conversation, when it is to go on
    using: int = 0  # agent of the newest call: 0 = the one that is wanted, else a spare one
    resting: dict[int, float] = {}  # agent -> wall clock at which it may be called again
    stood_in: str = ""  # why the newest of them rests
    programs: dict[str, str] = {}  # agent -> hash of the program that this loop began with
    learned: tuple[str, ...] = ()  # what agents left for the calls after them
    denials: tuple[str, ...] = ()
    denied: int = 0  # calls in a row that were refused a permission
    integrity: int = 0  # iterations in which an integrity guard found something
    accused: tuple[str, ...] = ()  # trees of those: never the best checkpoint, whatever they show later
    history: tuple[Footprint, ...] = ()
    not_yet: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()
    breaker: Breaker = Breaker()
    attempts: tuple[Attempt, ...] = ()  # iterations that did not do it, by class
    redirect: str = ""  # why the next prompt must ask for another approach
    reverted: str = ""  # what was taken back before the next call, for the prompt
    steers: tuple[Steer, ...] = ()  # not yet given to an agent
    given: tuple[Steer, ...] = ()  # with the newest call; they come back if it failed and left nothing

    pausing: str = ""
    pause_now: bool = False  # do not wait for the judgement
    aborting: str = ""
    held: tuple[Action, ...] = ()  # what was owed when the loop was paused
    held_phase: Phase = "working"
    wait_until: float | None = None
    wait_why: str = ""

    build: PlanState | None = None  # None: one task, without a plan
    jury: Jury = Jury()

    branch: str = ""
    result: str = ""  # commit on the result branch
    landing: str = ""  # "", landing, landed, undoing
    landing_old: str = ""
    landing_new: str = ""
    dropped: bool = False
    todo: tuple[Action, ...] = ()

    @property
    def sealed(self) -> Order:
        """What was agreed at the start; there is one from the first event on."""
        assert self.order is not None
        return self.order

    @property
    def newest(self) -> dict[str, Verdict]:
        """The verdicts that count: from the fresh checkout where this tree was judged there."""
        return self.finals if self.final_tree == self.tree and self.finals else self.verdicts

    @property
    def elapsed(self) -> float:
        return self.spend.seconds + self.spend.waited
