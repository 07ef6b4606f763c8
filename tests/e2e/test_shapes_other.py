"""More shapes: Node, submodule, CRLF, ten thousand files, a linked worktree."""

import shutil

import pytest
from crashkit import userstate
from shapekit import JS_BASE, JS_DECOY, PY_BASE, PY_DECOY, py_test, write_all

pytestmark = pytest.mark.soak

CHECK = "python3 -m unittest"


JS_TEST = """const test = require('node:test');
const assert = require('node:assert');
const dep = require('dep');
const value = require('self/value.js');
test('test_a', () => assert.strictEqual(value.a(), dep.one));
test('test_b', () => assert.strictEqual(value.b(), 2));
"""


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_node_with_node_modules(shape, sandbox):
    """node_modules is shared in; a package linked by its absolute path is the judged tree's."""
    if shutil.which("node", path=shape.env()["PATH"]) is None:
        pytest.skip("node is not on PATH: the Node shape was NOT tested")
    files = {
        "value.js": JS_BASE,
        "test/value.test.js": JS_TEST,
        "package.json": '{"name": "self", "version": "1.0.0", "dependencies": {"dep": "1"}}\n',
        "package-lock.json": '{"lockfileVersion": 3}\n',
        ".gitignore": "node_modules/\n",
    }
    shape.project(shape.top / "proj", files, {"value.js": JS_DECOY})
    modules = shape.repo / "node_modules"
    write_all(modules, {"dep/index.js": "exports.one = 1;\n", "dep/package.json": '{"name": "dep"}\n'})
    (modules / "self").symlink_to(shape.repo)
    shape.decoy({})
    agent = shape.mends("value.js", "() => 0", "() => 1")
    if sandbox == "auto":
        assert shape.judged(agent, "node --test").grade == "A"
        return
    done = shape.loop(agent, "--sandbox", "none", "--max-iterations", "2", check="node --test")
    assert done.loop.grade != "A"
    shape.no_process_left(5)
    shape.same_user()


def test_submodule(shape):
    """The files of a submodule are those of its commit, not the edited ones in the user's checkout."""
    lib = shape.top / "lib"
    shape.project(lib, {"value.py": PY_BASE.replace("return 0", "return 1")}, {})
    files = {
        "mine.py": "def a():\n    return 0\n",
        "test_value.py": py_test("import mine\nfrom lib import value as under\n\n\nclass value:\n"
        "    a = staticmethod(lambda: mine.a() * under.a())\n    b = staticmethod(under.b)"),
    }  # fmt: skip
    shape.project(shape.top / "proj", files, {})
    userstate.git(shape.repo, "submodule", "--quiet", "add", str(lib), "lib")
    userstate.git(shape.repo, "commit", "--quiet", "-m", "with lib")
    shape.decoy({"lib/value.py": PY_DECOY, "mine.py": "def a():\n    return 1\n"})
    loop = shape.judged(shape.mends("mine.py"), CHECK)
    assert loop.grade == "A"
    assert shape.git("diff", "--name-only", "main", loop.landing.branch) == "mine.py"


def test_line_ends(shape):
    """With autocrlf the judged files have the line ends of the user's checkout; the result is one line."""
    test = py_test() + (
        "\n    def tearDown(self):\n        self.assertIn(b'\\r\\n', open('value.py', 'rb').read())\n"
    )
    files = {"value.py": PY_BASE, "test_value.py": test, ".gitattributes": "* text=auto\n"}
    shape.project(shape.top / "proj", files, {}, git_config=[("core.autocrlf", "true")])
    for name in ("value.py", "test_value.py"):
        (shape.repo / name).unlink()
    userstate.git(shape.repo, "checkout", "--", ".")
    assert b"\r\n" in (shape.repo / "value.py").read_bytes()
    shape.decoy({"value.py": PY_DECOY.replace("\n", "\r\n")})
    loop = shape.judged(shape.mends("value.py"), CHECK)
    assert loop.grade == "A"
    assert shape.git("diff", "--numstat", "main", loop.landing.branch).split() == ["1", "1", "value.py"]
    assert "\r" not in shape.git("cat-file", "blob", f"{loop.landing.branch}:value.py")


def test_ten_thousand_files(shape):
    """A large repository is judged like a small one, here without repeating it."""
    shape.once = True
    files = {"value.py": PY_BASE, "test_value.py": py_test(), ".gitignore": "__pycache__/\n"}
    shape.project(shape.top / "proj", files, {})
    lines = ["commit refs/heads/main", "committer somebody <a@example.invalid> 1700000000 +0000", "data 4"]
    lines += ["many", "from refs/heads/main^0"]
    for n in range(10_000):
        lines += [f"M 100644 inline data/{n // 100}/f{n}.txt", f"data {len(str(n))}", str(n)]
    stream = "\n".join([*lines, ""]).encode()
    userstate.git(shape.repo, "fast-import", "--quiet", stdin=stream)
    userstate.git(shape.repo, "reset", "--quiet", "--hard")
    shape.decoy({"value.py": PY_DECOY})
    loop = shape.judged(shape.mends("value.py"), CHECK)
    assert loop.grade == "B"


def test_linked_worktree(shape):
    """In a linked worktree the loop works from it; neither it nor the main one is touched."""
    main = shape.top / "proj"
    files = {"value.py": PY_BASE, "test_value.py": py_test(), ".gitignore": "__pycache__/\n"}
    shape.project(main, files, {})
    userstate.git(main, "worktree", "add", "--quiet", str(shape.top / "linked"), "-b", "side")
    (main / "value.py").write_text(PY_DECOY)
    before = userstate.user_state(main)
    shape.repo = shape.top / "linked"
    shape.decoy({"value.py": PY_DECOY})
    loop = shape.judged(shape.mends("value.py"), CHECK)
    assert loop.grade == "A"
    userstate.same_user(before, userstate.user_state(main))
    done = shape.ralph("merge", "l1-00000001")
    assert (done.code, "[E-LAND-DIRTY]" in done.err) == (3, True), done.report()
    userstate.git(shape.repo, "checkout", "--", "value.py")
    assert shape.ralph("merge", "l1-00000001").code == 0
    assert userstate.git(shape.repo, "rev-parse", "side") == loop.landing.result
    assert userstate.git(main, "rev-parse", "main") == loop.sealed.base.commit
