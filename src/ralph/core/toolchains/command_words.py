"""The words by which commands are known: programs, verbs, names of scripts, deeds. Data only."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["test", "coverage", "types", "lint", "format", "build", "security", "docs"]
KINDS: tuple[Kind, ...] = ("test", "coverage", "types", "lint", "format", "build", "security", "docs")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _rows(text: str, kind: Kind) -> dict[str, Kind]:
    return dict.fromkeys(text.split(), kind)


# A program that is one kind of check, whatever its arguments are.
TOOLS: dict[str, Kind] = {
    **_rows("pytest py.test tox nox unittest jest vitest mocha ava tap tape jasmine karma rspec", "test"),
    **_rows("phpunit pest ctest behave stestr trial bats prove busted ginkgo gotestsum codecept", "test"),
    **_rows("nyc c8 pytest-cov", "coverage"),
    **_rows("mypy pyright basedpyright pyre pytype tsc vue-tsc flow phpstan psalm srb steep", "types"),
    **_rows("ty pyrefly svelte-check dialyzer tsd", "types"),
    **_rows("eslint flake8 pylint pycodestyle pydocstyle golint golangci-lint staticcheck revive", "lint"),
    **_rows("rubocop standardrb phpcs checkstyle solhint oxlint stylelint markdownlint shellcheck", "lint"),
    **_rows("xo jshint standard ktlint detekt clang-tidy cppcheck hadolint yamllint vulture", "lint"),
    **_rows("tslint markdownlint-cli2 cpplint credo swiftlint pre-commit", "lint"),
    **_rows("bandit semgrep pip-audit gitleaks trufflehog govulncheck safety osv-scanner gosec", "security"),
    **_rows("mkdocs sphinx-build zensical", "docs"),
    **_rows("cc c++ gcc g++ clang clang++ javac rustc", "build"),
    **_rows("ninja webpack rollup esbuild tsup parcel", "build"),
}
# Program and its first arguments. "!" = the words must also be there, else it writes instead of checking.
VERBS: tuple[tuple[str, str, Kind, str], ...] = (
    ("ruff", "check", "lint", ""),
    ("ruff", "format", "format", "--check --diff"),
    ("black", "", "format", "--check --diff"),
    ("isort", "", "format", "--check --check-only -c"),
    ("prettier", "", "format", "--check -c --list-different -l"),
    ("gofmt", "", "format", "-l -d"),
    ("gofumpt", "", "format", "-l -d"),
    ("goimports", "", "format", "-l -d"),
    ("rustfmt", "", "format", "--check"),
    ("php-cs-fixer", "", "format", "--dry-run check"),
    ("clang-format", "", "format", "--dry-run -n"),
    ("biome", "ci check lint", "lint", ""),
    ("biome", "format", "format", ""),
    ("node", "", "test", "--test"),
    ("coverage", "run report", "coverage", ""),
    ("manage.py", "test", "test", ""),
    ("cypress", "run", "test", ""),
    ("playwright", "test", "test", ""),
    ("go", "test", "test", ""),
    ("go", "vet", "types", ""),
    ("go", "build", "build", ""),
    ("cargo", "test nextest", "test", ""),
    ("cargo", "tarpaulin llvm-cov", "coverage", ""),
    ("cargo", "clippy", "lint", ""),
    ("cargo", "fmt", "format", "--check --all"),
    ("cargo", "check", "types", ""),
    ("cargo", "build", "build", ""),
    ("cargo", "audit deny", "security", ""),
    ("cargo", "doc", "docs", ""),
    ("mvn", "test verify surefire:test", "test", ""),
    ("mvn", "compile package install", "build", ""),
    ("mvn", "checkstyle:check spotbugs:check pmd:check", "lint", ""),
    ("mvn", "spotless:check", "format", ""),
    ("gradle", "test check", "test", ""),
    ("gradle", "build assemble compileJava", "build", ""),
    ("gradle", "lint checkstyleMain", "lint", ""),
    ("gradle", "spotlessCheck", "format", ""),
    ("sbt", "test", "test", ""),
    ("sbt", "compile", "build", ""),
    ("rake", "test spec", "test", ""),
    ("rails", "test", "test", ""),
    ("rake", "rubocop", "lint", ""),
    ("composer", "test", "test", ""),
    ("composer", "lint phpcs cs-check", "lint", ""),
    ("composer", "phpstan analyse", "types", ""),
    ("artisan", "test", "test", ""),
    ("dotnet", "test", "test", ""),
    ("dotnet", "build", "build", ""),
    ("dotnet", "format", "format", "--verify-no-changes"),
    ("mix", "test", "test", ""),
    ("mix", "credo", "lint", ""),
    ("mix", "format", "format", "--check-formatted"),
    ("mix", "dialyzer", "types", ""),
    ("mix", "compile", "build", ""),
    ("forge", "test", "test", ""),
    ("forge", "coverage", "coverage", ""),
    ("forge", "build", "build", ""),
    ("forge", "fmt", "format", "--check"),
    ("hardhat", "test", "test", ""),
    ("hardhat", "compile", "build", ""),
    ("hardhat", "coverage", "coverage", ""),
    ("truffle", "test", "test", ""),
    ("deno", "test", "test", ""),
    ("deno", "lint", "lint", ""),
    ("deno", "check", "types", ""),
    ("deno", "fmt", "format", "--check"),
    ("bun", "test", "test", ""),
    ("bun", "build", "build", ""),
    ("swift", "test", "test", ""),
    ("swift", "build", "build", ""),
    ("zig", "test", "test", ""),
    ("bazel", "test", "test", ""),
    ("bazel", "build", "build", ""),
    ("cmake", "", "build", "--build"),
    ("meson", "test", "test", ""),
    ("meson", "compile", "build", ""),
    ("next", "build", "build", ""),
    ("next", "lint", "lint", ""),
    ("vite", "build", "build", ""),
    ("nuxt", "build", "build", ""),
    ("ng", "test", "test", ""),
    ("ng", "lint", "lint", ""),
    ("ng", "build", "build", ""),
    ("npm", "audit", "security", ""),
    ("pnpm", "audit", "security", ""),
    ("yarn", "audit", "security", ""),
    ("python", "-m build", "build", ""),
    ("uv", "build", "build", ""),
    ("poetry", "build", "build", ""),
    ("turbo", "test", "test", ""),
    ("nx", "test", "test", ""),
)
# Names of scripts, make targets, CI steps. The first that fits decides; deeds come before checks.
NAMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"deploy|publish|release|upload|ship\b|push\b|provision|rollout"), "deploy"),
    (
        re.compile(
            r"^(?:start|serve|dev|watch|preview|run|up|storybook|docs:dev)(?:$|:)|[:_-](?:watch|ui|server|debug|inspect)$"
        ),
        "service",
    ),
    (re.compile(r"^(?:install|setup|bootstrap|init|prepare|postinstall|deps|clean|seed|migrate)\b"), "setup"),
    (
        re.compile(
            r"(?:^|[:_-])(?:fix|write|regen\w*|update|updates?-?snap\w*|snaps?|snapshots?|bless|accept|record|golden)"
            r"(?:$|[:_-])|^(?:format|fmt|prettier)$"
        ),
        "writes",
    ),
    (re.compile(r"(?:^|[:_-])(?:cov|coverage)(?:$|[:_-])"), "coverage"),
    (
        re.compile(
            r"(?:^|[:_-])(?:e2e|integration|smoke|bench|benchmarks?|perf|performance|speed|fuzz|stress|load|soak|nightly)(?:$|[:_-])"
        ),
        "slow",
    ),
    (
        re.compile(r"type-?s?-?check|check-?types|(?:^|[:_-])(?:types?|typing|tsc|mypy|pyright)(?:$|[:_-])"),
        "types",
    ),
    (
        re.compile(
            r"(?:fmt|format|prettier|style)[:_-]?(?:check|ci|verify)|check[:_-]?(?:fmt|format|style|prettier)"
        ),
        "format",
    ),
    (re.compile(r"(?:^|[:_-])(?:lint|eslint|ruff|clippy|rubocop|vet)(?:$|[:_-])"), "lint"),
    (
        re.compile(
            r"(?:^|[:_-])(?:tests?|unit|unittests?|specs?|check(?=$|[:_-](?:all|ci)$)|jest|vitest|pytest)(?:$|[:_-])"
        ),
        "test",
    ),
    (re.compile(r"(?:^|[:_-])(?:build|compile|dist|bundle|all)(?:$|[:_-])"), "build"),
    (re.compile(r"(?:^|[:_-])(?:audit|security|sec)(?:$|[:_-])"), "security"),
    (re.compile(r"(?:^|[:_-])docs?(?:$|[:_-])"), "docs"),
)
PACKAGERS = frozenset({"npm", "yarn", "pnpm", "bun"})
TASKERS = frozenset({"make", "gmake", "just", "task", "invoke", "inv", "composer", "ant", "mage", "rake"})
# Programs that also start a project's own code: what it does is not known, but for the verbs below.
RUNNERS = _set(
    "node deno go cargo dotnet mix manage.py artisan rails sbt gradle mvn bazel zig swift forge"
) | _set("composer nx turbo uv poetry python")
IDLE_VERBS = _set(
    "fmt fix format generate clean init new add install restore sync tidy list version help lock update fetch"
) | _set("env doc mod get --version --help -v -V")
LAUNCH = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye", "bundle", "mise", "asdf", "dotenvx"})
DIRECT = frozenset({"npx", "bunx", "pnpx", "uvx", "pipx", "xvfb-run", "time", "nice", "env", "cross-env"})
VALUED = _set(
    "-p --package --from --with --python --group --extra --project --directory -C -e --env "
    "--prefix --filter -w --workspace --cwd --dir -F --server-args --only-group --env-file"
)
SETUP = re.compile(
    r"^(?:(?:python[\d.]* -m )?pip[\d.]* install|uv (?:sync|pip|venv|lock|tool|python"
    r"|self)|poetry install|pdm install"
    r"|pipenv install|(?:npm|pnpm|yarn|bun) (?:ci|install|i|add)\b|(?:yarn|pnpm|bun)$|corepack|apt(?:-get)?\b"
    r"|brew\b|bundle install|gem install|composer install|composer update|cargo install"
    r"|rustup|go (?:mod|get|install)\b"
    r"|dotnet restore|mix deps|mix local|mkdir|cp\b|mv\b|chmod|export\b|source\b|\.\s"
    r"|git (?:clone|config|fetch"
    r"|submodule|checkout|pull)\b|python[\d.]* -m venv|virtualenv|nvm\b|pyenv\b"
    r"|pre-commit install|playwright install)"
)
FETCHES = re.compile(
    r"(?:python[\d.]* -m )?pip[\d.]* install|uv (?:sync|pip install)|poetry install"
    r"|(?:npm|pnpm|yarn|bun) (?:ci|install|i|add)\b|go (?:get|install|mod download)\b|cargo install"
    r"|bundle install|gem install|composer install|apt(?:-get)? |mix deps\.get|dotnet restore|rustup "
    r"|playwright install"
)
DEEDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"\b(?:npm|pnpm|yarn|cargo|poetry|flit|hatch|uv|pdm|gem|mix|vsce|lerna|changeset"
            r"|nuget) (?:\S+ )*?"
            r"(?:publish|unpublish|push|hex\.publish)\b|\btwine\b|\bsemantic-release\b|\bgoreleaser\b"
            r"|\bgh (?:release|pr|workflow)\b|\bdotnet (?:nuget )?publish\b|\bmvn (?:\S+ )*deploy\b"
        ),
        "it publishes",
    ),
    (
        re.compile(
            r"\b(?:kubectl|helm|terraform|tofu|pulumi|ansible(?:-playbook)?|serverless|sls"
            r"|wrangler|vercel|netlify|fly"
            r"|flyctl|heroku|firebase|gcloud|aws|az|cdk|sam|eb|cap|argocd|flux|doctl|skaffold|nomad)\b"
            r"|\bdocker(?:-compose)? (?:\S+ )*?(?:push|login|build|up|run|compose)\b|\bpodman\b|\bdeploy\b"
        ),
        "it deploys or drives containers",
    ),
    (re.compile(r"\bgit (?:\S+ )*?(?:push|commit|tag|reset|clean|checkout|rebase|merge)\b"), "it moves git"),
    (
        re.compile(
            r"\b(?:curl|wget|ssh|scp|rsync|sftp|ftp|nc|ncat|netcat|telnet|aria2c)\b(?!:)"
            r"|codecov|coveralls|\bcc-test-reporter\b|\bsonar-scanner\b"
        ),
        "it uses the network",
    ),
    (
        re.compile(
            r"\brm (?:-\w+ |--\S+ )+|\brmdir\b|\bshred\b|\bdd (?:if|of)=|\bmkfs"
            r"|\bfind\b.*\s-delete\b|\bunlink\b|\btruncate\b"
            r"|rimraf|\bdel /|:\(\)\s*\{|\bkillall\b|\bpkill\b|\bshutdown\b|\breboot\b|\bcrontab\b"
        ),
        "it deletes or stops things",
    ),
    (re.compile(r"\b(?:sudo|doas|su|chown|chroot|mount|systemctl|launchctl)\b"), "it asks for more rights"),
    (
        re.compile(
            r"\$\(|`|\beval\b|<\(|\bbase64\b|\bxxd\b|/dev/tcp|\|\s*(?:ba|z|da)?sh\b|\bnode -e\b"
            r"|\bpython[\d.]* -c\b"
        ),
        "it hides another command in itself",
    ),
)
# Of these deeds nobody can say what comes out: a check may be behind them.
VEILED = frozenset(
    {
        "it deploys or drives containers",
        "it uses the network",
        "it asks for more rights",
        "it hides another command in itself",
    }
)
