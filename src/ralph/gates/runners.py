"""Which test runner or linter does an argv start, and where do Ralph's reporter arguments go.

Launchers (`uv run`, `npx`, `python -m`, `coverage run -m`, …) are seen through. Only argv is looked
at: configuration may add arguments of its own, and the readers fail closed when it does.
"""

from __future__ import annotations

import re

from msgspec import Struct

from ralph.gates.command import word_set
from ralph.gates.more_runners import insert_other, other_reporter, recognise_other

_PYTHON = re.compile(r"(?:python|pypy)(?:\d+(?:\.\d+)*)?t?(?:\.exe)?\Z")
_PYTHON_VALUED = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_LAUNCHERS: dict[str, frozenset[str]] = {  # launchers with a "run" word, and their options that take a value
    "uv": word_set(
        "--with --with-editable --with-requirements -p --python --group --only-group --no-group --extra "
        "--no-extra --project --directory --env-file --index --default-index --package --cache-dir "
        "--config-file -i -f --find-links --index-strategy --color -P --upgrade-package"
    ),
    "poetry": frozenset({"-C", "--directory", "-P", "--project"}),
    "pdm": frozenset({"-p", "--project", "--venv"}),
    "hatch": frozenset({"-e", "--env", "-p", "--project"}),
    "pipenv": frozenset(),
    "rye": frozenset({"--pyproject"}),
}
_NODE_VALUED = word_set(
    "-r --require --import --loader --experimental-loader -C --conditions --env-file --test-name-pattern "
    "--test-reporter --test-reporter-destination --test-concurrency --test-timeout "
    "--test-skip-pattern"
)
_RUFF_OTHER = word_set(
    "-o --output-file --fix --fix-only --diff -w --watch --statistics --show-files --show-settings "
    "--add-noqa --add-ignore -h --help -V --version"
)
_JS_RUNNERS = word_set("node npx mocha ts-mocha ava tap tape uvu jest vitest cross-env")
_TOOLS = {"pytest": "pytest", "py.test": "pytest", "mypy": "mypy", "ruff": "ruff"}


class KnownRunner(Struct, frozen=True):
    name: str  # pytest, unittest, doctest, node, ruff, mypy, or one of `more_runners`
    at: int  # index of the first argument after the runner's own word


def base_name(word: str) -> str:
    return word.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe").removesuffix(".cmd")


def is_python(word: str) -> bool:
    return bool(_PYTHON.match(base_name(word)))


def skip_launchers(argv: tuple[str, ...]) -> int:
    """Index of the word that is really executed, behind `uv run`, `npx`, `env A=1` and the like."""
    at = 0
    while at < len(argv):
        name = base_name(argv[at])
        if name in _LAUNCHERS and "run" in argv[at + 1 :]:
            after = _skip_options(argv, at + 1, _LAUNCHERS[name])
            if after >= len(argv) or argv[after] != "run":
                return at
            at = _skip_options(argv, after + 1, _LAUNCHERS[name])
        elif name in ("npx", "bunx", "pnpx", "uvx"):
            at = _skip_options(argv, at + 1, frozenset({"-p", "--package", "--from", "--with", "--python"}))
        elif name in ("c8", "nyc") and (inner := _measured_runner(argv, at + 1)):
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
    known = (i for i in range(at, len(argv)) if base_name(argv[i]) in _JS_RUNNERS)
    return next(known, 0)


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
    if name == "-m":  # uv run -m pytest
        return _module(argv, at + 1) if at + 1 < len(argv) else None
    if is_python(name):
        return _module(argv, _module_word(argv, at + 1))
    if name == "coverage":
        return _coverage(argv, at + 1)
    if name == "node":
        return _node(argv, at + 1)
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
    if argv[at] == "unittest":
        return KnownRunner("unittest", at + 1)
    if argv[at] == "doctest":
        return KnownRunner("doctest", at + 1)
    if argv[at] == "coverage":
        return _coverage(argv, at + 1)
    return _tool(argv[at], argv, at + 1)


def _coverage(argv: tuple[str, ...], at: int) -> KnownRunner | None:
    if argv[at : at + 1] != ("run",):
        return None
    valued = frozenset(
        {"--source", "--omit", "--include", "--rcfile", "--data-file", "--context", "--concurrency"}
    )
    at += 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] in ("-m", "--module"):
            return _module(argv, at + 1) if at + 1 < len(argv) else None
        at += 2 if argv[at] in valued else 1
    return None


def _tool(name: str, argv: tuple[str, ...], at: int) -> KnownRunner | None:
    tool = _TOOLS.get(name)
    if tool == "ruff":
        rest = argv[at:]
        if not rest or rest[0] != "check":
            return None
        flags = {word.split("=", 1)[0] for word in rest[1:] if word.startswith("-")}
        chosen = _option(rest, "--output-format")
        if flags & _RUFF_OTHER or chosen not in (None, "json"):
            return None
        return KnownRunner("ruff", at + 1)
    if tool == "mypy" and any(
        word in ("-O", "--output") or word.startswith("--output=") for word in argv[at:]
    ):
        return None
    if tool:
        return KnownRunner(tool, at)
    other = recognise_other(name, argv, at)
    return KnownRunner(*other) if other else None


def _node(argv: tuple[str, ...], at: int) -> KnownRunner | None:
    while at < len(argv):
        word = argv[at]
        if word == "--test":
            return KnownRunner("node", at + 1)
        if not word.startswith("-") or word == "--":
            return None  # a script: what follows are its own arguments
        at += 2 if word in _NODE_VALUED else 1
    return None


def _option(argv: tuple[str, ...], name: str) -> str | None:
    for index, word in enumerate(argv):
        if word == name:
            return argv[index + 1] if index + 1 < len(argv) else ""
        if word.startswith(name + "="):
            return word[len(name) + 1 :]
    return None


def reporter(runner: KnownRunner, argv: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that make this runner tell what it did, test by test or finding by finding."""
    rest = argv[runner.at :]
    if runner.name == "pytest":
        # xunit1 carries file and line. The cache is moved out of the judged tree rather than switched
        # off: without the plugin, `--ff` in addopts or `cache_dir` in a strict config are errors.
        return ("--junitxml={report}", "-o", "junit_family=xunit1", "-o", "cache_dir={report}.cache")
    if runner.name in ("unittest", "doctest"):
        return () if {"-v", "--verbose"} & set(rest) else ("-v",)
    if runner.name == "ruff":
        form = () if _option(rest, "--output-format") else ("--output-format=json",)
        return (*form, "--output-file={report}")
    if runner.name == "mypy":
        return (
            "--show-column-numbers",
            "--show-error-codes",
            "--no-pretty",
            "--no-color-output",
            "--error-summary",
        )
    if runner.name == "node":
        return _node_reporter(argv[: runner.at], rest)
    return other_reporter(runner.name, rest)


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
    at = runner.at
    other = insert_other(runner.name, argv, at, added)
    if other is not None:
        return other
    if runner.name not in ("node", "doctest"):  # doctest takes what follows the first file for files
        rest = argv[runner.at :]
        at += rest.index("--") if "--" in rest else len(rest)
    return (*argv[:at], *added, *argv[at:])
