"""Runners and linters of JavaScript, Go, Rust and Java: when is an argv one of them, and what makes it tell.

Called by `runners`, which sees through launchers first. A command whose own options would fight with the
reporter is not recognised: it is read by its exit code.
"""

from __future__ import annotations

from ralph.gates.command import word_set

# name of the runner -> options and words that make a command something else than a plain run of it
_NOT: dict[str, frozenset[str]] = {
    "jest": word_set(
        "--json --outputFile --watch --watchAll --listTests --showConfig --init --help --version --clearCache"
    ),
    "vitest": word_set(
        "watch dev bench list init typecheck --outputFile --outputFile.json --watch -w --ui --help"
    ),
    "eslint": word_set(
        "-f --format -o --output-file --fix --fix-dry-run --init --print-config --help --version"
    ),
    "tsc": word_set("-b --build -w --watch --init --help --version -v -h --showConfig --listFilesOnly"),
    "go": word_set("-c -exec -list -fuzz -o -h -help"),
    "cargo": word_set("--no-run --message-format --format --list -q --quiet --help -h -Z"),
    "clippy": word_set("--message-format --fix -q --quiet --help -h"),
    "golangci": word_set("--out-format --output.json.path --output.text.path --fix --help -h"),
    "maven": word_set("-v --version -h --help deploy install site"),
    "gradle": word_set("-v --version -h --help publish --continuous -t"),
    "mocha": word_set(
        "init inspect -w --watch --dry-run --list-files --list-reporters --list-interfaces -h --help -V "
        "--version"
    ),
    "ava": word_set("debug reset-cache -w --watch -u --update-snapshots --help --version"),
    "tap": word_set(
        "report repl plugin list dump-config config build debug init replay versions -w --watch -h --help "
        "-v --version --snapshot"
    ),
    "tape": word_set("--help --version"),
    "uvu": word_set("-h --help -v --version"),
}
# The stream of results apart from what is printed to the standard error; people still see both.
KEEP_STREAM = '"$@" > "{report}"; code=$?; cat "{report}"; exit $code'
STREAMS: dict[str, tuple[str, ...]] = {"ava": ("--tap",), "tap": ("--reporter=tap",), "tape": ()}
_MAVEN_TESTS = word_set("test verify surefire:test failsafe:verify integration-test package")
_GRADLE_TESTS = word_set("test check build")
# Old reports go first, or a committed one would be taken for new; then all that were written become one.
_COLLECT = (
    'find . -path "*/{folder}/*" -name "TEST-*.xml" -delete; "$@"; code=$?; {{ echo "<testsuites>"; '
    'find . -path "*/{folder}/*" -name "TEST-*.xml" -exec sed "s/<?xml[^>]*?>//" {{}} +; '
    'echo "</testsuites>"; }} > "{{report}}"; exit $code'
)


def recognise_other(name: str, argv: tuple[str, ...], at: int) -> tuple[str, int] | None:
    """(runner, index of its first argument) for a program's base name; None when it is no known runner."""
    name = "mocha" if name == "ts-mocha" else name
    if name in ("jest", "vitest", "eslint", "tsc", "mocha", "ava", "tap", "tape", "uvu"):
        if name == "vitest" and argv[at : at + 1] == ("run",):
            at += 1
        return _unless(name, argv, at)
    if name == "go" and argv[at : at + 1] == ("test",):
        return _unless("go", argv, at + 1)
    if name == "cargo":
        at += argv[at : at + 1] != () and argv[at].startswith("+")
        verb = argv[at] if at < len(argv) else ""
        kind = {"test": "cargo", "t": "cargo", "clippy": "clippy", "check": "clippy", "build": "clippy"}.get(
            verb
        )
        return _unless(kind, argv, at + 1) if kind else None
    if name == "golangci-lint" and argv[at : at + 1] == ("run",):
        return _unless("golangci", argv, at + 1)
    if name in ("mvn", "mvnw") and _MAVEN_TESTS & set(argv[at:]):
        return None if _skips_tests(argv) else _unless("maven", argv, at)
    if name in ("gradle", "gradlew") and any(_task(word) in _GRADLE_TESTS for word in argv[at:]):
        return _unless("gradle", argv, at)
    return None


def _unless(name: str, argv: tuple[str, ...], at: int) -> tuple[str, int] | None:
    rest = argv[at:]
    if name == "go" and "-args" in rest:
        rest = rest[: rest.index("-args")]
    if name != "cargo" and "--" in rest:
        rest = rest[: rest.index("--")]
    flags = {word.split("=", 1)[0] for word in rest}
    return None if flags & _NOT[name] else (name, at)


def _skips_tests(argv: tuple[str, ...]) -> bool:
    return any(
        word.startswith(("-DskipTests", "-Dmaven.test.skip")) and not word.endswith("=false") for word in argv
    )


def _task(word: str) -> str:
    return word.rsplit(":", 1)[-1]


def other_reporter(name: str, rest: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that make this runner tell what it did."""
    if name == "jest":
        return ("--json", "--outputFile={report}", "--testLocationInResults")
    if name == "vitest":
        return ("--reporter=default", "--reporter=json", "--outputFile.json={report}")
    if name == "eslint":
        return ("--format", "json", "--output-file", "{report}")
    if name == "tsc":
        return ("--pretty", "false")
    if name == "go":
        return () if "-json" in rest else ("-json",)
    if name == "cargo":
        return () if "--no-fail-fast" in rest else ("--no-fail-fast",)
    if name == "clippy":
        return ("--message-format=json",)
    if name == "mocha":  # before 9.2 it prints the report all the same
        return ("--reporter", "json", "--reporter-option", "output={report}")
    if name in STREAMS:
        return (KEEP_STREAM, *(() if "--tap" in rest else STREAMS[name]))
    if name in ("golangci", "uvu"):
        return ()
    folder = "test-results" if name == "gradle" else "surefire-reports"
    return (_COLLECT.format(folder=folder),)


def insert_other(name: str, argv: tuple[str, ...], at: int, added: tuple[str, ...]) -> tuple[str, ...] | None:
    """The command with the reporter in place; None where it goes to the usual place."""
    if name == "go":  # before the packages: what follows -args belongs to the tests
        return (*argv[:at], *added, *argv[at:])
    if name in ("maven", "gradle"):
        return ("/bin/sh", "-c", added[0], "sh", *argv)
    if name in STREAMS:
        end = argv.index("--", at) if "--" in argv[at:] else len(argv)
        return ("/bin/sh", "-c", added[0], "sh", *argv[:end], *added[1:], *argv[end:])
    return None
