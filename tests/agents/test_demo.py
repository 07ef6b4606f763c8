"""The demo agent and its sample project tell one true story, through the same path as any agent."""

import os
import subprocess
import sys

import pytest

from ralph.agents import CallContext, load
from ralph.agents._kit.lines import Intake
from ralph.agents.demo.adapter import SCRIPTS
from ralph.agents.demo.agent import SCRIPTS as IMPLEMENTED
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion
from ralph.core.model.order import Order
from ralph.core.model.spend import Limits
from ralph.errors import UserError
from ralph.ui.ask.demo_project import make_project


def call_agent(folder, script, iteration=1, call=1, timeout=60):
    agent = SealedAgent("demo", settings={"script": script})
    order = Order("x", "t", str(folder), Criterion("custom", ()), Limits(), agent)
    adapter = load("demo")
    context = CallContext("ralph-x", iteration, call, str(folder), "/none", dict(os.environ))
    launch = adapter.launch(order, context)
    try:
        ended = subprocess.run(
            launch.argv,
            env=launch.env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
        output, code, how = ended.stdout + ended.stderr, ended.returncode, "exited"
    except subprocess.TimeoutExpired as late:
        output, code, how = late.stdout or b"", None, "timeout"
    intake = Intake(adapter.stream(order))
    intake.feed(output)
    return intake.finish(code, how)


def failing_tests(folder):
    done = subprocess.run(
        [sys.executable, "-B", "-m", "unittest"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return {line.split()[1] for line in done.stderr.splitlines() if line.startswith(("FAIL:", "ERROR:"))}


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def todo(tmp_path):
    folder = tmp_path / "todo"
    make_project(str(folder))
    return folder


def test_sample_project(todo):
    """The sample project is a clean repository of which exactly two tests fail."""
    assert git(todo, "status", "--porcelain") == ""
    assert git(todo, "log", "--format=%an <%ae>").splitlines() == ["Ralph demo <demo@ralph.invalid>"] * 2
    assert failing_tests(todo) == {
        "test_pending_shows_the_most_urgent_first",
        "test_progress_of_an_empty_list",
    }


def test_sample_project_is_the_same_every_time(todo, tmp_path, monkeypatch):
    """Neither the user's git settings nor the environment change the sample project's commits."""
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    make_project(str(tmp_path / "again"))
    monkeypatch.undo()
    assert git(todo, "rev-parse", "HEAD") == git(tmp_path / "again", "rev-parse", "HEAD")


def test_sample_project_overwrites_nothing(tmp_path):
    """A folder that holds anything is refused."""
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError):
        make_project(str(tmp_path))
    assert os.listdir(tmp_path) == ["mine.txt"]


@pytest.mark.slow
def test_honest_takes_three_calls(todo):
    """It fixes one bug, then claims done while a test still fails, then really is done."""
    first = call_agent(todo, "honest", 1)
    assert first.claim.status == "IN_PROGRESS"
    assert failing_tests(todo) == {"test_progress_of_an_empty_list"}
    second = call_agent(todo, "honest", 2)
    assert (second.claim.status, second.claim.tests) == ("COMPLETE", "PASSING")
    assert failing_tests(todo) == {"test_progress_of_an_empty_list"}
    third = call_agent(todo, "honest", 3)
    assert third.claim.status == "COMPLETE"
    assert failing_tests(todo) == set()
    assert third.usage.tokens > 0
    assert third.usage.cost == 0
    assert (first.fault, second.fault, third.fault) == (None, None, None)


def test_honest_finds_its_way_after_a_revert(todo):
    """When the second call's work was thrown away, the third call still finishes."""
    call_agent(todo, "honest", 1)
    kept = (todo / "todo.py").read_text()
    call_agent(todo, "honest", 2)
    (todo / "todo.py").write_text(kept)
    call_agent(todo, "honest", 3)
    assert failing_tests(todo) == set()


@pytest.mark.slow
def test_wrong_never_gets_there(todo):
    """It changes the code in every call and stays red."""
    seen = set()
    for iteration in (1, 2):
        call_agent(todo, "wrong", iteration)
        seen.add((todo / "todo.py").read_text())
        assert failing_tests(todo)
    assert len(seen) == 2


def test_liar_claims_and_changes_nothing_that_matters(todo):
    """It claims done with passing tests and leaves the code as it was."""
    before = (todo / "todo.py").read_text()
    facts = call_agent(todo, "liar")
    assert (facts.claim.status, facts.claim.exit_signal) == ("COMPLETE", True)
    assert (todo / "todo.py").read_text() == before


def test_staller_changes_nothing(todo):
    """It ends well and leaves the tree as it was."""
    assert call_agent(todo, "staller").fault is None
    assert git(todo, "status", "--porcelain") == ""


def test_crasher_is_a_crash(todo):
    """A torn line and a nonzero exit are a crash, and no claim."""
    facts = call_agent(todo, "crasher")
    assert facts.fault.kind == "crash"
    assert "on purpose" in facts.fault.message
    assert facts.claim is None


@pytest.mark.slow
def test_hang_hangs(todo):
    """It never ends by itself."""
    assert call_agent(todo, "hang", timeout=1).fault.kind == "timeout"


def test_limit_then_works(todo):
    """The first call reports a limit that is lifted soon; the next one works."""
    facts = call_agent(todo, "limit", call=1)
    assert facts.fault.kind == "limit"
    assert facts.fault.reset_at is not None
    assert call_agent(todo, "limit", call=2).fault is None


def test_elsewhere_it_says_blocked(tmp_path):
    """In any other project all scripts but the honest one touch nothing; that one needs a check to go by."""
    (tmp_path / "todo.py").write_text("print('another program')\n")
    for script, words in (("honest", "names no check"), ("liar", "sample project only")):
        facts = call_agent(tmp_path, script)
        assert facts.claim.status == "BLOCKED"
        assert words in facts.claim.recommendation
    assert os.listdir(tmp_path) == ["todo.py"]


def test_scripts_are_those_promised():
    """The adapter offers exactly the scripts the agent has, and refuses others."""
    assert set(SCRIPTS) == set(IMPLEMENTED)
    with pytest.raises(UserError):
        call_agent("/", "heroic")
