"""One clock for everything: how waiting ends by it, and that nothing reads the time in another way."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
from clockkit import ScriptedClock

from ralph.clock import wait_until

HOUSE = Path(__file__).parents[2] / "tools" / "house.py"


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("house", HOUSE)
    module = sys.modules["house"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["house"]


def test_waiting_ends_when_it_is_ready():
    """What is ready at once is not waited for; what gets ready later is noticed then."""
    clock, there = ScriptedClock(at={3.0: lambda: there.append(1)}), []
    assert wait_until(lambda: True, clock, seconds=0, every=1)
    assert (clock.slept, clock.sleeps) == (0, 0)
    assert wait_until(lambda: bool(there), clock, seconds=60, every=0.5)
    assert clock.slept == 3.0


def test_waiting_has_an_end():
    """What never comes is given up after the time that was allowed, and one look more."""
    clock = ScriptedClock()
    assert not wait_until(lambda: False, clock, seconds=10, every=0.25)
    assert 10 < clock.slept <= 10.25


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import time\ntime.time()", "time.time"),
        ("import time as t\nt.sleep(1)", "time.sleep"),
        ("import time\ndef f(read=time.monotonic): ...", "time.monotonic"),
        ("from time import monotonic as m\nm()", "time.monotonic"),
        ("def f():\n    from time import perf_counter\n    perf_counter()", "time.perf_counter"),
        ("from datetime import datetime\ndatetime.now()", "datetime.datetime.now"),
        ("import datetime as dt\ndt.datetime.utcnow()", "datetime.datetime.utcnow"),
        ("from datetime import date as d\nd.today()", "datetime.date.today"),
        ("import time\ntime.gmtime()", "time.gmtime()"),
        ("from time import strftime\nstrftime('%Y')", "time.strftime()"),
        ("import time\ntime.strftime('%Y', time.gmtime(3)); time.strptime('1', '%d')", None),
        ("from datetime import datetime\ndatetime.fromtimestamp(3)", None),
        ("class A: ...\nA().time.time(); now = A.now()", None),
    ],
)
def test_the_time_is_read_in_one_module(house, code, found):
    """The rule finds every way to ask the standard library for the time, and allows words for a moment."""
    module = house.Module("ralph.shell.some", Path("some.py"), ast.parse(code))
    said = list(house.direct_clocks({module.name: module}))
    assert [f"reads {found}:" in line for line in said] == ([True] if found else [])


def test_the_real_clock_is_made_at_the_edges(house):
    """A module that could be given a clock may not make the real one; a needless entry is told."""

    def said(name):
        code = "from ralph.clock import SystemClock\nSystemClock().now()"
        module = house.Module(name, Path("some.py"), ast.parse(code))
        return [line for line in house.real_clocks({name: module}) if line.startswith("some.py")]

    assert said("ralph.shell.gate_run.verdicts")
    assert said("ralph.shell.process_new")
    assert not said("ralph.shell.process.tree")
    assert not said("ralph.ui.cli.main")
    assert any("ralph.shell.git.refs" in line for line in house.real_clocks({}))


def test_no_test_imports_a_test(house, tmp_path):
    """What two test modules need is in a third one; a module of ours whose name begins so is no test."""
    texts = {"test_a": "from test_b import ROWS\n", "test_b": "import test_c as c\n", "kit": "x = 1\n"}
    texts["test_d"] = "from ralph.core.model.test_link import Link\nfrom ralph.shell import test_x\n"
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    said = [line.removeprefix(f"{tmp_path}/") for line in house.imported_tests(tmp_path)]
    assert [line.split(": put")[0] for line in said] == [
        "test_a.py:1: imports test_b",
        "test_b.py:1: imports test_c",
    ]


def test_no_two_tests_have_one_name(house, tmp_path):
    """pytest would read one of them only; each folder may have its conftest."""
    for path in ("a/test_x.py", "b/test_x.py", "b/test_y.py", "a/conftest.py", "b/conftest.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert [line.split(":")[0] for line in house.twin_tests(tmp_path)] == [f"{tmp_path}/b/test_x.py"]
