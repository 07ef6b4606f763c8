"""What a configuration amounts to: the effective values, and where each of them came from.

Structs only, and what one option is. How they are read is in `files` and `values`, which layer wins and
what a repository may say is in `layers`, what each key means is in `schema`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Struct

from ralph.core.model.gate import Severity
from ralph.core.model.order import ApprovalPoint, BoxTerms
from ralph.core.model.parts import InPlace
from ralph.core.model.spend import Limits

LayerName = Literal["defaults", "user", "project", "profile", "environment", "flag"]
Value = str | int | float | bool | tuple[str, ...] | dict[str, str] | None


class Origin(Struct, frozen=True):
    """Which layer a value came from, and where it stands there: `file:line`, variable or flag."""

    layer: LayerName
    where: str


class SettingEntry(Struct, frozen=True):
    value: Value
    origin: Origin


class ConfigProblem(Struct, frozen=True):
    """One thing wrong in the configuration; all of them are told at once."""

    where: str
    text: str


class GateSpec(Struct, frozen=True):
    """A gate as configured; the shell resolves it to a `core.model.order.Gate` when it is sealed."""

    run: str
    read: str = "auto"
    required: bool = True
    proof: bool = False
    timeout: float = 600.0
    network: bool = False
    cwd: str = "."  # from the repository's top
    env: dict[str, str] = {}
    path: tuple[str, ...] = ()  # relative ones from the repository's top
    exclusive: bool = False
    fail_on: Severity = "P1"
    minimum: float | None = None
    hidden: bool = False


class AgentSpec(Struct, frozen=True):
    command: str = ""
    env: dict[str, str] = {}
    write: tuple[str, ...] = ()
    settings: dict[str, str] = {}


class ProfileSpec(Struct, frozen=True):
    """Its agent, model and limits are already applied when it is the chosen one; `env` is the agent's."""

    agent: str = ""
    model: str = ""
    env: dict[str, str] = {}
    key_from: str = ""
    key_command: str = ""
    key_as: str = ""
    price_input: float | None = None
    price_output: float | None = None
    price_cached: float | None = None
    limits: dict[str, int | float | None] = {}


class AskedItem(Struct, frozen=True):
    """One thing a repository asks for that needs the user's word."""

    key: str
    words: str
    where: str
    waiver: bool = False  # may also stay unapproved: then it just does not count


class Approval(Struct, frozen=True):
    """Everything a repository asks for, and the hash that stands for exactly that."""

    hash: str
    repo: str
    items: tuple[AskedItem, ...]

    @property
    def short(self) -> str:
        return self.hash[:16]

    @property
    def required(self) -> bool:
        return any(not item.waiver for item in self.items)


class ProjectFile(Struct, frozen=True):
    """The project configuration that was read: enough to tell whether the base commit holds the same."""

    path: str  # from the repository's top
    words: str  # as shown to the user
    sha: str  # of the meaning of the part that is ours
    table: tuple[str, ...] = ()  # ("tool", "ralph") in a pyproject.toml


class ProjectConfig(Struct, frozen=True):
    """What the repository itself brings."""

    file: ProjectFile | None = None
    approval: Approval | None = None  # what it asks for, approved or not
    admitted: bool = True  # False: its items were left out


class GuardSettings(Struct, frozen=True):
    allow: dict[str, str] = {}
    allow_asked: str = ""
    quarantine: dict[str, str] = {}


class Retention(Struct, frozen=True):
    keep_days: int = 30
    min_free: int = 1_000_000_000


class LoopPlaces(Struct, frozen=True):
    """How many loops may be at work at once."""

    max_loops: int = 4
    max_loops_machine: int = 16


class JudgeSettings(Struct, frozen=True):
    rubric: Literal["auto", "default", "none"] = "auto"
    dimensions: tuple[str, ...] = ()  # as `config.judge` writes them
    threshold: float = 7.0
    required: bool = False
    after: Literal["loop", "item"] = "loop"
    agent: str = ""
    model: str = ""
    profile: str = ""
    timeout: float = 600.0


class RoleSpec(Struct, frozen=True):
    """A table [team.ROLE]; "" = as the loop has it."""

    agent: str = ""
    model: str = ""
    effort: str = ""
    profile: str = ""
    prompt: str = ""


class TeamSettings(Struct, frozen=True):
    use: bool = False
    roles: str = "tester"
    parallel: bool = False
    tables: dict[str, RoleSpec] = {}

    def of(self, role: str) -> RoleSpec:
        return self.tables.get(role, RoleSpec())


class ProjectPaths(Struct, frozen=True):
    branch_prefix: str = "ralph"
    report_copy_to: str = ""
    protect_paths: tuple[str, ...] = ()


class BacklogSettings(Struct, frozen=True):
    file: str = ""
    prd: str = ""
    boot: str = ""
    iterations: int = 3  # agent calls in one attempt


class PeopleSettings(Struct, frozen=True):
    """What people see, what they are asked, and what is kept for them."""

    display: Literal["auto", "live", "plain", "none"] = "auto"
    memory: Literal["on", "off"] = "on"
    approve: tuple[ApprovalPoint, ...] = ()
    activity_log: str = ""


class NotifySettings(Struct, frozen=True):
    """How people hear of a loop, and of what. No secret is in here: only where one is found."""

    on: tuple[str, ...] = ("end", "blocked", "budget")
    bell: bool = True
    title: bool = True
    desktop: bool = False
    webhook: str = ""
    secret_from: str = ""
    secret_command: str = ""
    apprise: str = ""


class Settings(Struct, frozen=True):
    """The effective values. Nothing a repository asked for is in here before the user approved it.

    A key of the schema is a flat name here (`parts`), with "_" for "."
    """

    agent: str = ""  # "" = the caller picks one that is installed
    model: str = ""
    profile: str = ""
    keep_session: bool = False
    limits: Limits = Limits()
    on_fail: Literal["auto", "keep", "revert"] = "auto"
    min_grade: str = "B"  # with grades by class, see `grades`
    confirm: str = "3"
    box: Annotated[BoxTerms, InPlace()] = BoxTerms()
    net: Literal["on", "off"] = "on"
    places: Annotated[LoopPlaces, InPlace()] = LoopPlaces()
    people: Annotated[PeopleSettings, InPlace()] = PeopleSettings()
    notify: Annotated[NotifySettings, InPlace(prefix="notify_")] = NotifySettings()
    paths: Annotated[ProjectPaths, InPlace()] = ProjectPaths()
    guards: Annotated[GuardSettings, InPlace(prefix="guards_")] = GuardSettings()
    backlog: Annotated[BacklogSettings, InPlace(prefix="backlog_")] = BacklogSettings()
    retention: Annotated[Retention, InPlace(prefix="retention_")] = Retention()
    judge: Annotated[JudgeSettings, InPlace(prefix="judge_")] = JudgeSettings()
    team: Annotated[TeamSettings, InPlace(prefix="team_")] = TeamSettings()
    gates: dict[str, GateSpec] = {}
    agents: dict[str, AgentSpec] = {}
    profiles: dict[str, ProfileSpec] = {}
    origins: dict[str, Origin] = {}
    warnings: tuple[str, ...] = ()
    project: ProjectConfig = ProjectConfig()

    def agent_env(self, agent: str) -> dict[str, str]:
        """What the configuration adds to an agent's environment; the profile's word is the later one."""
        own = self.agents[agent].env if agent in self.agents else {}
        return own | (self.profiles[self.profile].env if self.profile in self.profiles else {})


Kind = Literal[
    "text", "word", "names", "choice", "reader", "switch", "count", "iterations", "days", "duration", "money",
    "size", "percent", "inner", "inners", "dirs", "texts", "env", "table", "waivers", "prefix",
    "quarantine", "score", "dimensions", "kinds", "grades", "address",
]  # fmt: skip

# What a repository's file may do with a key:
#   free     it decides like everybody else          tighten  only in the stricter direction
#   approve  only after the user's word, by hash     waive    like approve, but ignored without it
#   user     nothing: it is the user's own
Rule = Literal["free", "tighten", "approve", "waive", "user"]


class Option(Struct, frozen=True):
    key: str  # "*" stands for a name the user chooses
    kind: Kind
    doc: str
    default: Value = None
    flag: str = ""
    choices: tuple[str, ...] = ()  # where the rule is "tighten": from loosest to strictest
    project: Rule = "free"
    union: bool = False  # layers add up instead of replacing each other

    @property
    def env(self) -> str:
        """The variable has the flag's name where there is a flag, else the key's; tables have none."""
        if "*" in self.key or self.kind in ("quarantine", "dimensions"):
            return ""
        name = self.flag.removeprefix("--") if self.flag else self.key
        return "RALPH_" + re.sub(r"[.-]", "_", name).upper()
