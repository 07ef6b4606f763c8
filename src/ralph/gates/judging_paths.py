"""Which paths are tests, which configure a runner, which belong to CI; and the globs users write.

By name only. What a runner itself said about its tests (`Reading.files`) goes before these rules.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ralph.core.toolchains.load import toolchains

_CODE = (
    r"(?:[cm]?[jt]sx?|py|pyi|go|rs|rb|exs?|c|cc|cpp|cxx|m|mm|dart|php|pl|pm|lua|sh|bash|zsh|java|kt|kts|cs|fs|vb"
    r"|scala|groovy|swift|clj[cs]?|jl|[rR]|hs|ml|nim|zig|erl|elm|d|v|sol|cr|hx|raku|f90|ps1|vue|svelte)"
)
_TEST = re.compile(
    rf"(?:^|/)(?:(?:test|spec|e2e)[_-][^/]*\.{_CODE}|[^/]*[_-](?:tests?|specs?|e2e|SUITE|tests_SUITE)\.{_CODE}"
    rf"|[^/]*\.(?:tests?|specs?|e2e|e2e-spec|test-d|cy|it)\.{_CODE}|[^/]*\.(?:snap|t|bats|feature|robot)"
    r"|[^/]*(?:Tests?|TestCase|Specs?|[a-z0-9]IT|ITCase)\.(?:java|kt|cs|fs|vb|scala|groovy|swift|php|m|mm|dart|hs)"
    rf"|runtests\.jl|(?:tests?|specs?)\.{_CODE})\Z"
    r"|(?:^|/)(?:tests|__tests__|__test__|__specs__|__snapshots__|__mocks__|test-d|testdata|testthat)/"
    r"|(?:^|/)src/(?:test|androidTest|integrationTest|testFixtures|it)/|(?:^|/)t/(?:lib/|data/)"
)
# Folders of tests at the top of a project or a package; below a folder of source they may be the product.
_FOLDER = re.compile(
    r"^(?:.*/)?(?:test|spec|e2e|cypress|playwright|features/(?:step_definitions|support)|test[_-]suite"
    rf"|(?:integration|unit|functional)[_-]tests?|specs(?=/.*\.{_CODE}\Z))/"
)
_TOP = re.compile(
    r"(?:(?:packages|apps|modules|projects|services|plugins)/[^/]+/)?(?:test|spec|e2e|[a-z]+[_-]tests?)/"
)
_SOURCE = re.compile(
    r"(?:^|/)(?:src|lib|libs|app|source|sources|include|pkg|internal|cmd|dist|build|vendor|node_modules)/"
)
# A command, a page or a model called "test" is the product, unless it holds tests.
_PRODUCT = re.compile(
    r"(?:^|/)(?:commands?|cmds?|cli|subcommands?|routes?|pages?|api|views?|models?|controllers?|components?"
    r"|handlers?|services?|plugins?|schemas?|entities|features/[^/]+)/[^/]*\Z"
)
_PLAIN = re.compile(rf"(?:tests?|specs?)\.{_CODE}\Z")
_CI = re.compile(
    r"^(?:\.github/(?:workflows|actions)/.*|\.gitlab-ci\.ya?ml|\.gitlab/(?!\w+_templates/).*|\.circleci/.*"
    r"|azure-pipelines\.ya?ml|\.azure-pipelines/.*"
    r"|(?:.*/)?Jenkinsfile|\.travis\.ya?ml|appveyor\.ya?ml|\.appveyor\.ya?ml|bitbucket-pipelines\.ya?ml"
    r"|\.buildkite/.*|\.drone\.ya?ml|\.woodpecker(?:\.ya?ml|/.*)|\.(?:gitea|forgejo)/(?:workflows|actions)/.*"
    r"|\.ci/.*|cloudbuild\.ya?ml|\.teamcity/.*)\Z"
)
_RALPH = re.compile(r"(?:^|/)ralph\.toml\Z")


def is_test(path: str) -> bool:
    """By its name alone. `test.js` among commands or pages, or `test` in the source, may be either."""
    if is_config(path) or maybe_product(path):
        return False
    return bool(_TEST.search(path)) or _test_folder(path)


def maybe_product(path: str) -> bool:
    """Its name says test, and its place says product: what it holds decides."""
    name = path.rsplit("/", 1)[-1]
    return bool(_PLAIN.match(name)) and bool(_PRODUCT.search(path))


def _test_folder(path: str) -> bool:
    match = _FOLDER.match(path)
    if match is None or _SOURCE.search(path[: match.end()]):
        return False
    # A Python package may have a part called "test" that it ships: django/test/client.py.
    return not path.endswith(".py") or bool(_TOP.match(path))


def is_config(path: str) -> bool:
    return bool(toolchains().paths.configs.search(path))


def is_hijack(path: str) -> bool:
    """Found by an interpreter or a runner without being asked for: it can change every verdict."""
    return bool(toolchains().paths.hijacks.search(path))


def is_ci(path: str) -> bool:
    return bool(_CI.match(path))


def is_ralph(path: str) -> bool:
    return bool(_RALPH.search(path))


def matches(path: str, pattern: str) -> bool:
    """Globs as in .gitignore: ** crosses folders, a pattern without a slash matches at any depth."""
    return bool(_glob(pattern).match(path))


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    body = pattern.strip().removeprefix("./")
    anchored = "/" in body.rstrip("/")
    body = body.removeprefix("/")
    if body.endswith("/"):
        body += "**"
    out = "" if anchored else "(?:.*/)?"
    index = 0
    while index < len(body):
        if body.startswith("**/", index):
            out += "(?:.*/)?"
            index += 3
        elif body.startswith("**", index):
            out += ".*"
            index += 2
        else:
            char = body[index]
            out += "[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char)
            index += 1
    return re.compile(f"{out}(?:/.*)?\\Z")
