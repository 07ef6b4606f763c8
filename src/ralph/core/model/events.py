"""Facts: with the actions (`actions`) the only things that cross the border of the core.

A fact (event) is appended to the journal before anything acts on it. An action is what the core asks
the shell to do; it is never stored, because `machine.decide` makes it again from the facts. Each kind
has a version: a body of a newer version than this program knows is refused, never guessed at.
`at` is the wall clock in epoch seconds (for people), `took` the monotonic seconds since the event
before it in the same stint (for limits), so clock jumps and suspends change no decision.
"""

from __future__ import annotations

from typing import Literal, Union

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from ralph.core.model.agent import AgentSession, Claim, Fault, SealedAgent
from ralph.core.model.gate import Gate, Grade
from ralph.core.model.order import ApprovalPoint, Order
from ralph.core.model.outcome import Outcome, Priority, Stopper
from ralph.core.model.parts import flat_struct, flat_type, from_flat
from ralph.core.model.plan.completion import Indication
from ralph.core.model.plan.items import Item, Plan
from ralph.core.model.plan.plan_state import ReaderNote
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.rubric import Opinion
from ralph.core.model.spend import Usage
from ralph.core.model.team.roles import SealedTests
from ralph.core.model.team.terms import Role, Seat
from ralph.core.model.verdict import Checkpoint, Finding, GuardResult, Stage, Verdict


class Event(Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    at: float = 0.0
    took: float = 0.0


RULES = 10  # of what a loop decides: raised when the same facts lead elsewhere, so old records still fold


class LoopStarted(Event, frozen=True, tag="LoopStarted"):
    order: Order
    rules: int = 1  # those that were in force when it began


class StintStarted(Event, frozen=True, tag="StintStarted"):
    """A runner took the loop's lock. The first row of a stint fences every earlier runner."""

    pid: int
    host: str
    version: str
    protection: str  # sandbox level, S0 to S3
    words: tuple[str, ...] = ()  # what the sandbox really blocks
    hosted: bool = False  # in the background, under the worker; its agent calls outlive a crash of the runner


class LoopQueued(Event, frozen=True, tag="LoopQueued"):
    """Handed over to the worker: from here on the loop needs neither its starter nor a terminal.

    Nothing secret is in here: of the variables that hold keys only the names.
    """

    priority: Priority = "medium"
    env: dict[str, str] = {}  # where programs are found, and the language
    needs: tuple[str, ...] = ()  # variables that the agent gets its keys from
    most: int = 4  # loops of its repository that may be at work at once, when it was queued


class PriorityAsked(Event, frozen=True, tag="PriorityAsked"):
    priority: Priority


class WorkspaceMade(Event, frozen=True, tag="WorkspaceMade"):
    path: str
    shares: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class AgentStarted(Event, frozen=True, tag="AgentStarted"):
    """Appended before the agent is spawned: the call counts as spent from here on."""

    iteration: int
    call: int
    agent: str
    prompt: str  # blob
    using: int = 0  # 0 = the agent that is wanted, else a spare one
    why: str = ""  # why it is a spare one
    purpose: str = ""  # plan, item, close; "" = the task
    item: str = ""  # of the plan
    tree: str = ""  # what the call begins with, when Ralph wrote into it; "" = the newest snapshot


class AgentEnded(Event, frozen=True, tag="AgentEnded"):
    iteration: int
    call: int
    exit_code: int | None = None
    ended: str = "exited"  # exited, timeout, idle, stopped, killed, runner-lost, spawn-error
    seconds: float = 0.0
    usage: Usage = Usage()
    claim: Claim | None = None
    fault: Fault | None = None
    denials: tuple[str, ...] = ()
    said: str = ""  # last words, cleaned and cut
    output: str = ""  # blob
    dropped: int = 0  # bytes of output that were not kept
    session: AgentSession | None = None
    program: str = ""  # hash of the agent's program, where its adapter pins it
    indication: Indication | None = None  # what its last message says of being finished, in plan mode
    learned: tuple[str, ...] = ()  # what it left for later calls


class PlanRead(Struct, frozen=True, omit_defaults=True):
    """What a call left of the plan. Boxes are not believed, whoever ticked them."""

    plan: Plan | None = None  # a whole plan, after a planning call that left a sound one
    wrong: tuple[Finding, ...] = ()  # what is wrong with it, the first few
    outside: int = 0  # files changed besides the plan
    paths: tuple[str, ...] = ()  # of those, the first few
    found: tuple[Item, ...] = ()  # items that were added, after any other call
    ticked: tuple[str, ...] = ()  # boxes that the agent ticked itself


class ReadersStarted(Event, frozen=True, tag="ReadersStarted"):
    """Appended before readers are called: their calls count as spent from here on."""

    call: int  # of the first
    count: int
    agent: str
    prompts: tuple[str, ...]  # blobs


class ReadersEnded(Event, frozen=True, tag="ReadersEnded"):
    notes: tuple[ReaderNote, ...]
    usages: tuple[Usage, ...] = ()


class CheckpointMade(Event, frozen=True, tag="CheckpointMade"):
    iteration: int
    tree: str
    commit: str
    files: int = 0
    added: int = 0
    removed: int = 0
    total_lines: int = 0  # lines changed against the base
    paths: tuple[str, ...] = ()  # changed files, the first few
    warnings: tuple[str, ...] = ()
    plan: PlanRead | None = None
    left_out: tuple[str, ...] = ()  # of the work: too large or too many to be kept, in words


class GateEnded(Event, frozen=True, tag="GateEnded"):
    iteration: int
    verdict: Verdict
    shares: tuple[str, ...] = ()  # files of the user's checkout without which the base does not load


class NoVerdict(Event, frozen=True, tag="NoVerdict"):
    """A gate gave no answer, and that is not the tree's doing (`after_fault`)."""

    iteration: int
    stage: Stage | Literal["guards"]  # guards: a call that one of them asked for
    tree: str
    gate: str
    cause: str  # interrupted, keeper-lost, spawn, disk, frozen, survivors, wrong-tree; or what is in doubt
    why: str = ""
    doubt: bool = False  # it may be the tree's own doing: then it happens again, and is a verdict
    evidence: str = ""  # blob


class GuardsEnded(Event, frozen=True, tag="GuardsEnded"):
    """All guards of a final judgement, together: they look at one tree."""

    iteration: int
    tree: str
    results: tuple[GuardResult, ...]
    disagreement: str = ""  # the incremental and the fresh checkout said different things: our fault


class TestsTied(Event, frozen=True, tag="TestsTied"):
    """Which tests of a judged tree name which criterion of the specs, and how they stand."""

    tree: str
    ties: tuple[CriterionTest, ...]  # of the criteria that stand otherwise than before


class JudgeStarted(Event, frozen=True, tag="JudgeStarted"):
    """Appended before the judge is spawned: the call counts as spent from here on."""

    iteration: int
    call: int
    tree: str
    agent: str
    prompt: str  # blob
    role: Seat = "judge"
    beside: str = ""  # blob: what the judge is asked at the same time, by the call after this one


class SecondAnswer(Struct, frozen=True, omit_defaults=True):
    """What the judge said that was asked beside the reviewer."""

    opinion: Opinion | None = None
    fault: Fault | None = None
    seconds: float = 0.0
    usage: Usage = Usage()
    output: str = ""  # blob


class JudgeEnded(Event, frozen=True, tag="JudgeEnded"):
    """What the judge said of a tree that passed everything else; a fault is no opinion."""

    iteration: int
    call: int
    tree: str
    opinion: Opinion | None = None
    fault: Fault | None = None
    seconds: float = 0.0
    usage: Usage = Usage()
    output: str = ""  # blob
    role: Seat = "judge"
    beside: SecondAnswer | None = None


class RoleStarted(Event, frozen=True, tag="RoleStarted"):
    """Appended before a role of the team is called: the call counts as spent from here on."""

    role: Role
    call: int
    tree: str  # all that it sees of the work
    agent: str
    prompt: str  # blob


class RoleEnded(Event, frozen=True, tag="RoleEnded"):
    role: Role
    call: int
    fault: Fault | None = None
    said: str = ""  # its last message, cleaned and cut
    tests: SealedTests | None = None  # the tester's
    seconds: float = 0.0
    usage: Usage = Usage()
    output: str = ""  # blob


class WorkspaceRestored(Event, frozen=True, tag="WorkspaceRestored"):
    iteration: int
    tree: str
    rejected: str = ""  # commit kept under refs/ralph/<name>/rejected/<n>


class WaitOver(Event, frozen=True, tag="WaitOver"):
    note: str = ""  # what was found out while waiting


class Steered(Event, frozen=True, tag="Steered"):
    text: str
    author: str = ""


class PauseAsked(Event, frozen=True, tag="PauseAsked"):
    reason: str = ""
    now: bool = False
    by: Stopper = "person"


class ResumeAsked(Event, frozen=True, tag="ResumeAsked"):
    author: str = ""
    more_iterations: int = 0
    more_time: float = 0.0
    more_cost: float = 0.0
    more_tokens: int = 0
    done: tuple[str, ...] = ()  # items of the plan that a human has done
    allow: dict[str, str] = {}  # findings that the user waives now -> why
    allow_asked: tuple[str, ...] = ()  # kinds that are granted when the agent asks
    gates: tuple[Gate, ...] = ()  # sealed now: they join the order
    agent: SealedAgent | None = None  # takes the place of the one that the loop began with
    to: Checkpoint | None = None  # the work goes on from here


class Approved(Event, frozen=True, tag="Approved"):
    """A person agreed to what the configuration asks about."""

    point: ApprovalPoint
    commit: str = ""  # the result that may land
    author: str = ""


class LearningsCleared(Event, frozen=True, tag="LearningsCleared"):
    """A person wants these notes to be offered to no later loop."""

    notes: tuple[str, ...]


class AbortAsked(Event, frozen=True, tag="AbortAsked"):
    reason: str = ""


class ResultPublished(Event, frozen=True, tag="ResultPublished"):
    branch: str
    commit: str
    tree: str


class ItemPublished(Event, frozen=True, tag="ItemPublished"):
    """A verified item has its commit on the result branch."""

    item: str
    branch: str
    commit: str
    tree: str


class LoopEnded(Event, frozen=True, tag="LoopEnded"):
    outcome: Outcome
    reason: str
    grade: Grade | None = None


class LandingStarted(Event, frozen=True, tag="LandingStarted"):
    """Intent: from here on a crash leaves work that `ralph merge` or `ralph undo` completes."""

    direction: Literal["land", "undo"]
    branch: str
    old: str
    new: str


class LandingEnded(Event, frozen=True, tag="LandingEnded"):
    direction: Literal["land", "undo"]
    done: bool
    note: str = ""


class LoopDropped(Event, frozen=True, tag="LoopDropped"):
    """The user threw the loop's refs, workspace and evidence away; its record stays."""

    note: str = ""


AnyEvent = Event  # one of KINDS
KINDS: tuple[type[Event], ...] = tuple(Event.__subclasses__())

# Version of each kind's body. Raise it when a field's meaning changes; new optional fields need not.
VERSIONS: dict[str, int] = {str(kind.__struct_config__.tag): 1 for kind in KINDS}
VERSIONS["LoopStarted"] = RULES  # whoever does not know the rules of a loop must not fold it


# In the journal an order lies flat, without its parts.
_StoredStart = msgspec.defstruct(
    "StoredStart",
    [("order", flat_type(Order)), ("rules", int, 1)],
    bases=(Event,),
    tag="LoopStarted",
    frozen=True,
)
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Union[(_StoredStart, *(kind for kind in KINDS if kind is not LoopStarted))])


def kind_of(event: AnyEvent) -> str:
    return type(event).__name__


def encode(event: AnyEvent) -> bytes:
    if isinstance(event, LoopStarted):
        return _encoder.encode(_StoredStart(**{**asdict(event), "order": flat_struct(event.order)}))
    return _encoder.encode(event)


def decode(body: bytes) -> AnyEvent:
    """The event in a journal row. Raises msgspec.ValidationError for what this version does not know."""
    event = _decoder.decode(body)
    if isinstance(event, _StoredStart):
        stored = asdict(event)
        return LoopStarted(**{**stored, "order": from_flat(Order, asdict(stored["order"]))})
    return event  # type: ignore[no-any-return]
