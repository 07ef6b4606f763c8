"""What a gate or a guard answered for one tree, and what an iteration left behind."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.model.gate import Severity

Status = Literal["pass", "fail", "error", "skipped", "flaky"]


Stage = Literal["baseline", "fast", "final"]


TestState = Literal["pass", "fail", "skipped"]


class Finding(Struct, frozen=True, omit_defaults=True):
    """One located problem; `key` is stable across iterations and lines moving."""

    key: str
    message: str
    path: str = ""
    line: int = 0
    severity: Severity = "P1"
    way: str = ""  # of a guard: what to do about it
    asks: bool = False  # of a guard: honest work may look like this, so a user's word settles it


class Counts(Struct, frozen=True, omit_defaults=True):
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    deleted: tuple[str, ...] = ()  # tests of the base that the change deleted, by name (first few)
    unseen: int = 0  # counted as red: known at the base, not reported now; no failure, and no progress
    still_red: tuple[str, ...] = ()  # red before the loop and now, and left out of this verdict


class Canary(Struct, frozen=True, omit_defaults=True):
    """What became of the tests that Ralph put beside the others and that must fail, by kind."""

    red: tuple[str, ...] = ()  # failed, as they must
    silent: tuple[str, ...] = ()  # were seen and did not fail
    unseen: tuple[str, ...] = ()
    runner: dict[str, str] = {}  # parts of the runner as the failing test saw them: name -> digest
    host: str = ""  # the file they stood in


class FileReads(Struct, frozen=True, omit_defaults=True):
    """Which files of the tree a watched call of a gate read, and who asked for them, as far as is known."""

    opened: tuple[str, ...] = ()  # by any process, seen from outside
    by: dict[str, tuple[str, ...]] = {}  # file -> files whose code read or imported it; "": the runner itself
    missed: dict[str, tuple[str, ...]] = {}  # files that were looked for and are not there -> who looked
    outside: tuple[str, ...] = ()  # modules that code of the tree imports and that are none of its own
    roots: tuple[str, ...] = ()  # folders of the tree in which modules are looked for
    lost: str = ""  # why more may have been read than was seen


class Reading(Struct, frozen=True, omit_defaults=True):
    """What a reader made of a gate's output: every test by id where ids are known."""

    status: Status
    summary: str
    # Why it could not be judged: missing, timeout, memory, killed, no-tests, all-skipped, torn-report; or a
    # machine cause (`after_fault`), and then it is no answer.
    cause: str = ""
    doubt: bool = False  # who ended it is not known: the tree itself, or somebody outside
    counts: Counts | None = None
    tests: dict[str, TestState] | None = None
    findings: tuple[Finding, ...] = ()
    files: dict[str, str] = {}  # test id -> file it stands in, where the reader knows
    flaky: tuple[str, ...] = ()  # red keys that changed between two calls on the same tree
    canary: Canary | None = None  # None: no canary was run with it
    left_out: tuple[str, ...] = ()  # red before the loop and now: counted as skipped
    written: tuple[str, ...] = ()  # tracked files that the call wrote
    reads: FileReads | None = None  # None: nobody watched which files it read


class Verdict(Struct, frozen=True, omit_defaults=True):
    """One gate's answer for one tree, as far as a decision needs it; the rest is in the evidence."""

    gate: str
    tree: str
    stage: Stage  # "final": in a checkout made anew, also where a fast one was owed
    status: Status
    summary: str = ""
    cause: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    counts: Counts | None = None
    per_test: bool = False
    red: int = 0  # failing tests or blocking findings, with the unseen
    red_digest: str = ""  # names the set of red keys, so that two sets can be compared
    signature: str = ""  # the error without addresses, times, line numbers and the like: "retry"
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

    @property
    def unseen(self) -> int:
        return self.counts.unseen if self.counts is not None else 0

    @property
    def still_red(self) -> tuple[str, ...]:
        return self.counts.still_red if self.counts is not None else ()


class GuardResult(Struct, frozen=True, omit_defaults=True):
    guard: str
    tree: str
    applied: bool  # False: it had nothing to look at, and says why
    summary: str
    findings: tuple[Finding, ...] = ()
    integrity: bool = True  # integrity guards accuse; hygiene guards only say not yet
    counted: dict[str, int] = {}  # what it measured: witness, sabotaged, noticed, repeats
    evidence: tuple[str, ...] = ()  # blobs of the gate calls it asked for
    left_out: int = 0  # findings beyond those that a record holds


class Checkpoint(Struct, frozen=True, omit_defaults=True):
    """The tree after iteration n, and how far it got."""

    iteration: int
    tree: str
    commit: str
    passing: int = -1  # required checks passing; -1 = not judged
    red: int = -1
    changed_lines: int = 0
    unloaded: int = 0
