"""Which kinds of check prove a class of task, and which kind a gate is. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from ralph.core.infercommand import KINDS, Kind, named_kind, sort_command
from ralph.core.infertools import LANGUAGES
from ralph.core.model import TaskClass

# Endings of files that a language's checks look at; manifests and lockfiles of its packages count too.
_ENDINGS: dict[str, tuple[str, ...]] = {
    "python": (".py", ".pyi", ".toml", ".cfg", ".ini", ".txt", ".lock", ".ipynb"),
    "node": (
        ".js",
        ".jsx",
        ".ts",
        ".tsx",
        ".mjs",
        ".cjs",
        ".mts",
        ".cts",
        ".vue",
        ".svelte",
        ".json",
        ".yaml",
        ".lock",
    ),
    "rust": (".rs", ".toml", ".lock"),
    "go": (".go", ".mod", ".sum", ".work"),
}

# class -> kinds that prove it, kinds that must stay green
AIMS: dict[TaskClass, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {
    "test-pass": (("test",), ()),
    "coverage": (("coverage",), ()),
    "type-clean": (("types",), ()),
    "lint-clean": (("lint",), ()),
    "build-pass": (("build",), ()),
    "bug-fix": (("test",), ()),
    "implement-feature": (("test",), ()),
    "regression": ((), ("test", "build", "types", "lint")),
    "docs": ((), ()),
    "custom": (("test",), ()),
}


def proof_kinds(task_class: TaskClass) -> frozenset[str]:
    """The kinds whose gates prove a class; empty where any gate may."""
    return frozenset() if task_class == "custom" else frozenset(AIMS[task_class][0])


def gate_kind(name: str, run: str) -> str:
    """What a gate checks, by its command, else by its name; "" when neither tells."""
    kind = sort_command(run).kind
    if kind:
        return kind
    said = named_kind(name)
    return said if said in KINDS else ""


def concerned(run: str, cwd: str, changed: Iterable[str]) -> bool:
    """Could a change of these files change what a gate says? In doubt it could."""
    tool = sort_command(run).tool
    language = next((one.name for one in LANGUAGES if any(row.tool == tool for row in one.rows)), "")
    endings = _ENDINGS.get(language)
    inside = [path for path in changed if cwd in (".", "") or path.startswith(cwd.rstrip("/") + "/")]
    return any(endings is None or path.endswith(endings) for path in inside)
