"""Files that a build makes and git ignores: shared where a base needs them, or said before any agent call."""

import pytest
from crashkit import userstate
from shapekit import PY_BASE, py_test

pytestmark = pytest.mark.soak

CHECK = "python3 -m unittest -v"
STAMP = "pkg/_version.py"
FILES = {
    ".gitignore": "_version.py\n/dist/\n__pycache__/\n",
    "pkg/__init__.py": "from pkg._version import version\n",
    "value.py": PY_BASE,
    "test_value.py": py_test("import pkg, value"),
}


@pytest.mark.parametrize("sandbox", ["auto", "none"])
def test_a_version_stamp_of_the_checkout_is_shared(shape, sandbox):
    """The base loads with it, the journal says so, and an agent can neither change nor commit it."""
    shape.project(shape.top / "proj", FILES, {})
    shape.decoy({STAMP: "version = '1'\n"})
    own = f"""open('.gitignore', 'w').close()
try: open({STAMP!r}, 'w').write('import value; value.a = value.b')
except OSError: pass"""
    agent = shape.mends("value.py", "return 0", "return 1", own)
    loop = shape.judged(agent, CHECK, "--sandbox", sandbox, "--max-iterations", "1")
    assert loop.sealed.box.share == (STAMP,)
    listed = userstate.git(shape.repo, "ls-tree", "-r", "--name-only", loop.landing.branch)
    assert listed.split() == sorted(FILES)
    logs = shape.ralph("logs", "l1-00000001").out
    assert f"with {STAMP} of your checkout" in logs


@pytest.mark.parametrize(
    ("files", "check", "said"),
    [
        (
            {"test.js": "require('./dist/main.js');\n"},
            "node test.js",
            "it needs dist/main.js, which git ignores",
        ),
        ({"test.js": "1;\n"}, "node_modules/.bin/tape test.js", "command not found: node_modules/.bin/tape"),
        (
            {"test_r.py": "import absent_thing\n", "requirements.txt": "absent-thing\n"},
            "python3 -m unittest test_r",
            "absent_thing is required but not installed",
        ),
        (
            {"test_r.py": "import r\n", "r.py": "import absent_thing\n"},
            "python3 -m unittest test_r",
            "r.py imports absent_thing, which is not here",
        ),
    ],
    ids=["a build", "a tool", "a dependency", "a dependency that nobody lists"],
)
def test_a_base_that_cannot_load_calls_no_agent(shape, files, check, said):
    """What no agent can mend is said before any is called, with what to do."""
    shape.project(shape.top / "proj", {".gitignore": "/dist/\nnode_modules/\n"} | files, {})
    shape.decoy({"dist/main.js": "1;\n"})
    done = shape.loop("false", "--loop-id", "l1-00000001", check=check)
    assert (done.code != 0, done.loop.outcome, done.loop.spend.calls) == (True, "broken", 0), done.report()
    assert said in done.text
