"""What a row of a toolchain may hold. A word that is not listed here is an error."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["test", "coverage", "types", "lint", "format", "build", "security", "docs"]
KINDS: tuple[Kind, ...] = ("test", "coverage", "types", "lint", "format", "build", "security", "docs")
Idle = Literal["lists", "writes", "accepts", "always", "builds", "endless"]


class _Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One table of a file."""


class UsualCheck(_Row, frozen=True):
    """A command that checks, where one of its `signs` was seen in the package.

    `dep:` a dependency, `table:` a table of its manifest, `file:` a file in its folder, `import:` a word in
    its tests, `word:` one in a CMake file, `*` always.
    """

    kind: Kind
    run: str
    signs: str
    tool: str = ""  # as `classify_command` calls it; the row's own name when left out
    network: bool = False
    note: str = ""
    written: str = ""  # pattern of what stands in tests that are written for it: the sign `import:TOOL`
    package: str = ""  # which of a file's packages, where there are several


class Name(_Row, frozen=True):
    """A tool (with a `kind`) or a language (with `endings`) as a task can name it.

    `words` is a pattern for text from which file names, quotations and passing mentions were taken;
    `named_tools` adds boundaries. Many names are ordinary words too (black, go, prettier): their patterns ask
    for words beside them that only a tool or a language has; <state> and its like are in `any.toml`.
    """

    says: str
    words: str = ""
    kind: Kind | None = None  # what a tool checks; None for a language
    tools: frozenset[str] = frozenset()  # as `classify_command` calls what checks in the end
    also: tuple[Kind, ...] = ()  # further kinds that it may be
    many: bool = False  # it does everything: what is meant is what the task is about
    holds: str = ""  # text that the command must hold besides
    family: str = ""  # the language that it belongs to: its file
    endings: tuple[str, ...] = ()
    check: str = ""  # a command that would do
    install: str = ""
    near: tuple[str, ...] = ()  # one of these is in the text, in lower case, wherever `words` may fit
    tests: bool = False  # its bare name in a sentence means the tests
    weak: bool = False  # also an ordinary name: without a package of the language it names nothing


class CoverageRun(_Row, frozen=True):
    """How coverage is measured with a tool's test command."""

    run: str
    tool: str = ""
    needs: str = ""  # a sign; without it `otherwise` is used
    otherwise: str = ""
    replace: tuple[str, str] = ("", "")  # in the command itself


class Verb(Struct, frozen=True, array_like=True):
    words: str  # the first argument is one of these; "" = any
    kind: Kind
    needs: str = ""  # one of these must be there too, else it writes instead of checking


class NeededFlag(_Row, frozen=True):
    word: str
    valued_before: frozenset[str] = frozenset()  # options before it that take a value


class FindingLines(_Row, frozen=True):
    """Patterns for a checker that prints one finding a line, each for a line of its output."""

    finding: str  # with the groups path, line, code and text; but for the text each may be missing
    no_input: str  # it found no files to check
    lacks: str  # what it did not print when nothing of this can be read, in words
    green: str = ""  # it looked and found nothing; without such a line nothing is green, where there is one
    red: str = ""  # it found something, which contradicts that
    red_exits: tuple[int, ...] = (1,)  # exit codes that only say that something was found


class RunnerRow(_Row, frozen=True):
    """When is a command a run of this tool that a reader can read, and what makes it tell.

    A command whose own options would fight with the reporter is not recognised: its exit code is read.
    """

    name: str = ""  # of the runner, as gates and journals have it; the row's own when left out
    reader: str = ""  # the same, when left out
    module: bool = False  # `python -m NAME` only
    verbs: tuple[str, ...] = ()  # the first argument must be one of these
    may_begin: str = ""  # pattern of what may stand before its arguments
    flag: NeededFlag | None = None  # must stand among the options before the first word
    words: str = ""  # pattern of what must be among the arguments
    unless: frozenset[str] = frozenset()  # options and words that make it something else
    unless_set: tuple[str, ...] = ()  # options that do, unless they are set to false
    only: dict[str, str] = {}  # option -> the only value that it may have
    ends: tuple[str, ...] = ("--",)  # what stands behind one of these belongs to somebody else
    # Arguments that make it tell, {report} for the path; {node}: `runners` works them out.
    report: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()  # options with a value that the report replaces: some mind a second one
    told: dict[str, tuple[str, ...]] = {}  # ... one of them -> options that do the same
    place: Literal["end", "start"] = "end"
    lines: FindingLines | None = None  # what the reader "lines" goes by
    stream: bool = False  # what it prints is the report, and is kept apart from the standard error
    collect: str = ""  # folder of the XML files that it writes
    chooses: Literal["", "ids", "classes", "names", "packages", "exact"] = ""  # how single tests are chosen
    junit: bool = False  # the report is JUnit XML
    any_tool: bool = False  # other programs print the same
    words_are_files: bool = False
    valued: frozenset[str] = frozenset()  # options that take the next word
    narrow: tuple[str, ...] = ()  # it takes files of these endings in place of its own choice
    by_path: tuple[str, ...] = ()  # what stands before files that are named so, and not by a pattern


class CanaryRow(_Row, frozen=True):
    """Tests that must fail, put into one of the project's files: `ways` of JavaScript, else `text`."""

    means: dict[str, str] = {}  # what each of them is, in words
    # {a} … are names of tests, {owner} what holds them; {probe} and {scope} tell what the runner is made of
    text: str = ""
    holds: str = ""  # of other languages than Python: pattern of a file with the test {name}
    endings: tuple[str, ...] = ()  # ... and of the files that hold tests
    imports: str = ""  # the module that tests are made by; "" = they are globals
    define: str = ""  # makes `test` of it
    ways: tuple[str, ...] = ()  # how each of them fails
    default_export: bool = False
    mark: str = ""  # pattern of what a file with tests holds; its name in quotes when left out
    no_files: bool = False  # it does not tell where its tests stand
    tests: str = ""  # pattern of a test in the text of a file; its last group is the name


class ToolRow(_Row, frozen=True):
    aka: tuple[str, ...] = ()  # other names of the program
    kind: Kind | None = None  # it is one kind of check, whatever its arguments are
    alone: bool = False  # its name is a command beyond doubt, and not also a word
    verbs: tuple[Verb, ...] = ()
    many_tools: bool = False  # one for each kind of check: "cargo lint" is another tool than "cargo test"
    role: Literal["", "packager", "tasker"] = ""  # it starts scripts of a manifest, or tasks of a task file
    launches: Literal["", "at once", "after run or exec"] = ""  # another program: `npx …`, `uv run …`
    launch_values: frozenset[str] | None = None  # options with a value; None = gates do not see through it
    measures: bool = False  # coverage, of the runner that its arguments name
    runs_code: bool = False  # also a project's own: what that does is not known
    install: str = ""
    words_choose: bool = False  # its verb executes a suite, of which further words choose a part
    select: str = ""  # how it is told which test files to execute
    coverage: CoverageRun | None = None
    countable: str = ""  # the tool of this name tells its findings one by one
    idle: dict[str, Idle] = {}  # options with which it judges nothing, and what it does instead
    options_in: tuple[str, ...] = ()  # variables of the environment that hold options for it
    environment: Literal["", "makes", "inside"] = ""  # makes some and starts others in them; is started so
    fails_with: frozenset[str] | None = None  # it prints and passes, but with one of these
    rewrites: bool = False  # ... and without --diff it changes files instead
    dry_run_fails: bool = False  # where something differs
    checks: tuple[UsualCheck, ...] = ()
    named: tuple[Name, ...] = ()
    runner: tuple[RunnerRow, ...] = ()
    canary: CanaryRow | None = None


class Language(_Row, frozen=True):
    """What makes a folder a package."""

    name: str
    marks: tuple[str, ...]  # names of its files
    tests: str  # pattern of file paths that are tests
    lockfiles: tuple[tuple[str, str], ...] = ()  # (lockfile, command that installs from it)
    cache: str = ""  # folder of dependencies inside the repository
    endings: tuple[str, ...] = ()  # of files that its checks look at; () = any
    family: str = ""
    rows: tuple[UsualCheck, ...] = ()  # of its tools, the better one first


class Pattern(_Row, frozen=True):
    """A pattern for commands or names of scripts, and what it tells."""

    says: str
    pattern: str
    veiled: bool = False  # nobody can say what comes out: a check may be behind it


class CommandWords(_Row, frozen=True):
    """Words that mean the same to many programs."""

    pieces: dict[str, str]  # of patterns of names
    options: dict[str, str]  # what an option does -> the options
    valued: frozenset[str]  # options of launchers that take the next word
    idle_verbs: frozenset[str]  # verbs of programs that run code which run none
    setup: tuple[str, ...]  # patterns of commands that only prepare
    fetches: tuple[str, ...]  # ... and need the network
    scripts: tuple[Pattern, ...]  # names of scripts, make targets, CI steps: the first that fits decides
    deeds: tuple[Pattern, ...]  # what no check may do


class ToolchainFile(_Row, frozen=True):
    named: tuple[Name, ...] = ()
    examples: dict[Kind, str] = {}  # a command of that kind for someone who has none
    runner_parts: tuple[str, ...] = ()  # what decides about red and green inside the runners
    configs: tuple[str, ...] = ()  # patterns of names of files that set what judges
    settings: tuple[str, ...] = ()  # files at the top that hold options of test runners and of coverage
    hijacks: tuple[str, ...] = ()  # ... of paths that an interpreter or a runner finds without being asked
    cache_folders: tuple[str, ...] = ()  # patterns of folders and files in which tools keep what they know
    cache_files: tuple[str, ...] = ()
    package: tuple[Language, ...] = ()
    tool: dict[str, ToolRow] = {}
    words: CommandWords | None = None
