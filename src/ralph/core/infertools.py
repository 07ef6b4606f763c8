"""The usual checks of each language: one row a tool, the better one first. Data only.

A row counts when one of its `signs` was seen in the package: `dep:` a dependency, `table:` a table of its
manifest, `file:` a file in its folder, `import:` a word in its tests, `*` always. `level` is where
`ralph init` puts it. Rows with `network` cannot do without it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.infercommand import Kind

Level = Literal["minimal", "default", "full", "security"]
LEVELS: tuple[Level, ...] = ("minimal", "default", "full", "security")
LEVEL_OF: dict[str, Level] = {
    "lint": "minimal",
    "format": "default",
    "types": "default",
    "build": "full",
    "test": "full",
    "coverage": "full",
    "security": "security",
    "docs": "full",
}


class Row(Struct, frozen=True):
    kind: Kind
    tool: str
    run: str
    signs: str
    install: str = ""
    network: bool = False
    note: str = ""


class Language(Struct, frozen=True):
    name: str
    marks: tuple[str, ...]  # names of files that make a folder a package of this language
    rows: tuple[Row, ...]
    tests: str  # pattern of file paths that are tests
    lockfiles: tuple[tuple[str, str], ...] = ()  # (lockfile, command that installs from it)
    cache: str = ""  # folder of dependencies inside the repository


def _pip(name: str) -> str:
    return f"python -m pip install {name}"


def _npm(name: str) -> str:
    return f"npm install --save-dev {name}"


_NODE_ROWS = (
    Row("test", "vitest", "npx vitest run", "dep:vitest", _npm("vitest")),
    Row("test", "jest", "npx jest", "dep:jest dep:ts-jest table:jest file:jest.config.js", _npm("jest")),
    Row("test", "mocha", "npx mocha", "dep:mocha", _npm("mocha")),
    Row("test", "ava", "npx ava", "dep:ava", _npm("ava")),
    Row("test", "node", "node --test", "import:node:test"),
    Row("types", "tsc", "npx tsc --noEmit", "dep:typescript file:tsconfig.json", _npm("typescript")),
    Row("lint", "biome", "npx biome lint .", "dep:@biomejs/biome file:biome.json", _npm("@biomejs/biome")),
    Row("lint", "oxlint", "npx oxlint", "dep:oxlint file:.oxlintrc.json", _npm("oxlint")),
    Row(
        "lint",
        "eslint",
        "npx eslint .",
        "dep:eslint file:eslint.config.js file:eslint.config.mjs file:.eslintrc.json file:.eslintrc.js "
        "file:.eslintrc.cjs file:.eslintrc.yml file:eslint.config.ts",
        _npm("eslint"),
    ),
    Row("format", "biome", "npx biome format .", "dep:@biomejs/biome file:biome.json"),
    Row("format", "prettier", "npx prettier --check .", "dep:prettier file:.prettierrc", _npm("prettier")),
    Row("coverage", "vitest", "npx vitest run --coverage", "dep:@vitest/coverage-v8"),
    Row("coverage", "c8", "npx c8 --check-coverage npm test", "dep:c8"),
    Row(
        "security",
        "npm audit",
        "npm audit --audit-level=high",
        "file:package-lock.json",
        network=True,
        note="asks the registry",
    ),
)

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "Pipfile"),
        (
            Row(
                "test",
                "pytest",
                "pytest",
                "dep:pytest table:tool.pytest file:pytest.ini file:conftest.py import:pytest dep:pytest-cov",
                _pip("pytest"),
            ),
            Row("test", "unittest", "python3 -m unittest", "import:unittest"),
            Row("lint", "ruff", "ruff check .", "dep:ruff table:tool.ruff file:ruff.toml", _pip("ruff")),
            Row("lint", "flake8", "flake8", "dep:flake8 file:.flake8 table:flake8", _pip("flake8")),
            Row("lint", "pylint", "pylint .", "dep:pylint file:.pylintrc table:tool.pylint", _pip("pylint")),
            Row(
                "format",
                "ruff",
                "ruff format --check .",
                "table:tool.ruff.format table:tool.ruff dep:ruff file:ruff.toml",
                _pip("ruff"),
            ),
            Row("format", "black", "black --check .", "dep:black table:tool.black", _pip("black")),
            Row("types", "mypy", "mypy .", "dep:mypy table:tool.mypy file:mypy.ini table:mypy", _pip("mypy")),
            Row(
                "types",
                "pyright",
                "pyright",
                "dep:pyright table:tool.pyright file:pyrightconfig.json",
                _pip("pyright"),
            ),
            Row(
                "coverage",
                "pytest",
                "pytest --cov --cov-report=json:{report}",
                "dep:pytest-cov",
                _pip("pytest-cov"),
            ),
            Row("build", "compileall", "python3 -m compileall -q .", "*"),
            Row("security", "bandit", "bandit -q -r .", "dep:bandit table:tool.bandit", _pip("bandit")),
            Row("security", "pip-audit", "pip-audit", "dep:pip-audit", _pip("pip-audit"), network=True),
        ),
        r"(?:^|/)(?:test_[^/]+|[^/]+_test)\.py$",
        (
            ("uv.lock", "uv sync --frozen"),
            ("poetry.lock", "poetry install --no-interaction"),
            ("pdm.lock", "pdm sync"),
            ("Pipfile.lock", "pipenv sync --dev"),
        ),
        ".venv",
    ),
    Language(
        "node",
        ("package.json",),
        _NODE_ROWS,
        r"(?:\.|/)(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)(?:__tests__|tests?)/[^/]+\.[cm]?[jt]sx?$",
        (
            ("package-lock.json", "npm ci"),
            ("npm-shrinkwrap.json", "npm ci"),
            ("pnpm-lock.yaml", "pnpm install --frozen-lockfile"),
            ("yarn.lock", "yarn install --frozen-lockfile"),
            ("bun.lock", "bun install --frozen-lockfile"),
        ),
        "node_modules",
    ),
    Language(
        "rust",
        ("Cargo.toml",),
        (
            Row("test", "cargo test", "cargo test", "*", "apt install cargo"),
            Row(
                "lint",
                "cargo lint",
                "cargo clippy --all-targets -- -D warnings",
                "*",
                "rustup component add clippy",
            ),
            Row("format", "cargo format", "cargo fmt --check", "*", "rustup component add rustfmt"),
            Row("types", "cargo types", "cargo check --all-targets", "*", "apt install cargo"),
            Row("build", "cargo build", "cargo build", "*", "apt install cargo"),
            Row(
                "security",
                "cargo security",
                "cargo audit",
                "file:Cargo.lock",
                "cargo install cargo-audit",
                network=True,
                note="fetches the advisory database",
            ),
        ),
        r"(?:^|/)tests/[^/]+\.rs$|(?:^|/)src/[^/]*test[^/]*\.rs$",
        (("Cargo.lock", "cargo fetch --locked"),),
    ),
    Language(
        "go",
        ("go.mod",),
        (
            Row("test", "go test", "go test ./...", "*", "apt install golang"),
            Row(
                "lint",
                "golangci-lint",
                "golangci-lint run",
                "file:.golangci.yml file:.golangci.yaml file:.golangci.toml",
                "go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest",
            ),
            Row("lint", "go types", "go vet ./...", "*", "apt install golang"),
            Row("format", "gofmt", 'test -z "$(gofmt -l .)"', "*", "apt install golang"),
            Row("types", "go types", "go vet ./...", "*", "apt install golang"),
            Row("build", "go build", "go build ./...", "*", "apt install golang"),
            Row(
                "security",
                "govulncheck",
                "govulncheck ./...",
                "*",
                "go install golang.org/x/vuln/cmd/govulncheck@latest",
                network=True,
                note="asks the vulnerability database",
            ),
        ),
        r"_test\.go$",
        (("go.sum", "go mod download"),),
    ),
    Language(
        "java-maven",
        ("pom.xml",),
        (
            Row("test", "mvn", "mvn -B -o test", "*", "apt install maven"),
            Row("build", "mvn", "mvn -B -o -DskipTests package", "*", "apt install maven"),
            Row("lint", "mvn", "mvn -B -o checkstyle:check", "dep:maven-checkstyle-plugin"),
            Row("format", "mvn", "mvn -B -o spotless:check", "dep:spotless-maven-plugin"),
        ),
        r"(?:^|/)src/test/.*\.(?:java|kt|groovy|scala)$",
    ),
    Language(
        "java-gradle",
        ("build.gradle", "build.gradle.kts"),
        (
            Row("test", "gradle", "./gradlew --offline test", "file:gradlew"),
            Row("test", "gradle", "gradle --offline test", "*", "apt install gradle"),
            Row("build", "gradle", "./gradlew --offline assemble", "file:gradlew"),
            Row("build", "gradle", "gradle --offline assemble", "*", "apt install gradle"),
            Row("lint", "gradle", "./gradlew --offline checkstyleMain", "dep:checkstyle"),
            Row("format", "gradle", "./gradlew --offline spotlessCheck", "dep:spotless"),
        ),
        r"(?:^|/)src/test/.*\.(?:java|kt|groovy|scala)$",
    ),
    Language(
        "ruby",
        ("Gemfile",),
        (
            Row(
                "test",
                "rspec",
                "bundle exec rspec",
                "dep:rspec dep:rspec-rails file:.rspec",
                "gem install rspec",
            ),
            Row("test", "rake", "bundle exec rake test", "dep:minitest dep:rake"),
            Row(
                "lint",
                "rubocop",
                "bundle exec rubocop",
                "dep:rubocop file:.rubocop.yml",
                "gem install rubocop",
            ),
            Row("types", "srb", "bundle exec srb tc", "dep:sorbet"),
            Row("security", "bundle audit", "bundle exec bundle-audit check", "dep:bundler-audit"),
        ),
        r"_(?:spec|test)\.rb$|(?:^|/)test_[^/]+\.rb$",
        (("Gemfile.lock", "bundle install --frozen"),),
    ),
    Language(
        "php",
        ("composer.json",),
        (
            Row("test", "pest", "vendor/bin/pest", "dep:pestphp/pest"),
            Row("test", "phpunit", "vendor/bin/phpunit", "dep:phpunit/phpunit file:phpunit.xml.dist"),
            Row("lint", "phpcs", "vendor/bin/phpcs", "dep:squizlabs/php_codesniffer"),
            Row(
                "format",
                "php-cs-fixer",
                "vendor/bin/php-cs-fixer fix --dry-run",
                "dep:friendsofphp/php-cs-fixer",
            ),
            Row("types", "phpstan", "vendor/bin/phpstan analyse", "dep:phpstan/phpstan file:phpstan.neon"),
            Row("types", "psalm", "vendor/bin/psalm", "dep:vimeo/psalm"),
        ),
        r"Test\.php$",
        (("composer.lock", "composer install"),),
        "vendor",
    ),
    Language(
        "dotnet",
        ("*.sln", "*.slnx", "*.csproj", "*.fsproj"),
        (
            Row("test", "dotnet", "dotnet test --no-restore", "*", "apt install dotnet-sdk-8.0"),
            Row("build", "dotnet", "dotnet build --no-restore", "*", "apt install dotnet-sdk-8.0"),
            Row("format", "dotnet", "dotnet format --verify-no-changes --no-restore", "*"),
        ),
        r"Tests?\.(?:cs|fs)$",
    ),
    Language(
        "cmake",
        ("CMakeLists.txt",),
        (
            Row(
                "test",
                "ctest",
                "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
                "word:enable_testing word:add_test word:gtest_discover_tests",
                "apt install cmake",
            ),
            Row("build", "cmake", "cmake -S . -B build && cmake --build build", "*", "apt install cmake"),
        ),
        r"(?:^|/)tests?/[^/]+\.(?:c|cc|cpp|cxx)$|_test\.(?:c|cc|cpp)$",
    ),
    Language(
        "elixir",
        ("mix.exs",),
        (
            Row("test", "mix", "mix test", "*", "apt install elixir"),
            Row("lint", "mix", "mix credo", "dep:credo"),
            Row("format", "mix", "mix format --check-formatted", "*", "apt install elixir"),
            Row("types", "mix", "mix dialyzer", "dep:dialyxir"),
            Row("build", "mix", "mix compile --warnings-as-errors", "*", "apt install elixir"),
        ),
        r"_test\.exs$",
        (("mix.lock", "mix deps.get"),),
        "deps",
    ),
    Language(
        "solidity",
        ("foundry.toml", "hardhat.config.js", "hardhat.config.ts"),
        (
            Row("test", "forge", "forge test --offline", "file:foundry.toml"),
            Row("test", "hardhat", "npx hardhat test", "file:hardhat.config.js file:hardhat.config.ts"),
            Row("lint", "solhint", "npx solhint 'contracts/**/*.sol'", "file:.solhint.json"),
            Row("format", "forge", "forge fmt --check", "file:foundry.toml"),
            Row("build", "forge", "forge build --offline", "file:foundry.toml"),
            Row("build", "hardhat", "npx hardhat compile", "file:hardhat.config.js file:hardhat.config.ts"),
        ),
        r"\.t\.sol$|(?:^|/)test/[^/]+\.(?:js|ts)$",
    ),
)
# For every repository, whatever its language.
COMMON: tuple[Row, ...] = (
    Row(
        "security",
        "gitleaks",
        "gitleaks dir . --no-banner",
        "*",
        "https://github.com/gitleaks/gitleaks/releases",
    ),
    Row(
        "security",
        "semgrep",
        "semgrep scan --error --metrics=off --config .semgrep.yml",
        "file:.semgrep.yml",
        _pip("semgrep"),
        note="with the rules of this repository, so that no network is needed",
    ),
    Row(
        "security",
        "semgrep",
        "semgrep scan --error --metrics=off --config auto",
        "*",
        _pip("semgrep"),
        network=True,
        note="fetches its rules",
    ),
)
BY_NAME: dict[str, Language] = {language.name: language for language in LANGUAGES}
