"""The nouns of Ralph as frozen structs: what a loop is made of.

Nothing here decides (see `machine`, `exitgate`, `stall`) and nothing here reads a clock, a file or
the environment: every value arrives in an event. Words follow the glossary in docs/concepts.md.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from ralph.core.plan import Plan
from ralph.core.rubric import Rubric

Phase = Literal["new", "baseline", "working", "judging", "waiting", "paused", "ended"]
Outcome = Literal["verified", "satisfied", "exhausted", "stalled", "blocked", "aborted", "broken"]
Status = Literal["pass", "fail", "error", "skipped", "flaky"]
Stage = Literal["baseline", "fast", "final"]
Grade = Literal["A", "B", "C", "D"]
Severity = Literal["P0", "P1", "P2"]
TestState = Literal["pass", "fail", "skipped"]
TaskClass = Literal[
    "test-pass",
    "type-clean",
    "lint-clean",
    "build-pass",
    "coverage",
    "bug-fix",
    "implement-feature",
    "regression",
    "docs",
    "custom",
]
# Classes whose proof, once green, is the whole task: green before any agent call = there is nothing to do.
MAKE_IT_GREEN: frozenset[str] = frozenset(
    {"test-pass", "type-clean", "lint-clean", "build-pass", "coverage", "custom"}
)
# Classes whose green checks prove nothing: something must have been red first, the user's or the agent's own.
NEEDS_WITNESS: frozenset[str] = frozenset({"bug-fix", "implement-feature"})
PHASES: tuple[Phase, ...] = ("new", "baseline", "working", "judging", "waiting", "paused", "ended")
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# An ended loop of these may be taken up again; verified, satisfied and aborted are final.
RESUMABLE: frozenset[str] = frozenset({"exhausted", "stalled", "blocked", "broken"})
FINAL: frozenset[str] = frozenset(OUTCOMES) - RESUMABLE
GRADES: tuple[Grade, ...] = ("A", "B", "C", "D")


class Gate(Struct, frozen=True, omit_defaults=True):
    """A sealed check: what was agreed before the first agent call, and never read again."""

    name: str
    run: str
    argv: tuple[str, ...]
    read: str = "exit"  # name of a reader in ralph.gates
    reporter: tuple[str, ...] = ()  # arguments Ralph adds so that test ids are known
    proof: bool = False  # part of the criterion: red before, green after
    required: bool = True
    timeout: float = 600.0
    network: bool = False
    cwd: str = "."  # inside the repository
    env: dict[str, str] = {}
    path: tuple[str, ...] = ()
    exclusive: bool = False
    fail_on: Severity = "P1"
    minimum: float | None = None  # percent, for read = "coverage"
    origin: str = "flag"
    tool: str = ""  # resolved first word, outside the box; "" when it stands inside the tree
    tool_sha: str = ""
    own_files: tuple[str, ...] = ()  # files of the repository named in the command: protected
    maximum: int | None = None  # findings that may be left, for readers that locate them


class Finding(Struct, frozen=True, omit_defaults=True):
    """One located problem; `key` is stable across iterations and lines moving."""

    key: str
    message: str
    path: str = ""
    line: int = 0
    severity: Severity = "P1"


class Counts(Struct, frozen=True, omit_defaults=True):
    passed: int = 0
    failed: int = 0
    skipped: int = 0


class Canary(Struct, frozen=True, omit_defaults=True):
    """What became of the tests that Ralph put beside the others and that must fail, by kind."""

    red: tuple[str, ...] = ()  # failed, as they must
    silent: tuple[str, ...] = ()  # were seen and did not fail
    unseen: tuple[str, ...] = ()
    runner: dict[str, str] = {}  # parts of the runner as the failing test saw them: name -> digest


class Reading(Struct, frozen=True, omit_defaults=True):
    """What a reader made of a gate's output: every test by id where ids are known."""

    status: Status
    summary: str
    # Why it could not be judged: missing, timeout, memory, killed, no-tests, all-skipped, torn-report; or a
    # machine cause (`noverdict`), and then it is no answer.
    cause: str = ""
    doubt: bool = False  # who ended it is not known: the tree itself, or somebody outside
    counts: Counts | None = None
    tests: dict[str, TestState] | None = None
    findings: tuple[Finding, ...] = ()
    files: dict[str, str] = {}  # test id -> file it stands in, where the reader knows
    flaky: tuple[str, ...] = ()  # red keys that changed between two calls on the same tree
    canary: Canary | None = None  # None: no canary was run with it


class Verdict(Struct, frozen=True, omit_defaults=True):
    """One gate's answer for one tree, as far as a decision needs it; the rest is in the evidence."""

    gate: str
    tree: str
    stage: Stage
    status: Status
    summary: str = ""
    cause: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    counts: Counts | None = None
    per_test: bool = False
    red: int = 0  # failing tests or blocking findings
    red_digest: str = ""  # names the set of red keys, so that two sets can be compared
    signature: str = ""  # the error without addresses, times, line numbers and the like: "the same again"
    outline: str = ""  # the same, without any number
    new_red: tuple[str, ...] = ()  # red now, not red at base (first few)
    new_red_count: int = 0
    fixed_count: int = 0  # red at base, green now
    witness_count: int = 0  # of those, the ones that existed at base: not the agent's own
    findings: tuple[Finding, ...] = ()  # first few, for screens and prompts
    evidence: str = ""  # blob that holds argv, tool, environment, output, reports
    reading: str = ""  # blob that holds the whole Reading
    repeats: tuple[str, ...] = ()  # evidence of the further calls that this verdict rests on
    unloaded: int = 0  # files or packages whose tests could not be loaded: what is red in them is not known
    doubt: bool = False  # who ended its call was not known; it came out the same again
    answered: bool | None = None  # the check came to a judgement; None: a record from before that was told


class GuardResult(Struct, frozen=True, omit_defaults=True):
    guard: str
    tree: str
    applied: bool  # False: it had nothing to look at, and says why
    summary: str
    findings: tuple[Finding, ...] = ()
    integrity: bool = True  # integrity guards accuse; hygiene guards only say not yet
    counted: dict[str, int] = {}  # what it measured: witness, sabotaged, noticed, repeats
    evidence: tuple[str, ...] = ()  # blobs of the gate calls it asked for


class Limits(Struct, frozen=True, omit_defaults=True):
    """Bounds on a loop. None = not bounded by this; one of them always is set."""

    iterations: int | None = 15
    time: float | None = None
    iteration_time: float = 1800.0
    idle: float | None = None
    cost: float | None = None
    tokens: int | None = None
    calls_per_hour: int | None = None


class Spend(Struct, frozen=True, omit_defaults=True):
    """What was used. `blind` counts calls whose cost nobody told us: unknown is not zero."""

    calls: int = 0
    seconds: float = 0.0  # active time: agent and gates, without waits
    waited: float = 0.0
    tokens: int | None = None
    cost: float | None = None
    blind: int = 0
    estimated: bool = False  # part of the cost was computed from tokens and prices


class Usage(Struct, frozen=True, omit_defaults=True):
    """What one agent call reported of itself; None = it did not say."""

    tokens: int | None = None
    cost: float | None = None
    fresh: int | None = None  # of the tokens: read by the model for the first time
    cached: int | None = None  # read from its cache
    written: int | None = None  # by the model
    estimated: bool = False  # the cost was computed from tokens and prices


class Price(Struct, frozen=True, omit_defaults=True):
    """US dollars for a million tokens, as the user gave them."""

    fresh: float
    written: float
    cached: float | None = None  # None = as fresh ones


class AgentSession(Struct, frozen=True, omit_defaults=True):
    """A conversation of an agent CLI, and what it had used in all when it was last heard of."""

    id: str
    agent: str = ""
    tokens: int | None = None
    cost: float | None = None
    fresh: int | None = None
    cached: int | None = None
    written: int | None = None


class KeySource(Struct, frozen=True, omit_defaults=True):
    """Where a key comes from at each call, and the variable it goes into; the key itself is kept nowhere."""

    into: str
    variable: str = ""
    command: str = ""


FaultKind = Literal[
    "limit",  # a usage limit, with the time of its reset where one was named
    "overload",  # the provider is too busy (529, 503)
    "server",  # the provider failed (other 5xx)
    "network",
    "auth",  # the login or key was refused
    "credit",  # nothing left to pay with
    "request",  # the provider refused the request itself: unknown model, malformed
    "context",  # more than the model can read at once
    "turns",  # the agent's own bound on turns
    "budget",  # the bound on money that Ralph gave to this one call
    "hollow",  # ended as if all were well, reported an error and used nothing
    "protocol",  # ended as if all were well, without its last word
    "crash",
    "timeout",
    "idle",
    "interrupted",
    "missing",
    "upgraded",  # the program is not the one that this loop began with
    "disk",
]


class Fault(Struct, frozen=True, omit_defaults=True):
    """The machinery failed, not the work: retried with back-off, refunds the iteration."""

    kind: FaultKind
    message: str
    reset_at: float | None = None  # epoch seconds at which a limit is lifted
    address: str = ""  # host:port that was not reached, where it can be looked at


class Claim(Struct, frozen=True, omit_defaults=True):
    """The agent's structured word. It asks for judgement; it never is one."""

    status: Literal["IN_PROGRESS", "COMPLETE", "BLOCKED"]
    exit_signal: bool = False
    tests: str = "NOT_RUN"
    tasks: int = 0
    files: int = 0
    work: str = ""
    recommendation: str = ""


class Steer(Struct, frozen=True):
    text: str
    at: float = 0.0
    author: str = ""


class Criterion(Struct, frozen=True, omit_defaults=True):
    """What would prove the task: its class, and the sealed gates."""

    task_class: TaskClass
    gates: tuple[Gate, ...]
    min_grade: Grade = "C"
    waivers: dict[str, str] = {}  # guard id -> the user's reason
    until: str = ""
    confirm: int = 3  # how often the final verdict must be green, each time in a fresh box
    quarantine: dict[str, str] = {}  # test id -> owner, expiry and reason: neither red nor a witness

    @property
    def proof(self) -> tuple[Gate, ...]:
        return tuple(gate for gate in self.gates if gate.proof)

    def gate(self, name: str) -> Gate:
        return next(gate for gate in self.gates if gate.name == name)


class SpareAgent(Struct, frozen=True, omit_defaults=True):
    """An agent that stands in while those named before it cannot be called."""

    agent: str
    argv: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    env: dict[str, str] = {}
    model: str = ""
    key: KeySource | None = None
    price: Price | None = None


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


class Checkpoint(Struct, frozen=True, omit_defaults=True):
    """The tree after iteration n, and how far it got."""

    iteration: int
    tree: str
    commit: str
    passing: int = -1  # required checks passing; -1 = not judged
    red: int = -1
    changed_lines: int = 0
    unloaded: int = 0


class ReaderNote(Struct, frozen=True, omit_defaults=True):
    """What one reader said of its area."""

    area: str
    text: str = ""
    fault: str = ""


class Footprint(Struct, frozen=True, omit_defaults=True):
    """One iteration as the stall rules see it."""

    iteration: int
    tree: str
    before: str
    red_digest: str  # over all required gates
    red: int
    signature: str  # normalised error signature, "" when nothing failed
    progress: bool  # a check newly passing, or fewer red than ever before
    outline: str = ""  # the signature but for its numbers
    unloaded: int = 0
    worse: bool = False  # than the best checkpoint, in a tree that nobody has taken back
