"""What a tree asks for is held against what is installed, requirement by requirement."""

from __future__ import annotations

import json

import pytest
from gitkit import begin, make_repo, write

from ralph.shell.dependencies.installed import Installed, unmet
from ralph.shell.dependencies.ranges import npm_allows, pip_allows
from ralph.shell.dependencies.requirements import Want
from ralph.shell.git.snapshot import take_snapshot

PYPROJECT = """[project]
name = "x"
version = "1"
requires-python = ">=3.8"
dependencies = ["click>=8", "six"]
[project.optional-dependencies]
test = ["pytest>=7"]
docs = ["sphinx>=4"]
[project.scripts]
x = "x:main"
"""
SETUP = """from setuptools import setup
NEEDS = ["click>=8"]
setup(name="x", version="1", description="a", install_requires=NEEDS)
"""
PACKAGE = {
    "name": "x",
    "version": "1.0.0",
    "devDependencies": {"tape": "^5.0.0", "left": "1"},
    "engines": {"node": "1"},
}
LOCK = {
    "lockfileVersion": 3,
    "packages": {
        "": {},
        "node_modules/tape": {"version": "5.2.0"},
        "node_modules/left": {"version": "1.0.0"},
    },
}
FILES = {
    "pyproject.toml": PYPROJECT,
    "package.json": json.dumps(PACKAGE),
    "package-lock.json": json.dumps(LOCK),
    "setup.py": SETUP,
    "requirements-dev.txt": "pytest>=7  # tests\n",
    "docs/requirements.txt": "furo\n",
    "tox.ini": "[testenv]\ndeps = pytest\n",
    "x/__init__.py": "",
    ".gitignore": "node_modules/\n/.venv\n",
}
INFO = ".venv/lib/python3.11/site-packages/{}.dist-info/RECORD"
HAVE = {
    INFO.format("click-8.1.7"): "click/__init__.py,,\n",
    INFO.format("pytest-7.4.0"): "pytest/__init__.py,,\n",
    INFO.format("six-1.16.0"): "six.py,,\n",
    INFO.format("PyYAML-6.0"): "yaml/__init__.py,,\n",
    "node_modules/tape/package.json": '{"version": "5.2.0"}',
    "node_modules/left/package.json": '{"version": "1.0.0"}',
}


def package(**more):
    return {"package.json": json.dumps(PACKAGE | more)}


def swap(path, old, new):
    assert old in FILES[path]
    return {path: FILES[path].replace(old, new)}


NEEDS_NOTHING = {
    "a version number": swap("pyproject.toml", 'version = "1"', 'version = "2"'),
    "a range that holds": swap("pyproject.toml", "click>=8", "click>=8.1,<9"),
    "another Python that holds": swap("pyproject.toml", ">=3.8", ">=3.9"),
    "a removed dependency": swap("pyproject.toml", ', "six"', ""),
    "an extra that nobody installed": swap("pyproject.toml", "sphinx>=4", "sphinx>=7"),
    "for another Python": swap("pyproject.toml", '"six"', '"six", "tomli; python_version < \'3.11\'"'),
    "a new script": swap("pyproject.toml", 'x = "x:main"', 'x = "x:main"\ny = "x:main"'),
    "a byte of setup.py": swap("setup.py", 'description="a"', 'description="b", url="c"'),
    "a comment in setup.py": swap("setup.py", "NEEDS =", "# what it needs\nNEEDS ="),
    "tox.ini": swap("tox.ini", "pytest", "pytest\n    mock"),
    "a deleted setup.py": {"setup.py": None},
    "a new lockfile of another tool": {"pnpm-lock.yaml": "a: 1\n"},
    "a comment in requirements": swap("requirements-dev.txt", "  # tests", ""),
    "what builds the documentation": swap("docs/requirements.txt", "furo", "sphinx>=1.3\nfuro"),
    "a byte of package.json": package(version="1.1.0", scripts={"a": "b"}, engines={"node": "2"}),
    "a removed devDependency": package(devDependencies={"tape": "^5.0.0"}),
    "its lockfile": {
        "package-lock.json": json.dumps({"packages": {"node_modules/tape": {"version": "5.2.0"}}})
    },
    "a new lockfile": {"uv.lock": '[[package]]\nname = "click"\nversion = "8.1.0"\n'},
    "an added linter": package(devDependencies=PACKAGE["devDependencies"] | {"eslint": "8"}),
    "an added linter and its settings": package(
        devDependencies=PACKAGE["devDependencies"] | {"neostandard": "1", "rollup": "1"}
    )
    | {"eslint.config.js": "require('neostandard')\n", "web/rollup.config.mjs": "import 'rollup'\n"},
    "what a benchmark needs": {
        "benchmark/package.json": '{"dependencies": {"rival": "1"}}',
        "benchmark/a.js": "require('rival')\n",
        "examples/requirements.txt": "rich\n",
    },
    "an added devDependency of a benchmark": package(
        devDependencies=PACKAGE["devDependencies"] | {"rival": "1", "tsd": "1"}
    )
    | {"benchmark/a.js": "require('rival')\n", "x.test-d.ts": "import {expectType} from 'tsd'\n"},
    "a range of a devDependency that holds": package(devDependencies={"tape": "^5.1.2", "left": "1"}),
}
NEEDS_SETUP = {
    "an added dependency": swap("pyproject.toml", '"six"', '"six", "rich"'),
    "a range that does not hold": swap("pyproject.toml", "click>=8", "click>=9"),
    "a Python that is not there": swap("pyproject.toml", ">=3.8", ">=3.13"),
    "an extra that is installed": swap("pyproject.toml", "pytest>=7", "pytest>=8"),
    "a script with another target": swap("pyproject.toml", 'x = "x:main"', 'x = "x:other"'),
    "a dependency in setup.py": swap("setup.py", '"click>=8"', '"click>=8", "rich"'),
    "a computed list": swap("setup.py", '["click>=8"]', 'open("needs").read().split()'),
    "requirements": swap("requirements-dev.txt", ">=7", ">=8"),
    "what builds the documentation, used": swap("docs/requirements.txt", "furo", "furo\nrich")
    | {"x/a.py": "import rich\n"},
    "a removed dependency that is used": swap("pyproject.toml", ', "six"', "") | {"x/a.py": "import six\n"},
    "an added devDependency that is used": package(devDependencies=PACKAGE["devDependencies"] | {"ava": "1"})
    | {"t.js": "import test from 'ava';\n"},
    "an added extra that is used": swap("pyproject.toml", '"pytest>=7"', '"pytest>=7", "hypothesis"')
    | {"test_x.py": "from hypothesis import given\n"},
    "a changed devDependency": package(devDependencies={"tape": "^4", "left": "1"}),
    "a removed devDependency that is used": package(devDependencies={"tape": "^5.0.0"})
    | {"t.js": "const l = require('left/x');\n"},
    "a lockfile that pins another": {
        "package-lock.json": json.dumps(LOCK).replace("5.2.0", "5.3.0"),
    },
    "an override": package(overrides={"a": "1"}),
    "what is no TOML": {"pyproject.toml": "not = [toml"},
}


def asked(tmp_path, files, base=None):
    start = FILES | (base or {})
    top = make_repo(tmp_path / "repo", start)
    write(top, HAVE)
    loop = begin(top, tmp_path / "state")
    write(loop.ws, {path: text for path, text in (start | files).items() if text is not None})
    for path in [path for path, text in files.items() if text is None]:
        (loop.ws / path).unlink()
    base = loop.start.base_tree
    tree = take_snapshot(loop.store, str(loop.ws), loop.workspace.index, base).tree
    assert tree != base
    return unmet(loop.store, base, tree, Installed(str(top), (".venv", "node_modules")))


@pytest.mark.sample(check=2, test=8)
@pytest.mark.parametrize("name", NEEDS_NOTHING)
def test_what_is_installed_is_enough(tmp_path, name):
    """Other bytes of a manifest, what is asked for no more, and ranges that hold need no setup."""
    assert asked(tmp_path, NEEDS_NOTHING[name]) == []


@pytest.mark.sample(check=2, test=8)
@pytest.mark.parametrize("name", NEEDS_SETUP)
def test_what_is_installed_is_not_enough(tmp_path, name):
    """What is added, wants another version, or is used although it is asked for no more, needs setup."""
    (path,) = [path for path in NEEDS_SETUP[name] if path in FILES]
    assert asked(tmp_path, NEEDS_SETUP[name]) == [path]


def test_what_was_missing_before_is_not_missed_now(tmp_path):
    """The base asks for it too, and its checks go without: another version of it changes nothing."""
    base = package(devDependencies=PACKAGE["devDependencies"] | {"tap": "^16"}) | {"t.js": "require('tap')\n"}
    raised = package(devDependencies=PACKAGE["devDependencies"] | {"tap": "^18"})
    assert asked(tmp_path, raised, base) == []


@pytest.mark.parametrize(
    ("spec", "enough"),
    [
        ("workspace:*", True),
        ("workspace:^1", True),
        ("file:packages/own", True),
        ("link:./packages/own", True),
        ("file:packages/other", False),
        ("file:../own", False),
        ("1.0.0", True),
    ],
)
def test_a_folder_of_the_repository_is_there_where_it_is_linked(tmp_path, spec, enough):
    """What a workspace links is installed; a package of the registry by the same name is something else."""
    write(
        tmp_path, {"packages/own/package.json": '{"version": "1.0.0"}', "packages/other/package.json": "{}"}
    )
    write(tmp_path, {"node_modules/far/package.json": '{"version": "1.0.0"}'})
    (tmp_path / "node_modules/own").symlink_to("../packages/own")
    have = Installed(str(tmp_path), ("node_modules",))
    assert have.has(Want("npm", "own", spec), "") is enough
    assert have.has(Want("npm", "far", spec), "") is (spec == "1.0.0")
    assert not have.has(Want("npm", "absent", spec), "packages/other")


UV = """[[package]]
name = "click"
version = "8.1.7"
source = { registry = "https://a/simple" }
wheels = [{ url = "https://a/click.whl", hash = "sha256:aa", size = 1 }]
"""
POETRY = """[[package]]
name = "click"
version = "8.1.7"
files = [{ file = "click.whl", hash = "sha256:aa" }, { file = "click.tgz", hash = "sha256:bb" }]
[package.source]
type = "legacy"
url = "https://a/simple"
"""
OLD_POETRY = """[[package]]
name = "click"
version = "8.1.7"
[metadata.files]
click = [{ file = "click.whl", hash = "sha256:aa" }]
"""
NODE_LOCK = """{"packages": {"node_modules/tape": {"version": "5.2.0", "resolved": "https://a/t.tgz",
"integrity": "sha512-aa"}, "node_modules/absent": {"version": "1.0.0", "resolved": "https://a/n.tgz"}}}"""
YARN = """# yarn lockfile v1


tape@^5.0.0, tape@^5.1.0:
  version "5.2.0"
  resolved "https://a/tape.tgz#aa"
  integrity sha512-aa
  dependencies:
    left "1"

left@1:
  version "1.0.0"
  resolved "https://a/left.tgz#bb"
"""
HASHED = "six==1.16.0 \\\n  --hash=sha256:aa \\\n  --hash=sha256:bb\n"
POETRY_GIT = '[tool.poetry.dependencies]\nclick = { git = "https://a/c", rev = "1" }\n'
POETRY_INDEX = '[tool.poetry.dependencies]\nclick = { version = "^8", source = "a" }\n'
DIRECT = '[project]\ndependencies = ["click @ git+https://a/c"]\n'
NODE_GIT = '{"dependencies": {"tape": "git+https://a/tape"}}'
MOVED = [
    ("uv.lock", UV, "https://a/simple", "https://b/simple"),
    ("uv.lock", UV, "https://a/click", "https://b/click"),
    ("uv.lock", UV, "sha256:aa", "sha256:cc"),
    (
        "uv.lock",
        UV,
        'version = "8.1.7"\nsource = { registry = "https://a/simple" }',
        'source = { directory = "e" }',
    ),
    ("uv.lock", UV.replace("click", "absent"), "https://a/simple", "https://b/simple"),
    ("poetry.lock", POETRY, "https://a", "https://b"),
    ("poetry.lock", POETRY, "sha256:bb", "sha256:cc"),
    ("poetry.lock", OLD_POETRY, "sha256:aa", "sha256:cc"),
    ("package-lock.json", NODE_LOCK, "https://a/t", "https://b/t"),
    ("package-lock.json", NODE_LOCK, "https://a/n", "https://b/n"),
    ("package-lock.json", NODE_LOCK, "sha512-aa", "sha512-cc"),
    (
        "package-lock.json",
        NODE_LOCK,
        '"version": "5.2.0", "resolved": "https://a/t.tgz"',
        '"resolved": "e", "link": true',
    ),
    ("yarn.lock", YARN, "https://a/left", "https://b/left"),
    ("yarn.lock", YARN, "sha512-aa", "sha512-cc"),
    ("requirements.txt", HASHED, "sha256:aa", "sha256:cc"),
    ("requirements.txt", HASHED, "==1.16.0 \\\n  --hash=sha256:aa", ">=1.16 \\\n  --hash=sha256:cc"),
    ("pyproject.toml", POETRY_GIT, "https://a", "https://b"),
    ("pyproject.toml", POETRY_GIT, 'rev = "1"', 'rev = "2"'),
    ("pyproject.toml", POETRY_INDEX, 'source = "a"', 'source = "b"'),
    ("pyproject.toml", DIRECT, "https://a", "https://b"),
    ("package.json", NODE_GIT, "https://a", "https://b"),
]
STAYED = [
    ("uv.lock", UV, "size = 1", 'upload-time = "now"'),
    ("uv.lock", UV, "[[package]]", '[[package]]\nname = "six"\nversion = "1.16.0"\n[[package]]'),
    ("poetry.lock", POETRY, "[[package]]", "# by another poetry\n[[package]]"),
    (
        "package-lock.json",
        NODE_LOCK,
        '"node_modules/absent"',
        '"node_modules/new": {"version": "1"}, "node_modules/absent"',
    ),
    ("yarn.lock", YARN, "tape@^5.0.0, ", ""),
    ("requirements.txt", HASHED, "sha256:aa \\\n  --hash=sha256:bb", "sha256:bb --hash=sha256:aa  # both"),
]


@pytest.mark.sample(check=2, test=8)
@pytest.mark.parametrize(
    ("path", "text", "old", "new", "moved"),
    [(*case, True) for case in MOVED] + [(*case, False) for case in STAYED],
)
def test_another_source_or_hash_at_the_same_version_needs_setup(tmp_path, path, text, old, new, moved):
    """What is installed came from where the base said: a lockfile that points elsewhere is not met by it."""
    assert old in text
    found = asked(tmp_path, {path: text.replace(old, new, 1)}, {path: text})
    assert found == ([path] if moved else [])


def test_a_module_is_known_by_what_its_distribution_brought(tmp_path):
    """PyYAML is imported as yaml."""
    write(tmp_path, HAVE)
    assert "yaml" in Installed(str(tmp_path), (".venv",)).modules("pyyaml")


NPM = """^1.2:1.9.0 ~1.2.3:1.2.9 ~1:1.9.0 1.x:1.4.2 *:3.1.1 :3.1.1 >=1_<2:1.5.0 1_-_2:2.0.0 ^1_||_^2:2.3.4
1.2.3:1.2.3 ^0.2.3:0.2.9 ^0.0.3:0.0.3 >1.2.3:1.2.4 <=1.2:1.2.9 ^5.0.0-next.5:5.2.0 ^0:0.5.0 =1.0.0:1.0.0
1.0.0-rc.1:1.0.0-rc.1"""
NPM_NOT = """^1.2:2.0.0 ^0.2.3:0.3.0 ^0.0.3:0.0.4 ~1.2.3:1.3.0 1.x:2.0.0 >=_1.0.0_<_2:2.0.0 latest:1.0.0
1.2.3:1.2.4 git+https://x:1.0.0 >1.2.3:1.2.3 file:../x:1.0.0 ^0:1.0.0 npm:x@1:1.0.0 ^1.0.0:1.1.0-rc.1"""
PIP = ">=2:2.1 ~=1.4.2:1.4.9 ~=1.4:1.9 ==1.2.*:1.2.7 ==1.0:1 :1.0 >=3.8:3.11.2 (>=2):2.1 !=1.5,>=1:1.6"
PIP += """ >=1.0rc1:1.0 >=1.0rc1:1.0rc2 ==2.0.post1:2.0.post1 ==1.0+cpu:1.0+cpu ==1.0:1.0+cpu ===1.0:1.0
===1:1
>=1.0.post1:1.0.post2 ==1.0rc1:1.0c1 ~=1.0rc1:1.5 <2.0rc2:2.0rc1 ===x-y:x-y >=1.0.dev1:1.0a1
==1!2.0:1!2.0 ==1.0-1:1.0.post1"""
PIP_NOT = ">=2,<3:3.0 ~=1.4.2:1.5 ~=1.4:2.0 !=1.2.*:1.2.7 ===1:1.0 >=1.0:2.0rc1 @http://x:1"
PIP_NOT += """ >=1.0:1.0rc1 ==2.0.post1:2.0 ==1.0+cpu:1.0+cu121 ==1.0+cpu:1.0 >1.0:1.0.post1 <2.0:2.0rc1
>=1.0rc2:1.0rc1
!=2.0rc2:2.0rc1 ==1.0rc1:1.0 >=1.0.post2:1.0.post1 >=1:1x >=x:1 >=2:1!1rc1"""


@pytest.mark.parametrize(
    ("allows", "pairs", "wanted"),
    [
        (npm_allows, NPM, True),
        (npm_allows, NPM_NOT, False),
        (pip_allows, PIP, True),
        (pip_allows, PIP_NOT, False),
    ],
)
def test_ranges(allows, pairs, wanted):
    """Ranges as npm and pip read them; what is not understood is not satisfied."""
    for pair in pairs.split():
        spec, _, version = pair.replace("_", " ").rpartition(":")
        assert allows(spec, version) is wanted, pair
