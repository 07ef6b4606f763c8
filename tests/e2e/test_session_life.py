"""A session from its task to its end, with hooks called as a host calls them; and on as a loop outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import kit
import pytest

pytestmark = pytest.mark.slow
SLOW_CHECK = "sh -c 'sleep 4; python3 -m unittest'"


def hook(place: kit.Place, event: str, seconds: int = 120, **fields: object) -> tuple[int, str]:
    given = json.dumps({"session_id": "s1", "cwd": str(place.repo), **fields})
    done = subprocess.run(
        [*kit.ralph_argv(), "hook", event, "--host", "claude"], input=given, text=True, capture_output=True,
        env=place.env(RALPH_HOOK_SECONDS=str(seconds)), cwd=place.repo, timeout=kit.LIMIT, check=False,
    )  # fmt: skip
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_suite_that_outlasts_the_hook_is_heard_at_the_next_stop(tmp_path: Path) -> None:
    """A stop is answered in time: still judging first, the verdict when it is there; the user's repository
    keeps every byte but the agent's own edits."""
    place = kit.Place(tmp_path / "w", tmp_path / "home")
    which = ("--host", "claude", "--session", "s1")
    place.ralph("session", "start", kit.TASK, "--check", SLOW_CHECK, *which)
    assert kit.userstate.user_state(place.repo) == place.before
    code, said = hook(place, "Stop", seconds=12)
    assert code == 2
    assert "check: exit code 1" in said
    (place.repo / "calc.py").write_text(kit.fixed_calc())
    code, said = hook(place, "Stop", seconds=12)
    assert code == 2
    assert "still judging this tree: 0 of 2" in said
    code, said = hook(place, "Stop")
    assert code == 0
    assert "VERIFIED_DONE (B)" in said
    assert hook(place, "Stop") == (0, "")


@pytest.mark.soak
def test_what_nobody_looked_at_and_what_a_judge_dislikes_is_not_verified(tmp_path: Path) -> None:
    """A repository inside the user's is told at the start and in the end; made or changed since, it holds the
    session back, and so does a required judge, until the work is what it asks for."""
    place = kit.Place(tmp_path / "w", tmp_path / "home")
    place.once = True
    critic = kit.HERE / "judges" / "scores.py"
    lines = ["[agents.critic]", f'command = "{critic} 6.5 NOTES.md 8"']
    lines += ["[judge]", 'rubric = "default"', 'agent = "critic"', "required = true"]
    (place.config / "ralph" / "config.toml").write_text("\n".join(lines) + "\n")
    for inner in ("lib", "made"):
        place.git("init", "-q", inner)
        (place.repo / inner / "x.py").write_text("x = 1\n")
    (place.repo / "made").rename(tmp_path / "made")
    which = ("--host", "claude", "--session", "s1")
    done = place.ralph("session", "start", kit.TASK, "--check", kit.CHECK, *which)
    told = done.out
    assert done.code == 0, done.err
    assert "note      the repository inside this one at 'lib/' is not in the snapshot" in told
    assert "judge     not asked yet" in told
    (place.repo / "calc.py").write_text(kit.fixed_calc())
    (tmp_path / "made").rename(place.repo / "made")
    (place.repo / "lib" / "x.py").write_text("x = 2\n")
    code, said = hook(place, "Stop")
    assert code == 2
    assert "at 'made/' is not in the snapshot: remove it or add it to .gitignore" in said
    assert "at 'lib/' is not in the snapshot, and was changed since: undo that" in said
    (place.repo / "made").rename(tmp_path / "made")
    (place.repo / "lib" / "x.py").write_text("x = 1\n")
    code, said = hook(place, "Stop")
    assert code == 2
    assert "the judge: 6.50 of 10, 7.00 asked for" in said
    assert "write down in NOTES.md what was done" in said
    (place.repo / "NOTES.md").write_text("what was done\n")
    code, said = hook(place, "Stop")
    assert (code, "VERIFIED_DONE (B)" in said) == (0, True)
    shown = place.ralph("session", "status", *which).out
    assert "judge     8.00 of 10" in shown
    assert "open      nobody looked: the repository inside this one at 'lib/'" in shown
    place.git("checkout", "-q", "--", "calc.py")
    assert place.ralph("session", "start", kit.TASK, "--check", kit.CHECK, *which).code == 0
    (place.repo / "calc.py").write_text(kit.fixed_calc())
    code, said = hook(place, "Stop")
    assert (code, "VERIFIED_DONE (B)" in said) == (0, True), (
        f"not the first answer of the task before: {said}"
    )


def test_a_session_goes_on_outside_with_all_it_has(tmp_path: Path) -> None:
    """The loop has the session's task, gates, baseline and iterations, and judges nothing twice."""
    place = kit.Place(tmp_path / "w", tmp_path / "home")
    which = ("--host", "claude", "--session", "s1")
    place.ralph("session", "start", kit.TASK, "--check", kit.CHECK, *which)
    (place.repo / "calc.py").write_text((place.repo / "calc.py").read_text() + "\n# begun\n")
    assert hook(place, "Stop")[0] == 2
    done = place.ralph("session", "continue", "--agent-cmd", kit.agent("honest_steps", 1), *which)
    assert "ralph attach" in done.out
    shown = place.ralph("attach", "--display", "plain")
    assert "verified" in shown.out + shown.err
    record = place.newest()
    kinds = [type(event).__name__ for event in record.events]
    assert kinds.count("AgentStarted") == 2
    assert record.loop.outcome == "verified"
    assert record.loop.iteration == 2
    assert sum(1 for entry in record.entries if b'"stage":"baseline"' in entry.row.body) == 1
    assert "# begun" in (place.repo / "calc.py").read_text()
    listed = json.loads(place.ralph("session", "list", "--json").out)["sessions"]
    assert listed[0]["ended"]["loop"] == record.name
    place.ralph("worker", "stop")


@pytest.mark.soak
def test_a_skill_that_claims_success_records_no_more_than_the_checks_show(tmp_path: Path) -> None:
    """State and action by the installed command: a claim stays one until Ralph has verified the session."""
    place = kit.Place(tmp_path / "w", tmp_path / "home")
    place.once = True
    which = ("--host", "claude", "--session", "s1")

    def state(*words: str) -> dict[str, object]:
        done = place.ralph("state", *words, *which)
        assert done.code == 0, done.report()
        return dict(json.loads(done.out))

    place.ralph("session", "start", kit.TASK, "--check", kit.CHECK, *which)
    assert state("init", "loop", "validation_result=passed")["validation_result"] == "failed", (
        "its check is red"
    )
    assert state("update", "loop", "iteration=3", "verified_done=true")["verified_done"] is False
    assert state("fail", "loop", "no database")["last_error"] == "no database"
    assert state("complete", "loop")["verified_done"] is False
    place.ralph("action", "start", "fix", *which)
    assert hook(place, "Stop")[0] == 2
    assert state("read", "loop")["validation_result"] == "failed"
    done = place.ralph("action", "complete", "--summary", "all green", *which)
    assert (done.code, "# ~ fix: PARTIAL" in done.out) == (0, True), done.report()
    assert "the checks say: failed" in done.out.replace("\\", "")
    place.ralph("action", "start", "again", *which)
    (place.repo / "calc.py").write_text(kit.fixed_calc())
    assert hook(place, "Stop")[0] == 0
    assert state("read", "loop")["verified_done"] is True
    done = place.ralph("action", "complete", "--summary", "all green", "--recommend", "keep it", *which)
    assert (done.code, "# ✔ again: COMPLETED" in done.out) == (0, True), done.report()
    found = json.loads(place.ralph("action", "list", "--failed", "--json").out)["actions"]
    assert [(one["skill_name"], one["status"], one["claimed"]) for one in found] == [
        ("fix", "partial", "completed")
    ]
    assert "fix" in place.ralph("report", "--failed").out
