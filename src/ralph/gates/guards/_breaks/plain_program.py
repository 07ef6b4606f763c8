"""Tests called by an ordinary program instead of their runner: does the product behave when nobody tests it?

What a runner leaves in a process (modules, variables, arguments, flags, the names of threads) can be asked
for. So the tests that turned green are called by a program that has none of that, under other names and from
another folder, and again, where one is red then, by the same program with the runner's traces put on (in
Python by the runner itself). Only what is red in the first and green in the second goes by them; whatever
else such a program lacks, it lacks both times. A line of the file of marks is a letter and a test: `r` one
that failed, `e` one in which the product raised an error, `u` one that needs what such a program has not, and
in other languages `c` one that was called to its end.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Mapping
from functools import cache
from json import dumps as _quoted

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._breaks.plain_javascript import javascript_program
from ralph.gates.programs import program_text
from ralph.gates.runners import base_name, skip_launchers

_TEST = re.compile(r"(?<![\w.\"])Test(?=[A-Z])")  # as Go's runner knows its tests
Read = Callable[[str], bytes | None]


class Program(Struct, frozen=True):
    """Files to write over the result, and what to execute then."""

    files: dict[str, bytes]
    argv: tuple[str, ...]
    env: dict[str, str] = {}


class _Asked(Struct, frozen=True):
    tests: list[str]
    read: Read
    paths: frozenset[str]
    marks: str
    dressed: bool
    named: bool


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
_NO_CASES = re.compile(r"^func TestMain\(|^//go:build", re.MULTILINE)
_MAIN = re.compile(r"^package main\b|^package main(?=_test\b)", re.MULTILINE)  # a program cannot be imported
# A release, but for what the tests of a debug build may go by, and for what takes long.
_RELEASE = {
    "CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS": "true",
    "CARGO_PROFILE_RELEASE_PANIC": "unwind",
    "CARGO_PROFILE_RELEASE_LTO": "false",
}
_OWN_CRATE = re.compile(r"^[\w-]+\s*=\s*\{[^\n]*\bpath\s*=\s*\"\.?/?\"[^\n]*\}[ \t]*$", re.MULTILINE)
_SUBTEST = re.compile(r"\b(\w+)\.Run\((?=[^\n]*\bfunc\(\w+ \*testing\.T\) \{$)", re.MULTILINE)


def plain_program(
    gate: Gate,
    tests: Mapping[str, str],
    read: Read,
    paths: frozenset[str],
    marks: str,
    *,
    dressed: bool,
    named: bool = False,
    spoken: str = "",
    settings: Mapping[str, str] | None = None,
) -> Program | None:
    """A program that calls these tests (id -> file; "" = not known); None where none can be made.

    `named`: where they stand and by their own names, though no runner is there; so is what is dressed.
    `spoken`: what the changed files said at the base; `settings`: its files of settings there.
    """
    named = named or dressed
    if not tests or gate.cwd not in (".", ""):
        return None
    at = skip_launchers(gate.argv)
    name = base_name(gate.argv[at]) if at < len(gate.argv) else ""
    words = gate.argv[at:]
    runner = next((index for index, word in enumerate(words) if base_name(word) in _PYTHON_RUNNERS), None)
    places = {test: path or _dotted_path(test, read) for test, path in tests.items()}
    if runner is not None and (not runner or "-m" in words) and all(places.values()):
        text = _python_text(places, read, marks, spoken, dressed=dressed, moved=not named)
        bare = ("main_program",) if base_name(words[runner]) == "unittest" else (*_BARE, "main_program.py")
        return Program({"main_program.py": text.encode()}, (*gate.argv[: at + runner + 1], *bare), _BARE_ENV)
    asked = _Asked(sorted(tests), cache(read), paths, marks, dressed, named)
    if (name, *words[1:2]) == ("go", "test"):
        return _go_program(gate.argv[: at + 1], asked)
    if (name, *words[1:2]) == ("cargo", "test"):
        return _rust_program(gate.argv[: at + 1], asked)
    made = javascript_program(
        gate, tests, read, marks, dressed=dressed, named=named, spoken=spoken, settings=settings or {}
    )
    return Program(*made) if made is not None else None


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
    texts = [decode(read(path.lstrip("/"))) for path in sorted(files)]
    said = "\n".join((spoken, *texts))
    ordinary = [name for name, words in _ORDINARY.items() if not dressed and not re.search(words, said)]
    clock = program_text("other_clock.py")
    return program_text("plain_program.py") % (marks, dressed, moved, ordinary, called, clock)


def has_program(gate: Gate) -> bool:
    """Is it a runner whose tests such a program calls? Of the others it is only said that it does not."""
    at = skip_launchers(gate.argv)
    words = gate.argv[at + 1 :]
    name = base_name(gate.argv[at]) if at < len(gate.argv) else ""
    return (name, *words[:1]) in (("go", "test"), ("cargo", "test")) or (name == "node" and "--test" in words)


def _go_program(argv: tuple[str, ...], asked: _Asked) -> Program | None:
    read, dressed, named = asked.read, asked.dressed, asked.named
    module = re.search(r"^module\s+(\S+)", decode(read("go.mod")), re.MULTILINE)
    if module is None:
        return None
    files: dict[str, bytes] = {}
    imports: dict[str, str] = {}
    calls = []
    for test in asked.tests:
        package, _, name = test.partition("::")
        folder = package.removeprefix(module[1]).strip("/")
        own = [path for path in asked.paths if posixpath.dirname(path) == folder and path.endswith(".go")]
        whole = {path: _MAIN.sub("package program", decode(read(path))) for path in own}
        files.update((path, text.encode()) for path, text in whole.items() if "package program" in text)
        texts = {path: text for path, text in whole.items() if path.endswith("_test.go")}
        stands = [text for text in texts.values() if re.search(rf"^func {name}\(", text, re.MULTILINE)]
        if not stands or any(_NO_CASES.search(text) for text in texts.values()):
            continue  # parts of tests are called by these
        name = name if named else _TEST.sub("Case", name)
        imported = package
        for path, text in texts.items():
            here = path.removesuffix("_test.go")
            shown = text if dressed else _bare_go(text, named)
            shown = f"//line {posixpath.basename(path)}:1\n{shown}" if named else shown
            apart = re.search(r"^package (\w+)_test\b", text, re.MULTILINE)
            if apart is not None:  # it imports the product as everybody does
                beside = f"mainprogram/{folder or '.'}/{apart[1]}_{'test' if named else 'cases'}"
                beside = posixpath.normpath(beside)
                here = f"{beside}/{posixpath.basename(here)}"
                imported = f"{module[1]}/{beside}" if text in stands else imported
            files[f"{here}_cases.go"] = shown.encode()
            files[path] = re.sub(r"(?s)^(.*?\npackage \w+|package \w+).*", r"\1\n", text).encode()
        alias = imports.setdefault(imported, f"p{len(imports)}")
        calls.append(f"\ttry({_quoted(folder or '.')}, {_quoted(test)}, {alias}.{name})")
    if not calls:
        return None
    text = program_text("plain_program.go") % {
        "imports": "\n".join(f"\t{alias} {_quoted(package)}" for package, alias in imports.items()),
        "marks": _quoted(asked.marks),
        "package": "mainprogram" if dressed else "main",
        "main": "TestMain(_ *testing.M)" if dressed else "main()",
        "dressed": _quoted(dressed),
        "named": _quoted(named),
        "calls": "\n".join(calls),
    }
    files[f"mainprogram/main{'_test' if dressed else ''}.go"] = text.encode()
    if dressed:  # as the runner's own program
        return Program(files, (*argv, "test", "-count=1", "-vet=off", "./mainprogram"))
    # Nothing that the go command itself starts: that would still be its own process.
    build = shlex.join((*argv, "build", "-o", "main_program", "./mainprogram"))
    return Program(files, ("/bin/sh", "-c", f"{build} && exec ./main_program"))


def _bare_go(text: str, named: bool) -> str:
    """Tests under other names, which call what they would have the runner call."""
    if not named:
        text = re.sub(r"^(package \w+)_test\b", r"\1_cases", _TEST.sub("Case", text), flags=re.MULTILINE)
    text = re.sub(r"\b\w+\.Parallel\(\)", "", text)
    return _SUBTEST.sub(r"func(_ string, call func(*testing.T)) { call(\1) }(", text)


def _rust_program(argv: tuple[str, ...], asked: _Asked) -> Program | None:
    """Tests and the modules that hold them become public; files under tests/ are modules of an example."""
    manifest, profile = decode(asked.read("Cargo.toml")), "debug" if asked.named else "release"
    crate = re.search(r'^name\s*=\s*"([\w-]+)"', manifest, re.MULTILINE)
    folder = "tests/" if asked.named else "cases/"
    files: dict[str, bytes] = {}
    for path in asked.paths:
        if path.startswith(("src/", "tests/")) and path.endswith(".rs"):
            public = _public_rust(decode(asked.read(path)))
            files[path.replace("tests/", folder, path[0] == "t")] = public.encode()
    rows, modules, own = list[str](), dict[str, str](), dict[str, list[str]]()
    for test in asked.tests:
        target, _, name = test.partition(" > ")
        if crate is None or not target.startswith(("src/lib.rs", "tests/")):
            continue
        module = crate[1].replace("-", "_")
        if target != "src/lib.rs":
            module = modules.setdefault(target.replace("tests/", folder, 1), f"part{len(modules)}")
        first, _, last = name.rpartition("::")
        known = f"fn {last}()" in "".join(own.get(first, ()))
        made = f"#[test] fn {last}() {{ crate::try_test({len(rows)}) }}\n"
        own.setdefault(f"again{len(own)}" if known else first, []).append(made)
        rows.append(f"({_quoted(test)}, || call({module}::{name}()))")
    if not rows:
        return None
    words = {"named": _quoted(asked.named), "marks": _quoted(asked.marks), "tests": ", ".join(rows)}
    words["entry"] = "fn main() { (0..TESTS.len()).for_each(try_test) }"
    if asked.dressed:
        words["entry"] = "".join(_in_modules(place, "".join(made)) for place, made in own.items())
    lead = "".join(f'#[path = "../{path}"]\nmod {name};\n' for path, name in modules.items())
    text = (lead + program_text("plain_program.rs") % words).encode()
    if asked.dressed:
        files["tests/main_program.rs"] = text
        told = (*argv, "test", "--offline", "--quiet", "--test", "main_program")
        return Program(files, told, {"RUSTFLAGS": "--cfg test"})
    files["examples/main_program.rs"] = text
    files["Cargo.toml"] = _OWN_CRATE.sub("", manifest).encode()  # features that only its own tests have
    flags = () if asked.named else ("--release", "--config", 'profile.release.package."*".opt-level=1')
    build = shlex.join((*argv, "build", "--offline", "--quiet", *flags, "--example", "main_program"))
    built = f"find ${{CARGO_TARGET_DIR:-target}} -path '*/{profile}/examples/main_program'"
    # As nobody starts it but its user: neither from cargo's folders nor by cargo.
    start = f'{build} && cp "$({built} | head -n 1)" main_program && exec ./main_program'
    return Program(files, ("/bin/sh", "-c", start), _RELEASE)


def _in_modules(place: str, text: str) -> str:
    names = place.split("::") if place else []
    return "".join(f"mod {name} {{\n" for name in names) + text + "}\n" * len(names)


def _public_rust(text: str) -> str:
    text = re.sub(r"#\[cfg\(test\)\]\s*(?=(?:pub(?:\([^)]*\))?\s+)?mod\b)", "", text)
    text = re.sub(r"^([ \t]*)mod (?=\w+\s*[;{])", r"\1pub mod ", text, flags=re.MULTILINE)
    return re.sub(r"#\[test\](\s*(?:#\[[^\]]*\]\s*)*)(?:pub\s+)?fn\b", r"\1pub fn", text)
