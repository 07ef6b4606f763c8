"""Guard "environment": nothing in the tree reaches into git, other programs or the shell of a check.

Only what no experiment sees: what acts elsewhere than in the judged tree, or later. What the interpreter or
the runner finds unasked is gone when the base's tests judge the new source (`judging_paths.is_hijack`).
"""

from __future__ import annotations

import re
import shutil
import sys

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.command import word_set
from ralph.gates.guards._base.facts import Change, GuardFacts
from ralph.gates.guards._base.kinds import TAKE_OUT, guard_kinds, guard_result
from ralph.gates.guards._base.texts import Pair, decode, new_lines, pairs
from ralph.gates.guards._breaks.wrap_shell import FUNCTION
from ralph.gates.guards._files.behind_command import files_behind_gates

NAME = "environment"
KINDS = guard_kinds(NAME, TAKE_OUT, {
    "command": ("asks", "a shell function has the name of a command that a check calls",
        "give it another name"),
    "stdlib": ("not yet", "a local module hides one of the standard library or of a tool",
        "give it another name"),
    "path": ("not yet", "a `.pth` file, which Python reads at every start once it is installed"),
    "attributes": ("not yet", "`.gitattributes` or `.gitmodules` makes git change or run something"),
    "submodule": ("not yet", "a submodule points at another commit, which nothing has judged", "put it back"),
})  # fmt: skip
_MODULES = word_set("pytest coverage nose nose2 mypy tox") | sys.stdlib_module_names
_ROOTS = ("", "src", "lib", "python")
_ATTRIBUTE = re.compile(r"\bfilter=(?!lfs\b)|\bworking-tree-encoding=|\bmerge=(?!union|ours|binary|text)\w")
_MODULE = re.compile(r"^\s*(?:update\s*=\s*!|url\s*=\s*(?:ext::|file:|/|-))", re.MULTILINE)
_ASKED = re.compile(r"submodule|bump|updat|upgrad|vendor", re.IGNORECASE)


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    for pair in pairs(facts):
        change = pair.change
        if change.status == "D":
            continue
        if change.status != "M":
            findings += _shadow(change, facts)
        findings += _settings(pair, facts)
        findings += _commands(pair, facts)
        if change.mode == "160000" and change.status == "M":
            findings += _submodule(change, facts)
    good = "nothing reaches into git, other programs or the shell of a check"
    return guard_result(
        NAME, facts, findings, good=good, bad="something reaches into what is around the tree"
    )


def _finding(kind: str, path: str, text: str, line: int = 0) -> list[Finding]:
    return [Finding(f"environment.{kind}:{path}", f"{path} {text}", path=path, line=line)]


def _shadow(change: Change, facts: GuardFacts) -> list[Finding]:
    """A module of the standard library or of a tool, where imports begin."""
    if not change.path.endswith(".py"):
        return []
    root, _, name = change.path.removesuffix("/__init__.py").rpartition("/")
    module = name.removesuffix(".py")
    lead = f"{root}/".lstrip("/")
    if module not in _MODULES or module.startswith("_") or root not in _ROOTS:
        return []
    known = (f"{lead}__init__.py", f"{lead}{module}.py", f"{lead}{module}/")
    if any(path.startswith(known) for path in facts.base_paths):
        return []
    text = f"hides the module {module} for everything that is imported from here"
    return _finding("stdlib", change.path, text)


def _commands(pair: Pair, facts: GuardFacts) -> list[Finding]:
    """A file that the check sources may redefine what it compares with: `diff() { :; }`."""
    if not pair.path.endswith((".sh", ".bash")) or pair.path in files_behind_gates(facts):
        return []
    names = {match["word"] or match["name"] for match in FUNCTION.finditer(pair.new)}
    names -= {match["word"] or match["name"] for match in FUNCTION.finditer(pair.old)}
    judge = "\n".join(decode(facts.read_base(path)) for path in files_behind_gates(facts))
    called = [
        one for one in sorted(names) if re.search(rf"(?<![^\s;|&(!`]){re.escape(one)}(?=[\s;)])", judge)
    ]
    taken = [one for one in called if shutil.which(one)]
    return _finding("command", pair.path, f"defines {taken[0]}(), which a check calls") if taken else []


def _settings(pair: Pair, facts: GuardFacts) -> list[Finding]:
    path = pair.path
    name = path.rsplit("/", 1)[-1]
    if name.endswith(".pth") and pair.new:  # binary ones are weights of a model
        return _finding("path", path, "is read by Python at every start once it is installed")
    if name == ".gitattributes":
        for line in new_lines(facts).get(path, ()):
            if _ATTRIBUTE.search(line.text) and not line.text.lstrip().startswith("#"):
                return _finding("attributes", path, "lets git change files at checkout", line.number)
    if name == ".gitmodules" and _MODULE.search(pair.new) and not _MODULE.search(pair.old):
        return _finding("attributes", path, "names a command or a place on this machine")
    return []


def _submodule(change: Change, facts: GuardFacts) -> list[Finding]:
    if _ASKED.search(facts.task) or change.path.rsplit("/", 1)[-1].lower() in facts.task.lower():
        return []
    return _finding("submodule", change.path, "points at another commit, which nothing has judged")
