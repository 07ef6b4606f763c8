"""The usual checks of each language: one row a tool, the better one first. Data only.

A row counts when one of its `signs` was seen in the package: `dep:` a dependency, `table:` a table of its
manifest, `file:` a file in its folder, `import:` a word in its tests, `*` always. `level` is where
`ralph init` puts it. Rows with `network` cannot do without it.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ralph.core.toolchains.classify_command import Kind

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


class UsualCheck(Struct, frozen=True):
    kind: Kind
    tool: str
    run: str
    signs: str
    network: bool = False
    note: str = ""


class Language(Struct, frozen=True):
    name: str
    marks: tuple[str, ...]  # names of files that make a folder a package of this language
    rows: tuple[UsualCheck, ...]
    tests: str  # pattern of file paths that are tests
    lockfiles: tuple[tuple[str, str], ...] = ()  # (lockfile, command that installs from it)
    cache: str = ""  # folder of dependencies inside the repository


_NODE_ROWS = (
    UsualCheck("test", "vitest", "npx vitest run", "dep:vitest"),
    UsualCheck("test", "jest", "npx jest", "dep:jest dep:ts-jest table:jest file:jest.config.js"),
    UsualCheck("test", "mocha", "npx mocha", "dep:mocha"),
    UsualCheck("test", "ava", "npx ava", "dep:ava"),
    UsualCheck("test", "node", "node --test", "import:node:test"),
    UsualCheck("types", "tsc", "npx tsc --noEmit", "dep:typescript file:tsconfig.json"),
    UsualCheck("lint", "biome", "npx biome lint .", "dep:@biomejs/biome file:biome.json"),
    UsualCheck("lint", "oxlint", "npx oxlint", "dep:oxlint file:.oxlintrc.json"),
    UsualCheck(
        "lint",
        "eslint",
        "npx eslint .",
        "dep:eslint file:eslint.config.js file:eslint.config.mjs file:.eslintrc.json file:.eslintrc.js "
        "file:.eslintrc.cjs file:.eslintrc.yml file:eslint.config.ts",
    ),
    UsualCheck("format", "biome", "npx biome format .", "dep:@biomejs/biome file:biome.json"),
    UsualCheck("format", "prettier", "npx prettier --check .", "dep:prettier file:.prettierrc"),
    UsualCheck("coverage", "vitest", "npx vitest run --coverage", "dep:@vitest/coverage-v8"),
    UsualCheck("coverage", "c8", "npx c8 --check-coverage npm test", "dep:c8"),
    UsualCheck(
        "security",
        "npm audit",
        "npm audit --audit-level=high",
        "file:package-lock.json",
        network=True,
        note="asks the registry",
    ),
)

_HARDHAT = "dep:hardhat " + " ".join(
    f"file:hardhat.config.{ending}" for ending in ("js", "ts", "cjs", "mjs", "cts")
)

LANGUAGES: tuple[Language, ...] = (
    Language(
        "python",
        ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini", "Pipfile"),
        (
            UsualCheck(
                "test",
                "pytest",
                "pytest",
                "dep:pytest table:tool.pytest file:pytest.ini file:conftest.py import:pytest dep:pytest-cov",
            ),
            UsualCheck("test", "unittest", "python3 -m unittest", "import:unittest"),
            UsualCheck("lint", "ruff", "ruff check .", "dep:ruff table:tool.ruff file:ruff.toml"),
            UsualCheck("lint", "flake8", "flake8", "dep:flake8 file:.flake8 table:flake8"),
            UsualCheck("lint", "pylint", "pylint .", "dep:pylint file:.pylintrc table:tool.pylint"),
            UsualCheck(
                "format",
                "ruff",
                "ruff format --check .",
                "table:tool.ruff.format table:tool.ruff dep:ruff file:ruff.toml",
            ),
            UsualCheck("format", "black", "black --check .", "dep:black table:tool.black"),
            UsualCheck("types", "mypy", "mypy .", "dep:mypy table:tool.mypy file:mypy.ini table:mypy"),
            UsualCheck(
                "types",
                "pyright",
                "pyright",
                "dep:pyright table:tool.pyright file:pyrightconfig.json",
            ),
            UsualCheck(
                "coverage",
                "pytest",
                "pytest --cov --cov-report=json:{report}",
                "dep:pytest-cov",
            ),
            UsualCheck("build", "compileall", "python3 -m compileall -q .", "*"),
            UsualCheck("security", "bandit", "bandit -q -r .", "dep:bandit table:tool.bandit"),
            UsualCheck("security", "pip-audit", "pip-audit", "dep:pip-audit", network=True),
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
            UsualCheck("test", "cargo test", "cargo test", "*"),
            UsualCheck(
                "lint",
                "cargo lint",
                "cargo clippy --all-targets -- -D warnings",
                "*",
            ),
            UsualCheck("format", "cargo format", "cargo fmt --check", "*"),
            UsualCheck("types", "cargo types", "cargo check --all-targets", "*"),
            UsualCheck("build", "cargo build", "cargo build", "*"),
            UsualCheck(
                "security",
                "cargo security",
                "cargo audit",
                "file:Cargo.lock",
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
            UsualCheck("test", "go test", "go test ./...", "*"),
            UsualCheck(
                "lint",
                "golangci-lint",
                "golangci-lint run",
                "file:.golangci.yml file:.golangci.yaml file:.golangci.toml",
            ),
            UsualCheck("lint", "go types", "go vet ./...", "*"),
            UsualCheck("format", "gofmt", 'test -z "$(gofmt -l .)"', "*"),
            UsualCheck("types", "go types", "go vet ./...", "*"),
            UsualCheck("build", "go build", "go build ./...", "*"),
            UsualCheck(
                "security",
                "govulncheck",
                "govulncheck ./...",
                "*",
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
            UsualCheck("test", "mvn", "mvn -B -o test", "*"),
            UsualCheck("build", "mvn", "mvn -B -o -DskipTests package", "*"),
            UsualCheck("lint", "mvn", "mvn -B -o checkstyle:check", "dep:maven-checkstyle-plugin"),
            UsualCheck("format", "mvn", "mvn -B -o spotless:check", "dep:spotless-maven-plugin"),
        ),
        r"(?:^|/)src/test/.*\.(?:java|kt|groovy|scala)$",
    ),
    Language(
        "java-gradle",
        ("build.gradle", "build.gradle.kts"),
        (
            UsualCheck("test", "gradle", "./gradlew --offline test", "file:gradlew"),
            UsualCheck("test", "gradle", "gradle --offline test", "*"),
            UsualCheck("build", "gradle", "./gradlew --offline assemble", "file:gradlew"),
            UsualCheck("build", "gradle", "gradle --offline assemble", "*"),
            UsualCheck("lint", "gradle", "./gradlew --offline checkstyleMain", "dep:checkstyle"),
            UsualCheck("format", "gradle", "./gradlew --offline spotlessCheck", "dep:spotless"),
        ),
        r"(?:^|/)src/test/.*\.(?:java|kt|groovy|scala)$",
    ),
    Language(
        "ruby",
        ("Gemfile",),
        (
            UsualCheck(
                "test",
                "rspec",
                "bundle exec rspec",
                "dep:rspec dep:rspec-rails file:.rspec",
            ),
            UsualCheck("test", "rake", "bundle exec rake test", "dep:minitest dep:rake"),
            UsualCheck(
                "lint",
                "rubocop",
                "bundle exec rubocop",
                "dep:rubocop file:.rubocop.yml",
            ),
            UsualCheck("types", "srb", "bundle exec srb tc", "dep:sorbet"),
            UsualCheck("security", "bundle audit", "bundle exec bundle-audit check", "dep:bundler-audit"),
        ),
        r"_(?:spec|test)\.rb$|(?:^|/)test_[^/]+\.rb$",
        (("Gemfile.lock", "bundle install --frozen"),),
    ),
    Language(
        "php",
        ("composer.json",),
        (
            UsualCheck("test", "pest", "vendor/bin/pest", "dep:pestphp/pest"),
            UsualCheck("test", "phpunit", "vendor/bin/phpunit", "dep:phpunit/phpunit file:phpunit.xml.dist"),
            UsualCheck("lint", "phpcs", "vendor/bin/phpcs", "dep:squizlabs/php_codesniffer"),
            UsualCheck(
                "format",
                "php-cs-fixer",
                "vendor/bin/php-cs-fixer fix --dry-run",
                "dep:friendsofphp/php-cs-fixer",
            ),
            UsualCheck(
                "types", "phpstan", "vendor/bin/phpstan analyse", "dep:phpstan/phpstan file:phpstan.neon"
            ),
            UsualCheck("types", "psalm", "vendor/bin/psalm", "dep:vimeo/psalm"),
        ),
        r"Test\.php$",
        (("composer.lock", "composer install"),),
        "vendor",
    ),
    Language(
        "dotnet",
        ("*.sln", "*.slnx", "*.csproj", "*.fsproj"),
        (
            UsualCheck("test", "dotnet", "dotnet test --no-restore", "*"),
            UsualCheck("build", "dotnet", "dotnet build --no-restore", "*"),
            UsualCheck("format", "dotnet", "dotnet format --verify-no-changes --no-restore", "*"),
        ),
        r"Tests?\.(?:cs|fs)$",
    ),
    Language(
        "cmake",
        ("CMakeLists.txt",),
        (
            UsualCheck(
                "test",
                "ctest",
                "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
                "word:enable_testing word:add_test word:gtest_discover_tests",
            ),
            UsualCheck("build", "cmake", "cmake -S . -B build && cmake --build build", "*"),
        ),
        r"(?:^|/)tests?/[^/]+\.(?:c|cc|cpp|cxx)$|_test\.(?:c|cc|cpp)$",
    ),
    Language(
        "elixir",
        ("mix.exs",),
        (
            UsualCheck("test", "mix", "mix test", "*"),
            UsualCheck("lint", "mix", "mix credo", "dep:credo"),
            UsualCheck("format", "mix", "mix format --check-formatted", "*"),
            UsualCheck("types", "mix", "mix dialyzer", "dep:dialyxir"),
            UsualCheck("build", "mix", "mix compile --warnings-as-errors", "*"),
        ),
        r"_test\.exs$",
        (("mix.lock", "mix deps.get"),),
        "deps",
    ),
    Language(
        "solidity",
        (
            "foundry.toml",
            *(f"hardhat.config.{ending}" for ending in ("js", "ts", "cjs", "mjs", "cts")),
            "truffle-config.js",
        ),
        (
            UsualCheck(
                "test", "forge", "forge test --offline", "file:foundry.toml file:remappings.txt import:forge"
            ),
            UsualCheck("test", "hardhat", "npx hardhat test", _HARDHAT),
            UsualCheck("test", "truffle", "npx truffle test", "file:truffle-config.js dep:truffle"),
            UsualCheck("lint", "solhint", "npx solhint 'contracts/**/*.sol'", "file:.solhint.json"),
            UsualCheck("format", "forge", "forge fmt --check", "file:foundry.toml"),
            UsualCheck("build", "forge", "forge build --offline", "file:foundry.toml import:forge"),
            UsualCheck("build", "hardhat", "npx hardhat compile", _HARDHAT),
        ),
        r"\.t\.sol$|(?:^|/)test/[^/]+\.(?:js|ts|sol)$",
    ),
)
# For every repository, whatever its language.
COMMON: tuple[UsualCheck, ...] = (
    UsualCheck(
        "security",
        "gitleaks",
        "gitleaks dir . --no-banner",
        "*",
    ),
    UsualCheck(
        "security",
        "semgrep",
        "semgrep scan --error --metrics=off --config .semgrep.yml",
        "file:.semgrep.yml",
        note="with the rules of this repository, so that no network is needed",
    ),
    UsualCheck(
        "security",
        "semgrep",
        "semgrep scan --error --metrics=off --config auto",
        "*",
        network=True,
        note="its rules come from the network (semgrep.dev); rules in .semgrep.yml would need none",
    ),
)
BY_NAME: dict[str, Language] = {language.name: language for language in LANGUAGES}
