"""Every guard survives any bytes, and is quick on large changes."""

import time

import pytest
from effort import examples
from guardkit import PYTEST, changes_of, facts_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph.core.model.gate import Gate
from ralph.gates.guards import KINDS, REGISTRY, GuardFacts, inspect

PATHS = (
    *(
        "tests/test_a.py",
        "src/a.py",
        "conftest.py",
        "a.test.ts",
        "package.json",
        "pyproject.toml",
        "uv.lock",
        ".gitignore",
    ),
    *(
        ".npmrc",
        ".gitattributes",
        "a/__pycache__/a.pyc",
        "requirements.txt",
        "x.egg-info/entry_points.txt",
        "a.rs",
    ),
)
LINT = Gate(name="lint", run="make lint", argv=("make", "lint"))
HOSTILE = {
    "nothing": b"",
    "nul": b"\x00" * 50,
    "latin": b"\xff\xfe# caf\xe9 noqa\n",
    "deep brackets": b"def test_x():\n    assert " + b"(" * 5000 + b"1" + b")" * 5000,
    "deep list": b"x = " + b"[" * 90 + b"]" * 90,
    "deep sum": b"def test_x():\n    assert " + b"1+" * 5000 + b"1 == 2\n",
    "deep attribute": b"def test_x():\n    assert a" + b".b" * 5000 + b" == 2\n",
    "deep not": b"def test_x():\n    assert " + b"not " * 4000 + b"x\n",
    "deep blocks": b"".join(b" " * n + b"if x:\n" for n in range(95)) + b" " * 95 + b"pass\n",
    "deep functions": b"".join(b" " * n + b"def test_x():\n" for n in range(95)) + b" " * 95 + b"pass\n",
    "long line": b"x = '" + b"noqa # TODO password=" * 300 + b"'\n",
    "many quotes": b"'\"" * 2000,
    "open string": b'"""' + b"# type: ignore\n" * 200,
    "carriage returns": b"def test_x():\r    assert 1\r" * 100,
    "form feeds": b"\x0c\x0bdef test_x():\n    pass\n" * 100,
    "bom": b"\xef\xbb\xbfdef test_x():\n    assert f() == 1\n",
    "json bomb": b"[" * 5000,
    "toml bomb": b"a=" + b"[" * 3000,
    "globs": b"[" * 200 + b"\n" + b"**/" * 100 + b"\n!" + b"*" * 300 + b"\n\\\n",
    "huge number": b"assert " + b"9" * 10000 + b"\n",
    "surrogate": b"def test_x():\n    assert '\\ud800' == 1\n",
    "escape": b"def test_x():\n    assert '\\d' == f()\n",
}


def answers(before, after, gates=(PYTEST, LINT)):
    results = inspect(facts_of(before, after, gates=gates))
    assert [result.guard for result in results] == list(REGISTRY)
    for result in results:
        for finding in result.findings:
            assert finding.key.split(":")[0] in KINDS
            assert finding.message
    return results


@pytest.mark.sample(check=2, test=10)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_contents(name):
    """No content of any file makes a guard fail, on either side of the change."""
    good = dict.fromkeys(PATHS, b"def test_x():\n    assert f() == 1\n")
    bad = dict.fromkeys(PATHS, HOSTILE[name])
    answers(good, bad)
    answers(bad, good)
    answers({}, bad)
    answers(bad, {path: data + b"\n# more\n" for path, data in bad.items()})


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(st.sampled_from(PATHS), st.binary(max_size=200)),
    st.dictionaries(st.sampled_from(PATHS), st.binary(max_size=200)),
)
def test_any_bytes(before, after):
    """Found by search: any bytes under any name."""
    answers(before, after)


FRAGMENTS = st.sampled_from(
    [
        "def test_x():\n",
        "    assert f() == 1\n",
        "    try:\n",
        "    except Exception:\n",
        "        pass\n",
        "    return\n",
        "class A:\n",
        "@pytest.mark.skip\n",
        "    with pytest.raises(E):\n",
        "        g()\n",
        "if False:\n",
        "import os\n",
        "os._exit(0)\n",
        "# TODO x\n",
        "    for a in []:\n",
        "    raise NotImplementedError\n",
        "x = [1, 2]\n",
        "\n",
    ]
)


@settings(max_examples=examples(80), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(FRAGMENTS, max_size=12), st.lists(FRAGMENTS, max_size=12))
def test_any_program(before, after):
    """Found by search: pieces of programs in any order, whole or broken."""
    answers(
        {"tests/test_a.py": "".join(before)}, {"tests/test_a.py": "".join(after), "src/b.py": "".join(after)}
    )


def spent(before, after):
    """Seconds of processor time: the machine may be busy with other tests."""
    given_facts = facts_of(before, after, gates=(PYTEST, LINT), known=[f"lib/m{n}.py" for n in range(20000)])
    start = time.process_time()
    inspect(given_facts)
    return time.process_time() - start


@pytest.mark.soak
def test_many_files():
    """Two thousand changed files are looked at in about a second."""
    text = "import os\n\n\ndef f(x):\n    # adds one\n    return x + 1\n" * 4
    before = {f"src/m{n}.py": f"N = {n}\n{text}" for n in range(2000)}
    after = {
        path: data + f"\n\ndef g{at}():\n    return {at}\n" for at, (path, data) in enumerate(before.items())
    }
    assert spent(before, after) < 10.0
    junk = {f"node_modules/p{n}/__pycache__/m{n}.pyc": "x" for n in range(2000)}
    assert spent({}, junk) < 10.0


@pytest.mark.slow
def test_long_files():
    """A test file of twenty thousand lines is compared in about a second."""
    text = "".join(f"def test_{n}():\n    got = f({n})\n    assert got == {n}\n\n\n" for n in range(4000))
    assert spent({"tests/test_a.py": text}, {"tests/test_a.py": text.replace("got == 77\n", "got\n")}) < 10.0
    source = text.replace("test_", "make_").replace("assert got ==", "return got +")
    assert spent({"src/a.py": source}, {"src/a.py": source + "# noqa\n# TODO\n"}) < 10.0


@pytest.mark.sample(test=3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["a", " ", "\t", "#", "'", '"', "(", "/", "*", "-", "=", ":", "key=", "a@b:", "TODO ", "://a:"]
)
def test_no_pattern_takes_long(piece):
    """Long lines of one piece are looked at in linear time."""
    text = (piece * 3000 + "\n") * 20
    paths = ("a.py", "a.js", ".env", "uv.lock", "requirements.txt", ".gitignore", "a.rs")
    assert spent({}, dict.fromkeys(paths, text)) < 10.0


def test_changes_of_other_kinds():
    """Links, submodules and type changes go through every guard."""
    modes = {"link": "120000", "module": "160000", "tool": "100755"}
    after = {"link": "/etc", "module": "", "tool": "x"}
    given_facts = GuardFacts(
        tree="t",
        gates=(PYTEST,),
        base={},
        final={},
        changes=changes_of({}, after, modes=modes),
        read_base=lambda path: None,
        read_result=lambda path: None,
    )
    assert len(inspect(given_facts)) == len(REGISTRY)
