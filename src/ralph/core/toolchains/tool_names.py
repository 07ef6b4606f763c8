# ruff: noqa: E501 (rows of a table are as long as they are)
"""Tools and languages as people name them in a task, and which commands are by them. Data only.

`words` is a pattern for text from which file names, quotations and passing mentions were taken; boundaries
are added by `named_tools`. Many names are ordinary words too (black, go, jest, prettier): their patterns ask
for words beside them that only a tool or a language has.
"""

from __future__ import annotations

from msgspec import Struct

from ralph.core.toolchains.classify_command import Kind

# What follows a tool that is meant as one: "black is happy", "biome errors", "prettier --check".
_STATE = (
    r"(?= (?:--\w|(?i:happy|pass(?:es|ing)?|green|clean|errors?|warnings?|findings?|complaints?|complain\w*"
    r"|violations?|issues?|failures?|checks?|succeeds?|fails?|is (?:happy|green|clean|passing|red|failing"
    r"|satisfied)|should (?:pass|be)|must (?:pass|be)|formatting|format|compliant|compliance)\b))"
)
_SUITE = r"(?= (?:--\w|(?i:tests?|suites?|specs?|pass(?:es|ing)?|is (?:green|red|failing)|failures?)\b))"
# What follows a language that is meant as one: "the go tests", "Rust code".
_NOUN = (
    r"(?=(?:'s)? (?i:(?:unit |integration |failing |broken |type )?(?:tests?|suites?|specs?|code|codebase|crates?"
    r"|packages?|modules?|projects?|services?|backend|frontend|server|client|build|compiler|compilation|linter"
    r"|lint|linting|errors?|warnings?|findings?|files?|sources?|side|part|half|workspace|library|program"
    r"|binary|extension|version|api|sdk|cli|toolchain|types?|coverage|compiles?|builds?))\b)"
)


class Name(Struct, frozen=True, kw_only=True):
    """A tool (`tools`) or a language (`endings`) that a task can name."""

    says: str
    words: str
    kind: Kind | None = None  # what a tool checks; None for a language
    tools: frozenset[str] = frozenset()  # as `classify_command` calls what checks in the end
    also: tuple[Kind, ...] = ()  # further kinds that it may be
    many: bool = False  # it does everything: what is meant is what the task is about
    holds: str = ""  # text that the command must hold besides
    family: str = ""  # the language that it belongs to
    endings: tuple[str, ...] = ()
    check: str = ""  # a command that would do
    install: str = ""
    near: tuple[str, ...] = ()  # one of these is in the text, in lower case, wherever `words` may fit
    weak: bool = False  # also an ordinary name: without a package of the language it names nothing


_MANY = frozenset(
    {"Maven", "Gradle", "dotnet", "Bazel", "tox", "nox", "Deno", "sbt", "Meson", "Hardhat", "Forge"}
)


def _tool(
    says: str,
    kind: Kind,
    family: str,
    check: str,
    install: str = "",
    *,
    words: str = "",
    tools: str = "",
    holds: str = "",
    near: str = "",
    also: tuple[Kind, ...] = (),
) -> Name:
    own = (tools or says.lower()).split(",")
    words = words or rf"(?i:{says.lower()})"
    return Name(
        says=says,
        words=words,
        kind=kind,
        tools=frozenset(own),
        also=also or (("build",) if says in ("TypeScript", "tsc", "cargo check") else ()),
        many=says in _MANY,
        holds=holds,
        family=family,
        check=check,
        install=install,
        near=tuple((near or says.lower()).split(",")),
    )


def _pip(
    says: str, kind: Kind, check: str, *, words: str = "", tools: str = "", package: str = "", near: str = ""
) -> Name:
    install = f"python -m pip install {package or says.lower()}"
    return _tool(says, kind, "python", check, install, words=words, tools=tools, near=near)


def _npm(
    says: str, kind: Kind, check: str, *, words: str = "", tools: str = "", package: str = "", near: str = ""
) -> Name:
    install = f"npm install --save-dev {package or says.lower()}"
    return _tool(says, kind, "node", check, install, words=words, tools=tools, near=near)


def _go(verb: str, kind: Kind, tool: str, also: tuple[Kind, ...] = ()) -> Name:
    request = (
        r"(?! (?i:the|it|this|that|these|those|my|our|an?|all|every\w*|whether|if|them|some"
        r"|and (?:fix|see|then)|for yourself|with me)\b)"
    )
    words = rf"(?i:go {verb}){request}"
    return _tool(
        f"go {verb}", kind, "go", f"go {verb} ./...", "apt install golang", words=words, tools=tool, also=also
    )


TOOLS: tuple[Name, ...] = (
    # Python
    _pip("pytest", "test", "pytest", words=r"(?i:py\.?test)", near="pytest,py.test"),
    Name(
        says="unittest",
        words=r"(?i:unittest)",
        kind="test",
        tools=frozenset({"unittest"}),
        family="python",
        check="python3 -m unittest",
        near=("unittest",),
    ),
    _pip("tox", "test", "tox", tools="tox,tox:lint,tox:types,tox:coverage,tox:format,tox:docs"),
    _pip("nox", "test", "nox", tools="nox,nox:lint,nox:types,nox:coverage,nox:format,nox:docs"),
    _pip("mypy", "types", "mypy ."),
    _pip("basedpyright", "types", "basedpyright"),
    _pip("pyright", "types", "pyright", tools="pyright,basedpyright"),
    _pip("pytype", "types", "pytype ."),
    _pip("pyrefly", "types", "pyrefly check"),
    _pip("ruff format", "format", "ruff format --check .", tools="ruff", package="ruff"),
    _pip("ruff", "lint", "ruff check ."),
    _pip("flake8", "lint", "flake8"),
    _pip("pylint", "lint", "pylint ."),
    _pip("pycodestyle", "lint", "pycodestyle ."),
    _pip("pydocstyle", "lint", "pydocstyle ."),
    _pip("isort", "format", "isort --check ."),
    _pip(
        "black",
        "format",
        "black --check .",
        words=rf"(?i:black){_STATE}|(?<=(?i:run) )black(?=[.,;]| and\b| on\b|$)|(?<=(?:with|sing) )black(?=[.,;]|$)",
    ),
    _pip("bandit", "security", "bandit -q -r .", words=rf"(?i:bandit){_STATE}"),
    _pip("pre-commit", "lint", "pre-commit run --all-files", words=r"(?i:pre-commit)"),
    # JavaScript and TypeScript
    _npm(
        "TypeScript",
        "types",
        "npx tsc --noEmit",
        words=r"(?:(?i:typescript)|TS)(?=[ -](?i:(?:type |compiler |compilation |compile |strict )?"
        r"(?:errors?|types?|checks?|diagnostics|compiler|warnings?|problems?|issues?|is|must|should|compiles?"
        r"|happy|pass(?:es)?|clean|strict(?:ness)?))\b)",
        tools="tsc,vue-tsc,svelte-check,deno",
        package="typescript",
        near="typescript,ts",
    ),
    _npm("tsc", "types", "npx tsc --noEmit", tools="tsc,vue-tsc,svelte-check,deno", package="typescript"),
    _npm("vue-tsc", "types", "npx vue-tsc --noEmit"),
    _npm("svelte-check", "types", "npx svelte-check"),
    _npm("ESLint", "lint", "npx eslint .", tools="eslint,next lint,ng lint,xo,standard,vue-cli-service lint"),
    _npm("oxlint", "lint", "npx oxlint"),
    _npm("TSLint", "lint", "npx tslint --project ."),
    _npm("stylelint", "lint", "npx stylelint '**/*.css'"),
    _npm("Biome", "lint", "npx biome check .", words=rf"(?i:biome(?:js)?){_STATE}|(?i:biome (?:lint|ci|check)\b)|biomejs"
         , tools="biome", package="@biomejs/biome"),
    _npm(
        "Prettier",
        "format",
        "npx prettier --check .",
        words=rf"(?i:prettier){_STATE}|(?<=\w )Prettier|(?<=(?i:run) )prettier|(?<=(?:with|sing) )prettier(?=[.,;]|$)",
    ),
    _npm(
        "Jest",
        "test",
        "npx jest",
        words=r"Jest|(?<!in )jest|(?<=(?:tten|ests|uite|ning) in )jest",
        tools="jest,react-scripts test,craco test,vue-cli-service test:unit,tsdx test",
    ),
    _npm("Vitest", "test", "npx vitest run"),
    _npm("Mocha", "test", "npx mocha", words=r"(?i:mocha)(?! (?i:theme|colou?rs?|palette|latte|brown|coffee))"),
    _npm("AVA", "test", "npx ava", words=rf"(?i:ava){_SUITE}", tools="ava"),
    _npm("Jasmine", "test", "npx jasmine", words=rf"(?i:jasmine){_SUITE}"),
    _npm("Karma", "test", "npx karma start --single-run", words=rf"(?i:karma){_SUITE}", tools="karma,ng"),
    _npm("Cypress", "test", "npx cypress run"),
    _npm("Playwright", "test", "npx playwright test", package="@playwright/test"),
    _tool("node --test", "test", "node", "node --test", "apt install nodejs",
          words=r"(?i:node --test|node:test|node(?:\.js)? test runner)", tools="node", near="node"),
    _tool("Bun", "test", "node", "bun test", words=r"(?i:bun tests?)", tools="bun test,bun"),
    _tool("Deno", "test", "node", "deno test", words=r"(?i:deno)", tools="deno"),
    # Rust
    _tool("cargo build", "build", "rust", "cargo build", "apt install cargo"),
    _tool("cargo check", "types", "rust", "cargo check --all-targets", "apt install cargo", tools="cargo types"),
    _tool("cargo test", "test", "rust", "cargo test", "apt install cargo", words=r"(?i:cargo (?:nextest|tests?))", near="cargo"),
    _tool(
        "Clippy",
        "lint",
        "rust",
        "cargo clippy --all-targets -- -D warnings",
        "rustup component add clippy",
        words=r"(?i:cargo clippy|clippy)",
        tools="cargo lint",
    ),
    _tool(
        "rustfmt",
        "format",
        "rust",
        "cargo fmt --check",
        "rustup component add rustfmt",
        words=r"(?i:cargo fmt|rustfmt)", near="rustfmt,cargo fmt",
        tools="cargo format,rustfmt",
    ),
    _tool("rustc", "build", "rust", "cargo build", "apt install cargo", tools="cargo build,cargo types"),
    # Go; "go test it" and "go vet the claims" are requests, not tools
    _go("test", "test", "go test"),
    _go("vet", "lint", "go types", ("types",)),
    _go("build", "build", "go build"),
    _tool("gofmt", "format", "go", 'test -z "$(gofmt -l .)"', "apt install golang", words=r"(?i:gofmt|go fmt|gofumpt)", near="gofmt,go fmt,gofumpt"
          , tools="gofmt,gofumpt"),
    _tool(
        "golangci-lint",
        "lint",
        "go",
        "golangci-lint run",
        "go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@latest",
        words=r"(?i:golangci(?:-lint)?)", near="golangci",
    ),
    _tool("staticcheck", "lint", "go", "staticcheck ./...",
          "go install honnef.co/go/tools/cmd/staticcheck@latest"),
    # Java, Kotlin, Scala
    _tool("Maven", "test", "java", "mvn -B -o test", "apt install maven", words=r"(?i:maven|mvnw?)", near="maven,mvn", tools="mvn"),
    _tool("Gradle", "test", "java", "./gradlew --offline test", "apt install gradle", words=r"(?i:gradlew?)",
          tools="gradle"),
    _tool("JUnit", "test", "java", "mvn -B -o test", "apt install maven", words=r"(?i:junit[0-9]?|testng|surefire)", near="junit,testng,surefire",
          tools="mvn,gradle,ant"),
    _tool("Checkstyle", "lint", "java", "mvn -B -o checkstyle:check", tools="mvn,gradle,checkstyle",
          holds="checkstyle"),
    _tool("SpotBugs", "lint", "java", "mvn -B -o spotbugs:check", tools="mvn,gradle", holds="spotbugs"),
    _tool("Spotless", "format", "java", "./gradlew --offline spotlessCheck", tools="mvn,gradle", holds="spotless"),
    _tool("ktlint", "lint", "java", "ktlint", tools="ktlint,gradle", holds="ktlint"),
    _tool("detekt", "lint", "java", "./gradlew --offline detekt", tools="detekt,gradle", holds="detekt"),
    _tool("sbt", "test", "java", "sbt test"),
    # C and C++
    _tool("CTest", "test", "c", "ctest --test-dir build --output-on-failure", "apt install cmake"),
    _tool("CMake", "build", "c", "cmake -S . -B build && cmake --build build", "apt install cmake", tools="cmake,ctest"),
    _tool("clang-tidy", "lint", "c", "clang-tidy src/*.c", "apt install clang-tidy"),
    _tool("clang-format", "format", "c", "clang-format --dry-run -Werror src/*.c", "apt install clang-format"),
    _tool("cppcheck", "lint", "c", "cppcheck --error-exitcode=1 .", "apt install cppcheck"),
    # .NET
    _tool("dotnet", "test", "dotnet", "dotnet test", "apt install dotnet-sdk-8.0",
          words=r"(?i:dotnet|x[uU]nit|nunit|mstest)", near="dotnet,unit,mstest", tools="dotnet"),
    # Ruby
    _tool("RSpec", "test", "ruby", "bundle exec rspec", "gem install rspec"),
    _tool("Minitest", "test", "ruby", "bundle exec rake test", "gem install minitest", tools="rake,rails"),
    _tool("RuboCop", "lint", "ruby", "bundle exec rubocop", "gem install rubocop"),
    _tool("Sorbet", "types", "ruby", "bundle exec srb tc", "gem install sorbet", tools="srb"),
    # PHP
    _tool("PHPUnit", "test", "php", "vendor/bin/phpunit", "composer require --dev phpunit/phpunit"),
    _tool("Pest", "test", "php", "vendor/bin/pest", "composer require --dev pestphp/pest", words=rf"(?i:pest){_SUITE}"),
    _tool("PHPStan", "types", "php", "vendor/bin/phpstan analyse", "composer require --dev phpstan/phpstan"),
    _tool("Psalm", "types", "php", "vendor/bin/psalm", "composer require --dev vimeo/psalm"),
    _tool("phpcs", "lint", "php", "vendor/bin/phpcs", "composer require --dev squizlabs/php_codesniffer"),
    # Swift, Elixir, Solidity
    _tool("swift test", "test", "swift", "swift test", words=r"(?i:swift test|xctest)", near="swift test,xctest", tools="swift"),
    _tool("swift build", "build", "swift", "swift build", words=r"(?i:swift build)", tools="swift"),
    _tool("SwiftLint", "lint", "swift", "swiftlint lint --strict"),
    _tool("mix test", "test", "elixir", "mix test", "apt install elixir", words=r"(?i:mix test|exunit)", near="mix test,exunit", tools="mix"),
    _tool("Credo", "lint", "elixir", "mix credo", words=r"(?i:mix credo)|Credo|credo(?= (?:issues|warnings))",
          tools="mix,credo", holds="credo"),
    _tool("Dialyzer", "types", "elixir", "mix dialyzer", tools="mix,dialyzer", holds="dialyzer"),
    _tool("Forge", "test", "solidity", "forge test", words=r"(?i:forge test|foundry tests?)", near="forge,foundry", tools="forge"),
    _tool("Hardhat", "test", "solidity", "npx hardhat test", "npm install --save-dev hardhat"),
    # Any language
    _tool("ShellCheck", "lint", "", "shellcheck *.sh", "apt install shellcheck"),
    _tool("hadolint", "lint", "", "hadolint Dockerfile"),
    _tool("yamllint", "lint", "", "yamllint .", "python -m pip install yamllint"),
    _tool("markdownlint", "lint", "", "npx markdownlint-cli2", "npm install --save-dev markdownlint-cli2",
          tools="markdownlint,markdownlint-cli2"),
    _tool("Semgrep", "security", "", "semgrep --error", "python -m pip install semgrep"),
    _tool("Bazel", "test", "", "bazel test //..."),
    _tool("Meson", "test", "c", "meson test -C build", "apt install meson"),
)  # fmt: skip

_JS = (".js", ".jsx", ".mjs", ".cjs")
_TS = (".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")


def _language(
    says: str, family: str, words: str, endings: str, check: str, near: str = "", *, weak: bool = False
) -> Name:
    return Name(
        says=says,
        words=words,
        family=family,
        endings=tuple(endings.split()),
        check=check,
        near=tuple((near or says.lower()).split(",")),
        weak=weak,
    )


_BEFORE = (
    r"(?:(?<=\b(?i:in|to|of) )|(?<=\b(?i:our|the|all|for|and) )|(?<=\b(?i:with|from) )|(?<=\b(?i:failing) ))"
)
LANGUAGES: tuple[Name, ...] = (
    _language("Python", "python", r"(?i:python[23]?)(?:(?= ?[0-9.]+\b))?", ".py .pyi", "pytest"),
    _language("TypeScript", "node", r"(?i:typescript)|TS(?=[ -](?:errors?|code|types?|files?|compiler|tests?)\b)",
              " ".join(_TS), "npm test", "typescript,ts"),
    _language("JavaScript", "node", r"(?i:javascript)|JS(?= (?:tests?|code|suite|files?|linter|build)\b)",
              " ".join((*_JS, *_TS)), "npm test", "javascript,js"),
    _language("Node.js", "node", r"(?i:node\.js|nodejs)", " ".join((*_JS, *_TS)), "npm test", "node"),
    _language("npm", "node", r"(?i:npm|pnpm|yarn)(?= (?i:run |tests?|build|lint|scripts?|suite|check))",
              " ".join((*_JS, *_TS)), "npm test", "npm,yarn"),
    _language("Node", "node", rf"Node{_NOUN}|(?<=\b(?:the|our|all) )node(?= (?:tests|suite|backend|server|package))",
              " ".join((*_JS, *_TS)), "npm test", weak=True),
    # Frameworks speak for their language where there is one.
    _language("React", "node", rf"(?i:react|vue|angular|svelte){_NOUN}|(?:React|Vue|Angular)(?= component)",
              " ".join((*_JS, *_TS)), "npm test", "react,vue,angular,svelte", weak=True),
    _language("Django", "python", rf"(?i:django|flask|fastapi){_NOUN}", ".py", "pytest", "django,flask,fastapi", weak=True),
    _language("Rails", "ruby", rf"(?i:rails){_NOUN}", ".rb", "bundle exec rails test", weak=True),
    _language("Spring", "java", rf"Spring(?: Boot)?{_NOUN}", ".java .kt", "mvn -B -o test", weak=True),
    _language("Laravel", "php", rf"(?i:laravel|symfony){_NOUN}", ".php", "vendor/bin/phpunit", "laravel,symfony", weak=True),
    _language("Go", "go", rf"(?i:golang)|Go{_NOUN}|go(?= (?:unit |failing )?(?:tests|test suite|packages|modules|linter|compiler|sources)\b)|{_BEFORE}go{_NOUN}|{_BEFORE}Go(?=[.,;]|$| and\b| or\b)",
              ".go", "go test ./..."),
    _language("Rust", "rust", rf"(?<=\w )Rust|Rust{_NOUN}|rust{_NOUN}|(?<=\b(?:in|to) )rust(?=[.,;]|$)|(?i:cargo)",
              ".rs", "cargo test", "rust,cargo"),
    _language("Java", "java", r"Java|java(?= (?:tests?|code|build|sources?|files?|compiler|errors?|suite)\b)",
              ".java", "mvn -B -o test"),
    _language("Kotlin", "java", r"(?i:kotlin)", ".kt .kts", "./gradlew --offline test"),
    _language("Scala", "java", r"(?<=\w )Scala|scala(?= (?:tests?|code|build))|Scala(?= (?:tests?|code|build))",
              ".scala", "sbt test"),
    _language("C#", "dotnet", r"(?i:c#|csharp|\.net)", ".cs .vb", "dotnet test", "c#,csharp,.net"),
    _language("F#", "dotnet", r"(?i:f#|fsharp)", ".fs", "dotnet test", "f#,fsharp"),
    _language("C++", "c", r"(?i:c\+\+|cpp(?= (?:tests?|code|build|files?)))", ".cc .cpp .cxx .hpp .hh",
              "ctest --test-dir build", "c++,cpp"),
    _language("C", "c", r"C(?= (?i:tests?|code|compiler|compilation|build|sources?|files?|warnings|unit tests|extension|library)\b)",
              ".c .h", "ctest --test-dir build"),
    _language("Ruby", "ruby", rf"(?<=\w )Ruby|(?i:ruby){_NOUN}", ".rb", "bundle exec rspec"),
    _language("PHP", "php", r"(?i:php)", ".php", "vendor/bin/phpunit"),
    _language("Swift", "swift", rf"Swift{_NOUN}|swift(?= (?:unit )?(?:tests|test suite|build|package|code)\b)|(?<=\b(?:in|to) )Swift", ".swift", "swift test"),
    _language("Elixir", "elixir", r"(?<=\w )Elixir|(?i:elixir)(?= (?i:tests?|code|build|suite)\b)", ".ex .exs", "mix test"),
    _language("Solidity", "solidity", r"(?i:solidity)", ".sol", "forge test"),
)  # fmt: skip
# Packages, as `usual_checks` calls their languages, of each family.
FAMILIES: dict[str, frozenset[str]] = {
    "java": frozenset({"java-maven", "java-gradle"}),
    "c": frozenset({"cmake"}),
}
# Tools of a family that no row above and no package names.
MORE: dict[str, str] = {
    **dict.fromkeys(("coverage", "compileall", "manage.py", "stestr", "trial", "py.test", "vulture"), "python"),
    **dict.fromkeys(("next", "vite", "nuxt", "ng", "webpack", "rollup", "esbuild", "tsup", "parcel", "tap"), "node"),
    **dict.fromkeys(("tape", "c8", "nyc", "turbo", "nx", "xo", "standard", "jshint", "tsd", "flow", "bun"), "node"),
    **dict.fromkeys(("bun test", "npm audit", "yarn audit", "pnpm audit"), "node"),
    **dict.fromkeys(("gotestsum", "ginkgo", "golint", "revive", "goimports", "gosec", "govulncheck"), "go"),
    **dict.fromkeys(("cargo coverage", "cargo security", "cargo docs"), "rust"),
    **dict.fromkeys(("ant", "codecept"), "java"),
    **dict.fromkeys(("meson", "ninja", "cpplint"), "c"),
    **dict.fromkeys(("steep", "standardrb", "rails"), "ruby"),
}  # fmt: skip
