"""Which changed lines count, which of them are executed, and what is said of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from guardkit import facts_of

from ralph.gates.executed.py_start import MODULE
from ralph.gates.executed.py_trace import read_notes, tracer_text
from ralph.gates.executed.v8_dump import read_dumps
from ralph.gates.executed.watched import LineHits, Watch
from ralph.gates.guards._parts.statements import changed_statements, utf16
from ralph.gates.guards.hygiene.diff_coverage import check, watch_request

PYTHON = '''"""A module."""
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import json

LIMIT = 3
name: str


def f(a):
    """What it does."""
    # a comment

    if a:
        return [
            a,
            # inside
            1,
        ]
    else:
        pass
    try:
        return os.sep
    finally:
        a = 1


class C:
    field = 1

    def g(self): ...
'''
JS = """import a from "./a.js";
const b = require("b");
// a comment
export const LIMIT = 3;

export function f(x) {
  if (x) {
    return call({
      x,
    });
  } else {
    throw new Error("é😀");
  }
}
const g = (x) => x + 1;
const h = () => {
  f(0);
};
"""
TS = """interface A {
  b: string;
}
type B = A | null;
export function f(x: B): number {
  return 1;
}
"""


@pytest.mark.parametrize(
    ("path", "text", "counted"),
    [
        ("a.py", PYTHON, [8, 16, 17, 18, 20, 25, 27, 31]),
        ("a.mjs", JS, [4, 7, 8, 9, 12, 15, 17]),
        ("a.ts", TS, [6]),
        ("a.py", "match x:\n    case 1:\n        y = 1\n", [1, 3]),
    ],
)
def test_only_lines_that_can_be_executed_count(path, text, counted):
    """Comments, blank lines, imports, types, docstrings and heads of functions are no changed lines."""
    found = changed_statements(path, text, range(1, text.count("\n") + 1))
    assert sorted(line for row in found for line in row.lines) == counted


def test_what_does_not_parse_is_unknown():
    assert changed_statements("a.py", "def f(:\n", [1]) == "it could not be parsed"


def watched(top: Path, text: str, name: str = "prod.py") -> Watch:
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).write_text(text)
    found = changed_statements(name, text, range(1, text.count("\n") + 1))
    return Watch({name: found}, {name: utf16(text)})


def executed(watch: Watch, hits: LineHits) -> list[int]:
    (path,) = watch.files
    return sorted(line for n in hits.executed[path] for line in watch.files[path][n].lines)


PROD = "def f(a):\n    if a:\n        return 1\n    return 2\n\n\ndef g():\n    return 3\n"


def trace(top: Path, watch: Watch, argv: list[str], **env: str) -> LineHits:
    own = top.parent / "own"
    own.mkdir()
    (own / MODULE).write_text(tracer_text(watch, str(top), f"{own}/lines"))
    said = subprocess.run(
        argv,
        cwd=top,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(own), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stdout + said.stderr
    notes = own / "lines"
    return read_notes(watch, notes.read_bytes() if notes.exists() else b"")


CALLS = {
    "plain": "import prod\nprod.f(1)\n",
    "a thread": "import prod, threading as t\nx = t.Thread(target=prod.g)\nx.start()\nx.join()\nprod.f(1)\n",
    "a fork": "import os, prod\nif not os.fork():\n    prod.f(1)\n    os._exit(0)\nos.wait()\n",
    "a child": "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import prod; prod.f(1)'])\n",
    "after chdir": "import os, prod\nos.chdir('/')\nprod.f(1)\n",
    "a doctest's end": "import doctest, prod\ndoctest.run_docstring_examples('>>> 1\\n1', {})\nprod.f(1)\n",
}


@pytest.fixture
def top(tmp_path):
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


# This one, and the newest one beside it: from 3.12 on another part of Python tells.
_BESIDE = Path(os.path.realpath(sys.executable)).parents[2].glob("3.1[2-9].*/bin/python3")
PYTHONS = [sys.executable, *map(str, sorted(_BESIDE)[-1:])]


@pytest.mark.sample(check=4)
@pytest.mark.parametrize("python", PYTHONS, ids=["this", "newest"][: len(PYTHONS)])
@pytest.mark.parametrize("call", CALLS)
def test_lines_of_every_process_and_thread_are_seen(top, python, call):
    watch = watched(top, PROD)
    (top / "t.py").write_text(CALLS[call])
    hits = trace(top, watch, [python, "t.py"])
    lines = [2, 3, 8] if call == "a thread" else [2, 3]
    assert (executed(watch, hits), hits.measured, hits.partial) == (lines, frozenset({"prod.py"}), False)


def test_a_script_is_seen_under_the_name_it_was_called_by(top):
    watch = watched(top, "x = 1\nif x:\n    y = 2\n")
    assert executed(watch, trace(top, watch, [sys.executable, "prod.py"])) == [1, 2, 3]


def test_the_users_own_sitecustomize_is_loaded_too(top):
    watch = watched(top, PROD)
    (top / "site").mkdir()
    (top / "site" / MODULE).write_text("import builtins\nbuiltins.mine = 7\n")
    (top / "t.py").write_text(
        "import prod, sys\nassert mine == 7\nassert not any(p.endswith('/own') for p in sys.path)\n"
    )
    own = f"{top.parent}/own:{top}/site"
    assert trace(top, watch, [sys.executable, "t.py"], PYTHONPATH=own).measured


@pytest.mark.parametrize(
    "child", ["env={}", "env={'PYTHONPATH': '/elsewhere'}", "args=[sys.executable, '-I', '-c', '']"]
)
def test_a_child_that_cannot_be_watched_is_noted(top, child):
    watch = watched(top, PROD)
    words = child if child.startswith("args") else f"args=[sys.executable, '-c', ''], {child}"
    (top / "t.py").write_text(f"import subprocess, sys, prod\nsubprocess.run({words})\n")
    assert trace(top, watch, [sys.executable, "t.py"]).partial


@pytest.mark.slow
def test_workers_of_xdist_are_seen(top):
    watch = watched(top, PROD)
    (top / "test_a.py").write_text("import prod\n\n\ndef test_a():\n    assert prod.f(1) == 1\n")
    hits = trace(top, watch, [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider"])
    assert executed(watch, hits) == [2, 3]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sys.monitoring shares with everybody")
@pytest.mark.parametrize("end", ["", "import sys; sys.settrace(None)\n"])
def test_a_lost_trace_is_unknown_and_not_idle(top, end):
    """Where another tool took our place and has no data of its own, nothing is said about the file."""
    watch = watched(top, PROD)
    (top / "t.py").write_text(end + "import prod\nprod.f(1)\n")
    hits = trace(top, watch, [sys.executable, "t.py"])
    assert bool(hits.unknown) == bool(end)
    assert ("another tool traced" in hits.unknown.get("prod.py", "")) == bool(end)


def test_processes_that_load_nothing_of_the_project_show_nothing(top):
    watch = watched(top, PROD)
    hits = trace(top, watch, [sys.executable, "-c", "import json"])
    assert "could be watched" in hits.unknown["prod.py"]


def test_notes_that_make_no_sense_are_passed_over():
    """Judged code can write there what it likes."""
    watch = Watch({"a.py": changed_statements("a.py", PROD, [2, 3])})
    assert not read_notes(watch, b"\xff\n9:1\n0:x\nwhole 7\nlost\n0:999999\n").executed["a.py"]


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_v8_tells_what_node_executes(top):
    watch = watched(top, JS.replace('import a from "./a.js";\nconst b = require("b");\n', "\n\n"), "a.mjs")
    (top / "t.mjs").write_text('import { f } from "./a.mjs";\ntry { f(0); } catch {}\n')
    dumps = top.parent / "v8"
    subprocess.run(
        ["node", "t.mjs"],
        cwd=top,
        env={"PATH": os.environ["PATH"], "NODE_V8_COVERAGE": str(dumps)},
        check=True,
    )
    data = [path.read_bytes() for path in dumps.iterdir()]
    hits = read_dumps(watch, str(top), data, all_written=True)
    assert (executed(watch, hits), hits.unknown) == ([4, 7, 12], {})
    longer = msgspec.structs.replace(watch, lengths={"a.mjs": 1})
    assert "transformed" in read_dumps(longer, str(top), data, all_written=True).unknown["a.mjs"]
    assert read_dumps(watch, "/elsewhere", data, all_written=True).unknown
    assert read_dumps(watch, str(top), [b"{", b"[]"], all_written=True).unknown


def result(hits, *, new=PROD, path="prod.py"):
    return check(facts_of({}, {path: new}, coverage={"tests": hits} if hits else {}, confirm=3, memo={}))


def test_what_is_said():
    path = "prod.py"
    some = LineHits(executed={path: frozenset({0, 1})}, measured=frozenset({path}))
    assert result(some).summary == "2 of 4 changed lines are executed by tests; not: prod.py:4, prod.py:8"
    assert result(some).counted == {"changed_lines": 4, "executed_lines": 2, "unwatched": 0}
    partial = msgspec.structs.replace(some, partial=True)
    assert result(partial).counted["unwatched"] == 1
    unknown = LineHits(unknown={path: "no reason"})
    assert result(unknown).summary == "unknown which changed lines tests execute of prod.py: no reason"
    assert result(unknown).counted == {}
    assert result(None).summary.endswith("no check that executes tests was called again")
    assert result(some, new="# only a comment\n").summary == "no line changed that a test could execute"
    assert result(some, path="test_prod.py").summary == "no line changed that a test could execute"
    assert "only Python and JavaScript are watched" in result(some, path="src/lib.rs").summary


def test_lines_that_only_moved_are_not_changed():
    assert watch_request(facts_of({"a.py": PROD}, {"b.py": PROD}, memo={})) is None
