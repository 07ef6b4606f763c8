"""What was agreed at the start of a loop: frozen structs and their words.

Nothing here decides (see `machine`, `exit_gate`, `signs`) and nothing here reads a clock, a file or
the environment: every value arrives in an event. Words follow the glossary in docs/concepts.md.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.parts import InPlace
from ralph.core.model.plan.items import NAME, Plan
from ralph.core.model.rubric import Rubric
from ralph.core.model.spend import Limits
from ralph.core.model.team.terms import Seat

Sandbox = Literal["auto", "require", "none"]


class Brief(Struct, frozen=True, omit_defaults=True):
    """What plan and build mode begin with: the specs as they were read, and the plan if there is one."""

    mode: Literal["build", "plan"] = "build"
    specs: str = ""  # digest of all of them
    texts: dict[str, str] = {}  # path of a spec -> blob
    criteria: tuple[str, ...] | None = None  # ids in them; None = there are no specs
    clarity: dict[str, int] = {}  # id -> how clear its spec is, in points
    plan: Plan | None = None
    in_tree: bool = True  # the plan's file is part of the result; not while the user has it untracked
    planning: str = ""  # why planning comes first; "" = the plan is good to work by
    replan_every: int = 0  # verified items; 0 = never for that reason
    readers: int = 0  # calls that only read before the plan is made
    reader: SealedAgent | None = None  # who makes them
    allow_red: bool = False  # red from before this loop, outside the criterion, may stay
    attempts: int = 5  # of one item, before it is blocked


class RoleTerms(Struct, frozen=True, omit_defaults=True):
    """Who plays a role, and what the user tells it besides."""

    agent: SealedAgent
    prompt: str = ""
    timeout: float = 900.0


class Team(Struct, frozen=True, omit_defaults=True):
    name: str
    roles: dict[str, RoleTerms]
    parallel: bool = False  # reviewer and judge, who only read, are called at the same time


class StartPoint(Struct, frozen=True, omit_defaults=True):
    """Where a loop begins: its base, and where the user stood."""

    commit: str = ""
    tree: str = ""
    user_start: str = ""
    head_commit: str = ""
    head_branch: str = ""


class BoxTerms(Struct, frozen=True, omit_defaults=True):
    """What surrounds agent and gates: how they are boxed, and where dependencies come from."""

    sandbox: Sandbox = "auto"
    network: bool = True
    allow_write: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    setup: str = ""
    setup_cwd: str = "."  # inside the repository
    history: Literal["shared", "base"] = "shared"  # what of the repository's the workspace can see


ApprovalPoint = Literal["start", "land"]


class PeopleTerms(Struct, frozen=True, omit_defaults=True):
    """Where people come in: what they agree to, what they hear, and what earlier loops left."""

    report_copy_to: str = ""
    approve: tuple[ApprovalPoint, ...] = ()
    issue: str = ""  # number or address of the one that gets a comment when the loop ends
    activity_log: str = ""
    memory: tuple[str, ...] = ()  # notes of earlier loops: an agent's words, chosen when this one began


class Order(Struct, frozen=True, omit_defaults=True):
    """Everything agreed at the start, sealed into the first event of a loop; flat there (`parts`)."""

    loop: str  # the name, without the "ralph-" of the full id
    task: str
    repo: str
    criterion: Criterion
    limits: Limits
    agent: Annotated[
        SealedAgent, InPlace({"argv": "agent_argv", "settings": "agent_settings", "env": "agent_env"})
    ]
    spares: tuple[SealedAgent, ...] = ()
    keep_session: bool = False  # the agent's conversation goes on from call to call
    base: Annotated[StartPoint, InPlace({"commit": "base_commit", "tree": "base_tree"})] = StartPoint()
    branch: str = ""  # result branch
    on_fail: Literal["auto", "keep", "revert"] = "auto"
    box: Annotated[BoxTerms, InPlace()] = BoxTerms()
    prefix: str = ""  # folder inside the repository where ralph was called
    with_changes: bool = False
    protect: tuple[str, ...] = ()
    other_checks: dict[str, str] = {}  # kinds of check that the project has beside the gates -> the command
    config_digest: str = ""
    warnings: tuple[str, ...] = ()
    people: Annotated[PeopleTerms, InPlace()] = PeopleTerms()
    templates: dict[str, str] = {}  # the project's own prompt templates that were approved: name -> git blob
    brief: Brief | None = None  # None: one task, without a plan
    rubric: Rubric | None = None  # None: no judge
    judge: SealedAgent | None = None  # the agent that is asked to judge by it
    team: Team | None = None  # None: one agent does it all
    item: str = ""  # of the backlog, on which this loop is one attempt

    @property
    def plan_brief(self) -> Brief:
        """The brief; an empty one without a plan."""
        return self.brief or Brief()

    def agent_in(self, seat: Seat) -> SealedAgent:
        """Who judges or reviews."""
        agent = self.team.roles[seat].agent if seat == "reviewer" and self.team is not None else self.judge
        assert agent is not None
        return agent

    @property
    def rendered_files(self) -> frozenset[str]:
        """Files of the tree that are Ralph's own rendering: no agent's change."""
        return frozenset({NAME}) if self.brief else frozenset()
