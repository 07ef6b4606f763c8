"""What was agreed at the start of a loop, and how a loop may stand and end: frozen structs and their words.

Nothing here decides (see `machine`, `exit_gate`, `signs`) and nothing here reads a clock, a file or
the environment: every value arrives in an event. Words follow the glossary in docs/concepts.md.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from ralph.core.model.agent import KeySource, SpareAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.plan.items import Plan
from ralph.core.model.rubric import Rubric
from ralph.core.model.spend import Limits, Price

Phase = Literal["new", "baseline", "working", "judging", "waiting", "paused", "ended"]
Outcome = Literal["verified", "satisfied", "unproven", "exhausted", "stalled", "blocked", "aborted", "broken"]
PHASES: tuple[Phase, ...] = ("new", "baseline", "working", "judging", "waiting", "paused", "ended")
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# An ended loop of these may be taken up again; verified, satisfied and aborted are final.
RESUMABLE: frozenset[str] = frozenset({"unproven", "exhausted", "stalled", "blocked", "broken"})
FINAL: frozenset[str] = frozenset(OUTCOMES) - RESUMABLE
# There is a result, or there was nothing to do: no user's word can end such a loop any more.
DONE: frozenset[str] = frozenset({"verified", "satisfied", "unproven"})


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
    reader: SpareAgent | None = None  # who makes them
    allow_red: bool = False  # red from before this loop, outside the criterion, may stay
    attempts: int = 5  # of one item, before it is blocked


class Order(Struct, frozen=True, omit_defaults=True):
    """Everything agreed at the start, sealed into the first event of a loop."""

    loop: str  # the name, without the "ralph-" of the full id
    task: str
    repo: str
    criterion: Criterion
    limits: Limits
    agent: str
    agent_argv: tuple[str, ...] = ()
    agent_settings: dict[str, str] = {}
    agent_env: dict[str, str] = {}  # what the configuration adds to the agent's environment
    model: str = ""
    key: KeySource | None = None
    price: Price | None = None
    spares: tuple[SpareAgent, ...] = ()
    keep_session: bool = False  # the agent's conversation goes on from call to call
    base_commit: str = ""
    base_tree: str = ""
    user_start: str = ""
    head_commit: str = ""
    head_branch: str = ""
    branch: str = ""  # result branch
    on_fail: Literal["auto", "keep", "revert"] = "auto"
    sandbox: Literal["auto", "require", "none"] = "auto"
    network: bool = True
    allow_write: tuple[str, ...] = ()
    share: tuple[str, ...] = ()
    setup: str = ""
    setup_cwd: str = "."  # inside the repository
    prefix: str = ""  # folder inside the repository where ralph was called
    with_changes: bool = False
    history: Literal["shared", "base"] = "shared"
    protect: tuple[str, ...] = ()
    config_digest: str = ""
    warnings: tuple[str, ...] = ()
    report_copy_to: str = ""
    templates: dict[str, str] = {}  # the project's own prompt templates that were approved: name -> git blob
    brief: Brief | None = None  # None: one task, without a plan
    rubric: Rubric | None = None  # None: no judge
    judge: SpareAgent | None = None  # the agent that is asked to judge by it


class ReaderNote(Struct, frozen=True, omit_defaults=True):
    """What one reader said of its area."""

    area: str
    text: str = ""
    fault: str = ""
