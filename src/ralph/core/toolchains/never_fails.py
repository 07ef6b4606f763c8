"""Commands that cannot fail, or that judge nothing: the one predicate by which inference leaves them out.

A command is such when every simple command that decides its exit code is: one that lists, prints, compiles
only, changes what it should compare with, selects nothing, or swallows its own failure. Tables first.
"""

from __future__ import annotations

import re

from ralph.core.toolchains.command_words import PACKAGERS, SETUP, TOOLS, VERBS
from ralph.core.toolchains.split_command import judging, split, strip_launchers


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_NOTHING = "it checks nothing"
_ALWAYS = "it passes whatever happens"
_LISTS = "it lists or prints, and executes no check"
_WRITES = "it changes files instead of checking them"
_ACCEPTS = "it rewrites what its results are compared with"
_BUILDS = "it builds the tests and does not execute them"
_SELECTS = "it selects no test"
_ENDLESS = "it starts something that does not end"

_TRIVIAL = _set(
    "cat ls pwd sleep cd date whoami which command type hash touch mkdir cp mv env printenv uname"
)
_NO_TEST = re.compile(r"no tests?|not (?:yet )?(?:implemented|specified|configured)|todo", re.IGNORECASE)
_WHY_OF_OPTION: dict[str, str] = {
    **dict.fromkeys(
        _set(
            "--version --help --collect-only --collectonly --co --listTests --list-tests --list-suites "
            "--list-groups --listTags --showConfig --show-config --print-config --show-files --show-settings "
            "--setup-plan --setup-only --fixtures --fixtures-per-test --markers --listenvs --listenvs-all "
            "--list-sessions --dry-run --dryRun --dry --just-print --recon --no-exec --noop --show-only "
            "--list-presets --init --print-labels --question --touch --list"
        ),
        _LISTS,
    ),
    **dict.fromkeys(
        _set(
            "--fix --fix-only --fix-dry-run --unsafe-fixes --write --apply --apply-unsafe --autocorrect "
            "--autocorrect-all --auto-correct --safe-auto-correct --in-place"
        ),
        _WRITES,
    ),
    **dict.fromkeys(
        _set(
            "--update-snapshot --update-snapshots --updateSnapshot --updateSnapshots --snapshot-update "
            "--update-goldens --update-golden --update-baseline --test-update-snapshots --force-regen "
            "--regen --regen-all --bless --accept --update-expected --generate-baseline --update"
        ),
        _ACCEPTS,
    ),
    **dict.fromkeys(
        _set(
            "--passWithNoTests --pass-with-no-tests --exit-zero --no-error --no-fail --fail-never "
            "--ignore-errors --suppress-no-test-exit-code --if-present --allow-empty --soft-fail "
            "--always-pass"
        ),
        _ALWAYS,
    ),
    **dict.fromkeys(_set("--no-run --notest --install-only --skip-tests --skipTests"), _BUILDS),
    **dict.fromkeys(
        _set("--watch --watchAll --watch-all --ui --interactive --debug-brk --inspect-brk"), _ENDLESS
    ),
}
# An option with this value.
_WHY_OF_VALUE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-D(?:skipTests|maven\.test\.skip|skipITs)(?:=true)?$"), _BUILDS),
    (re.compile(r"-D(?:maven\.test\.failure\.ignore|testFailureIgnore)(?:=true)?$"), _ALWAYS),
    (re.compile(r"--(?:issues-)?exit-code=0$|--no-tests=(?:pass|warn)$|--failure-exit-code=0$"), _ALWAYS),
    (re.compile(r"--inline-snapshot=(?:create|fix|update)|--update-snapshots?=(?!none|false|0)"), _ACCEPTS),
    (
        re.compile(
            r"--testNamePattern=$|--test-name-pattern=(?:\^\$)?$|-run=(?:\^\$|none|xxx)$", re.IGNORECASE
        ),
        _SELECTS,
    ),
    (re.compile(r"-(?:-?test\.)?list=|--dry(?:-run)?=|--co=|--passWithNoTests=true$"), _LISTS),
    (re.compile(r"-update(?:-\w+)?(?:=true)?$"), _ACCEPTS),
)
# Short options mean different things to different programs.
_WHY_OF_SHORT: dict[str, dict[str, str]] = {
    **{name: {"-u": _ACCEPTS} for name in ("jest", "ava", "playwright", "react-scripts")},
    **{name: {"-a": _WRITES, "-A": _WRITES, "-x": _WRITES} for name in ("rubocop", "standardrb")},
    **{name: {"-n": _LISTS, "-i": _ALWAYS, "-q": _LISTS, "-t": _LISTS} for name in ("make", "gmake")},
    "just": {"-n": _LISTS, "-l": _LISTS},
    "tox": {"-l": _LISTS, "-a": _LISTS, "-n": _BUILDS, "list": _LISTS, "config": _LISTS, "devenv": _BUILDS},
    "nox": {"-l": _LISTS},
    "ctest": {"-N": _LISTS},
    "go test": {"-c": _BUILDS, "-n": _LISTS, "-list": _LISTS},
    "go types": {"-n": _LISTS},
    "gradle": {"-m": _LISTS, "-t": _ENDLESS},
    "mvn": {"-fn": _ALWAYS},
    "prove": {"-D": _LISTS},
    "rake": {"-n": _LISTS, "-T": _LISTS, "-P": _LISTS},
    "prettier": {"-w": _WRITES},
    "gofmt": {"-w": _WRITES},
    "bats": {"-c": _LISTS, "--count": _LISTS},
    "hatch": {"--show": _LISTS, "-s": _LISTS},
    "forge": {"-l": _LISTS},
    "vitest": {"-u": _ACCEPTS, "list": _LISTS, "watch": _ENDLESS, "dev": _ENDLESS, "-w": _ENDLESS},
    "mocha": {"-w": _ENDLESS},
    "tap": {"--snapshot": _ACCEPTS, "-S": _ACCEPTS},
    "cargo": {"list": _LISTS},
    "dotnet": {"-t": _LISTS},
    "phpunit": {"--list-tests-xml": _LISTS},
    "karma": {"--no-single-run": _ENDLESS, "--auto-watch": _ENDLESS},
}
# These print differences or findings and pass, unless one of the options makes them fail.
_NEEDS: dict[str, frozenset[str]] = {
    "gofmt": frozenset(),
    "gofumpt": frozenset(),
    "goimports": frozenset(),
    "black": frozenset({"--check"}),
    "isort": frozenset({"--check", "--check-only", "-c"}),
    "clang-format": frozenset({"--Werror", "-Werror"}),
    "semgrep": frozenset({"--error", "ci", "--validate", "test"}),
    "trivy": frozenset({"--exit-code"}),
}
_COMPARES = frozenset({"php-cs-fixer", "clang-format"})  # a dry run of these fails where something differs
_SELECTORS = _set(
    "-k -run --run -t -g --grep -f --fgrep --testNamePattern --test-name-pattern --filter --tests -n -e"
)
_NONE = frozenset({"", "^$", "$^", "a^", "none", "nothing", "xxx", "nomatch"})
_ENV = re.compile(
    r"\w*(?:FORCE_PASS|ALWAYS_PASS|(?<![A-Z])UPDATE(?!R|D)|SNAPSHOT_UPDATE|BLESS|REGEN|OVERWRITE"
    r"|ACCEPT_(?:SNAP|CHANGES|NEW|ALL)|WRITE_(?:SNAP|GOLDEN|EXPECT)|TAP_SNAPSHOT|RECORD_(?:SNAP|GOLDEN))\w*"
    r"|TRYBUILD"
)
_ENV_SKIPS = re.compile(r"(?:SKIP|NO|DISABLE)_(?:ALL_)?TESTS?|DRY_?RUN|SKIP_CHECKS?")
_OFF = frozenset({"", "0", "false", "no", "never", "none", "off", "n", "f"})
_OPTIONS_IN = frozenset({"PYTEST_ADDOPTS", "JEST_OPTS", "MAKEFLAGS", "RSPEC_OPTS", "SPEC_OPTS", "GOFLAGS"})
_WITH_VERBS = frozenset(name for name, *_ in VERBS)
_ASSIGNS = re.compile(r"[A-Za-z_]\w*=")


def why_degenerate(command: str) -> str:
    """Why this command could never fail for the right reason; "" when it could."""
    ends = judging(" ".join(command.split(" ")))
    if ends is None:
        return ""
    parts = [words for words in ends.judged if not SETUP.match(" ".join(words))]
    if not parts:
        if ends.judged:
            return ""  # it only sets things up, which is said elsewhere
        said = [words[0].rsplit("/", 1)[-1] for words in split(command)]
        silent = all(name in ("echo", "true", ":", "printf", "exit", "set", "false") for name in said)
        if not silent:
            return _ALWAYS
        return _NOTHING + (", it says so itself" if _NO_TEST.search(command) else "")
    whys = [why_idle(list(words)) for words in parts]
    if not all(whys):
        return ""
    return next((why for why in whys if why != _NOTHING), _NOTHING)


def why_idle(words: list[str]) -> str:
    """Why one simple command judges nothing; "" when it does."""
    for word in words:
        if (why := _why_env(word)) != "":
            return why
    inner = strip_launchers([word for word in words if not _ASSIGNS.match(word)])
    if not inner:
        return ""
    name, rest = inner[0].rsplit("/", 1)[-1], inner[1:]
    if name in _TRIVIAL:
        return _NOTHING
    name = {"mvnw": "mvn", "gradlew": "gradle", "py.test": "pytest"}.get(name, name)
    if rest in (["-V"], ["version"], ["help"], ["-h"]) or (rest == ["-v"] and name in ("node", "npm", "go")):
        return _LISTS
    known = name in TOOLS or name in _WITH_VERBS or name in PACKAGERS or name in _WHY_OF_SHORT
    return _why_options(name, rest) if known or rest in (["--version"], ["--help"]) else ""


def _why_env(word: str) -> str:
    """`INSTA_FORCE_PASS=1`, `UPDATE_SNAPSHOTS=1`: what they switch on; "" for every other assignment."""
    name, sign, value = word.partition("=")
    if not sign or not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) or value.lower() in _OFF:
        return ""
    if name in _OPTIONS_IN:
        return next((why for one in value.split() if (why := _WHY_OF_OPTION.get(one, ""))), "")
    if _ENV_SKIPS.fullmatch(name):
        return _BUILDS if "TEST" in name else _LISTS
    if "FORCE_PASS" in name or "ALWAYS_PASS" in name:
        return _ALWAYS
    overwrites = name != "TRYBUILD" or value == "overwrite"
    return _ACCEPTS if _ENV.fullmatch(name) and overwrites else ""


def _why_options(name: str, rest: list[str]) -> str:
    short = _WHY_OF_SHORT.get(f"{name} {rest[0]}" if name == "go" and rest else name, {})
    if name in PACKAGERS and "--" in rest:  # `npm test -- -u`: what the runner behind it is told
        short = {"-u": _ACCEPTS}
    everywhere = bool({"-r", "--recursive", "--workspaces", "-ws", "workspaces", "--filter"} & set(rest))
    for at, word in enumerate(rest):
        option, sign, value = word.partition("=")
        why = short.get(word, "") or (
            "" if sign and value.lower() in _OFF else _WHY_OF_OPTION.get(option, "")
        )
        why = why or next((why for pattern, why in _WHY_OF_VALUE if pattern.match(word)), "")
        if option == "--if-present" and everywhere:
            why = ""  # the packages of a workspace that have the script
        if option == "--dry-run" and name in _COMPARES:
            why = ""
        if why:
            return why
        after = rest[at + 1] if at + 1 < len(rest) else "-"
        if word in _SELECTORS and after.lower() in _NONE:
            return _SELECTS
        if word in ("-x", "--exclude-task") and name == "gradle" and after in ("test", "check"):
            return _BUILDS
        if word in ("--exit-code", "--issues-exit-code") and after == "0":
            return _ALWAYS
    needed = _NEEDS.get(name)
    if needed is not None and not needed & {word.split("=", 1)[0] for word in rest}:
        writes = name in ("black", "isort") and "--diff" not in rest
        return _WRITES if writes else "it prints what it finds, and passes"
    return ""
