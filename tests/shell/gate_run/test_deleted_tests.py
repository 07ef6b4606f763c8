"""A deleted test is told from one that was not reached, in any language; setup sees the base's scripts."""

import json

import pytest
from gitkit import begin, make_repo

from ralph.shell.dependencies.setup_tree import setup_tree
from ralph.shell.gate_run.deleted_tests import deleted_tests
from ralph.shell.git.trees import edited_tree, overlay_tree, read_blob

FILES = {
    "tests/test_a.py": "def test_one():\n    assert 1\n\n\ndef test_two():\n    assert 2\n",
    "test/a.test.js": "test('adds two', () => {});\ntest('adds three', () => {});\n",
    "a_test.go": "package a\nfunc TestOne(t *testing.T) {}\nfunc TestOneMore(t *testing.T) {}\n",
    "tests/money.rs": "#[test]\nfn adds() {}\n",
    "keep.txt": "x\n",
}
IDS = {
    "tests/test_a.py": "tests/test_a.py::test_two[1-a.b]",
    "test/a.test.js": "test/a.test.js > sums > adds two",
    "a_test.go": "example.com/a::TestOne/sub",
    "tests/money.rs": "tests/money.rs > adds",
}


@pytest.mark.parametrize("path", IDS)
def test_deleted(tmp_path, path):
    """It is deleted when its name is gone from all that changed; not while it is there, nor when it moved."""
    loop = begin(make_repo(tmp_path / "r", FILES), tmp_path / "s")
    store, base = loop.store, loop.start.base_tree
    other = edited_tree(store, base, {"keep.txt": b"y\n"})
    gone = overlay_tree(store, base, base, drop=(path,))
    moved = edited_tree(store, gone, {"moved.txt": FILES[path].encode()})
    assert deleted_tests(store, base, gone, [IDS[path]]) == (IDS[path],)
    assert deleted_tests(store, base, other, [IDS[path]]) == ()
    assert deleted_tests(store, base, moved, [IDS[path]]) == ()


def test_a_name_that_is_part_of_another_is_gone(tmp_path):
    """TestOne is deleted although TestOneMore stays."""
    loop = begin(make_repo(tmp_path / "r", FILES), tmp_path / "s")
    left = edited_tree(
        loop.store, loop.start.base_tree, {"a_test.go": b"package a\nfunc TestOneMore(t *testing.T) {}\n"}
    )
    assert deleted_tests(loop.store, loop.start.base_tree, left, ["a::TestOne"]) == ("a::TestOne",)


RENAMED = {
    "tests/test_a.py": ("def test_two():\n    assert 2\n", b"def test_the_other():\n    assert 2\n"),
    "test/b.test.js": (
        "test('two', () => {\n  assert(two());\n});\n",
        b"test('gives a pair', () => {\n  assert(two());\n});\n",
    ),
    "tests/test_c.py": (
        "class Test:\n    def test_two(self):\n        assert two()\n\n    def test_b(self):\n        pass\n",
        b"class Test:\n    def test_pair(self):\n        assert two()\n",
    ),
}


@pytest.mark.parametrize("path", RENAMED)
def test_a_renamed_test_is_not_deleted(tmp_path, path):
    """Its lines are still there under another name; where they changed too, nobody can tell."""
    before, after = RENAMED[path]
    loop = begin(make_repo(tmp_path / "r", {**FILES, path: before}), tmp_path / "s")
    name = "t > two" if path.endswith("js") else f"{path}::Test::test_two"
    renamed = edited_tree(loop.store, loop.start.base_tree, {path: after})
    assert deleted_tests(loop.store, loop.start.base_tree, renamed, [name]) == ()
    weaker = edited_tree(
        loop.store, loop.start.base_tree, {path: after.replace(b"two()", b"1").replace(b"2\n", b"1\n")}
    )
    assert deleted_tests(loop.store, loop.start.base_tree, weaker, [name]) == (name,)


SETUP = "from setuptools import setup\n\nsetup(name='p', install_requires=['a'])\n"


def test_setup_sees_the_new_requirements_and_the_old_scripts(tmp_path):
    """Lockfile and dependencies are the result's; build.sh, scripts and what setup.py does are the base's."""
    files = {
        "build.sh": "npm ci\n",
        "package.json": '{"scripts": {"prepare": "true"}, "dependencies": {"a": "1"}}',
        "package-lock.json": '{"v": 1}\n',
        "lib/setup.py": SETUP,
        "app/setup.py": SETUP,
        "src/a.js": "1\n",
    }
    loop = begin(make_repo(tmp_path / "r", files), tmp_path / "s")
    store, base = loop.store, loop.start.base_tree
    package = {"scripts": {"prepare": "sh evil.sh", "postinstall": "x"}, "dependencies": {"a": "1", "b": "2"}}
    result = edited_tree(
        store,
        base,
        {
            "build.sh": b"sh evil.sh\n",
            "evil.sh": b"exit 0\n",
            "package.json": json.dumps(package).encode(),
            "package-lock.json": b'{"v": 2}\n',
            "lib/setup.py": SETUP.replace("['a']", "['a', 'b']").encode(),
            "app/setup.py": b"import os\n" + SETUP.encode(),
            "src/a.js": b"2\n",
        },
    )
    made = setup_tree(store, base, result, ["package-lock.json", "lib/setup.py", "app/setup.py"])

    def text(path):
        content = read_blob(store, made, path)
        return content.decode() if content is not None else None

    assert text("build.sh") == "npm ci\n"
    assert text("evil.sh") is None
    assert json.loads(text("package.json")) == {**package, "scripts": {"prepare": "true"}}
    assert text("package-lock.json") == '{"v": 2}\n'
    assert "'b'" in text("lib/setup.py")
    assert text("app/setup.py") == SETUP
    assert text("src/a.js") == "1\n"
