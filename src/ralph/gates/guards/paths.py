"""Which paths are tests, which configure a runner, which belong to CI; and the globs users write.

By name only. What a runner itself said about its tests (`Reading.files`) goes before these rules.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TEST = re.compile(
    r"(?:^|/)(?:test_[^/]*\.py|[^/]*_test\.(?:py|go|rb|exs|cc|cpp|dart)|[^/]*_spec\.rb|[^/]*\.(?:test|spec)\.[cm]?[jt]sx?"
    r"|[^/]*\.snap|[^/]*Tests?\.(?:java|kt|cs|scala|swift))\Z"
    r"|(?:^|/)(?:tests|__tests__|__snapshots__|__mocks__|testdata)/"
    r"|^(?:test|spec|e2e|cypress)/|(?:^|/)src/(?:test|androidTest)/"
)
_CONFIG = re.compile(
    r"(?:^|/)(?:pytest\.ini|\.pytest\.ini|pytest\.toml|\.pytest\.toml|conftest\.py|tox\.ini|setup\.cfg|pyproject\.toml"
    r"|\.coveragerc|\.coveragerc\.toml|\.?mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc|pylintrc|\.pylintrc\.toml"
    r"|pyrightconfig\.json|noxfile\.py|package\.json"
    r"|(?:jest|vitest|vite|mocha|ava|karma|playwright|cypress|babel|eslint|wdio|nyc)\.config\.[cm]?[jt]sx?"
    r"|(?:jest|vitest)\.config\.json|(?:jest|vitest)\.setup\.[cm]?[jt]sx?|vitest\.workspace\.[cm]?[jt]s"
    r"|\.mocharc(?:\.[a-z]+)?|\.nycrc(?:\.[a-z]+)?|\.c8rc(?:\.json)?|\.taprc|\.eslintrc(?:\.[a-z]+)?|\.eslintignore"
    r"|biome\.jsonc?|tsconfig[^/]*\.json|\.npmrc|\.babelrc(?:\.[a-z]+)?|\.swcrc"
    r"|\.golangci\.(?:ya?ml|toml|json)|clippy\.toml|\.clippy\.toml|\.rspec|phpunit\.xml(?:\.dist)?)\Z"
)
# Found by an interpreter or a runner without being asked for: they can change every verdict.
_HIJACK = re.compile(
    r"(?:^|/)(?:sitecustomize\.py|usercustomize\.py|[^/]*\.(?:egg-info|dist-info)/entry_points\.txt|[^/]*\.py[co])\Z"
    r"|^(?:[^/]+/)?(?:_?pytest(?:\.py\Z|/)|unittest(?:\.py\Z|/__init__\.py\Z))"
)
_CI = re.compile(
    r"^(?:\.github/.*|\.gitlab-ci\.ya?ml|\.gitlab/.*|\.circleci/.*|azure-pipelines\.ya?ml|\.azure-pipelines/.*"
    r"|(?:.*/)?Jenkinsfile|\.travis\.ya?ml|appveyor\.ya?ml|\.appveyor\.ya?ml|bitbucket-pipelines\.ya?ml"
    r"|\.buildkite/.*|\.drone\.ya?ml|\.woodpecker(?:\.ya?ml|/.*)|\.gitea/.*|\.forgejo/.*|\.ci/.*"
    r"|\.pre-commit-config\.ya?ml|cloudbuild\.ya?ml|\.teamcity/.*)\Z"
)
_RALPH = re.compile(r"(?:^|/)ralph\.toml\Z")


def is_test(path: str) -> bool:
    return bool(_TEST.search(path)) and not is_config(path)


def is_config(path: str) -> bool:
    return bool(_CONFIG.search(path))


def is_hijack(path: str) -> bool:
    return bool(_HIJACK.search(path))


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
