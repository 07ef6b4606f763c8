"""Commands that cannot fail, or that judge nothing: the one predicate by which inference leaves them out.

A command is such when every simple command that decides its exit code is: one that lists, prints, compiles
only, changes what it should compare with, selects nothing, or swallows its own failure. Tables first.
"""

from __future__ import annotations

import re

from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.rows import ToolRow
from ralph.core.toolchains.split_command import judging, split, strip_launchers


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NOTHING = "it checks nothing"
# What a command does instead of judging, as the rows of tools call it.
_WHY = {
    "always": "it passes whatever happens",
    "lists": "it lists or prints, and executes no check",
    "writes": "it changes files instead of checking them",
    "accepts": "it rewrites what its results are compared with",
    "builds": "it builds the tests and does not execute them",
    "selects": "it selects no test",
    "endless": "it starts something that does not end",
}
_TRIVIAL = _set(
    "cat ls pwd sleep cd date whoami which command type hash touch mkdir cp mv env printenv uname"
)
_NO_TEST = re.compile(r"no tests?|not (?:yet )?(?:implemented|specified|configured)|todo", re.IGNORECASE)
# An option with this value.
_WHY_OF_VALUE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-D(?:skipTests|maven\.test\.skip|skipITs)(?:=true)?$"), "builds"),
    (re.compile(r"-D(?:maven\.test\.failure\.ignore|testFailureIgnore)(?:=true)?$"), "always"),
    (re.compile(r"--(?:issues-)?exit-code=0$|--no-tests=(?:pass|warn)$|--failure-exit-code=0$"), "always"),
    (re.compile(r"--inline-snapshot=(?:create|fix|update)|--update-snapshots?=(?!none|false|0)"), "accepts"),
    (
        re.compile(
            r"--testNamePattern=$|--test-name-pattern=(?:\^\$)?$|-run=(?:\^\$|none|xxx)$", re.IGNORECASE
        ),
        "selects",
    ),
    (re.compile(r"-(?:-?test\.)?list=|--dry(?:-run)?=|--co=|--passWithNoTests=true$"), "lists"),
    (re.compile(r"-update(?:-\w+)?(?:=true)?$"), "accepts"),
)
_NONE = frozenset({"", "^$", "$^", "a^", "none", "nothing", "xxx", "nomatch"})
_ENV = re.compile(
    r"\w*(?:FORCE_PASS|ALWAYS_PASS|(?<![A-Z])UPDATE(?!R|D)|SNAPSHOT_UPDATE|BLESS|REGEN|OVERWRITE"
    r"|ACCEPT_(?:SNAP|CHANGES|NEW|ALL)|WRITE_(?:SNAP|GOLDEN|EXPECT)|TAP_SNAPSHOT|RECORD_(?:SNAP|GOLDEN))\w*"
    r"|TRYBUILD"
)
_ENV_SKIPS = re.compile(r"(?:SKIP|NO|DISABLE)_(?:ALL_)?TESTS?|DRY_?RUN|SKIP_CHECKS?")
_OFF = frozenset({"", "0", "false", "no", "never", "none", "off", "n", "f"})
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")


def why_degenerate(command: str) -> str:
    """Why this command could never fail for the right reason; "" when it could."""
    ends = judging(" ".join(command.split(" ")))
    if ends is None:
        return ""
    known = toolchains()
    parts = [words for words in ends.judged if not known.setup.match(" ".join(words))]
    if not parts:
        if ends.judged:
            return ""  # it only sets things up, which is said elsewhere
        said = [words[0].rsplit("/", 1)[-1] for words in split(command)]
        silent = all(name in ("echo", "true", ":", "printf", "exit", "set", "false") for name in said)
        if not silent:
            return _WHY["always"]
        return _NOTHING + (", it says so itself" if _NO_TEST.search(command) else "")
    whys = [why_idle(list(words)) for words in parts]
    if not all(whys):
        return ""
    return next((why for why in whys if why != _NOTHING), _NOTHING)


def why_idle(words: list[str]) -> str:
    """Why one simple command judges nothing; "" when it does."""
    for word in words:
        if (why := _why_env(word)) != "":
            return why
    inner = strip_launchers([word for word in words if not _ASSIGNS.match(word)])
    if not inner:
        return ""
    name, rest = inner[0].rsplit("/", 1)[-1], inner[1:]
    if name in _TRIVIAL:
        return _NOTHING
    known = toolchains()
    name = known.names.get(name, name)
    if rest in (["-V"], ["version"], ["help"], ["-h"]) or (rest == ["-v"] and name in ("node", "npm", "go")):
        return _WHY["lists"]
    tool = known.tools.get(name, ToolRow())
    judges = tool.kind or tool.verbs or tool.idle or name in known.packagers
    return _why_options(name, tool, rest) if judges or rest in (["--version"], ["--help"]) else ""


def _why_env(word: str) -> str:
    """`INSTA_FORCE_PASS=1`, `UPDATE_SNAPSHOTS=1`: what they switch on; "" for every other assignment."""
    name, sign, value = word.partition("=")
    if not sign or not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) or value.lower() in _OFF:
        return ""
    if any(name in tool.options_in for tool in toolchains().tools.values()):
        return next((why for one in value.split() if (why := _why_option(one))), "")
    if _ENV_SKIPS.fullmatch(name):
        return _WHY["builds"] if "TEST" in name else _WHY["lists"]
    if "FORCE_PASS" in name or "ALWAYS_PASS" in name:
        return _WHY["always"]
    overwrites = name != "TRYBUILD" or value == "overwrite"
    return _WHY["accepts"] if _ENV.fullmatch(name) and overwrites else ""


def _why_option(option: str) -> str:
    """What an option means to whatever program knows it."""
    options = toolchains().options
    return next((why for does, why in _WHY.items() if does != "selects" and option in options[does]), "")


def _why_options(name: str, tool: ToolRow, rest: list[str]) -> str:
    packager = name in toolchains().packagers
    verb = rest[0] if rest else ""
    everywhere = bool({"-r", "--recursive", "--workspaces", "-ws", "workspaces", "--filter"} & set(rest))
    for at, word in enumerate(rest):
        option, sign, value = word.partition("=")
        idle = tool.idle.get(word, "") or tool.idle.get(f"{verb} {word}", "")
        if packager and "--" in rest and word == "-u":  # `npm test -- -u`: what the runner behind it is told
            idle = "accepts"
        why = _WHY.get(idle, "") or ("" if sign and value.lower() in _OFF else _why_option(option))
        why = why or next((_WHY[does] for pattern, does in _WHY_OF_VALUE if pattern.match(word)), "")
        if option == "--if-present" and everywhere:
            why = ""  # the packages of a workspace that have the script
        if option == "--dry-run" and tool.dry_run_fails:
            why = ""
        if why:
            return why
        after = rest[at + 1] if at + 1 < len(rest) else "-"
        if word in toolchains().options["selectors"] and after.lower() in _NONE:
            return _WHY["selects"]
        if word in ("-x", "--exclude-task") and name == "gradle" and after in ("test", "check"):
            return _WHY["builds"]
        if word in ("--exit-code", "--issues-exit-code") and after == "0":
            return _WHY["always"]
    needed = tool.fails_with
    if needed is not None and not needed & {word.split("=", 1)[0] for word in rest}:
        writes = tool.rewrites and "--diff" not in rest
        return _WHY["writes"] if writes else "it prints what it finds, and passes"
    return ""
