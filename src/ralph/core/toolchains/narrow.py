"""How much of a suite a test command executes, by its words: all of it, a part, or one example of it. Pure.

Documents show how to execute a single test; CI has jobs for one package or one browser. What proves a task is
the command that executes most, so these rank behind it.
"""

from __future__ import annotations

import re

from ralph.core.toolchains.command_words import PACKAGERS, TASKERS, TOOLS
from ralph.core.toolchains.split_command import skip_options, split, strip_launchers


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


WHOLE, PART, EXAMPLE = 0, 1, 2
_SELECTS = _set(
    "-k -t -g --grep --fgrep -run --run --testNamePattern --test-name-pattern --filter --tests --only --test "
    "--match-test --match-contract --match-path --mt --mc --mp --findRelatedTests --onlyChanged "
    "--changedSince --lastCommit --changed --lf --last-failed --stale --testPathPattern --testPathPatterns "
    "--spec --example --testcase --group --tags --runTestsByPath --related --affected --last --only-failures"
)
_PARTS = _set(
    "-m -p --package --lib --bins --bin --doc --examples --exclude --features --no-default-features "
    "--project --exclude-group --testsuite --testsuites --category --label-regex -L -R --tests-regex "
    "--short -short --affected-only --projects --selectProjects --env -pl --target"
)
_FILE = re.compile(
    r"::|\.\w{1,4}:\d+$|(?:^|/)path/to/"
    r"|^(?!.*\*)[\w./@-]+\.(?:py|[cm]?[jt]sx?|rb|php|exs|go|bats|sol|feature|t|java|kt)$"
)
_SCRIPT = re.compile(
    r"^(?:(?:run-?)?(?:tests?|check|ci|spec|specs|unittests?|pytest)(?:[:_-](?:all|ci|run|full|node|js|py))*"
    r"|all[:_-]?(?:tests?|specs?|checks?)|(?:js|py|node)[:_-]?tests?)$"
)
_ENVIRONMENT = re.compile(r"(?:py|pypy|cpython)?[\d.]*(?:-\w*)?|tests?(?:[-_(].*)?|ALL", re.IGNORECASE)
_FILE_OF_TESTS = re.compile(r"\.(?:sh|bash|py|rb|pl|js|mjs)$")


def narrowness(run: str) -> int:
    """WHOLE, PART or EXAMPLE: the widest of what is executed."""
    commands = split(run)
    named = {words[0] for words in commands}
    if "ctest" in named and named <= {"ctest", "cd", "pushd"} and "--build-and-test" not in run:
        return EXAMPLE  # it judges a build that nobody made in a fresh checkout
    found = [_of_words(words) for words in commands if _is_test(words)]
    return min(found, default=WHOLE)


def _is_test(words: list[str]) -> bool:
    inner = strip_launchers(words)
    name = inner[0].rsplit("/", 1)[-1] if inner else ""
    own = TOOLS.get(name) == "test" or name in PACKAGERS or name in TASKERS or _FILE_OF_TESTS.search(name)
    return bool(own) or name in (
        "go",
        "cargo",
        "mvn",
        "mvnw",
        "gradle",
        "gradlew",
        "node",
        "dotnet",
        "mix",
        "forge",
        "artisan",
    )


def _of_words(words: list[str]) -> int:
    inner = strip_launchers(words)
    name, rest = inner[0].rsplit("/", 1)[-1], inner[1:]
    if name in PACKAGERS or name in TASKERS:
        return _of_script(rest)
    if _FILE_OF_TESTS.search(name):
        return WHOLE if _SCRIPT.match(_FILE_OF_TESTS.sub("", name).lower()) else PART
    if name in ("tox", "nox"):
        chosen = [
            rest[at + 1]
            for at, word in enumerate(rest[:-1])
            if word in ("-e", "-s", "--session", "--sessions")
        ]
        return WHOLE if all(_ENVIRONMENT.fullmatch(one) for one in chosen) else PART
    if any(
        re.match(r"-Dtest=|-Dit\.test=|-run=|--(?:filter|grep|tests|testNamePattern)=", word) for word in rest
    ):
        return EXAMPLE
    if _SELECTS & {word.split("=", 1)[0] for word in rest} or any(_FILE.search(word) for word in rest):
        return WHOLE if name == "node" and "--test" not in rest else EXAMPLE
    if name == "go" and rest[:1] == ["test"]:
        return WHOLE if any(word in ("./...", "...", "all") for word in rest) else PART
    plain = skip_options(rest)
    deep = [
        word for word in plain if "/" in word.strip("./") and "*" not in word and not word.startswith("-")
    ]
    other = bool(_PARTS & {word.split("=", 1)[0] for word in rest}) or "hack" in plain[:1]
    return PART if deep or other else WHOLE


def _of_script(rest: list[str]) -> int:
    words = skip_options(rest)
    if words[:1] in (["run"], ["run-script"], ["workspace"]):
        words = skip_options(words[1 if words[0] != "workspace" else 2 :])
    script = words[0] if words else "test"
    after = [word for word in words[1:] if word != "--"]
    if any(_FILE.search(word) for word in after) or _SELECTS & {word.split("=", 1)[0] for word in after}:
        return EXAMPLE
    return WHOLE if _SCRIPT.match(script.lower()) else PART
