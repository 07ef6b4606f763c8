"""Tests called by an ordinary program instead of their runner: does the product behave when nobody tests it?

What a runner leaves in a process (modules, variables, arguments, flags, the names of threads) can be asked
for. So the tests that turned green are called by a program that has none of that, under other names and from
another folder, and again, where one is red then, by the same program with the runner's traces put on (in
Python by the runner itself). Only what is red in the first and green in the second goes by them; whatever
else such a program lacks, it lacks both times. A line of the file of marks is a letter and a test: `r` one
that failed, `e` one in which the product raised an error, `u` one that needs what such a program has not.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Mapping

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.gates.guards._parts.script_language import language
from ralph.gates.narrow_tests import MAX_TESTS
from ralph.gates.programs import program_text
from ralph.gates.runners import base_name, skip_launchers

_TEST = re.compile(r"(?<![\w.\"])Test(?=[A-Z])")  # as Go's runner knows its tests
Read = Callable[[str], bytes | None]


class Program(Struct, frozen=True):
    """Files to write over the result, and what to execute then."""

    files: dict[str, bytes]
    argv: tuple[str, ...]
    env: dict[str, str] = {}


_PYTHON_RUNNERS = ("pytest", "py.test", "unittest")
_BARE = ("-c", "/dev/null", "--rootdir=.", "--noconftest", "-p", "no:cacheprovider")  # the runner alone
_BARE_ENV = {"PYTEST_ADDOPTS": "", "PYTEST_PLUGINS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
# What an ordinary Python process has besides, and the words by which a project shows that it goes by that.
_ORDINARY = {
    "optimized": r"AssertionError|__debug__|\b(?:r|assertR)aises\(Exception",
    "terminal": r"tty|terminal|colou?r|stdin|input",
    "thread": r"thread|signal|asyncio|event_loop|contextvars",
    "later": r"time|clock|today|\bdate\b|freez|monotonic|perf_counter",
}
_GO_DRESS = 'testing.Init()\n\tos.Args = []string{"/go-build1/x.test", "-test.v=true", "-test.timeout=10m"}'


def plain_program(
    gate: Gate,
    tests: Mapping[str, str],
    read: Read,
    paths: frozenset[str],
    marks: str,
    *,
    dressed: bool,
    moved: bool = False,
    spoken: str = "",
) -> Program | None:
    """A program that calls these tests (id -> file; "" = not known); None where none can be made.

    `moved`: dressed, and under other names all the same. `spoken`: what the changed files said at the base.
    """
    if not tests or len(tests) > MAX_TESTS or gate.cwd not in (".", ""):
        return None
    at = skip_launchers(gate.argv)
    name = base_name(gate.argv[at]) if at < len(gate.argv) else ""
    words = gate.argv[at:]
    runner = next((index for index, word in enumerate(words) if base_name(word) in _PYTHON_RUNNERS), None)
    places = {test: path or _dotted_path(test, read) for test, path in tests.items()}
    if runner is not None and (not runner or "-m" in words) and all(places.values()):
        text = _python_text(places, read, marks, spoken, dressed=dressed, moved=moved or not dressed)
        bare = ("main_program",) if base_name(words[runner]) == "unittest" else (*_BARE, "main_program.py")
        return Program({"main_program.py": text.encode()}, (*gate.argv[: at + runner + 1], *bare), _BARE_ENV)
    if name == "node" and "--test" in words and all(map(language, tests.values())):
        given = json.dumps([marks, dressed, sorted(set(tests.values()))])
        text = program_text("plain_program.mjs").replace("WORDS", given)
        flags = [word for word in words[1:] if word.startswith("-") and not word.startswith("--test")]
        return Program(
            {"main_program.mjs": text.encode()}, (*gate.argv[: at + 1], *flags, "main_program.mjs")
        )
    if name == "go" and words[1:2] == ("test",):
        return _go_program(gate.argv[: at + 1], sorted(tests), read, paths, marks, dressed=dressed)
    if name == "cargo" and words[1:2] == ("test",):
        return _rust_program(gate.argv[: at + 1], sorted(tests), read, marks, dressed=dressed)
    return None


def _dotted_path(test: str, read: Read) -> str:
    """The file of a test that unittest calls `module.Class.test`."""
    path = "/".join(test.split(".")[:-2]) + ".py"
    return path if read(path) is not None else ""


def _python_text(
    tests: Mapping[str, str], read: Read, marks: str, spoken: str, *, dressed: bool, moved: bool
) -> str:
    ids = {test.partition("[")[0]: path for test, path in sorted(tests.items())}
    called = [
        (path, test.partition("::")[2] or "::".join(test.split(".")[-2:]), test) for test, path in ids.items()
    ]
    files = {*tests.values(), *(f"{posixpath.dirname(path)}/conftest.py" for path in tests.values())}
    texts = [(read(path.lstrip("/")) or b"").decode("utf-8", "replace") for path in sorted(files)]
    said = "\n".join((spoken, *texts))
    ordinary = [name for name, words in _ORDINARY.items() if not dressed and not re.search(words, said)]
    clock = program_text("other_clock.py")
    return program_text("plain_program.py") % (marks, dressed, moved, ordinary, called, clock)


def _go_program(
    argv: tuple[str, ...], tests: list[str], read: Read, paths: frozenset[str], marks: str, *, dressed: bool
) -> Program | None:
    module = re.search(r"^module\s+(\S+)", (read("go.mod") or b"").decode("utf-8", "replace"), re.MULTILINE)
    if module is None:
        return None
    files: dict[str, bytes] = {}
    imports: dict[str, str] = {}
    calls = []
    for test in tests:
        package, _, name = test.partition("::")
        folder = package.removeprefix(module[1]).strip("/")
        if "/" in name or not package.startswith(module[1]):
            continue
        own = [path for path in paths if posixpath.dirname(path) == folder and path.endswith("_test.go")]
        texts = {path: (read(path) or b"").decode("utf-8", "replace") for path in own}
        if any(
            re.search(r"^package \w+_test\b|^func TestMain\(|^//go:build", text, re.MULTILINE)
            for text in texts.values()
        ):
            continue
        if package not in imports:
            imports[package] = f"p{len(imports)}"
            for path, text in texts.items():
                named = f"//line {posixpath.basename(path)}:1\n{text}" if dressed else _TEST.sub("Case", text)
                files[f"{path.removesuffix('_test.go')}_cases.go"] = named.encode()
                files[path] = re.sub(r"(?s)^(.*?\npackage \w+|package \w+).*", r"\1\n", text).encode()
        name = name if dressed else _TEST.sub("Case", name)
        calls.append(f"\ttry({_quoted(folder or '.')}, {_quoted(test)}, {imports[package]}.{name})")
    if not calls:
        return None
    text = program_text("plain_program.go") % {
        "imports": "\n".join(f"\t{name} {_quoted(package)}" for package, name in imports.items()),
        "marks": _quoted(marks),
        "dress": _GO_DRESS if dressed else "undress()",
        "calls": "\n".join(calls),
    }
    files["mainprogram/main.go"] = text.encode()
    return Program(files, (*argv, "run", "./mainprogram"))


def _rust_program(
    argv: tuple[str, ...], tests: list[str], read: Read, marks: str, *, dressed: bool
) -> Program | None:
    """The tests of one target: those of a file under tests/ become an example, those of the crate public."""
    manifest = (read("Cargo.toml") or b"").decode("utf-8", "replace")
    crate = re.search(r'^name\s*=\s*"([\w-]+)"', manifest, re.MULTILINE)
    target = tests[0].partition(" > ")[0]
    text = (read(target) or b"").decode("utf-8", "replace")
    names = [test.partition(" > ")[2] for test in tests if test.startswith(f"{target} > ")]
    if crate is None or not text or not names:
        return None
    bare = re.sub(r"#\[test\]\s*", "", text)
    words = {"dressed": str(dressed).lower(), "marks": _quoted(marks)}
    if target.startswith("tests/"):
        lead = "cases::" if dressed else ""
        rows = ", ".join(f"({_quoted(f'{target} > {name}')}, {lead}{name} as fn())" for name in names)
        main = program_text("plain_program.rs") % {"tests": rows, **words}
        public = re.sub(rf"\bfn (?=(?:{'|'.join(names)})\()", "pub fn ", bare)
        here = f'#[path = "../{target}"]\nmod cases;\n' if dressed else bare
        files = {target: public.encode(), "examples/main_program.rs": (here + main).encode()}
    elif target == "src/lib.rs":
        own = crate[1].replace("-", "_")
        public = re.sub(r"#\[cfg\(test\)\]\s*mod\b", "pub mod", text)
        public = re.sub(r"#\[test\]\s*fn\b", "pub fn", public)
        rows = ", ".join(f"({_quoted(f'{target} > {name}')}, {own}::{name} as fn())" for name in names)
        main = program_text("plain_program.rs") % {"tests": rows, **words}
        files = {target: public.encode(), "examples/main_program.rs": main.encode()}
    else:
        return None
    release = {"CARGO_PROFILE_DEV_DEBUG_ASSERTIONS": "false", "CARGO_PROFILE_DEV_OVERFLOW_CHECKS": "true"}
    env = {"RUSTFLAGS": "--cfg test"} if dressed else release
    return Program(files, (*argv, "run", "--offline", "--quiet", "--example", "main_program"), env)


def _quoted(text: str) -> str:
    return json.dumps(text)
