"""A check and what it proves: gates, the criterion, classes of task and grades."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Grade = Literal["A", "B", "C", "D"]


Severity = Literal["P0", "P1", "P2"]


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


# Classes in which nothing is to become red first: all that can be shown is that nothing got worse.
WITHOUT_WITNESS: frozenset[str] = frozenset({"regression", "docs"})


STILL_RED = "base_tests.still_red"  # the kind of waiver for what was red before the loop
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
    exit_parts: bool = False  # its command has parts beside the tests, which are read by exit code only
    maximum: int | None = None  # findings that may be left, for readers that locate them

    @property
    def hidden(self) -> bool:
        """No agent may ever see it."""
        return self.origin == "hidden"


class Criterion(Struct, frozen=True, omit_defaults=True):
    """What would prove the task: its class, and the sealed gates."""

    task_class: TaskClass
    gates: tuple[Gate, ...]
    min_grade: Grade = "C"
    waivers: dict[str, str] = {}  # guard id -> the user's reason
    until: str = ""
    confirm: int = 3  # how often the final verdict must be green, each time in a fresh box
    allow_asked: tuple[str, ...] = ()  # kinds of findings that are granted when the agent asks
    granted: dict[str, str] = {}  # what was granted that way: id -> the agent's reason
    quarantine: dict[str, str] = {}  # test id -> owner, expiry and reason: neither red nor a witness

    @property
    def exceptions(self) -> dict[str, str]:
        """Every waiver, whenever it was given."""
        return {**self.granted, **self.waivers}

    @property
    def proof(self) -> tuple[Gate, ...]:
        return tuple(gate for gate in self.gates if gate.proof)

    def gate(self, name: str) -> Gate:
        return next(gate for gate in self.gates if gate.name == name)
