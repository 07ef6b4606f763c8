"""Which test runner or linter does an argv start, and where do Ralph's reporter arguments go.

Launchers (`uv run`, `npx`, `python -m`, `coverage run -m`, …) are seen through. Only argv is looked
at: configuration may add arguments of its own, and the readers fail closed when it does. What is known of
each runner is in its row of the toolchains.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.core.toolchains.load import ToolRunner, toolchains
from ralph.gates.readers import locates_findings

_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)*)?t?(?:\.exe)?\Z")
_PYTHON_VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_COVERAGE_VALUED = frozenset(
    {"--source", "--omit", "--include", "--rcfile", "--data-file", "--context", "--concurrency"}
)
# The stream of results apart from what is printed to the standard error; people still see both.
_KEEP_STREAM = '"$@" > "{report}"; code=$?; cat "{report}"; exit $code'
# Old reports go first, or a committed one would be taken for new; then all that were written become one.
_COLLECT = (
    'find . -path "*/{folder}/*" -name "TEST-*.xml" -delete; "$@"; code=$?; {{ echo "<testsuites>"; '
    'find . -path "*/{folder}/*" -name "TEST-*.xml" -exec sed "s/<?xml[^>]*?>//" {{}} +; '
    'echo "</testsuites>"; }} > "{{report}}"; exit $code'
)


class KnownRunner(Struct, frozen=True):
    name: str
    at: int  # index of the first argument after the runner's own word


def runner_of(name: str) -> ToolRunner | None:
    """What is known of a runner, by the name that a gate has for it."""
    return toolchains().runners.get(name)


def base_name(word: str) -> str:
    return word.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")


def is_python(word: str) -> bool:
    return bool(_PYTHON.match(base_name(word)))


def skip_launchers(argv: tuple[str, ...]) -> int:
    """Index of the word that is really executed, behind `uv run`, `npx`, `env A=1` and the like."""
    at = 0
    while at < len(argv):
        name = base_name(argv[at])
        row = toolchains().tools.get(name)
        valued = row.launch_values if row else None
        if row and valued is not None and row.launches == "at once":
            at = _skip_options(argv, at + 1, valued)
        elif valued is not None and "run" in argv[at + 1 :]:
            after = _skip_options(argv, at + 1, valued)
            if after >= len(argv) or argv[after] != "run":
                return at
            at = _skip_options(argv, after + 1, valued)
        elif row and row.measures and (inner := _measured_runner(argv, at + 1)):
            at = inner
        elif name in ("env", "cross-env"):
            at += 1
            while at < len(argv) and "=" in argv[at] and not argv[at].startswith("-"):
                at += 1
            if at < len(argv) and argv[at].startswith("-"):
                return at
        else:
            return at
    return at


def _measured_runner(argv: tuple[str, ...], at: int) -> int:
    """Index of the runner behind a tool that measures coverage and its options; 0 = none is known."""
    known = toolchains()
    for index in range(at, len(argv)):
        name = known.name_of(base_name(argv[index]))
        if name in ("npx", "cross-env") or any(runs_scripts(one) for one in known.runners_of.get(name, ())):
            return index
    return 0


def runs_scripts(runner: ToolRunner) -> bool:
    """Is it one that scripts of a package.json run tests with?"""
    return runner.family == "node" and not locates_findings(runner.reader)


def _skip_options(argv: tuple[str, ...], at: int, valued: frozenset[str]) -> int:
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-m":
        if argv[at] == "--":
            return at + 1
        at += 2 if argv[at] in valued else 1
    return at


def recognise(argv: tuple[str, ...]) -> KnownRunner | None:
    at = skip_launchers(argv)
    if at >= len(argv):
        return None
    name = base_name(argv[at])
    if name == "-m":  # uv run -m mypy
        return _module(argv, at + 1) if at + 1 < len(argv) else None
    if is_python(name):
        return _module(argv, _module_word(argv, at + 1))
    if name == "coverage":
        return _coverage(argv, at + 1)
    return _tool(name, argv, at + 1)


def _module_word(argv: tuple[str, ...], at: int) -> int:
    """Index of the module's name in the arguments of a Python interpreter; 0 when none is run."""
    while at < len(argv) and argv[at].startswith("-"):
        word = argv[at]
        if word == "-m":
            return at + 1 if at + 1 < len(argv) else 0
        if word in ("-c", "-", "--"):
            return 0
        at += 2 if word in _PYTHON_VALUED else 1
    return 0


def _module(argv: tuple[str, ...], at: int) -> KnownRunner | None:
    if not at:
        return None
    if argv[at] == "coverage":
        return _coverage(argv, at + 1)
    return _tool(argv[at], argv, at + 1, module=True)


def _coverage(argv: tuple[str, ...], at: int) -> KnownRunner | None:
    if argv[at : at + 1] != ("run",):
        return None
    at += 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] in ("-m", "--module"):
            return _module(argv, at + 1) if at + 1 < len(argv) else None
        at += 2 if argv[at] in _COVERAGE_VALUED else 1
    return None


def _tool(name: str, argv: tuple[str, ...], at: int, *, module: bool = False) -> KnownRunner | None:
    known = toolchains()
    for runner in known.runners_of.get(known.name_of(name), ()):
        if runner.row.module and not module:
            continue
        found = _arguments_at(runner, argv, at)
        if found and _is_plain(runner, argv[found:]):
            return KnownRunner(runner.name, found)
    return None


def _arguments_at(runner: ToolRunner, argv: tuple[str, ...], at: int) -> int:
    """Where the runner's own arguments begin; 0 when its verb is not there."""
    row = runner.row
    if row.flag:
        while at < len(argv) and argv[at] != row.flag.word:
            if not argv[at].startswith("-") or argv[at] == "--":
                return 0  # a script: what follows are its own arguments
            at += 2 if argv[at] in row.flag.valued_before else 1
        return at + 1 if at < len(argv) else 0
    at += at < len(argv) and re.fullmatch(row.may_begin, argv[at]) is not None
    if row.verbs:
        return at + 1 if at < len(argv) and argv[at] in row.verbs else 0
    return at


def _is_plain(runner: ToolRunner, rest: tuple[str, ...]) -> bool:
    """A run of the whole thing, without options that the reporter would fight with."""
    row = runner.row
    if row.words and not any(re.fullmatch(row.words, word) for word in rest):
        return False
    if any(word.startswith(row.unless_set) and not word.endswith("=false") for word in rest):
        return False
    ends = [rest.index(word) for word in row.ends if word in rest]
    own = rest[: min(ends, default=len(rest))]
    if row.unless & {word.split("=", 1)[0] for word in own}:
        return False
    return all(_option(own, name) in (None, value) for name, value in row.only.items())


def _option(argv: tuple[str, ...], name: str) -> str | None:
    for index, word in enumerate(argv):
        if word == name:
            return argv[index + 1] if index + 1 < len(argv) else ""
        if word.startswith(name + "="):
            return word[len(name) + 1 :]
    return None


def reporter(runner: KnownRunner, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that make this runner tell what it did, test by test or finding by finding."""
    row = toolchains().runners[runner.name].row
    rest = argv[runner.at :]
    if row.report == ("{node}",):
        return _node_reporter(argv[: runner.at], rest)
    options = {*rest, *(word.split("=", 1)[0] for word in rest)}
    added = tuple(word for word in row.report if not options & set(row.told.get(word, ())))
    around = (_KEEP_STREAM,) if row.stream else (_COLLECT.format(folder=row.collect),) if row.collect else ()
    return (*around, *added)


def _node_reporter(before: tuple[str, ...], after: tuple[str, ...]) -> tuple[str, ...]:
    """Node pairs reporters and destinations by order and wants equal numbers: the user's are counted."""
    ours = ("--test-reporter=junit", "--test-reporter-destination={report}")
    reporters = _count(before, "--test-reporter") + _count(after, "--test-reporter")
    destinations = _count((*before, *after), "--test-reporter-destination")
    if reporters == 0:
        return ("--test-reporter=spec", "--test-reporter-destination=stdout", *ours)
    if reporters == 1 and destinations == 0:
        to_stdout = "--test-reporter-destination=stdout"
        return (to_stdout, *ours) if _count(before, "--test-reporter") else (*ours, to_stdout)
    return ours


def _count(argv: tuple[str, ...], name: str) -> int:
    return sum(1 for word in argv if word == name or word.startswith(name + "="))


def insert(runner: KnownRunner, argv: tuple[str, ...], added: tuple[str, ...]) -> tuple[str, ...]:
    """The command with the reporter where it takes effect: last, so that it wins, but before `--`."""
    row = toolchains().runners[runner.name].row
    argv = (*argv[: runner.at], *without_options(argv[runner.at :], row.instead))
    if row.stream or row.collect:
        return (*keep_stream(insert_before_end(argv, added[1:], runner.at), added[0]),)
    if row.place == "start":  # what follows may be files, or arguments of the tests
        return (*argv[: runner.at], *added, *argv[runner.at :])
    return insert_before_end(argv, added, runner.at)


def without_options(words: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Without these options and their values: `--reporter spec`, `--reporter=spec`."""
    end = words.index("--") if "--" in words else len(words)
    left: list[str] = []
    at = 0
    while at < end:
        if words[at] in names:
            at += 2
            continue
        if not words[at].startswith(tuple(f"{name}=" for name in names)):
            left.append(words[at])
        at += 1
    return (*left, *words[end:])


def insert_before_end(argv: tuple[str, ...], added: tuple[str, ...], at: int = 0) -> tuple[str, ...]:
    end = argv.index("--", at) if "--" in argv[at:] else len(argv)
    return (*argv[:end], *added, *argv[end:])


def keep_stream(argv: tuple[str, ...], around: str = _KEEP_STREAM) -> tuple[str, ...]:
    return ("/bin/sh", "-c", around, "sh", *argv)
