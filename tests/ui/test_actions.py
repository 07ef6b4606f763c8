"""`ralph state` and `ralph action`: what an agent writes is a claim, and never more than the checks show."""

import json
import subprocess

import pytest
from making import order, verdict

from ralph.app.session.actions import MAX_REPORTS, duration_words
from ralph.clock import SystemClock
from ralph.core.model import events as e
from ralph.core.session.names import session_name
from ralph.core.session.record import SessionEnded, SessionStarted, StateNoted
from ralph.shell.session.stream import add_fact
from ralph.shell.state.directory import open_state

WHICH = ("--host", "claude", "--session", "s1")


@pytest.fixture
def inside(ralph, tmp_path, monkeypatch):
    """A repository, and a session of Claude Code in it."""
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    git = ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    monkeypatch.chdir(repo)
    state = open_state(str(tmp_path / "state"), create=True)

    def add(fact):
        add_fact(state, session_name("claude", "s1"), SystemClock(), lambda _: fact)

    return ralph, add, repo


def read(ralph, kind="loop"):
    code, out, err = ralph("state", "read", kind, *WHICH)
    assert code == 0, err
    return json.loads(out)


def begin(add, repo):
    add(SessionStarted(host="claude", session="s1", order=order(repo=str(repo)), protection="S2"))


def test_a_claim_of_done_is_not_done(inside):
    """`complete` and every field that claims success change nothing of what Ralph knows."""
    ralph, add, repo = inside
    assert ralph("state", "read", "loop", *WHICH)[0] == 2
    assert ralph("state", "init", "loop", "task=x", *WHICH)[0] == 0
    for words in (("update", "loop", "verified_done=true", "validation_result=passed"), ("complete", "loop")):
        assert ralph("state", *words, *WHICH)[0] == 0
        found = read(ralph)
        assert (found["verified_done"], found["validation_result"]) == (False, "pending")
        assert found["claimed"]["verified_done"] == "true"
    begin(add, repo)
    assert (
        ralph("state", "init", "orchestrator", "implementation_complete=true", "quality_passed=true", *WHICH)[
            0
        ]
        == 0
    )
    found = read(ralph, "orchestrator")["conditions"]
    assert (found["implementation_complete"], found["quality_passed"]) == (False, None)
    red = e.GateEnded(iteration=1, verdict=verdict("tests", "fail", order().base.tree, "final"))
    add(red)
    assert read(ralph)["validation_result"] == "failed"
    add(SessionEnded(outcome="verified", reason="", grade="B"))
    assert read(ralph)["verified_done"] is True


def test_types_fields_counters_and_deletion(inside):
    """Types and fields of others' runners; anything else is refused, and a deleted state is gone."""
    ralph, _, _ = inside
    assert ralph("state", "init", "loop", *WHICH)[0] == 0
    assert ralph("state", "increment", "loop", *WHICH)[0] == 0
    assert read(ralph)["iteration"] == 1
    assert ralph("state", "fail", "loop", "no", "database", *WHICH)[0] == 0
    assert read(ralph)["last_error"] == "no database"
    assert ralph("state", "init", "quality-gate", *WHICH)[0] == 0
    assert read(ralph, "quality-gate")["stages"]["security"]["status"] == "pending"
    for bad in (
        ("update", "loop", "grade=A"),
        ("update", "loop", "x"),
        ("init", "other"),
        ("increment", "quality-gate"),
    ):
        assert ralph("state", *bad, *WHICH)[0] == 2
    assert ralph("state", "read", "loop", "--host", "claude", "--session", "../s1")[0] == 2
    assert ralph("state", "delete", "loop", *WHICH)[0] == 0
    assert ralph("state", "read", "loop", *WHICH)[0] == 2


class Yesterday(SystemClock):
    def now(self):
        return super().now() - 86_500


def test_a_state_that_nobody_touched_for_a_day_is_forgotten(inside, tmp_path):
    """It is neither read nor added to; a new one begins empty, and a touched one lives on."""
    ralph, _, _ = inside
    state, name = open_state(str(tmp_path / "state"), create=True), session_name("claude", "s1")
    old = StateNoted(type="loop", values={"task": "old", "iteration": "7"})
    add_fact(state, name, Yesterday(), lambda _: old)
    for words in (
        ("read", "loop"),
        ("update", "loop", "task=x"),
        ("increment", "loop"),
        ("complete", "loop"),
    ):
        code, _, err = ralph("state", *words, *WHICH)
        assert (code, "over 24 h old" in err) == (2, True), words
    assert ralph("state", "init", "loop", *WHICH)[0] == 0
    assert (read(ralph)["task"], read(ralph)["iteration"]) == ("", 0)


def act(ralph, *words, skill="review"):
    assert ralph("action", "start", skill, *WHICH)[0] == 0
    code, out, err = ralph("action", "complete", *words, *WHICH)
    assert code == 0, err
    return out


def test_an_action_is_completed_only_when_the_checks_show_it(inside):
    """Claimed success is partial without checks, with open ones, and with a proof older than the action."""
    ralph, add, repo = inside
    out = act(ralph, "--summary", "all good [x](y)")
    assert "PARTIAL" in out
    assert "claimed completed, but no check has shown it" in out.replace("\\", "")
    begin(add, repo)
    assert "the checks say: pending" in act(ralph).replace("\\", "")
    assert ralph("action", "start", "fix", *WHICH)[0] == 0
    add(SessionEnded(outcome="verified", reason="", grade="B"))
    code, out, _ = ralph("action", "complete", "--status", "completed", *WHICH)
    assert (code, "# ✔ fix: COMPLETED" in out) == (0, True)
    assert "PARTIAL" in act(ralph)
    assert "# ✘ review: FAILED" in act(ralph, "--status", "failed", "--recommend", "mend the database")
    assert ralph("action", "complete", *WHICH)[0] == 2


def test_failed_actions_are_found_beside_failed_loops(inside):
    """By `action list --failed` and `report --failed`; completed ones are not."""
    ralph, _, _ = inside
    act(ralph, "--status", "failed", "--summary", "does not load")
    _, out, _ = ralph("action", "list", "--failed", "--json")
    (one,) = json.loads(out)["actions"]
    assert (one["status"], one["skill_name"], one["details"]["iterations"]) == ("failed", "review", 0)
    assert "does not load" in ralph("report", "--failed")[1]
    assert json.loads(ralph("report", "--failed", "--json")[1])["actions"] == [one]


def test_the_newest_fifty_reports_of_a_skill_are_kept(inside, tmp_path):
    """Text and data go together; another skill's are left alone. A skill's name is no path."""
    ralph, _, _ = inside
    act(ralph, skill="other")
    folder = tmp_path / "state" / "reports" / "actions" / "review"
    folder.mkdir(parents=True)
    for number in range(MAX_REPORTS + 3):
        (folder / f"20200101-0000{number:02}-000.md").write_text("x")
        (folder / f"20200101-0000{number:02}-000.json").write_text("{}")
    act(ralph)
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 2 * MAX_REPORTS
    assert names[0] == "20200101-000004-000.json"
    assert len(list((folder.parent / "other").iterdir())) == 2
    for skill in ("../x", "a/b", "", "-x", "x" * 65):
        assert ralph("action", "start", *WHICH, "--", skill)[0] == 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s"), (41.9, "41s"), (60, "1m 0s"), (185, "3m 5s"), (3600, "1h 0m"), (7499, "2h 4m")],
)
def test_durations(seconds, words):
    assert duration_words(seconds) == words
