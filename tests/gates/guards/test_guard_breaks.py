"""Guard "sabotage": a green must be able to turn red when the code of the change fails."""

import subprocess
import sys

import pytest
from guardkit import facts_of
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import BreakSeen, first_breaks, next_break, waits_for_all
from ralph.gates.guards._base.facts import Tried
from ralph.gates.guards._breaks.wrap_source import Marks, read_marks, wrap_source
from ralph.gates.guards.integrity.sabotage import check

PYTHON = '''#!/usr/bin/env python
"""Sums."""
from __future__ import annotations

import functools


@functools.cache
def add(a, b):
    return a + b


class Sum:
    @property
    def value(self):
        return 3

    async def later(self):
        return 4


def each():
    yield 1


TABLE = add(1, 1)
'''
CHECK = """import asyncio
from sums import Sum, add, each
assert add(1, 2) == 3
assert list(each()) == [1]
assert Sum().value == 3
assert asyncio.run(Sum().later()) == 4
"""
SCRIPT = """export const add = (a, b) => ({ sum: a + b }).sum;
export class Sum { get value() { return 3; } async later() { return 4; } }
export function* each() { yield 1; }
"""
SCRIPT_CHECK = """import assert from 'node:assert';
import { add, Sum, each } from './sums.mjs';
assert.equal(add(1, 2), 3);
assert.deepEqual([...each()], [1]);
assert.equal(new Sum().value, 3);
assert.equal(await new Sum().later(), 4);
"""


def execute(place, path, source, mode, argv, **files):
    """The wrapped source in a place with its check: exit code and marks."""
    marks = place / "marks"
    made = wrap_source(path, None, source.encode(), mode, str(marks))
    for name, content in {path: source.encode(), **{k: v.encode() for k, v in files.items()}, **made}.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)
    done = subprocess.run(argv, cwd=place, capture_output=True, check=False)
    return done.returncode, read_marks(marks.read_bytes() if marks.exists() else b"")


def python(place, source, mode, check=CHECK):
    return execute(place, "sums.py", source, mode, [sys.executable, "check.py"], **{"check.py": check})


def node(place, source, mode, check=SCRIPT_CHECK):
    return execute(place, "sums.mjs", source, mode, ["node", "check.mjs"], **{"check.mjs": check})


@pytest.mark.parametrize("mode", ["after", "instead", "module", "unloaded"])
def test_broken_code_turns_an_honest_check_red(tmp_path, mode):
    """Functions, properties, coroutines and generators fail; loading the file only in its own mode."""
    code, marks = python(tmp_path, PYTHON, mode)
    assert code == 1
    assert marks.entered == 1


@pytest.mark.parametrize(("run", "source"), [(python, PYTHON), (node, SCRIPT)])
def test_traced_code_works_as_before(tmp_path, run, source):
    """Every function says that it was entered and left; what is called while the file is loaded does not."""
    code, marks = run(tmp_path, source, "trace")
    assert (code, marks.entered, marks.left, marks.exits) == (0, 4, 4, ())
    assert {"add", "each", "value", "later"} == marks.names


def test_where_a_program_ended_is_what_it_entered_and_never_left():
    """Marks of the thread that ends it; what was left as often as it was entered has come to its end."""
    marks = read_marks(b"i add\ne add\ni sum\ne sum\no\nl sum\ni sum\ne sum\no\nl sum\n")
    assert marks == Marks(3, 2, (), ("add",), frozenset({"add", "sum"}))


@pytest.mark.parametrize(
    ("name", "program"),
    [("sums.py", '"""Sums."""\nprint(1 + 2)\n'), ("sums.js", "'use strict';\nconsole.log(1 + 2);\n")],
)
@pytest.mark.parametrize(("mode", "red"), [("module", False), ("unloaded", True)])
def test_a_program_without_functions_has_written_all_when_it_is_loaded(tmp_path, name, program, mode, red):
    """A check of what it writes notices only that it was not loaded at all."""
    runs = f"{sys.executable} sums.py" if name.endswith("py") else "node sums.js"
    argv = ["/bin/sh", "-c", f'test "$({runs})" = 3']
    code, marks = execute(tmp_path, name, program, mode, argv)
    assert (code != 0, marks.entered) == (red, 1)


@pytest.mark.parametrize("mode", ["after", "instead", "module", "unloaded"])
def test_broken_scripts_turn_an_honest_check_red(tmp_path, mode):
    """The same for JavaScript."""
    code, marks = node(tmp_path, SCRIPT, mode)
    assert code == 1
    assert marks.entered == 1


@pytest.mark.parametrize(
    "body",
    [
        'getattr(__import__("os"), "_ex" + "it")(0)',
        'vars(__import__("posix"))["_exit"](0)',
        '__import__("os").execv("/bin/true", ["true"])',
        "raise SystemExit(0)",
        "raise type('Done', (SystemExit,), {})(0)",
    ],
)
@pytest.mark.parametrize("mode", ["trace", "after"])
def test_an_early_end_shows(tmp_path, body, mode):
    """A function that ends the process as a success is named, whether or not it is broken."""
    source = f"def add(a, b):\n    {body}\n"
    code, marks = python(tmp_path, source, mode, "from sums import add\nassert add(1, 2) == 3\n")
    assert code == 0
    assert marks.exits == ("add",)


def test_a_hook_at_the_end_shows(tmp_path):
    """So is a hook that loading the module leaves behind."""
    source = "import atexit, os\natexit.register(lambda: os._exit(0))\ndef add(a, b):\n    return 0\n"
    code, marks = python(tmp_path, source, "module", "from sums import add\nassert add(1, 2) == 3\n")
    assert (code, marks.exits) == (0, ("outside of a function",))


def test_workers_of_multiprocessing_end_as_they_always_do(tmp_path):
    """Its children end by os._exit(0): nobody's doing."""
    source = (
        "import multiprocessing\ndef work():\n    pass\ndef add(a, b):\n"
        "    child = multiprocessing.get_context('fork').Process(target=work)\n"
        "    child.start()\n    child.join()\n    return a + b\n"
    )
    code, marks = python(tmp_path, source, "trace", "from sums import add\nassert add(1, 2) == 3\n")
    assert (code, marks.exits) == (0, ())


def test_a_program_may_end_itself(tmp_path):
    """`main` of a command line ends the process; that is what it is for."""
    source = "import sys\ndef main():\n    print('ok')\n    sys.exit(0)\n"
    code, marks = python(tmp_path, source, "trace", "from sums import main\nmain()\n")
    assert (code, marks.exits) == (0, ())


@pytest.mark.parametrize(
    ("run", "source", "check"),
    [
        (
            python,
            "def add(a, b):\n    return a + b\n",
            "import os, sums\nassert sums.add(1, 2) == 3\nos._exit(0)\n",
        ),
        (node, SCRIPT, "import { add } from './sums.mjs';\nprocess.exit(add(1, 2) === 3 ? 0 : 1);\n"),
    ],
)
def test_a_check_may_end_itself(tmp_path, run, source, check):
    """The user's own script ends by asking for it: no code of the change did."""
    code, marks = run(tmp_path, source, "trace", check)
    assert (code, marks.exits) == (0, ())


def test_a_callback_of_node_counts_as_the_change(tmp_path):
    """A timer that ends the process was set by code of the change."""
    source = "export function add() { setTimeout(process.exit, 1, 0); return 0; }\n"
    wait = "await new Promise((go) => setTimeout(go, 500));"
    check = f"import {{ add }} from './sums.mjs';\nadd();\n{wait}\nthrow 1;\n"
    code, marks = node(tmp_path, source, "trace", check)
    assert (code, marks.exits) == (0, ("outside of a function",))


def test_only_what_the_change_brought_is_broken():
    """A function that is as it was stays as it is; without another one there is nothing to break."""
    old = b"def a():\n    return 1\n"
    assert wrap_source("m.py", old, old + b"X = 1\n", "after", "/m") == {}
    made = wrap_source("m.py", old, old + b"def b():\n    return 2\n", "after", "/m")["m.py"]
    assert made.count(b"@__broken_on_purpose__") == 1


@pytest.mark.parametrize("path", ["a.py", "a.js", "a.go", "a.rs", "a.ts", "data.json", "README.md"])
@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"def (", b"{" * 3000, b"fn x() {"])
def test_nothing_breaks_on_odd_files(path, text):
    """What cannot be read cannot be broken, and nobody minds."""
    assert isinstance(wrap_source(path, None, text, "after", "/m"), dict)


GO = "package sums\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"
GO_TEST = (
    'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
    "\tif Add(1, 2) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
)
RUST = (
    "pub fn add(a: i32, b: i32) -> i32 { a + b }\n\n#[cfg(test)]\nmod tests {\n"
    "    use super::*;\n    #[test]\n    fn adds() { assert_eq!(add(1, 2), 3); }\n}\n"
)


@pytest.mark.sample(test=1)
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["after", "instead", "module"])
def test_broken_go_turns_red(tmp_path, mode):
    """Go panics when a function is left, or while the package is initialised."""
    files = {"go.mod": "module sums\n\ngo 1.19\n", "sums_test.go": GO_TEST}
    code, marks = execute(tmp_path, "sums.go", GO, mode, ["go", "test", "./..."], **files)
    assert code == 1
    assert marks.entered == 1


@pytest.mark.sample(test=1)
@pytest.mark.slow
@pytest.mark.parametrize("mode", ["after", "instead"])
def test_broken_rust_turns_red(tmp_path, mode):
    """Rust panics when a function is left; its tests are not broken themselves."""
    files = {"Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n'}
    argv = ["cargo", "test", "--offline", "-q"]
    code, marks = execute(tmp_path, "src/lib.rs", RUST, mode, argv, **files)
    assert code == 101
    assert marks.entered == 1


SCRIPT_GATE = Gate(name="check", run="python check.py", argv=("python", "check.py"), proof=True)


def facts_of_script(**fields):
    return facts_of(
        {"sums.py": "def add(a, b):\n    return 0\n"},
        {"sums.py": PYTHON},
        gates=(SCRIPT_GATE,),
        base={"check": Reading("fail", "exit code 1")},
        final={"check": Reading("pass", "exit code 0")},
        **fields,
    )


RED, GREEN, REACHED = BreakSeen(red=True, entered=1), BreakSeen(red=False), BreakSeen(red=False, entered=1)
LEFT = BreakSeen(red=False, entered=1, exits=("total",))
# what was tried with a check read by its exit code -> kinds found, applied
LAW = [
    ({"trace": REACHED, "after": RED, "module": RED}, [], True),
    ({"trace": LEFT, "after": RED, "module": RED}, ["sabotage.exits"], True),
    ({"trace": REACHED, "after": LEFT, "module": RED}, ["sabotage.exits"], True),
    ({"trace": REACHED, "after": RED, "module": REACHED}, ["sabotage.unnoticed"], True),
    ({"trace": REACHED, "after": REACHED, "module": RED, "instead": RED}, [], False),
    ({"trace": REACHED, "after": REACHED, "module": RED, "instead": REACHED}, [], False),
    ({"trace": REACHED, "after": REACHED, "module": GREEN, "instead": REACHED}, ["sabotage.unnoticed"], True),
    ({"trace": GREEN, "after": GREEN, "module": REACHED, "unloaded": REACHED}, ["sabotage.unnoticed"], True),
    ({"trace": GREEN, "after": GREEN, "module": REACHED, "unloaded": RED}, [], False),
    ({"trace": GREEN, "after": GREEN, "module": RED}, [], False),
    ({"trace": GREEN, "after": GREEN, "module": GREEN}, [], False),
]


@pytest.mark.parametrize(("tried", "kinds", "applied"), LAW)
def test_what_a_green_that_does_not_turn_red_means(tried, kinds, applied):
    """An early end and a failure that nobody notices are questions; what could not be broken is named."""
    facts = facts_of_script(breaks={"check": tried})
    result = check(facts)
    assert [finding.key.split(":")[0] for finding in result.findings] == kinds
    assert result.applied is applied
    assert not result.integrity


def test_what_is_tried_and_in_which_order():
    """Read by its exit code: three at once. What was reached and green is tried without its work."""
    facts = facts_of_script()
    assert first_breaks(facts, facts.gates[0]) == ("trace", "after", "module")
    assert next_break({"after": RED}) is None
    assert next_break({"after": REACHED}) == "instead"
    assert next_break({"after": REACHED, "instead": RED}) is None
    assert next_break({"after": GREEN}) == "module"
    assert next_break({"after": GREEN, "module": GREEN}) == "exercised"
    assert next_break({"after": GREEN, "module": REACHED}) == "unloaded"
    assert next_break({"after": REACHED, "instead": REACHED, "module": REACHED}) is None
    assert next_break({"after": GREEN, "module": GREEN, "exercised": RED}) is None


def test_a_test_that_no_longer_comes_to_the_product_is_asked_about():
    """Green whatever fails: it called functions of the product at the base, and calls none of them now."""
    after = BreakSeen(red=True, entered=3, green=frozenset({"test_labels"}))
    tried = {"after": after}
    assert next_break(tried) == "reach"
    tried["reach"] = BreakSeen(red=False, entered=1)
    assert next_break(tried) is None, "it still comes to one"
    tried["reach"] = BreakSeen(red=False)
    assert next_break(tried) == "reach-base"
    tried["reach-base"] = BreakSeen(red=False)
    assert next_break(tried) is None
    assert check(facts_of_script(breaks={"check": tried})).findings == ()
    tried["reach-base"] = BreakSeen(red=True, entered=2)
    (finding,) = check(facts_of_script(breaks={"check": tried})).findings
    assert finding.key == "sabotage.unreached:check"
    assert "test_labels" in finding.message


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("go run ./check && echo ok", True),
        ("./serve &\nsleep 1\n", False),
        ("timeout 5 ./serve", False),
        ("a=$((1 & 2))", False),
    ],
)
def test_what_a_check_stops_itself_ends_in_the_middle_by_nature(text, waits):
    """Only a check that starts nothing in the background tells where a program ended."""
    gate = Gate(name="check", run=text, argv=("/bin/sh", "-c", text), proof=True)
    assert waits_for_all(facts_of({}, {}, gates=(gate,)), gate) is waits


@pytest.mark.parametrize(("equal", "lies"), [("True", ("add",)), ("int(self) == other", ())])
def test_what_equals_everything_is_told(tmp_path, equal, lies):
    """A value that equals what nobody knows is marked, although its own comparison is wrapped as well."""
    source = f"class Sum(int):\n    def __eq__(self, other):\n        return {equal}\n"
    source += "\n\ndef add(a, b):\n    return [Sum(a)]\n"
    made = wrap_source("sums.py", None, source.encode(), "after", str(tmp_path / "marks"))
    (tmp_path / "sums.py").write_bytes(made["sums.py"])
    argv = [sys.executable, "-c", "import sums; sums.add(1, 2)"]
    subprocess.run(argv, cwd=tmp_path, capture_output=True, check=False)
    marks = read_marks((tmp_path / "marks").read_bytes())
    assert marks.lies == lies


ASKS = """import contextvars
import sys
import threading

_here, VAR = threading.local(), contextvars.ContextVar("VAR", default=0)


def near():
    return sys._getframe(1).f_globals["WANTED"]


def far():
    frame = sys._getframe(1)
    while frame is not None:
        if "wanted" in frame.f_locals:
            return frame.f_locals["wanted"]
        frame = frame.f_back


def plain(x):
    VAR.set(x)
    return plain(x - 1) + 1 if x else 0


def fail():
    raise KeyError(1)


def count():
    yield 1
    yield 2


def words():
    return sys.argv


def main_file():
    return getattr(sys.modules["__main__"], "__file__", "")[-8:]


def put(x):
    _here.x = x


def get():
    return _here.x
"""


@pytest.mark.parametrize(
    ("check", "apart", "copied"),
    [
        ("WANTED = 3\ndef test():\n    assert near() == 3\ntest()", 1, 0),
        ("def test(wanted):\n    assert (lambda: far())() == 3\ntest(3)", 1, 0),
        ("kept = count()\nnext(kept)\nWANTED = 3\nassert near() == 3", 1, 0),
        ("assert plain(3) == 3 and VAR.get() == 0", 0, 0),
        ("assert words() == ['check.py']", 1, 0),
        ("sys.argv = ['x', 'y']\nassert words() == ['x', 'y'] and sys.argv == words()", 0, 0),
        ("assert main_file() == 'check.py'", 1, 0),
        ("try:\n    fail()\nexcept KeyError:\n    pass\nelse:\n    raise SystemExit(2)", 0, 0),
        ("put(3)\nassert get() == 3", 1, 1),
    ],
)
def test_code_of_the_change_sees_nobody_who_calls_it(tmp_path, check, apart, copied):
    """In a thread an answer cannot be read from callers; beneath copies of their frames it can. Who is red in
    both minds the thread. Values, errors and variables of the context come back. Nor are the main module and
    arguments seen, but for those that a test gave; a generator that is left open changes nothing."""
    text = f"import sys\nfrom asks import *\n{check}\n"
    for mode, red in (("trace", None), ("apart", apart), ("copied", copied)):
        argv = [sys.executable, "-B", "check.py"]  # the wrapped files differ in nothing but five letters
        ended, marks = execute(tmp_path, "asks.py", ASKS, mode, argv, **{"check.py": text})
        assert red in (None, ended)
        assert marks.entered


@pytest.mark.parametrize("words", [["asks.py", "3"], ["asks.py"], ["check.py", "3"]])
def test_a_program_that_a_test_starts_sees_its_own_arguments(tmp_path, words):
    """It is not the process of the check, if it has arguments or is the changed file itself."""
    wanted = f"assert words() == sys.argv == {words} and main_file().endswith({words[0]!r})\n"
    own = f'{ASKS}\nif __name__ == "__main__":\n    {wanted}'
    check = f"import sys\nfrom asks import *\n{wanted}"
    argv = [sys.executable, "-B", *words]
    assert execute(tmp_path, "asks.py", own, "apart", argv, **{"check.py": check})[0] == 0


KINDS = """class Near(int):
    def __eq__(self, other):
        return abs(int(self) - int(other)) < 5

class Version(str):
    def __lt__(self, other):
        return len(self) > len(other)

    def isdigit(self):
        return True

class Late(list):
    def __iter__(self):
        return iter([1])

class Fields(dict):
    def __getitem__(self, name):
        return 1


class Loose:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return abs(self.value - getattr(other, "value", other)) < 5

class Exact(Loose):
    def __eq__(self, other):
        return self.value == getattr(other, "value", other)


def give(kind, *words, **named):
    return kind(*words, **named)


make = lambda value: Near(value)
"""


def test_code_of_the_change_sees_no_runner(tmp_path):
    """Neither while it is loaded nor when it is called; who imports one gets it, and others still have it."""
    text = """import sys
SEEN = ["unittest" in sys.modules]

def look():
    SEEN.append("unittest" in sys.modules)
    import unittest.mock
    return unittest.mock.Mock

later = lambda: "unittest" in sys.modules
"""
    check = """import sys, unittest.mock
import product
assert product.look() is unittest.mock.Mock and not product.later()
assert product.SEEN == [False, False] and "unittest.mock" in sys.modules
"""
    argv = [sys.executable, "-B", "check.py"]
    assert execute(tmp_path, "product.py", text, "apart", argv, **{"check.py": check})[0] == 0
    assert execute(tmp_path, "product.py", text, "copied", argv, **{"check.py": check})[0] == 1


@pytest.mark.parametrize(
    ("claim", "red"),
    [
        ("give(Near, 3) == 4", 1),
        ("give(Near, 3) == give(Near, 4)", 0),
        ("give(Near, 4) == 4", 0),
        ("give(Version, 'bb') < give(Version, 'c')", 0),
        ("give(Version, 'c').isdigit()", 1),
        ("[x for x in give(Late)] == [1]", 1),
        ("[give(Near, 3)][0] == 4", 1),
        ("give(Fields)['a'] == 1", 0),
        ("give(dict, sum=Near(3))['sum'] == 4", 1),
        ("make(3) == 4", 1),
        ("give(Loose, 3) == 4", 1),
        ("give(Loose, 3) == give(Loose, 4)", 0),
        ("give(Exact, 3) == 3", 0),
    ],
)
def test_a_kind_of_the_change_is_as_plain_as_its_type(tmp_path, claim, red):
    """Not among its own kind, and not a class that was so at the base."""
    argv, text = [sys.executable, "-B", "check.py"], f"from kinds import *\nassert {claim}\n"
    ended, marks = execute(tmp_path, "kinds.py", KINDS, "apart", argv, **{"check.py": text})
    assert (ended, bool(marks.made_plain)) == (red, red == 1 or claim == "give(Near, 4) == 4")
    assert execute(tmp_path, "kinds.py", KINDS, "copied", argv)[0] == 0
    old = KINDS.replace("def give", "def gave").encode()
    (tmp_path / "kinds.py").write_bytes(
        wrap_source("kinds.py", old, KINDS.encode(), "apart", str(tmp_path / "marks"))["kinds.py"]
    )
    assert subprocess.run(argv, cwd=tmp_path, check=False).returncode == 0


@pytest.mark.parametrize(
    ("old", "test", "asked"),
    [
        ("def f(): pass", "def test_x():\n    assert f() == 1\n", True),
        ("def f(): pass", "def test_x():\n    assert f().filename == __file__\n", False),
    ],
)
def test_who_reads_its_answers_from_callers_is_asked(old, test, asked):
    """Unless the test is about its own place."""
    name = "tests/test_x.py::test_x"
    base = {"a.py": old, "tests/test_x.py": test}
    facts = facts_of(base, {**base, "a.py": "def f(): return 1"})
    gate = Gate(name="check", run="x", argv=("x",), read="pytest", proof=True)
    final = {"check": Reading("pass", "", tests={name: "pass"}, files={name: "tests/test_x.py"})}
    facts = replace(
        facts, gates=(gate,), base={}, final=final, tried=Tried(apart={"check": frozenset({name})})
    )
    found = [one.key for one in check(facts).findings]
    assert found == ([f"sabotage.caller:{name}"] if asked else [])
    facts.tried.made_plain["check"] = {"Cents"}
    assert [one.key for one in check(facts).findings] == [f"sabotage.overridden:{name}"]
    facts.tried.made_plain["check"] = {"test_x"}
    assert check(facts).findings == ()


def test_a_test_that_was_as_blind_at_the_base_is_not_asked_about():
    """A cache takes any value as its key; only a test that once looked at values tells of the change."""
    blind = frozenset({"test_key"})
    tried = {
        "after": RED,
        "foreign": BreakSeen(red=True, entered=2, green=blind | {"test_total"}),
        "others": BreakSeen(red=True, entered=2),
    }
    assert next_break(tried) == "foreign-base"
    tried["foreign-base"] = BreakSeen(red=True, entered=2, green=blind)
    assert next_break(tried) is None
    (finding,) = check(facts_of_script(breaks={"check": tried})).findings
    assert finding.key == "sabotage.unnoticed:check"
    assert "test_total" in finding.message
    assert "test_key" not in finding.message
    tried["foreign-base"] = BreakSeen(red=True, entered=2, green=blind | {"test_total"})
    assert check(facts_of_script(breaks={"check": tried})).findings == ()
