"""The nouns of inference: what was found in a repository, and what is proposed from it.

Structs only. Finding is in `find_commands` and `manifests`, choosing in `propose`, the languages' own
tools in `usual_checks`. Nothing here was executed or approved.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.model.gate import TaskClass
from ralph.core.toolchains.rows import Kind

# Where a command comes from. The order is the order of trust.
Layer = Literal["task", "artifact", "docs", "ci", "manifest", "table"]
TRUST: dict[Layer, int] = {"task": 0, "artifact": 1, "docs": 2, "ci": 3, "manifest": 4, "table": 5}
LAYER_WORDS: dict[Layer, str] = {
    "task": "the task itself",
    "artifact": "project artifact",
    "docs": "documents",
    "ci": "CI",
    "manifest": "manifest",
    "table": "usual tool of the language",
}
Confidence = Literal["high", "medium", "low"]


class Candidate(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One command that might be a check. `rejected` says why it is not."""

    layer: Layer
    run: str
    kind: Kind | Literal["", "custom"] = ""  # custom: the command of an item, whatever it checks
    cwd: str = "."  # from the repository's top
    where: str = ""  # file:line
    tool: str = ""  # what checks in the end, to tell whether two layers agree
    executes: str = ""  # the body of the script that it starts, where that is known
    rejected: str = ""
    hint: str = ""  # how to install its tool
    network: bool = False
    note: str = ""
    resolved: bool = True  # its first word exists on this machine
    was: str = ""  # as it stands in the file, when `run` is its local form
    usual: bool = False  # only a sign or the name of its tool was seen: how the project calls it is not known
    aside: bool = False  # of a CI job that is not the main verification


class Manifest(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One package of a repository: a folder with a file that says how it is built."""

    path: str
    folder: str  # "." for the top
    language: str
    name: str = ""
    scripts: dict[str, tuple[str, int]] = {}  # name -> (body, line)
    signs: dict[str, int] = {}  # "dep:mypy", "table:tool.mypy", "file:tox.ini" -> line of the manifest
    places: dict[str, str] = {}  # sign -> file:line, where another file than `path` says it


class ProjectFacts(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything inference knows of a repository, read at one commit."""

    manifests: tuple[Manifest, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    paths: tuple[str, ...] = ()
    demands: tuple[str, ...] = ()  # "not finished until CI passes", with file and line
    skipped: tuple[str, ...] = ()  # files that could not be read, and why


class Check(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One gate to be: what `ralph loop --check` would be given."""

    name: str
    run: str
    kind: Kind | Literal["custom", "structure"]
    cwd: str = "."
    read: str = "auto"
    minimum: float | None = None
    # What of a linter is counted against `maximum`; without one the trial's own count less one is it.
    counted: Literal["", "errors", "findings"] = ""
    maximum: int | None = None
    proof: bool = True
    layer: Layer = "manifest"
    where: str = ""
    executes: str = ""
    resolved: bool = True  # its first word exists here
    hint: str = ""
    tool: str = ""


class Alternative(Struct, frozen=True):
    criterion: str
    rejected_because: str


class Trial(Struct, frozen=True, omit_defaults=True):
    """What one check said on the base commit, once, in the gate box."""

    name: str
    status: str
    summary: str
    cause: str = ""
    percent: float | None = None
    found: int | None = None  # findings, of those that count for the gate


class Proposal(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`proposed_completion`; with `refused` set, the reason why there is none, and wordings that would do."""

    task: str
    task_class: TaskClass
    criterion: str = ""
    verification_command: str = ""
    rationale: tuple[str, ...] = ()
    confidence: Confidence = "low"
    alternatives_considered: tuple[Alternative, ...] = ()
    max_iterations_suggestion: int = 10
    needs_human_confirmation: bool = True
    checks: tuple[Check, ...] = ()
    until: str = ""
    tried: bool = False
    trials: tuple[Trial, ...] = ()
    reachable: Confidence = "low"  # confidence once it was approved and tried
    grade_at_most: str = ""
    warnings: tuple[str, ...] = ()
    refused: str = ""
    examples: tuple[str, ...] = ()
    next: str = ""  # of a refusal: a check that would do, as a command line without the task


def join_commands(checks: tuple[Check, ...]) -> str:
    """All commands as one line that a person could paste at the top of the repository."""
    parts = [check.run if check.cwd == "." else f"(cd {check.cwd} && {check.run})" for check in checks]
    return " && ".join(dict.fromkeys(parts))


_DEPENDENCIES = ("npm ci", "npm install", "pnpm install", "yarn install", "bun install", "composer install")


def why_missing(run: str, hint: str) -> str:
    """Why a check cannot be started here, with the line that installs what it lacks."""
    if hint in _DEPENDENCIES or hint.endswith("--frozen-lockfile"):
        return f"its dependencies are not installed here; install them with: {hint}"
    words = run.split()
    word = words[0].rsplit("/", 1)[-1]
    word = " ".join((word, *words[1:3])) if words[1:2] == ["-m"] else word
    return f'"{word}" cannot be started here' + (f"; install it with: {hint}" if hint else "")
