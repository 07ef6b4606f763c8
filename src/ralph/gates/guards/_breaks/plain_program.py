"""Tests called by an ordinary program instead of their runner: does the product behave when nobody tests it?

What a runner leaves in a process (modules, variables, arguments, flags, the names of threads) can be asked
for. So the tests that turned green are called by a program that has none of that, and again, where one is
red then, by the same program with the runner's traces put on. Only what is red in the first and green in the
second goes by them; whatever else such a program lacks, it lacks both times. It tries what needs nothing but
itself: no fixtures, no set-up. `r NAME` in the file of marks is a test that failed.
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
from ralph.gates.runners import base_name, is_python, skip_launchers

Read = Callable[[str], bytes | None]


class Program(Struct, frozen=True):
    """Files to write over the result, and what to execute then."""

    files: dict[str, bytes]
    argv: tuple[str, ...]
    env: dict[str, str] = {}


_PYTHON = """import builtins, importlib.util, inspect, itertools, os, sys
MARKS, DRESSED, TESTS = %r, %r, %r
HIDDEN, kept, real, inside = ("pytest", "_pytest", "pluggy", "unittest"), {}, builtins.__import__, []
def hide():
    for name in [name for name in sys.modules if name.split(".")[0] in HIDDEN]:
        kept[name] = sys.modules.pop(name)
def load(name, *words, **named):
    asks = str(((words or [None])[0] or {}).get("__package__"))
    if inside or not {name.split(".")[0], asks.split(".")[0]} & set(HIDDEN):
        return real(name, *words, **named)
    inside.append(sys.modules.update(kept))
    try:
        return real(name, *words, **named)
    finally:
        inside.clear()
        hide()
for name in ("pytest", "unittest.mock"):  # whole, before they are hidden
    try:
        __import__(name)
    except ImportError:
        pass
if DRESSED:
    os.environ["PYTEST_CURRENT_TEST"], sys.argv = "tests (call)", ["pytest", "-q"]
else:
    builtins.__import__, sys.argv = load, ["main"]
    hide()
here = os.getcwd()
for path in {os.path.dirname(path) for path, _ in TESTS} | {"src", "."}:
    sys.path.insert(0, os.path.join(here, path))
def cases(function):
    rows = [{}]
    for mark in getattr(function, "pytestmark", []):
        if mark.name != "parametrize":
            return []
        names = mark.args[0].split(",") if isinstance(mark.args[0], str) else list(mark.args[0])
        names = [name.strip() for name in names]
        values = [getattr(value, "values", value) for value in mark.args[1]]
        values = [value if len(names) > 1 or hasattr(one, "values") else (value,)
                  for value, one in zip(values, mark.args[1])]
        rows = [{**row, **dict(zip(names, value))} for row, value in itertools.product(rows, values)]
    wanted = set(inspect.signature(function).parameters)
    return rows if all(set(row) == wanted for row in rows) else []
modules = {}
for path, name in TESTS:
    try:
        if path not in modules:
            spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
            modules[path] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[path])
        owner = modules[path]
        for part in name.split("::")[:-1]:
            owner = getattr(owner, part)
            owner = owner(name.split("::")[-1]) if hasattr(owner, "debug") else owner()
        if hasattr(owner, "debug"):
            calls = [(owner.debug, {})]
        else:
            function = getattr(owner, name.split("::")[-1])
            calls = [(function, row) for row in cases(function)]
        for call, row in calls:
            call(**row)
    except AssertionError:
        with open(MARKS, "a") as file:
            file.write("r " + path + "::" + name + "\\n")
    except BaseException:
        pass
"""
_NODE = """import { appendFileSync } from 'node:fs';
const [marks, dressed, tests] = WORDS;
if (dressed) {
  process.env.NODE_TEST_CONTEXT = 'child';
  process.execArgv.push('--test');
}
process.on('exit', (code) => {
  if (code === 1) for (const name of tests) appendFileSync(marks, 'r ' + name + '\\n');
});
for (const path of new Set(tests)) await import('./' + path);
"""
_GO = """package main

import (
	"os"
	"testing"
%(imports)s
)

func try(folder, name string, test func(*testing.T)) {
	top, _ := os.Getwd()
	_ = os.Chdir(folder)
	defer os.Chdir(top)
	t, done := &testing.T{}, make(chan bool)
	go func() {
		red := false
		defer func() {
			if recover() == nil {
				red = t.Failed()
			}
			done <- red
		}()
		test(t)
	}()
	if <-done {
		file, err := os.OpenFile(%(marks)s, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
		if err == nil {
			file.WriteString("r " + name + "\\n")
			file.Close()
		}
	}
}

func main() {
	%(dress)s
%(calls)s
}
"""
_GO_DRESS = 'testing.Init()\n\tos.Args = []string{"/tmp/x.test", "-test.v=true", "-test.timeout=10m0s"}'
_RUST = """
fn main() {
    let tests: Vec<(&str, fn())> = vec![%(tests)s];
    for (name, test) in tests {
        let thread = std::thread::Builder::new().name(name.rsplit("> ").next().unwrap_or(name).to_string());
        let red = if %(dressed)s {
            thread.spawn(test).map(|one| one.join().is_err()).unwrap_or(false)
        } else {
            std::panic::catch_unwind(test).is_err()
        };
        if red {
            use std::io::Write;
            if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(%(marks)s) {
                let _ = writeln!(file, "r {}", name);
            }
        }
    }
}
"""


def plain_program(
    gate: Gate, tests: Mapping[str, str], read: Read, paths: frozenset[str], marks: str, *, dressed: bool
) -> Program | None:
    """A program that calls these tests (id -> file; "" = not known); None where none can be made."""
    if not tests or len(tests) > MAX_TESTS or gate.cwd not in (".", ""):
        return None
    at = skip_launchers(gate.argv)
    name = base_name(gate.argv[at]) if at < len(gate.argv) else ""
    words = gate.argv[at:]
    if is_python(name) and "-m" in words and all(tests.values()):
        rows = [(path, test.partition("[")[0].partition("::")[2]) for test, path in sorted(tests.items())]
        text = _PYTHON % (marks, dressed, list(dict.fromkeys(row for row in rows if row[1])))
        shown = ("-m", "pytest") if dressed else ()
        argv = (*gate.argv[: at + 1], "main_program.py", *shown)
        return Program({"main_program.py": text.encode()}, argv)
    if name == "node" and "--test" in words and all(map(language, tests.values())):
        text = _NODE.replace("WORDS", json.dumps([marks, dressed, sorted(set(tests.values()))]))
        flags = [word for word in words[1:] if word.startswith("-") and not word.startswith("--test")]
        return Program(
            {"main_program.mjs": text.encode()}, (*gate.argv[: at + 1], *flags, "main_program.mjs")
        )
    if name == "go" and words[1:2] == ("test",):
        return _go_program(gate.argv[: at + 1], sorted(tests), read, paths, marks, dressed=dressed)
    if name == "cargo" and words[1:2] == ("test",):
        return _rust_program(gate.argv[: at + 1], sorted(tests), read, marks, dressed=dressed)
    return None


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
                files[f"{path.removesuffix('_test.go')}_cases.go"] = text.encode()
                files[path] = re.sub(r"(?s)^(.*?\npackage \w+|package \w+).*", r"\1\n", text).encode()
        calls.append(f"\ttry({_quoted(folder or '.')}, {_quoted(test)}, {imports[package]}.{name})")
    if not calls:
        return None
    text = _GO % {
        "imports": "\n".join(f"\t{name} {_quoted(package)}" for package, name in imports.items()),
        "marks": _quoted(marks),
        "dress": _GO_DRESS if dressed else "",
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
        rows = ", ".join(f"({_quoted(f'{target} > {name}')}, {name} as fn())" for name in names)
        files = {"examples/main_program.rs": (bare + _RUST % {"tests": rows, **words}).encode()}
    elif target == "src/lib.rs":
        own = crate[1].replace("-", "_")
        public = re.sub(r"#\[cfg\(test\)\]\s*mod\b", "pub mod", text)
        public = re.sub(r"#\[test\]\s*fn\b", "pub fn", public)
        rows = ", ".join(f"({_quoted(f'{target} > {name}')}, {own}::{name} as fn())" for name in names)
        main = (_RUST % {"tests": rows, **words}).encode()
        files = {target: public.encode(), "examples/main_program.rs": main}
    else:
        return None
    env = {"RUSTFLAGS": "--cfg test"} if dressed else {}
    return Program(files, (*argv, "run", "--offline", "--quiet", "--example", "main_program"), env)


def _quoted(text: str) -> str:
    return json.dumps(text)
