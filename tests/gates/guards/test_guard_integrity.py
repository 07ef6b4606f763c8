"""The static guards around the tests: suppressions, environment, dependencies; and byte code."""

import importlib.util
import py_compile

import pytest
from guardkit import PYTEST, facts_of, kinds_of, result_of

from ralph.core.model.gate import Gate
from ralph.gates.guards import REGISTRY, inspect, overlay_request


def gate(run, **fields):
    return Gate(name=run.split()[0], run=run, argv=tuple(run.split()), **fields)


RUFF, MYPY = gate("ruff check .", proof=True), gate("mypy src", proof=True)
MAKE, KEEP = gate("make check"), gate("ruff check .")
COVERAGE = gate("pytest --cov --cov-fail-under=90", read="pytest", proof=True)
ESLINT, TSC = gate("npx eslint .", proof=True), gate("npx tsc --noEmit", proof=True)
LINE = "import os\n"
SILENCED = {
    "noqa": (RUFF, "a.py", "import os  # noqa: F401\n"),
    "file noqa": (RUFF, "a.py", "# ruff: noqa\nimport os\n"),
    "type ignore": (MYPY, "a.py", "import os  # type: ignore[x]\n"),
    "mypy": (MYPY, "a.py", "# mypy: ignore-errors\nimport os\n"),
    "pyright": (gate("pyright", proof=True), "a.py", "import os  # pyright: ignore\n"),
    "pylint": (gate("pylint src", proof=True), "a.py", "import os  # pylint: disable=all\n"),
    "no cover": (COVERAGE, "a.py", "import os  # pragma: no cover\n"),
    "nosec": (gate("bandit -r .", proof=True), "a.py", "import os  # nosec\n"),
    "eslint": (ESLINT, "a.js", "/* eslint-disable */\nimport os\n"),
    "eslint next": (ESLINT, "a.ts", "// eslint-disable-next-line no-x\nimport os\n"),
    "ts-ignore": (TSC, "a.ts", "// @ts-ignore\nimport os\n"),
    "ts-nocheck": (TSC, "a.ts", "// @ts-nocheck\nimport os\n"),
    "istanbul": (gate("npx c8 node --test", proof=True), "a.js", "/* istanbul ignore next */\nimport os\n"),
    "clippy": (gate("cargo clippy", proof=True), "src/a.rs", "#[allow(clippy::all)]\nimport os\n"),
    "rust ignore": (gate("cargo test", proof=True), "src/a.rs", "#[ignore]\nimport os\n"),
    "nolint": (gate("golangci-lint run", proof=True), "a.go", "import os //nolint:errcheck\n"),
}


@pytest.mark.parametrize("name", SILENCED)
def test_silenced_tool_of_a_proof(name):
    """Silencing the very tool that proves the task accuses."""
    with_gate, path, text = SILENCED[name]
    assert kinds_of("suppressions", {path: LINE}, {path: text}, gates=(with_gate,)) == ["silenced"]
    assert result_of("suppressions", {path: LINE}, {path: text}, gates=(with_gate,)).integrity


MAKEFILE = """\
.PHONY: test check
SRC := src
test: build
\tpytest -q
check: lint test
lint:
\truff check $(SRC)
build:
\techo built
"""
SCRIPTS = '{"scripts": {"test": "node --test", "ci": "npm run style && npm test", "style": "eslint ."}}'


@pytest.mark.parametrize(
    ("run", "path", "own", "expected"),
    [
        ("make check", "a.py", {"Makefile": MAKEFILE}, ["grown"]),
        ("make test", "a.py", {"Makefile": MAKEFILE}, []),
        ("make", "a.py", {"Makefile": MAKEFILE}, []),
        ("npm run ci", "a.js", {"package.json": SCRIPTS}, ["grown"]),
        ("npm test", "a.js", {"package.json": SCRIPTS}, []),
        ("npm test", "a.js", {"package.json": "not json eslint"}, ["grown"]),
        ("./check.sh", "a.py", {"check.sh": "#!/bin/sh\nruff check .\npytest\n"}, ["grown"]),
        ("./check.sh", "a.py", {"check.sh": "#!/bin/sh\npytest\n"}, []),
        ("pre-commit run --all-files", "a.py", {}, ["grown"]),
        ("hatch run unit", "a.py", {}, []),
    ],
)
def test_what_stands_behind_a_command(run, path, own, expected):
    """Recipes, scripts and task files tell which checkers a gate runs."""
    with_gate = gate(run, proof=True, own_files=tuple(own))
    text = "import os  # noqa\n" if path.endswith("py") else "// eslint-disable-next-line\nimport os\n"
    before, after = {**own, path: LINE}, {**own, path: text}
    assert kinds_of("suppressions", before, after, gates=(with_gate,)) == expected


@pytest.mark.parametrize("with_gate", [MAKE, KEEP])
def test_silenced_tool_of_another_gate(with_gate):
    """Where another gate may run the tool it is only not yet."""
    text = "import os  # noqa\n"
    assert kinds_of("suppressions", {"a.py": LINE}, {"a.py": text}, gates=(PYTEST, with_gate)) == ["grown"]
    assert not result_of("suppressions", {"a.py": LINE}, {"a.py": text}, gates=(PYTEST, with_gate)).integrity


@pytest.mark.parametrize(
    ("before", "after", "gates"),
    [
        ({"a.py": LINE}, {"a.py": "import os  # noqa\n"}, (PYTEST,)),
        ({"a.py": LINE}, {"a.py": "import os  # type: ignore\n"}, (RUFF,)),
        ({"a.py": "x = 1  # noqa\n"}, {"a.py": "x = 2  # noqa\n"}, (RUFF,)),
        ({"a.py": "x = 1  # noqa\ny\n"}, {"a.py": "y\n", "b.py": "x = 1  # noqa\n"}, (RUFF,)),
        ({"a.py": "x = 1  # noqa\n"}, {"a.py": "x = 1\n"}, (RUFF,)),
        ({"a.py": LINE}, {"a.py": "text = '# noqa'\nmore = '''\n# type: ignore\n'''\n"}, (RUFF, MYPY)),
        ({"a.md": LINE}, {"a.md": "Use noqa sparingly\n"}, (RUFF,)),
        ({"a.py": "x  # noqa\n"}, {"a.py": "x  # noqa: E501\n"}, (RUFF,)),
        ({"a.py": "x  # noqa\ny  # noqa\n"}, {"b.py": "x  # noqa\n", "c.py": "y  # noqa\n"}, (RUFF,)),
    ],
)
def test_suppressions_that_do_not_grow(before, after, gates):
    """Kept, moved and quoted suppressions, and those no gate could be fooled by, are no findings."""
    assert kinds_of("suppressions", before, after, gates=gates) == []


def test_bare_suppressions():
    """A suppression that drops its code silences more than before."""
    before, after = {"a.py": "x  # noqa: E501\n"}, {"a.py": "x  # noqa\n"}
    assert kinds_of("suppressions", before, after, gates=(RUFF,)) == ["silenced"]
    before, after = {"a.py": "x  # type: ignore[arg]\n"}, {"a.py": "x  # type: ignore\n"}
    assert kinds_of("suppressions", before, after, gates=(MYPY,)) == ["silenced"]
    assert (
        len(result_of("suppressions", {"a.py": LINE}, {"a.py": "x  # noqa\n"}, gates=(RUFF,)).findings) == 1
    )


def test_coverage_by_configuration():
    """A pytest gate whose configuration asks for coverage relies on the pragma too."""
    config = {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--cov --cov-fail-under=90"\n'}
    before, after = {**config, "a.py": LINE}, {**config, "a.py": "import os  # pragma: no cover\n"}
    assert kinds_of("suppressions", before, after) == ["grown"]
    plain = {"pyproject.toml": "[tool.coverage.report]\nfail_under = 90\n"}
    assert kinds_of("suppressions", {**plain, "a.py": LINE}, {**plain, "a.py": after["a.py"]}) == []


def test_suppressions_that_no_gate_knows_are_noted():
    """Nothing is hidden: growth that blocks nothing stands in the summary."""
    seen = result_of("suppressions", {"a.py": LINE}, {"a.py": "import os  # noqa\n"})
    assert '1 more "noqa" in a.py' in seen.summary


@pytest.mark.parametrize(
    "path",
    [".semgrepignore", "sub/.gitleaksignore", "mypy-baseline.txt", ".secrets.baseline", ".eslintignore"],
)
def test_what_a_checker_leaves_out_is_a_setting(path):
    """The base's list judges the new source, and one that was added is not there then."""
    changed, added = (overlay_request(facts_of(base, {path: "a\nb\n"})) for base in ({path: "a\n"}, {}))
    assert (changed.restore, added.drop) == ((path,), (path,))


FILES = {
    "pth with code": ("lib/a.pth", "import os; os._exit(0)\n", "path"),
    "pth with a path": ("a.pth", "../lib\n", "path"),
    "pytest.py": ("pytest.py", "x", "stdlib"),
    "json.py": ("json.py", "x", "stdlib"),
    "package": ("src/random/__init__.py", "x", "stdlib"),
    "attributes": (".gitattributes", "*.py filter=evil\n", "attributes"),
    "modules": (".gitmodules", '[submodule "x"]\n\tupdate = !sh ok\n', "attributes"),
}
GOOD_FILES = {
    "weights": ("model.pth", b"\x80\x02\x00\x00"),
    "console script": ("x.egg-info/entry_points.txt", "[console_scripts]\nx = x:main\n"),
    "inner json": ("src/pkg/json.py", "x"),
    "inner types": ("pkg/types.py", "x"),
    "example": ("examples/random.py", "x"),
    "plugin": ("src/pytest_thing/__init__.py", "x"),
    "npm registry": (".npmrc", "registry=https://registry.example.com\nsave-exact=true\n"),
    "env": (".env", "DEBUG=1\nPYTEST_ADDOPTS=-x\n"),
    "script shell": (".npmrc", "script-shell=bash\n"),
    "tool": ("bin/go", "x"),
    "line endings": (".gitattributes", "*.sh text eol=lf\n*.png binary\n*.bin filter=lfs diff=lfs\n"),
    "submodule": (".gitmodules", '[submodule "x"]\n\turl = https://example.com/x\n'),
    "named like a tool": ("docs/git", "about git"),
    "module": ("src/python.py", "x"),
    "tests package": ("tests/helpers/json_tools.py", "x"),
    "ci helper": ("src/app/main.py", "x"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_found_unasked(name):
    """Files that git or Python finds by itself, there or elsewhere."""
    path, text, kind = FILES[name]
    assert kinds_of("environment", {}, {path: text}) == [kind]
    assert not result_of("environment", {}, {path: text}).integrity


@pytest.mark.parametrize(
    "path",
    [
        "sitecustomize.py",
        "src/usercustomize.py",
        "x.egg-info/entry_points.txt",
        "lib/x.dist-info/entry_points.txt",
        "pytest.py",
        "_pytest/runner.py",
        "src/pytest/__init__.py",
        "unittest/__init__.py",
        "tests/pluggy.py",
        "src/__pycache__/calc.cpython-311.pyc",
    ],
)
def test_files_that_runners_load_unasked(path):
    """The base's tests judge the new source without them, or with what the base had: no word is needed."""
    assert overlay_request(facts_of({}, {path: "x"})).drop == (path,)
    changed = overlay_request(facts_of({path: "x"}, {path: "y"}))
    own = path.endswith(".py") and "test" in path.removeprefix("tests/")  # what this project develops
    assert changed is None if own else changed.restore == (path,)


@pytest.mark.parametrize("name", GOOD_FILES)
def test_ordinary_files(name):
    """Files that only look like it."""
    path, text = GOOD_FILES[name]
    assert kinds_of("environment", {}, {path: text}) == []


def test_projects_that_are_a_runner():
    """Who develops pytest may add a file to it."""
    known = ("src/_pytest/__init__.py", "src/pytest/__init__.py", "json/__init__.py")
    after = {"src/_pytest/new.py": "x", "src/pytest/more.py": "x", "json/new.py": "x"}
    assert kinds_of("environment", {}, after, known=known) == []


def test_submodules():
    """A submodule that moved is to be explained, unless the task asks for it."""
    fields = {"modes": {"lib": "160000", "old lib": "160000"}}
    assert kinds_of("environment", {"lib": "a"}, {"lib": "b"}, **fields) == ["submodule"]
    assert kinds_of("environment", {"lib": "a"}, {"lib": "b"}, task="Bump lib", **fields) == []


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
def test_byte_code(tmp_path, mode):
    """Byte code is rubbish, whether Python would compare it with its source or not."""
    source = tmp_path / "calc.py"
    source.write_text("x = 1\n")
    made = py_compile.compile(str(source), cfile=str(tmp_path / "c.pyc"), invalidation_mode=mode)
    path = f"src/__pycache__/{importlib.util.cache_from_source('calc.py').rsplit('/', 1)[-1]}"
    assert kinds_of("junk", {}, {path: (tmp_path / made).read_bytes()}) == ["cache"]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("src/__pycache__/a.cpython-311.pyc", "src/__pycache__"),
        ("a.pyc", "a.pyc"),
        (".pytest_cache/v/cache/lastfailed", ".pytest_cache"),
        ("pkg/.mypy_cache/3.11/a.json", "pkg/.mypy_cache"),
        (".ruff_cache/x", ".ruff_cache"),
        (".eslintcache", ".eslintcache"),
        ("web/tsconfig.tsbuildinfo", "web/tsconfig.tsbuildinfo"),
        (".nyc_output/x.json", ".nyc_output"),
        (".coverage", ".coverage"),
        (".coverage.host.123", ".coverage.host.123"),
        ("coverage/lcov.info", "coverage/lcov.info"),
        (".turbo/x", ".turbo"),
        (".nx/cache/x", ".nx/cache"),
        ("x.egg-info/PKG-INFO", "x.egg-info"),
        ("coverage/parser.py", ""),
        (".coveragerc", ""),
        ("src/cache.py", ""),
        ("docs/.nojekyll", ""),
        ("tests/data/x.egg-info/PKG-INFO", ""),
    ],
)
def test_caches(path, place):
    """A tool's memory in the tree is one finding a place; what only has such a name is none."""
    found = result_of("junk", {}, {path: "x", f"{place or 'x'}/y": "x"})
    assert [finding.key for finding in found.findings] == ([f"junk.cache:{place}"] if place else [])


def test_caches_of_the_base():
    """What the base itself keeps, and a cache that goes away, are no findings."""
    assert kinds_of("junk", {}, {"tests/b.pyc": "x"}, known=("tests/a.pyc",)) == []
    assert kinds_of("junk", {".coverage": "x"}, {}) == []


PROJECT = '[project]\nname = "x"\ndependencies = ["click>=8"]\n[dependency-groups]\ndev = ["pytest>=8"]\n'
PACKAGE = '{"devDependencies": {"jest": "^29", "left-pad": "1"}}'


def project(old, new):
    return {"pyproject.toml": PROJECT}, {"pyproject.toml": PROJECT.replace(old, new)}


DEPENDENCIES = {
    "rerun": (*project('"pytest>=8"', '"pytest>=8", "pytest-rerunfailures"'), ["plugin"]),
    "flaky": (*project('"pytest>=8"', '"pytest>=8", "flaky==3"'), ["plugin"]),
    "requirements": (
        {"requirements-dev.txt": "pytest\n"},
        {"requirements-dev.txt": "pytest\npytest-retry==1\n"},
        ["plugin"],
    ),
    "locked only": ({"uv.lock": ""}, {"uv.lock": '[[package]]\nname = "pytest-rerunfailures"\n'}, ["plugin"]),
    "jest": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"jest"', '"jest-retries": "1", "jest"')},
        ["plugin"],
    ),
    "runner from git": (*project("pytest>=8", "pytest @ git+https://example.com/p"), ["runner"]),
    "runner from a path": (
        {"pyproject.toml": PROJECT},
        {"pyproject.toml": PROJECT + '[tool.uv.sources]\npytest = { path = "vendor/pytest" }\n'},
        ["runner"],
    ),
    "runner by file": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("^29", "file:./jest")},
        ["runner"],
    ),
    "runner by alias": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace("^29", "npm:jest-ok@1")},
        ["runner"],
    ),
}
GOOD_DEPENDENCIES = {
    "added": (*project('"click>=8"', '"click>=8", "rich"'), "added rich"),
    "bumped": (*project("click>=8", "click>=8.2"), "changed click"),
    "runner bumped": (*project("pytest>=8", "pytest>=9"), "changed pytest"),
    "removed": (*project('"click>=8"', ""), "removed click"),
    "test plugin": (*project('"pytest>=8"', '"pytest>=8", "pytest-asyncio"'), "added pytest-asyncio"),
    "lock": ({"uv.lock": "a"}, {"uv.lock": 'name = "rich"\n'}, "lockfile uv.lock"),
    "npm": ({"package.json": PACKAGE}, {"package.json": PACKAGE.replace("^29", "^30")}, "changed jest"),
    "workspace": (
        {"package.json": PACKAGE},
        {"package.json": PACKAGE.replace('"left-pad": "1"', '"own": "workspace:*"')},
        "added own",
    ),
    "broken": ({"pyproject.toml": PROJECT}, {"pyproject.toml": "not toml ["}, "removed"),
}


@pytest.mark.parametrize("name", DEPENDENCIES)
def test_dependencies(name):
    """Plugins that hide failures, and runners from somewhere else, accuse."""
    before, after, expected = DEPENDENCIES[name]
    assert kinds_of("dependencies", before, after) == expected


@pytest.mark.parametrize("name", GOOD_DEPENDENCIES)
def test_good_dependencies(name):
    """Adding, raising and locking is ordinary work, and told."""
    before, after, told = GOOD_DEPENDENCIES[name]
    seen = result_of("dependencies", before, after)
    assert seen.findings == ()
    assert told in seen.summary


def test_dependencies_the_task_asks_for():
    """What the task names is no finding."""
    before, after, _ = DEPENDENCIES["rerun"]
    assert kinds_of("dependencies", before, after, task="Retry flaky tests up to 2 times") == []
    before, after, _ = DEPENDENCIES["runner from git"]
    assert kinds_of("dependencies", before, after, task="Use pytest from its main branch") == []


SUPPRESSIONS = {"suppressions": REGISTRY["suppressions"]}


def test_waived_accusations_leave_no_stain():
    """Once the accusation is waived, what is left is only hygiene."""
    before, after = {"a.py": LINE}, {"a.py": "import os  # noqa\nx = 1  # type: ignore\n"}
    gates = (RUFF, gate("mypy src"))
    (whole,) = inspect(facts_of(before, after, gates=gates), SUPPRESSIONS)
    assert whole.integrity
    assert [finding.key for finding in whole.findings] == [
        "suppressions.silenced:a.py:noqa",
        "suppressions.grown:a.py:type-ignore",
    ]
    waivers = {"suppressions.silenced": "ours"}
    (left,) = inspect(facts_of(before, after, gates=gates, waivers=waivers), SUPPRESSIONS)
    assert (left.integrity, len(left.findings)) == (False, 1)


def test_nothing_changed():
    """With nothing to look at each guard has looked."""
    for name in ("suppressions", "environment", "dependencies"):
        seen = REGISTRY[name](facts_of({}, {}))
        assert (seen.applied, seen.integrity, seen.findings) == (True, name != "environment", ())
