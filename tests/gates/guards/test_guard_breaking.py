"""Functions broken on purpose: the file still parses, and nothing but that function is another one."""

import ast
import shutil
import subprocess
import textwrap

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.gates.guards._breaks import wrap_source


def broken_versions(path, old, new):
    """The file itself, of each version."""
    return [(name, files[path]) for name, files in wrap_source.broken_versions(path, old, new)]


def functions(text, lead=""):
    """Every function of a module or class with its syntax, in order."""
    tree = text if isinstance(text, ast.AST) else ast.parse(text)
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((lead + node.name, node))
        elif isinstance(node, ast.ClassDef):
            found += functions(node, f"{lead}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found += functions(node, lead)
    return found


def skeleton(text, hole):
    """The module's syntax with the body of the function at this place left out."""
    tree = ast.parse(text)
    functions(tree)[hole][1].body = [ast.Pass()]
    return ast.dump(tree)


def broken(new, old=None, path="src/calc.py"):
    given = new if isinstance(new, bytes) else textwrap.dedent(new).encode()
    before = textwrap.dedent(old).encode() if isinstance(old, str) else old
    return given, broken_versions(path, before, given)


def checked(new, old=None):
    """Names of the functions that were broken, each version looked at."""
    given, versions = broken(new, old)
    whole = functions(given)
    for name, content in versions:
        after = functions(content)
        assert [one for one, _ in after] == [one for one, _ in whole]
        hits = [
            at
            for at, (before, now) in enumerate(zip(whole, after, strict=True))
            if ast.dump(before[1]) != ast.dump(now[1])
        ]
        assert len(hits) == 1, "exactly one function is another one"
        assert whole[hits[0]][0] == name
        assert skeleton(given, hits[0]) == skeleton(content, hits[0])
        compile(content, "x", "exec")
    return [name for name, _ in versions]


CASES = {
    "plain": ("def f(x):\n    return x + 1\n", ["f"]),
    "largest first": ("def a(): return 1\ndef b():\n    x = 1\n    return x\n", ["b", "a"]),
    "one line": ("def f(): return 1\n", ["f"]),
    "one line, two statements": ("def f(): x = 1; return x\n", ["f"]),
    "one line, semicolon at the end": ("def f(): return 1;\n", ["f"]),
    "no newline at the end": ("def f():\n    return 1", ["f"]),
    "comment behind it": ("def f():\n    return 1  # one\n\n# two\n", ["f"]),
    "docstring": ('def f():\n    """Says."""\n    return 1\n', ["f"]),
    "docstring on its own line": ('def f(): "Says."; return 1\n', ["f"]),
    "many lines in one statement": ("def f():\n    return [\n        1,\n        2,\n    ]\n", ["f"]),
    "string over lines": ('def f():\n    return """a\nb\n"""\n', ["f"]),
    "method": ("class A:\n    def m(self):\n        return 1\n", ["A.m"]),
    "nested class": ("class A:\n    class B:\n        def m(self):\n            return 1\n", ["A.B.m"]),
    "inner function belongs to its owner": (
        "def f():\n    def g():\n        return 1\n    return g\n",
        ["f"],
    ),
    "inner function is all there is": ("def f():\n    def g():\n        return 1\n", ["f"]),
    "decorated inner function comes first": (
        "def deco(fn):\n    @wraps(fn)\n    def inner():\n        return fn()\n    return inner\n",
        ["deco"],
    ),
    "two decorators on the inner one": (
        "def deco(fn):\n    @a\n    @b(\n        1)\n    def inner():\n        return 1\n    return inner\n",
        ["deco"],
    ),
    "decorated inner class comes first": (
        "def make():\n    @dataclass\n    class A:\n        x: int\n    return A\n",
        ["make"],
    ),
    "decorator": ("@deco\n@other(1)\ndef f():\n    return 1\n", ["f"]),
    "generator": ("def f():\n    yield 1\n    yield 2\n", ["f"]),
    "generator on one line": ("def f(): yield 1\n", ["f"]),
    "generator by delegation": ("def f(x):\n    yield from x\n", ["f"]),
    "generator in an expression": ("def f():\n    x = [(yield 1)]\n    return x\n", ["f"]),
    "yield of an inner function": ("def f():\n    def g():\n        yield 1\n    return list(g())\n", ["f"]),
    "lambda with yield": ("def f():\n    return lambda: (yield)\n", ["f"]),
    "async": ("async def f():\n    await g()\n    return 1\n", ["f"]),
    "async generator": ("async def f():\n    yield 1\n", ["f"]),
    "property and setter": (
        (
            "class A:\n    @property\n    def x(self):\n        return self._x\n\n"
            "    @x.setter\n    def x(self, x):\n        self._x = x\n"
        ),
        ["A.x", "A.x"],
    ),
    "static and class methods": (
        (
            "class A:\n    @staticmethod\n    def s():\n        return 1\n"
            "    @classmethod\n    def c(cls):\n        return cls\n"
        ),
        ["A.c", "A.s"],
    ),
    "behind a condition": (
        "if X:\n    def f():\n        return 1\nelse:\n    def f():\n        return 2\n",
        ["f", "f"],
    ),
    "tabs": ("class A:\n\tdef m(self):\n\t\treturn 1\n\n\tdef n(self):\n\t\tyield 1\n", ["A.m", "A.n"]),
    "unicode": ("# ümläut\ndef grüße(ñ='é'): return ñ + '→'  # ñ\n\n\ndef b(): return 'é'\n", ["b", "grüße"]),
    "wide characters before the body": ("def f(a='日本語'): return a\n", ["f"]),
    "form feed": ("\x0c\ndef a():\n    return 1\n\x0c\ndef b():\n    return '\x0c'\n", ["a", "b"]),
    "odd line separators in a string": ("x = 'a\u2028b\x85c'\n\n\ndef f():\n    return x\n", ["f"]),
    "vertical tab in a comment": ("# a\x0bb\ndef f():\n    return 1\n", ["f"]),
    "type parameters and annotations": ("def f(x: list[int] = []) -> 'int':\n    return len(x)\n", ["f"]),
    "line joined by a backslash": ("def f():\n    return 1 + \\\n        2\n", ["f"]),
    "with parentheses in the header": ("def f(\n    a,\n    b,\n):\n    return a + b\n", ["f"]),
    "global and nonlocal": ("X = 1\ndef f():\n    global X\n    X = 2\n", ["f"]),
    "constructor": ("class A:\n    def __init__(self):\n        self.x = 1\n", ["A.__init__"]),
    "match": ("def f(x):\n    match x:\n        case 1:\n            return 2\n", ["f"]),
    "try with a star": ("def f():\n    try:\n        g()\n    except* ValueError:\n        pass\n", ["f"]),
    "no function": ("X = {1: 2}\n", []),
    "nothing to break": (
        "def a(): pass\ndef b(): ...\ndef c(): 'says'\ndef d(): return\ndef e():\n    return None\n",
        [],
    ),
    "a mere declaration": (
        (
            "@overload\ndef f(x: int) -> int: ...\n@typing.overload\ndef f(x: str) -> str: ...\n"
            "class A:\n    @abc.abstractmethod\n    def m(self):\n        raise NotImplementedError\n"
        ),
        [],
    ),
    "not Python at all": ("def f(:\n", []),
    "empty": ("", []),
}


@pytest.mark.parametrize("name", CASES)
def test_python(name):
    """Each function of the change is broken once, in a file that parses and differs in it alone."""
    text, expected = CASES[name]
    if not expected:
        assert broken(text.encode())[1] == []
        return
    assert sorted(checked(text.encode())) == sorted(expected)
    if len(expected) == len(set(expected)):
        sizes = {one: node.end_lineno - node.lineno for one, node in functions(text.encode())}
        assert checked(text.encode()) == sorted(expected, key=lambda one: (-sizes[one], one))


@pytest.mark.parametrize("name", [name for name, (_, expected) in CASES.items() if expected])
@pytest.mark.parametrize("end", [b"\r\n", b"\r"])
def test_python_line_ends(name, end):
    """Lines may end as they do elsewhere."""
    text, expected = CASES[name]
    assert sorted(checked(text.encode().replace(b"\n", end))) == sorted(expected)


def test_byte_order_mark():
    """A file that begins with a mark keeps it, and its first line is no exception."""
    given, versions = broken(b"\xef\xbb\xbfdef f(): return 1\ndef g():\n    return 2\n")
    assert [name for name, _ in versions] == ["g", "f"]
    assert all(content.startswith(b"\xef\xbb\xbfdef f") for _, content in versions)
    assert versions[1][1] == b"\xef\xbb\xbfdef f(): return None\ndef g():\n    return 2\n"
    assert given != versions[1][1]


OLD = """
class A:
    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, x):
        self._x = x

    def m(self):
        return 1


def f(a):
    return a


if X:
    def g():
        return 1
else:
    def g():
        return 2
"""


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (("", ""), []),
        (("return a", "return  a  # formatted"), []),
        (("return a", "return a + 1"), ["f"]),
        (("def f(a)", "def f(a, b=1)"), ["f"]),
        (("def f(a)", "def h(a)"), ["h"]),
        (("        return 1\n\n\ndef f", "        return 3\n\n\ndef f"), ["A.m"]),
        (("return self._x", "return self._x + 1"), ["A.x"]),
        (("self._x = x", "self._x = x + 1"), ["A.x"]),
        (("return 2", "return 3"), ["g"]),
        (("class A:", "class B:"), ["B.m", "B.x", "B.x"]),
    ],
)
def test_only_what_the_change_touched(edit, found):
    """A function that is as it was at the base, formatting apart, is left alone."""
    assert sorted(checked(OLD.replace(*edit, 1), OLD)) == found


def test_a_base_that_does_not_parse():
    """Then everything is new."""
    assert checked("def f():\n    return 1\n", "def f(:\n") == ["f"]


@pytest.mark.parametrize(
    ("path", "new"),
    [
        ("src/calc.rb", b"def f() 1 end\n"),
        ("src/calc.py", b"x = '\xff'\ndef f(): return 1\n"),
        ("src/calc.py", b"def f(): return 1\0\n"),
        ("src/calc.py", b"x = 1\n" * 400_000 + b"def f(): return 1\n"),
        ("src/calc.py", b"x = " + b"(" * 5000 + b")" * 5000 + b"\ndef f(): return 1\n"),
        ("data.json", b'{"a": 1}'),
        ("src/calc.js", b"function f() { return '\xff'; }\n"),
    ],
)
def test_what_cannot_be_broken(path, new):
    """Another language, other bytes, too much of it: no function, and no error."""
    assert broken_versions(path, None, new) == []


def test_a_broken_function_does_nothing():
    """It returns nothing, whatever it was: a value, a generator, a coroutine."""
    import asyncio

    _given, versions = broken(
        """
        def value(): return 1
        def many():
            yield 1
            yield 2
        async def later(): return 3
        async def stream():
            yield 4
        """
    )
    found = {}
    for name, content in versions:
        scope = {}
        exec(content, scope)
        found[name] = scope[name]()
    assert found["value"] is None
    assert list(found["many"]) == []
    assert asyncio.run(found["later"]) is None

    async def all_of(stream):
        return [item async for item in stream]

    assert asyncio.run(all_of(found["stream"])) == []


# Modules put together at random, from statements that have bitten before.
names = st.sampled_from(["f", "g", "h", "ñ", "long_name"])
simple = st.sampled_from(
    [
        "x = 1",
        "return 1",
        "return None",
        "pass",
        "'says'",
        "yield 1",
        "y = '''a\n  b'''",
        "z = [\n1,\n2]",
        "raise ValueError('→')",
        "x = (yield)",
        "return '日本'  # ü",
        "a = 1; b = 2",
        "w = lambda: 1",
    ]
)


def indented(text, by):
    return "\n".join(f"{by}{line}" if line else line for line in text.split("\n"))


@st.composite
def function(draw, depth=0):
    by = draw(st.sampled_from(["    ", "\t", "  "]))
    marks = "".join(
        draw(st.lists(st.sampled_from(["@deco\n", "@deco(1,\n  2)\n", "@property\n"]), max_size=2))
    )
    name = draw(names)
    if draw(st.integers(0, 4)) == 0:
        one = draw(st.sampled_from(["return 1", "yield 1", "pass", "x = 1; return x", "'says'; return 'ü'"]))
        return f"{marks}def {name}(self=0): {one}"
    parts = draw(st.lists(simple if depth else simple | function(depth + 1), min_size=1, max_size=3))
    return f"{marks}def {name}(self=0,\n   ü=1):\n" + indented("\n".join(parts), by)


@st.composite
def modules(draw):
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        body = draw(function())
        if draw(st.booleans()):
            body = f"class {draw(names)}:\n" + indented(body, "    ")
        parts.append(body)
        parts.append(draw(st.sampled_from(["", "\x0c", "X = 1", "# ü", "S = 'a\u2028b'"])))
    text = draw(st.sampled_from(["\n", "\n\n\n"])).join(parts) + draw(st.sampled_from(["", "\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n"])))


@pytest.mark.slow
@settings(max_examples=examples(200), deadline=None, database=None, derandomize=True)
@given(text=modules())
def test_any_module(text):
    """Whatever the module: each broken version parses and differs in the named function alone."""
    try:
        ast.parse(text.encode())
    except SyntaxError:
        assert broken(text.encode())[1] == []
        return
    checked(text.encode())


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, database=None, derandomize=True)
@given(text=modules())
def test_any_module_unchanged(text):
    """Nothing changed, nothing is broken."""
    assert broken(text.encode(), text.encode())[1] == []


JS = {
    "function": ("export function f(x) { return x + 1; }\n", {"f"}),
    "arrow": ("export const f = (x) => x + 1;\n", {"f"}),
    "arrow with an object": ("const f = () => ({ a: 1 });\n", {"f"}),
    "arrow with a block": ("const f = async (x) => {\n  return await x;\n};\n", {"f"}),
    "function expression": ("exports.f = function (x) { return x; };\n", {"exports.f"}),
    "method": ("class A {\n  m() { return 1; }\n  get x() { return 2; }\n}\n", {"m", "x"}),
    "method of an object": ("module.exports = { f() { return 1; }, g: () => 2 };\n", {"f", "g"}),
    "generator": ("function* f() { yield 1; }\n", {"f"}),
    "constructor": ("class A { constructor() { this.x = 1; } }\n", {"constructor"}),
    "inner functions belong to their owner": ("function f() { const g = () => 1; return g(); }\n", {"f"}),
    "default export": ("export default function () { return 1; }\n", {"function"}),
    "beyond ASCII": ("// größer 日本語 🙂\nconst s = 'é🙂';\nfunction ñ(x) { return x + 'ü'; }\n", {"ñ"}),
    "windows": ("function f(x) {\r\n  return x;\r\n}\r\n", {"f"}),
    "nothing to break": ("function f() {}\nconst g = () => {\n};\n", set()),
    "no function": ("export const X = { a: 1 };\n", set()),
}


@pytest.mark.parametrize("name", JS)
@pytest.mark.parametrize("path", ["src/a.js", "src/a.ts", "src/a.mjs", "src/a.tsx"])
def test_javascript(name, path):
    """Each function is broken once, in a file that differs between its braces alone and still parses."""
    grep = pytest.importorskip("ast_grep_py")
    text, expected = JS[name]
    versions = broken_versions(path, None, text.encode())
    assert {one for one, _ in versions} == expected
    language = {"js": "javascript", "mjs": "javascript", "ts": "typescript", "tsx": "tsx"}[path.split(".")[1]]
    for _, content in versions:
        after = content.decode()
        assert "undefined" in after
        assert after != text
        assert not grep.SgRoot(after, language).root().find_all(kind="ERROR")
        assert after.count("function") == text.count("function") or "inner" in name


def test_javascript_types():
    """Types, overloads and abstract methods have nothing to break; what is around a body stays."""
    pytest.importorskip("ast_grep_py")
    text = (
        "interface I { f(x: number): string }\n"
        "export function f(x: string): string;\nexport function f(x: number): string;\n"
        "export function f(x: unknown): string { return `é${x}`; }\n"
        "abstract class A<T> { abstract m(): T; private n(): T | undefined { return this.t; } }\n"
    )
    versions = dict(broken_versions("src/a.ts", None, text.encode()))
    assert versions.keys() == {"f", "n"}
    assert versions["f"].decode() == text.replace("{ return `é${x}`; }", "{ return undefined; }")
    assert versions["n"].decode() == text.replace("{ return this.t; }", "{ return undefined; }")


def test_javascript_only_what_the_change_touched():
    """Functions that stand at the base under the same name with the same text are left alone."""
    pytest.importorskip("ast_grep_py")
    old = "function f() { return 1; }\nfunction g() { return 2; }\nconst h = () => 3;\n"
    new = "const h = () => 3;\n" + old.replace("const h = () => 3;\n", "").replace("return 2", "return 4")
    assert [name for name, _ in broken_versions("a.js", old.encode(), new.encode())] == ["g"]
    assert broken_versions("a.js", new.encode(), new.encode()) == []


GO = """package x

import (
	"errors"
	"fmt"
	"strings"
)

type P struct{ a int }
type L[T any] struct{ items []T }

func Plain(a int) int { return a + 1 }
func Two(a int) (int, error) { return a, errors.New("x") }
func Named(a int) (sum int, err error) { sum = a; return }
func None(a *int) { *a = 2 }
func (p *P) Get() *P { return p }
func (p P) String() string { return fmt.Sprint(p.a) }
func (l *L[T]) First() (T, bool) { var zero T; return zero, len(l.items) == 0 }
func Map[T, U any](in []T, f func(T) U) []U { return append([]U{}, f(in[0])) }
func Func(a int) func(b int) (int, error) { return func(b int) (int, error) { return a + b, nil } }
func Chan() <-chan int { c := make(chan int); return c }
func Iface() interface{ Get() int } { return nil }
func Struct() struct{ A int } { return struct{ A int }{1} }
func Multi(
	a int,
	b ...string,
) (
	string,
	map[string]func(int) error,
) {
	return strings.Join(b, ","), nil
}
func init() { fmt.Print("") }
"""
RUST = """use std::collections::HashMap;
use std::fmt;
pub struct P { pub a: u32 }
#[derive(Default, Clone, Debug, PartialEq)]
pub struct D { pub a: u32 }
#[derive(Debug)]
pub struct E;
impl fmt::Display for P {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{}", self.a) }
}
impl P {
    pub fn new(a: u32) -> Self { P { a } }
    pub fn same(&self) -> &Self { self }
    pub fn name<'a>(&'a self, b: &'a str) -> &'a str { b }
    pub fn bump(&mut self) { self.a += 1; }
    pub fn take(self) -> u32 { self.a }
    pub fn opt(&self) -> Option<&u32> { Some(&self.a) }
}
pub fn num(a: i64) -> i64 { a + 1 }
pub fn fl(a: f32) -> f32 { a }
pub fn yes() -> bool { true }
pub fn text() -> String { "a".into() }
pub fn list(a: &[u32]) -> Vec<u32> { a.to_vec() }
pub fn res(a: &str) -> Result<u32, E> { a.parse().map_err(|_| E) }
pub fn rp(a: u32) -> Result<P, Box<dyn std::error::Error>> { Ok(P { a }) }
pub fn d() -> D { D { a: 1 } }
pub fn map() -> HashMap<String, Vec<u32>> { HashMap::new() }
pub fn gen<T: Clone>(a: &T) -> T where T: fmt::Debug { a.clone() }
pub fn it(a: u32) -> impl Iterator<Item = u32> { 0..a }
pub fn boxed(a: u32) -> Box<dyn Fn(u32) -> u32> { Box::new(move |b| a + b) }
pub fn tup(a: u32) -> (u32, String) { (a, String::new()) }
pub fn arr() -> [u8; 3] { [1, 2, 3] }
pub fn never() -> ! { panic!() }
pub async fn later(a: u32) -> u32 { a }
pub unsafe fn un(a: u32) -> u32 { a }
pub fn unit(a: &mut u32) { *a = 3; }
pub fn slice(a: &[u32]) -> &[u32] { &a[1..] }
pub fn mutref(a: &mut [u32]) -> &mut u32 { &mut a[0] }
"""


def built(argv, folder, files):
    """What a compiler says of these files; it must be there."""
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not there: NOT tested")
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)


def each_version(path, text):
    """Every function broken in both ways, each version in a folder of its own."""
    every = [
        one for other in (False, True) for one in wrap_source.broken_versions(path, None, text, other=other)
    ]
    return {
        f"v{at}/{name}": content for at, (_, files) in enumerate(every) for name, content in files.items()
    }


def test_go_builds_whatever_is_broken(tmp_path):
    """Results of all kinds; a test must notice missing behaviour and not a program that cannot be built."""
    pytest.importorskip("ast_grep_py")
    files = each_version("x.go", GO.encode())
    assert len({name.partition("/")[0] for name in files}) == 26
    done = built(["go", "build", "./..."], tmp_path, files | {"go.mod": b"module x\n\ngo 1.18\n"})
    assert done.returncode == 0, done.stderr


def test_rust_builds_whatever_is_broken(tmp_path):
    """As Go; what gives back something without a name for its type is left alone."""
    pytest.importorskip("ast_grep_py")
    files = each_version("x.rs", RUST.encode())
    assert len(files) == 33
    lib = "".join(f'#[path = "{name}"]\npub mod m{at};\n' for at, name in enumerate(files))
    words = ["rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", "-Awarnings", "lib.rs"]
    done = built(words, tmp_path, files | {"lib.rs": lib.encode()})
    assert done.returncode == 0, done.stderr
