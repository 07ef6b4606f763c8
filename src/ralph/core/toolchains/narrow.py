"""How much of a suite a test command executes, by its words: all of it, a part, or one example of it. Pure.

Documents show how to execute a single test; CI has jobs for one package or one browser. What proves a task is
the command that executes most, so these rank behind it.
"""

from __future__ import annotations

import re

from ralph.core.toolchains.load import toolchains
from ralph.core.toolchains.split_command import environments, skip_options, split, strip_launchers

WHOLE, PART, EXAMPLE = 0, 1, 2
_FILE = re.compile(
    r"::|\.\w{1,4}:\d+$|(?:^|/)path/to/"
    r"|^(?!.*\*)[\w./@-]+\.(?:py|[cm]?[jt]sx?|rb|php|exs|go|bats|sol|feature|t|java|kt)$"
)
_SCRIPT = re.compile(
    r"^(?:(?:run-?)?(?:tests?|check|ci|spec|specs|unittests?)(?:[:_-](?:all|ci|run|full|node|js|py))*"
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
    known = toolchains()
    tool = known.tools.get(known.name_of(name))
    own = tool is not None and (tool.kind == "test" or tool.words_choose)
    return own or name in known.packagers or name in known.taskers or bool(_FILE_OF_TESTS.search(name))


def _of_words(words: list[str]) -> int:
    inner = strip_launchers(words)
    name, rest = inner[0].rsplit("/", 1)[-1], inner[1:]
    known = toolchains()
    if name in known.packagers or name in known.taskers:
        return _of_script(rest)
    if _FILE_OF_TESTS.search(name):
        return WHOLE if _names_suite(_FILE_OF_TESTS.sub("", name)) else PART
    if name in ("tox", "nox"):
        return WHOLE if all(_ENVIRONMENT.fullmatch(one) for one in environments(name, rest)) else PART
    if any(
        re.match(r"-Dtest=|-Dit\.test=|-run=|--(?:filter|grep|tests|testNamePattern)=", word) for word in rest
    ):
        return EXAMPLE
    options = {word.split("=", 1)[0] for word in rest}
    if known.options["selects"] & options or any(_FILE.search(word) for word in rest):
        return WHOLE if name == "node" and "--test" not in rest else EXAMPLE
    if name == "go" and rest[:1] == ["test"]:
        return WHOLE if any(word in ("./...", "...", "all") for word in rest) else PART
    plain = skip_options(rest)
    deep = [
        word for word in plain if "/" in word.strip("./") and "*" not in word and not word.startswith("-")
    ]
    other = bool(known.options["parts"] & options) or "hack" in plain[:1]
    return PART if deep or other else WHOLE


def _names_suite(script: str) -> bool:
    return bool(_SCRIPT.match(script.lower())) or script.lower() in toolchains().test_words


def _of_script(rest: list[str]) -> int:
    words = skip_options(rest)
    if words[:1] in (["run"], ["run-script"], ["workspace"]):
        words = skip_options(words[1 if words[0] != "workspace" else 2 :])
    script = words[0] if words else "test"
    after = [word for word in words[1:] if word != "--"]
    chosen = toolchains().options["selects"] & {word.split("=", 1)[0] for word in after}
    if chosen or any(_FILE.search(word) for word in after):
        return EXAMPLE
    return WHOLE if _names_suite(script) else PART
