"""The hygiene guards: secrets, stubs, junk. They say not yet, and never accuse."""

import pytest
from guardkit import facts_of, kinds_of, result_of

from ralph.gates.guards import REGISTRY

# Put together here, so that no scanner takes this file for a leak.
AWS = "AK" + "IAQ7ZK3WPLM2XRT5YB"
GITHUB = "gh" + "p_" + "k3J9xQ2mZ7vB4nL8sD1fG6hT0wRyUeIoPaXc"
PEM = "-----BEGIN " + "RSA PRIVATE KEY-----"
PASSWORD = "x9$Kq2!mZp7Lw4Vt"

SECRETS = {
    "aws": (f'KEY = "{AWS}"', "key"),
    "github": (f"token: {GITHUB}", "key"),
    "private key": (PEM, "private"),
    "whole private key": (f"{PEM}\nMIIEowIBAAKCAQEA", "private"),
    "password": (f'password = "{PASSWORD}"', "password"),
    "json": (f'"api_key": "{PASSWORD}"', "password"),
    "address": (f"DB = 'postgres://admin:{PASSWORD.replace('$', 'S')}@db.internal.net/x'", "password"),
}
NO_SECRETS = {
    "placeholder": 'password = "your-password-here-1"',
    "example": 'KEY = "AKIAIOSFODNN7EXAMPLE"',
    "from the environment": 'token = os.environ["SERVICE_TOKEN_9X"]',
    "template": 'password = "${DB_PASSWORD_9xKq2mZp7L}"',
    "name": 'secret = "my_secret_setting_name"',
    "header check": 'if text.startswith("-----BEGIN PRIVATE KEY-----"):',
    "message": 'token = "tokens.are-not-shown.here"',
    "local": "postgres://user:postgres1@localhost/x",
    "elided": f'KEY="{PEM}\n...\nKh9NV...\n...\n-----END RSA PRIVATE KEY-----"',
    "to be filled in": f"{PEM}\n<your key>\n",
    "hash": 'sha = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"',
}


@pytest.mark.parametrize("name", SECRETS)
def test_secrets(name):
    """A key or a real password in an added line is named by its kind and line, and never shown."""
    text, kind = SECRETS[name]
    assert kinds_of("secrets", {"a.py": "x\n"}, {"a.py": f"x\n{text}\n"}) == [kind]
    found = result_of("secrets", {}, {"a.py": f"{text}\n"})
    assert not found.integrity
    assert found.findings[0].line == 1
    for hidden in (AWS, GITHUB, PASSWORD):
        assert hidden not in str(found)


@pytest.mark.parametrize("name", NO_SECRETS)
def test_no_secrets(name):
    """Placeholders, references and hashes are no secrets."""
    assert kinds_of("secrets", {}, {"src/a.py": NO_SECRETS[name]}) == []


@pytest.mark.parametrize(
    "path", ["tests/test_a.py", "tests/data/key.pem", "docs/setup.md", "examples/a.py", "uv.lock"]
)
def test_secrets_spared(path):
    """Fixtures, documentation and lockfiles hold made-up ones."""
    assert kinds_of("secrets", {}, {path: f"{PEM}\nKEY = '{AWS}'\n"}) == []


def test_secrets_that_were_there():
    """What stood in the base, or only moved, is not new."""
    line = f'KEY = "{AWS}"\n'
    assert kinds_of("secrets", {"a.py": line}, {"a.py": line + "x = 1\n"}) == []
    assert kinds_of("secrets", {"a.py": line + "y\n"}, {"a.py": "y\n", "b.py": "    " + line}) == []


STUBS = {
    "todo": ("def f():\n    return 1  # TODO: finish this\n", ["comment"]),
    "fixme": ("# FIXME handle errors\nx = 1\n", ["comment"]),
    "hack": ("# HACK: works by luck\nx = 1\n", ["comment"]),
    "pass": ("def f(x):\n    pass\n", ["body"]),
    "ellipsis": ("def f(x):\n    ...\n", ["body"]),
    "documented": ('def f(x):\n    """Does it."""\n    pass\n', ["body"]),
    "one line": ("def f(x): pass\n", ["body"]),
    "not implemented": ("def f(x):\n    raise NotImplementedError\n", ["placeholder"]),
    "not implemented text": ("def f(x):\n    raise NotImplementedError('soon')\n", ["placeholder"]),
    "method": ("class Store:\n    def save(self):\n        pass\n", ["body"]),
    "placeholder": ("def f(x):\n    return 'not implemented yet'\n", ["placeholder"]),
    "empty test": ("def test_f():\n    pass\n", ["body"]),
    "async": ("async def f(x):\n    ...\n", ["body"]),
}
NO_STUBS = {
    "abstract": (
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self):\n"
        "        raise NotImplementedError\n"
    ),
    "base class": "class BaseStore:\n    def save(self):\n        raise NotImplementedError\n",
    "subclassed": (
        "class Store:\n    def save(self):\n        raise NotImplementedError\n"
        "class Disk(Store):\n    def save(self):\n        return 1\n"
    ),
    "protocol": "from typing import Protocol\nclass P(Protocol):\n    def f(self) -> int: ...\n",
    "overload": (
        "from typing import overload\n@overload\ndef f(x: int) -> int: ...\n@overload\n"
        "def f(x: str) -> str: ...\ndef f(x):\n    return x\n"
    ),
    "override": "class Quiet(Handler):\n    def log_message(self, *args):\n        pass\n",
    "group": "@click.group()\ndef cli():\n    pass\n",
    "dunder": "class A:\n    def __init__(self):\n        pass\n",
    "named so": "def noop():\n    pass\n",
    "null object": "class NullLogger:\n    def write(self, text):\n        pass\n",
    "conditional": "def f(kind):\n    if kind == 1:\n        return 2\n    raise NotImplementedError(kind)\n",
    "exception": "class Wrong(Exception):\n    pass\n",
    "in a string": "x = 'TODO: later'\ny = '''\n# TODO: not a comment\n'''\n",
    "issue named": "# TODO(#123): when the server allows it\nx = 1\n# TODO: https://example.com/issues/4\n",
    "another way": "# TODO: use the new API\nx = 1\n# TODO: maybe replace it\n# FIXME should this be so?\n",
    "doubt": "# FIXME: Are there cases where the names differ, but it cannot be written to?\nx = 1\n",
    "next version": "# TODO consider removing it\nx = 1\n# TODO: raise in the next major version\n",
    "word": "# the todo list is shown here\nTODO_LIST = []\n",
    "inner": "def f():\n    def callback(x):\n        pass\n    return callback\n",
    "loop": "def f(x):\n    while next(x):\n        pass\n    return x\n",
}


@pytest.mark.parametrize("name", STUBS)
def test_stubs(name):
    """New code that does nothing yet is named."""
    text, expected = STUBS[name]
    assert kinds_of("stubs", {}, {"src/a.py": text}) == expected
    assert not result_of("stubs", {}, {"src/a.py": text}).integrity


@pytest.mark.parametrize("name", NO_STUBS)
def test_no_stubs(name):
    """What is empty on purpose, planned elsewhere or allowed with a reason is left alone."""
    assert kinds_of("stubs", {}, {"src/a.py": NO_STUBS[name]}) == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("src/a.js", "function f() {\n  throw new Error('Not implemented');\n}\n", ["placeholder"]),
        ("src/a.ts", "// TODO handle this\n", ["comment"]),
        ("src/a.rs", "fn f() { todo!() }\n", ["placeholder"]),
        ("a.go", 'func f() { panic("not implemented") }\n', ["placeholder"]),
        ("src/a.js", "const url = 'http://TODO.example';\n", []),
        ("README.md", "TODO: write more\n", []),
        ("notes.txt", "FIXME\n", []),
        ("src/a.js", "throw new Error('not found');\n", []),
    ],
)
def test_stubs_in_other_languages(path, text, expected):
    """Other languages by their comments and their usual words; prose is free."""
    assert kinds_of("stubs", {}, {path: text}) == expected


ALLOWED = "# ralph: allow stubs the driver has no such call\n"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (ALLOWED + "def flush(x):\n    return 1\n", ALLOWED + "def flush(x):\n    pass\n", []),
        (ALLOWED + "FLUSH = None\n", "A = 1\n" + ALLOWED + "def flush(x):\n    pass\n", []),
        ("A = 1\n", "A = 1\n" + ALLOWED + "def flush(x):\n    pass\n", ["body"]),
        ("A = 1\n", "def flush(x):\n    pass  # ralph: allow stubs nothing to flush\n", ["body"]),
        ("A = 1\n", "A = 1  # TODO: later  # ralph: allow stubs agreed with the user\n", ["comment"]),
        ("# ralph: allow stubs\nA = 1\n", "# ralph: allow stubs\nA = 1  # TODO: later\n", ["comment"]),
    ],
)
def test_a_waiver_in_the_code_counts_only_if_the_base_had_it(before, after, expected):
    """An agent that writes itself a permission has none; one without a reason never was one."""
    assert kinds_of("stubs", {"a.py": before}, {"a.py": after}) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("A = 1\n# TODO: handle text\nB = 2\nC = 3\n", []),
        ("# TODO: handle text\n\nA = 1\nB = 2\n", []),
        ("A = 1\n# TODO: handle text\nB = 3\n", ["comment"]),
        ("A = 2\n# TODO: handle text\nB = 2\n", ["comment"]),
        ("A = 1\nB = 2  # TODO: handle text\n", ["comment"]),
    ],
)
def test_a_remark_amid_old_code_is_no_stub(after, expected):
    """Only beside code that the change brings does it say that this is unfinished."""
    assert kinds_of("stubs", {"a.py": "A = 1\nB = 2\n"}, {"a.py": after}) == expected


def test_stubs_of_the_base():
    """Old stubs, moved ones and tests' data are nobody's fault; an emptied function is named."""
    stub = "def f(x):\n    pass\n"
    full = "def f(x):\n    return x + 1\n"
    assert kinds_of("stubs", {"a.py": stub}, {"a.py": stub + "\n\ny = 2\n"}) == []
    assert kinds_of("stubs", {"a.py": stub + "z = 1\n"}, {"a.py": "z = 1\n", "b.py": stub}) == []
    assert kinds_of("stubs", {"a.py": full}, {"a.py": stub}) == ["emptied"]
    assert kinds_of("stubs", {}, {"tests/test_a.py": "def helper():\n    pass\n"}) == []


BINARY = b"\x7fELF\x00\x00" + bytes(100)


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("data.json", b"x" * (1 << 21), ["large"]),
        ("package-lock.json", b"x" * (1 << 21), []),
        ("bin/tool", BINARY, []),
        ("tool", BINARY, ["binary"]),
        ("src/lib.so", BINARY, ["binary"]),
        ("logo.png", b"\x89PNG\x00\x00", []),
        ("tests/data/a.bin", BINARY, []),
        ("src/a.py.orig", b"x", ["leftover"]),
        ("src/a.py.rej", b"x", ["leftover"]),
        ("src/a.py~", b"x", ["leftover"]),
        ("src/.a.py.swp", b"x", ["leftover"]),
        (".DS_Store", b"x", ["leftover"]),
        (".venv/bin/x", b"x", ["installed"]),
        ("web/node_modules/a/index.js", b"x", ["installed"]),
        ("src/a.py", b"x", []),
        ("odd \n name.txt", b"x", []),
    ],
)
def test_junk(path, data, expected):
    """What nobody would commit on purpose is named; ordinary files and assets are not."""
    assert kinds_of("junk", {}, {path: data}) == expected
    assert not result_of("junk", {}, {path: data}).integrity


def test_junk_is_measured_against_the_base():
    """Kinds and folders that the base lives with, and files that were large before, are fine."""
    assert kinds_of("junk", {}, {"b.so": BINARY}, known=("a.so",)) == []
    assert kinds_of("junk", {}, {"node_modules/b.js": "x"}, known=("node_modules/a.js",)) == []
    big = {"d.json": b"x" * (1 << 21)}
    assert kinds_of("junk", big, {"d.json": b"y" * (1 << 21)}) == []


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/etc/passwd", ["link"]),
        ("../../x", ["link"]),
        ("../b.py", []),
        ("b.py", []),
        ("..", []),
        ("../..", ["link"]),
    ],
)
def test_links(target, expected):
    """A link may lead anywhere inside the tree."""
    assert kinds_of("junk", {}, {"src/a": target}, modes={"src/a": "120000"}) == expected


def test_nested_repositories():
    """A repository inside the repository is named unless it is a submodule."""
    link = {"modes": {"lib": "160000"}}
    assert kinds_of("junk", {}, {"lib": ""}, **link) == ["repository"]
    listed = {".gitmodules": '[submodule "lib"]\n\tpath = lib\n\turl = https://example.com/lib\n'}
    assert kinds_of("junk", listed, {**listed, "lib": ""}, **link) == []


def test_nothing_changed():
    """With nothing to look at each guard has looked."""
    for name in ("secrets", "stubs", "junk"):
        seen = REGISTRY[name](facts_of({}, {}))
        assert (seen.applied, seen.integrity, seen.findings) == (True, False, ())


LEFTOVERS = {
    "breakpoint": ("a.py", "def f(x):\n    breakpoint()\n    return x\n", ["breakpoint"]),
    "pdb": ("a.py", "import pdb\n\n\ndef f(x):\n    pdb.set_trace()\n", ["breakpoint"]),
    "pdb by another name": ("a.py", "import pdb as p\np.set_trace()\n", ["breakpoint"]),
    "its function": ("a.py", "from ipdb import set_trace\n\n\ndef f():\n    set_trace()\n", ["breakpoint"]),
    "imported on the spot": ("a.py", "def f():\n    __import__('pdb').set_trace()\n", ["breakpoint"]),
    "an object of it": ("a.py", "import pdb\npdb.Pdb().set_trace()\n", ["breakpoint"]),
    "by its module": (
        "a.py",
        "import importlib as i\ni.import_module('pudb').set_trace()\n",
        ["breakpoint"],
    ),
    "console of the window": ("src/a.js", "window.console.log(1);\n", ["log"]),
    "console by name": ("src/a.js", "console['log'](1);\n", ["log"]),
    "console if there": ("src/a.js", "console?.debug?.(2);\n", ["log"]),
    "debugger": ("src/a.js", "export function f(x) {\n  debugger;\n  return x;\n}\n", ["breakpoint"]),
    "console": ("src/a.ts", "export const f = (x) => { console.log('x', x); return x; };\n", ["log"]),
    "after a template": ("src/a.js", "const a = `${'debugger'}`;\nconsole.debug(a);\n", ["log"]),
    "dbg": ("src/lib.rs", "pub fn f(x: u32) -> u32 { dbg!(x) }\n", ["breakpoint"]),
}
NO_LEFTOVERS = {
    "in a string": ("a.py", "HELP = 'call breakpoint() to stop'\n"),
    "in a comment": ("src/a.js", "// console.log(x); debugger;\nexport const a = 1;\n"),
    "in a template": ("src/a.js", "export const a = `console.log(1)`;\n"),
    "in an expression": ("src/a.js", "export const a = /debugger;/.test(b);\n"),
    "a property": ("src/a.js", "a.debugger = 1; my.console.log(2);\n"),
    "print": ("a.py", "def f(x):\n    print(x)\n"),
    "a tracer of its own": (
        "a.py",
        "class T:\n    def set_trace(self): ...\n\n\nT().set_trace()\n",
    ),
    "a logger": ("src/a.js", "export const f = (logger = console) => logger.warn(1);\n"),
    "an error": ("src/a.js", "export const warn = (x) => console.error(x);\n"),
    "a program": ("bin/run.js", "console.log('ready');\n"),
    "a script": ("main.js", "#!/usr/bin/env node\nconsole.log('ready');\n"),
    "a test": ("test/a.test.js", "console.log('seen');\n"),
    "rust words": ("src/lib.rs", 'pub fn f() -> &\'static str { "dbg!(x)" }\n'),
}


@pytest.mark.parametrize("name", LEFTOVERS)
def test_leftovers(name):
    """A stop for a debugger, or a log to the console where there was none, is named with its line."""
    path, text, kinds = LEFTOVERS[name]
    assert kinds_of("leftovers", {path: ""}, {path: text}) == kinds
    assert kinds_of("leftovers", {path: text}, {path: text + "\n"}) == []
    assert not result_of("leftovers", {}, {path: text}).integrity


@pytest.mark.parametrize("name", NO_LEFTOVERS)
def test_no_leftovers(name):
    """Words are none, and neither is what a program prints on purpose."""
    path, text = NO_LEFTOVERS[name]
    assert kinds_of("leftovers", {}, {path: text}) == []


def test_leftovers_that_are_meant():
    """The task, the file before or the package's own program say that output belongs here."""
    log = "export const f = (x) => { console.log(x); };\n"
    assert kinds_of("leftovers", {}, {"src/a.js": log}, task="print a table of results") == []
    assert kinds_of("leftovers", {"src/a.js": "console.warn(1);\n"}, {"src/a.js": log}) == []
    assert kinds_of("leftovers", {"package.json": '{"bin": "a.js"}'}, {"src/a.js": log}) == []
    stop = "def f():\n    breakpoint()\n"
    assert kinds_of("leftovers", {}, {"a.py": stop}, task="let --debug open a debugger") == []
    assert "2 added print calls" in result_of("leftovers", {}, {"a.py": "print(1)\nprint(2)\n"}).summary
