"""Guard "leftovers": added code does not stop for a debugger or print what only its author wanted to see.

By syntax: what stands in a string, a comment or a test is no leftover. Logging to the console is one only
where the project does not do it on purpose: not in programs, scripts or files that log already, and not when
the task speaks of output. An added `print` is mentioned and holds nothing back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ralph.core.model.verdict import Finding, GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.kinds import TAKE_OUT, guard_kinds, guard_result
from ralph.gates.guards._base.texts import Pair, decode, is_aside, is_testing, label, new_numbers, pairs
from ralph.gates.guards._parts.brackets import skip
from ralph.gates.guards._parts.script_language import MAX_CHARS, language
from ralph.gates.guards._tests.py_syntax import TROUBLE, parse_once

NAME = "leftovers"
KINDS = guard_kinds(NAME, TAKE_OUT, {
    "breakpoint": ("not yet", "added code stops for a debugger"),
    "log": ("not yet", "added code logs to the console, where the project does not",
        "remove it, or use the project's own logging"),
})  # fmt: skip
_STOPS = re.compile(r"(?:sys\.)?breakpoint(?:hook)?|debugpy\.(?:breakpoint|wait_for_client)|IPython\.embed")
_STEPS = re.compile(
    r"(?:.*\.)?(?:set_trace|post_mortem|pm|runcall)", re.DOTALL
)  # of a debugger, if one is there
_DEBUGGER = re.compile(r"\b(?:i?pdb|pudb|wdb|epdb|bdb)\b")
_JAVASCRIPT = re.compile(
    r"""(?<![\w$.])(?:(debugger)(?=\s*(?:;|\n|\}|$))
    | (?:(?:window|globalThis|global|self)\s*\.\s*)? console
      \s*(?:\?\.|\.|(?:\?\.\s*)?\[\s*["'`])\s*(?:log|debug|table|dir|dirxml|trace)\b(?:["'`]\s*\])?\s*(?:\?\.\s*)?\()""",
    re.VERBOSE,
)
_RUST = re.compile(r"(?<![\w:])(dbg)!\s*[(\[{]")
_CONSOLE = re.compile(r"\bconsole\s*\.\s*\w+\s*\(")
_OUTPUT = re.compile(
    r"\b(?:console|logs?|logging|prints?|output|stdout|cli|command|verbose|debug\w*)\b", re.IGNORECASE
)
_DEBUGGING = re.compile(r"\b(?:debuggers?|breakpoints?|i?pdb|set_trace|dbg)\b", re.IGNORECASE)
_PROGRAM = re.compile(
    r"(?:^|/)(?:bin|cli|scripts?|tools?|commands?|cmd)(?:/|\.[cm]?[jt]sx?\Z)", re.IGNORECASE
)


def check(facts: GuardFacts) -> GuardResult:
    findings: list[Finding] = []
    prints = 0
    for pair in pairs(facts):
        if is_testing(pair.path) or is_aside(pair.path) or len(pair.new) > MAX_CHARS:
            continue
        new = new_numbers(facts, pair.path)
        for line, kind, what in _leftovers(facts, pair):
            if line not in new:
                continue
            if kind == "print":
                prints += 1
            elif not _is_meant(facts, pair, kind):
                text = f"line {line} of {pair.path} has {what}"
                key = f"{NAME}.{kind}:{pair.path}:{label(pair.new.splitlines()[line - 1])}"
                findings.append(Finding(key, text, path=pair.path, line=line))
    aside = f"; {prints} added print calls, if they are meant" if prints else ""
    return guard_result(
        NAME,
        facts,
        findings,
        good=f"nothing was left from debugging{aside}",
        bad=f"left from debugging{aside}",
    )


def _leftovers(facts: GuardFacts, pair: Pair) -> Iterator[tuple[int, str, str]]:
    """Line, kind and name of everything in the new file that may be one."""
    if pair.path.endswith(".py"):
        tree = parse_once(facts, "new", pair.path, pair.new)
        try:
            yield from _in_python(tree, pair.new) if tree is not None else ()
        except TROUBLE:
            return
    elif language(pair.path):
        yield from _in_text(pair.new, "js", _JAVASCRIPT)
    elif pair.path.endswith(".rs"):
        yield from _in_text(pair.new, "rs", _RUST)


def _in_python(tree: ast.AST, text: str) -> Iterator[tuple[int, str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if _STOPS.fullmatch(called) or (_STEPS.fullmatch(called) and _DEBUGGER.search(text)):
                yield node.lineno, "breakpoint", f"{called}()"
            elif called == "print":
                yield node.lineno, "print", "print()"


def _in_text(text: str, kind: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, str, str]]:
    """Matches outside of strings and comments."""
    at, match = 0, pattern.search(text)
    while match is not None and at < len(text):
        after = skip(text, at, kind)
        if after > at:
            at = after
            if match.start() < at:
                match = pattern.search(text, at)
        elif at == match.start():
            name = match.group(1) or "console.log"
            yield text.count("\n", 0, at) + 1, "breakpoint" if match.group(1) else "log", name
            at, match = match.end(), pattern.search(text, match.end())
        else:
            at += 1


def _is_meant(facts: GuardFacts, pair: Pair, kind: str) -> bool:
    """The task, the file before, or the kind of program says that this belongs here."""
    if kind == "breakpoint":
        return bool(_DEBUGGING.search(facts.task) or _DEBUGGING.search(pair.old))
    if pair.new.startswith("#!") or _PROGRAM.search(pair.path) or _OUTPUT.search(facts.task):
        return True
    return bool(_CONSOLE.search(pair.old)) or '"bin"' in decode(facts.read_base("package.json"))
