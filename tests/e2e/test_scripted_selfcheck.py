"""The scripted agents do what their first lines say: each is tried on the calc project by itself."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ralph.agents._kit.jsonlines import JsonLinesParser
from ralph.agents._kit.lines import Intake

pytestmark = pytest.mark.soak

SCRIPTED = Path(__file__).parent / "scripted"
AGENTS = sorted(path.stem for path in SCRIPTED.glob("[a-z]*.py"))


def _load_lib():
    spec = importlib.util.spec_from_file_location("scripted_lib", SCRIPTED / "_lib.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


lib = _load_lib()


@pytest.fixture
def calc(tmp_path):
    folder = tmp_path / "calc"
    lib.make_calc(str(folder))
    return folder


def call_agent(folder, name, *words, iteration=1, call=None, prompt=b""):
    place = {
        "RALPH_ITERATION": str(iteration),
        "RALPH_CALL": str(call or iteration),
        "RALPH_WORKSPACE": str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-B", str(SCRIPTED / f"{name}.py"), *words],
        cwd=folder,
        env={**os.environ, **place},
        input=prompt,
        capture_output=True,
        timeout=60,
        check=False,
    )
    intake = Intake(JsonLinesParser())
    intake.feed(done.stdout)
    return intake.finish(done.returncode, "exited"), done


def unittest_of(folder):
    """(how many ran, names of red ones, how many were skipped) by unittest."""
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest", "-v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stderr.splitlines()
    red = {line.split()[1] for line in lines if line.startswith(("FAIL:", "ERROR:"))}
    ran = next(int(line.split()[1]) for line in lines if line.startswith("Ran "))
    return ran, red, sum("... skipped" in line for line in lines)


def diff(folder):
    return lib.git("status", "--porcelain", folder=str(folder)).split()[1::2]


@pytest.mark.parametrize("name", AGENTS)
def test_agent_is_an_executable_with_a_word_about_itself(name):
    """Each agent can be started by its path and says what it does."""
    path = SCRIPTED / f"{name}.py"
    assert os.access(path, os.X_OK)
    assert path.read_text().startswith("#!/usr/bin/env python3\n" + '"""')


def test_every_scripted_agent_is_driven():
    """No scripted agent is left out of the whole-loop tests."""
    places = (*SCRIPTED.parent.glob("test_*.py"), *SCRIPTED.parent.glob("*kit.py"))
    text = "".join(path.read_text() for path in places if path != Path(__file__))
    assert set(AGENTS) - set(re.findall(r"[\"'](\w+)(?:\.py)?[\"']", text)) == set()


def test_project(calc):
    """The project has two red tests and a green one."""
    assert unittest_of(calc) == (3, {"test_add", "test_mul"}, 0)


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_honest_steps(calc, steps):
    """Honest needs exactly its number of calls, changes the tree in each, and claims done only then."""
    for iteration in range(1, steps + 1):
        before = lib.git("stash", "create", folder=str(calc))
        facts, _ = call_agent(calc, "honest_steps", str(steps), iteration=iteration)
        assert facts.claim.status == ("COMPLETE" if iteration == steps else "IN_PROGRESS")
        assert bool(unittest_of(calc)[1]) == (iteration < steps)
        lib.git("add", "-A", folder=str(calc))
        assert lib.git("stash", "create", folder=str(calc)) != before


def test_honest_on_a_larger_project(tmp_path):
    """With more bugs it takes one after the other."""
    lib.make_calc(str(tmp_path / "big"), extra=6)
    red = []
    for iteration in range(1, 9):
        call_agent(tmp_path / "big", "honest_steps", "8", iteration=iteration)
        red.append(len(unittest_of(tmp_path / "big")[1]))
    assert red == [7, 6, 5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    ("name", "words", "ran", "red", "skipped"),
    [
        ("skips_test", (), 3, set(), 2),
        ("claims_done_feature", (), 4, {"test_add", "test_mul"}, 0),
        ("claims_done_feature", ("untested",), 3, {"test_add", "test_mul"}, 0),
        ("fills_disk", ("2",), 3, set(), 0),
        ("flood_200mb", ("2",), 3, set(), 0),
        ("long_line_100mb", ("2",), 3, set(), 0),
    ],
)
def test_those_who_claim_done(calc, name, words, ran, red, skipped):
    """Each claims done and leaves the tests exactly as it says."""
    facts, done = call_agent(calc, name, *words)
    assert facts.fault is None, done.stderr
    assert (facts.claim.status, facts.claim.exit_signal) == ("COMPLETE", True)
    assert unittest_of(calc) == (ran, red, skipped)


def test_staller_changes_nothing(calc):
    """It ends well and leaves the tree alone."""
    facts, _ = call_agent(calc, "staller")
    assert (facts.fault, facts.claim.status, diff(calc)) == (None, "IN_PROGRESS", [])


def test_faults(calc):
    """The limited one names a time, and works when that has come."""
    limited = call_agent(calc, "usage_limit", "5")[0].fault
    assert limited.kind == "limit"
    assert 0 < limited.reset_at - time.time() < 6
    assert unittest_of(calc)[1] == {"test_add", "test_mul"}
    assert call_agent(calc, "usage_limit", "5", call=2)[0].claim.status == "COMPLETE"


def test_edits_git_plants_working_traps(calc, tmp_path):
    """The planted filter really runs when plain git is used in that workspace."""
    mark = tmp_path / "mark"
    call_agent(calc, "edits_git", str(mark))
    assert not mark.exists()
    subprocess.run(["git", "-C", str(calc), "add", "-A", "-f"], capture_output=True, check=False)
    assert mark.exists()


def test_writes_user_repo(calc, tmp_path):
    """Where nothing stops it, it really writes."""
    other = tmp_path / "other"
    lib.make_calc(str(other))
    call_agent(calc, "writes_user_repo", str(other))
    assert (other / "TRESPASS.txt").exists()
    assert "trespass" in lib.git("branch", folder=str(other))


def test_tells_what_it_sees(calc):
    """Environment, prompt and folder are written down."""
    call_agent(calc, "tells_what_it_sees", "x", prompt=b"the prompt")
    seen = json.loads((calc / "seen.json").read_text())
    assert (seen["prompt"], seen["argv"], seen["cwd"]) == ("the prompt", ["x"], str(calc))
    assert seen["env"]["RALPH_ITERATION"] == "1"


def marked(mark):
    return [
        process for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])
    ]


def clear(mark):
    """Ends everything with that mark, also what is brought back meanwhile."""
    for _ in range(50):
        left = marked(mark)
        if not left:
            return
        for process in left:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        time.sleep(0.05)


@pytest.mark.parametrize(("kind", "least"), [("setsid", 1), ("double", 1), ("respawner", 2), ("all", 4)])
def test_forker_leaves_processes(calc, tmp_path, kind, least):
    """It ends well while its offspring lives."""
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    try:
        facts, _ = call_agent(calc, "forker", kind, mark)
        assert facts.claim.status == "COMPLETE"
        deadline = time.monotonic() + 10
        # One look decides: between two of them a process may be in the middle of a fork.
        while len(found := marked(mark)) < least and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(found) >= least
    finally:
        clear(mark)


def test_holds_stdout(calc, tmp_path):
    """The agent ends, but its pipe stays open."""
    mark = f"mark-{tmp_path.name}-{os.getpid()}"
    agent = subprocess.Popen(
        [sys.executable, "-B", str(SCRIPTED / "holds_stdout.py"), mark], cwd=calc, stdout=subprocess.PIPE
    )
    try:
        assert agent.wait(20) == 0
        assert len(marked(mark)) == 1
        os.set_blocking(agent.stdout.fileno(), False)
        assert b"END_RALPH_STATUS" in agent.stdout.read()
        assert agent.stdout.read() is None  # open and empty, not at its end
    finally:
        clear(mark)
        agent.stdout.close()


@pytest.mark.parametrize(("name", "obeys"), [("hang", True), ("hang_ignores_term", False)])
def test_hangs(calc, name, obeys):
    """Both hang; one obeys SIGTERM, the other only SIGKILL."""
    agent = subprocess.Popen(
        [sys.executable, "-B", str(SCRIPTED / f"{name}.py")], cwd=calc, stdout=subprocess.PIPE
    )
    try:
        assert agent.stdout.readline()
        agent.terminate()
        if obeys:
            assert agent.wait(30) == -15
        else:
            with pytest.raises(subprocess.TimeoutExpired):
                agent.wait(0.5)
    finally:
        agent.kill()
        agent.wait()
        agent.stdout.close()


def test_kills_parent(calc):
    """Its parent and sibling are gone, it itself goes on."""
    shell = f"sleep 600 & '{sys.executable}' -B '{SCRIPTED}/kills_parent.py'; echo parent lived"
    with subprocess.Popen(["/bin/sh", "-c", shell], cwd=calc, stdout=subprocess.PIPE, text=True) as parent:
        output = parent.stdout.read()
    assert parent.returncode == -9
    assert "parent lived" not in output
    assert unittest_of(calc)[1] == set()
