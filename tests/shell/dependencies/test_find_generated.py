"""What a red base says is missing is looked for among the files that git ignores in the user's checkout."""

from __future__ import annotations

import os

import pytest
from gitkit import begin, make_repo, write

from ralph.shell.dependencies.generated import Missed, find_missed
from ralph.shell.dependencies.installed import stale_files

pytestmark = pytest.mark.slow

FILES = {
    ".gitignore": "_version.py\n*.mo\n*.so\n/dist/\n.env\n*_pb2.py\n",
    "src/pkg/__init__.py": "",
    "src/pkg/sub/__init__.py": "",
    "src/pkg/fast.c": "",
    "src/pkg/msg.proto": "",
    "src/pkg/locale/de/LC_MESSAGES/shop.po": "",
    "package.json": '{"dependencies": {"left": "1"}}',
    "pyproject.toml": '[project]\nname = "pkg"\ndependencies = ["requests"]\n',
    "test/a.js": "",
    "src/app.py": "import yaml\nimport pay\ntry:\n    import ujson\nexcept ImportError:\n    pass\n",
    "src/app.mjs": "import _ from 'lodash';\nimport it from '#alias';\n",
    "tests/test_pay.py": "import pay\n",
}
HAVE = {
    "src/pkg/_version.py": "",
    "src/pkg/sub/_version.py": "",
    "src/pkg/msg_pb2.py": "",
    "src/pkg/fast.cpython-311-x86_64-linux-gnu.so": "",
    "src/pkg/locale/de/LC_MESSAGES/shop.mo": "",
    "dist/index.js": "",
    "notes.py": "",
    ".env": "",
}
SO = "src/pkg/fast.cpython-311-x86_64-linux-gnu.so"
MO = "src/pkg/locale/de/LC_MESSAGES/shop.mo"
SAID = {
    "ModuleNotFoundError: No module named 'pkg._version'": Missed(shared=("src/pkg/_version.py",)),
    "E   ImportError: cannot import name '_version' from 'pkg' (/r/src/pkg/__init__.py)": Missed(
        shared=("src/pkg/_version.py",)
    ),
    "No module named 'pkg.sub._version'": Missed(shared=("src/pkg/sub/_version.py",)),
    "No module named 'pkg.fast'": Missed(shared=(SO,)),
    "FileNotFoundError: [Errno 2] No translation file found for domain: 'shop'": Missed(shared=(MO,)),
    "No such file or directory: '{top}/" + MO + "'": Missed(shared=(MO,)),
    "Error: Cannot find module '../dist/index.js'\nRequire stack:\n- {top}/test/a.js": Missed(
        built=("dist/index.js",)
    ),
    "Error: Cannot find module '{top}/dist'": Missed(built=("dist/index.js",)),
    "No such file or directory: '.env'": Missed(built=(".env",)),  # named, never handed out
    "No module named 'requests'": Missed(uninstalled=("requests",)),
    "Error: Cannot find module 'left'": Missed(uninstalled=("left",)),
    # The work of an agent, or nothing of this checkout's.
    "No module named 'pkg.new'": Missed(),
    "No module named 'pkg'": Missed(),
    "No module named 'notes'": Missed(),  # not ignored: the user has yet to commit it
    "No module named 'elsewhere'": Missed(),
    "No such file or directory: '../../etc/passwd'": Missed(),
    "No such file or directory: '/etc/passwd'": Missed(),
}


@pytest.fixture
def loop(tmp_path):
    top = make_repo(tmp_path / "repo", FILES)
    write(top, HAVE)
    return begin(top, tmp_path / "state")


@pytest.mark.sample(test=12)
@pytest.mark.parametrize("said", SAID)
def test_what_is_missed_is_found(loop, said):
    """Version stamps, catalogues and extensions are shared; other results of builds are only named."""
    top = loop.store.project.top
    found = find_missed(loop.store, loop.start.base_tree, said.replace("{top}", top), top)
    if said.endswith("/dist'"):  # the folder and the file in it are both what was meant
        assert found.built[-1] == "dist/index.js"
    else:
        assert found == SAID[said]


@pytest.mark.parametrize(
    ("said", "task", "unknown"),
    [
        ("src/app.py:1: in <module>\nNo module named 'yaml'", "make the tests pass", ("yaml", "src/app.py")),
        ("File \"{top}/src/app.py\", line 1\nNo module named 'yaml'", "fix it", ("yaml", "src/app.py")),
        (
            "Cannot find package 'lodash' imported from {top}/src/app.mjs",
            "make it green",
            ("lodash", "src/app.mjs"),
        ),
        # An agent may be asked to write it, or to do without it: by the task, by a test, or by a plan.
        ("src/app.py:1: in <module>\nNo module named 'yaml'", "write the yaml module", None),
        ("src/app.py:1: in <module>\nNo module named 'yaml'", None, None),
        ("src/app.py:2: in <module>\nNo module named 'pay'", "make the tests pass", None),
        # Nothing says that this file was loaded at all.
        ("No module named 'yaml'", "make the tests pass", None),
        # It may be missing: the file looks for it and goes on.
        ("src/app.py:4: in <module>\nNo module named 'ujson'", "make the tests pass", None),
        ("Cannot find module '#alias' imported from {top}/src/app.mjs", "make it green", None),
    ],
)
def test_what_the_product_imports_and_nobody_has_is_named(loop, said, task, unknown):
    """No agent can install it, so none is called before somebody has; what a test asks for is work to do."""
    top = loop.store.project.top
    found = find_missed(loop.store, loop.start.base_tree, said.replace("{top}", top), top, task=task)
    assert found.unknown == ((unknown,) if unknown else ())


def test_a_link_is_never_shared(loop):
    """It would lead out of the checkout."""
    top = loop.store.project.top
    os.unlink(f"{top}/src/pkg/_version.py")
    os.symlink("/etc/hostname", f"{top}/src/pkg/_version.py")
    assert find_missed(loop.store, loop.start.base_tree, "No module named 'pkg._version'", top) == Missed()


@pytest.mark.parametrize(
    ("made", "changed", "stale"),
    [
        (SO, "src/pkg/fast.c", True),
        (SO, "src/pkg/__init__.py", False),
        (MO, "src/pkg/locale/de/LC_MESSAGES/shop.po", True),
        (MO, "src/pkg/fast.c", False),
        ("src/pkg/msg_pb2.py", "src/pkg/msg.proto", True),
        ("src/pkg/_version.py", "pyproject.toml", False),
        ("src/pkg/_version.py", "src/pkg/__init__.py", False),
    ],
)
def test_what_was_made_from_a_changed_file_is_stale(loop, made, changed, stale):
    """A build of the base says nothing of a tree in which its source is another."""
    from ralph.shell.git.snapshot import take_snapshot

    write(loop.ws, {changed: "changed = 1\n"})
    base = loop.start.base_tree
    tree = take_snapshot(loop.store, str(loop.ws), loop.workspace.index, base).tree
    assert stale_files(loop.store, base, tree, [made]) == ({made: changed} if stale else {})
