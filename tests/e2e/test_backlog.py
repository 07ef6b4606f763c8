"""Promise: a backlog is worked through item by item, and only what Ralph has seen pass is PASSING."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit import Place, agent

WORKER = agent("backlog_worker")
PRD = """---
feature_id: PRD-1
version: 1.0.0
---
# A required thing

## Overview
The thing is required by somebody, and it is there.

## Functional requirements
- FR-1: the thing is there

## Acceptance criteria
- AC-1: `python3 show.py PRD-1` prints PRD-1

## Constraints
- forbid: something else in features
"""


def item(name: str, *after: str, cap: int = 5, enabled: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "id": name, "title": f"Make {name}", "status": "FAILING", "dependencies": list(after), "attempts": [],
        "verification": [f"python3 show.py {name} | grep -qx {name}"],
        "ralph_loop": {"enabled": enabled, "max_iterations": cap, "current_iteration": 0}, **more,
    }  # fmt: skip


SHOW = """import sys

with open(f"features/{sys.argv[1]}.txt", encoding="utf-8") as file:
    print(file.read().strip())
"""


KEPT = """import unittest


class Kept(unittest.TestCase):
    def test_it(self):
        self.assertEqual(1 + 1, 2)
"""


class Backlog:
    """A user with a backlog in the repository."""

    def __init__(self, place: Place, *items: dict[str, Any], approve: bool = True, **head: Any) -> None:
        self.place = place
        folder = place.repo / ".ralph" / "backlog"
        folder.mkdir(parents=True)
        (place.repo / ".ralph" / "prd").mkdir()
        (place.repo / ".ralph/prd/PRD-1.md").write_text(PRD)
        (place.repo / "features").mkdir(exist_ok=True)
        (place.repo / "features" / "README").write_text("features\n")
        (place.repo / "show.py").write_text(SHOW)
        self.file = folder / "feature_list.json"
        self.file.write_text(json.dumps({"schema_version": "2.0", **head, "items": list(items)}, indent=2))
        place.git("-c", "core.hooksPath=/dev/null", "add", ".ralph", "features", "show.py")
        place.git(
            "-c",
            "core.hooksPath=/dev/null",
            "commit",
            "-qm",
            "backlog",
            "--",
            ".ralph",
            "features",
            "show.py",
        )
        place.forget()
        if approve:
            asked = self.ralph("run", "--agent-cmd", WORKER)
            assert asked.code == 3, asked.err
            digest = asked.err.rsplit("ralph approve ", 1)[1].split()[0]
            assert place.ralph("approve", digest).code == 0

    def ralph(self, *words: str, limit: float = 240) -> Any:
        return self.place.ralph("backlog", *words, limit=limit)

    def run(self, *words: str, limit: float = 240) -> Any:
        return self.ralph(
            "run", "--agent-cmd", WORKER, "--confirm", "1", "--display", "none", *words, limit=limit
        )

    def items(self) -> dict[str, dict[str, Any]]:
        return {one["id"]: one for one in json.loads(self.file.read_text())["items"]}

    def statuses(self) -> dict[str, str]:
        return {name: one["status"] for name, one in self.items().items()}

    def commits(self) -> list[str]:
        """Subjects on the backlog's branch, oldest first."""
        return self.place.git("log", "--reverse", "--format=%s", "HEAD..ralph/backlog").splitlines()


@pytest.mark.slow
def test_a_break_is_found_reopened_and_mended(place: Place) -> None:
    """An item that ruins an earlier one passes by its own check; the other is reopened, with the culprit
    named, and worked on again. Nothing of the user's changes but the list."""
    world = Backlog(
        place, item("F-1", priority=1), item("BREAK-1", "F-1", priority=2), item("F-2", "BREAK-1", priority=3)
    )
    head = place.git("rev-parse", "HEAD")
    (place.repo / "features/note").write_text("mine\n")
    done = world.run()
    assert done.code == 0, done.err
    assert "results go to ralph/backlog" in done.err
    assert "uncommitted file" in done.err
    assert "'features/note'" in done.err
    assert set(world.statuses().values()) == {"PASSING"}
    assert world.commits() == ["F-1: Make F-1", "BREAK-1: Make BREAK-1", "F-1: Make F-1", "F-2: Make F-2"]
    assert place.git("rev-parse", "HEAD") == head
    reopened = [one for one in world.items()["F-1"]["attempts"] if one["result"] == "FAILED"]
    (regression,) = reopened
    assert "BREAK-1" in regression["failure_reason"]
    assert regression["culprit"] == place.git("rev-parse", "ralph/backlog~2").strip()
    message = place.git("log", "-1", "--format=%B", "ralph/backlog")
    assert "Ralph-Item: F-2" in message
    assert "evidence" in message
    assert not place.git("for-each-ref", "refs/heads/ralph/").count("\n") > 1
    assert world.ralph("validate").code == 0
    assert world.ralph("next").code == 6
    assert "backlog: 3 of 3 passing" in place.ralph("status").out


@pytest.mark.slow
def test_liars_editors_and_hopeless_items(place: Place) -> None:
    """A claim is no pass, an edited list or PRD has no effect and is named, an item that fails to its cap is
    BLOCKED with what recurs, and what waits for it is never begun."""
    world = Backlog(
        place,
        item("LIE-1", cap=1),
        item("NO-1", cap=2),
        item("F-9", "NO-1"),
        item("EDIT-1"),
        item("PRD-1", verification=[], prd_reference={"file": "PRD-1.md", "version": "0.9.0"}),
        item("OFF-1", enabled=False),
    )
    done = world.run("--max-iterations", "2")
    assert done.code == 3, done.err
    found = world.statuses()
    assert found == {
        "LIE-1": "BLOCKED", "NO-1": "BLOCKED", "F-9": "FAILING", "EDIT-1": "BLOCKED",
        "PRD-1": "BLOCKED", "OFF-1": "FAILING",
    }  # fmt: skip
    items = world.items()
    assert "max iterations reached" in items["NO-1"]["override_reason"]
    assert "in 2 of 2 attempts" in items["NO-1"]["override_reason"]
    assert len(items["NO-1"]["attempts"]) == 2
    assert items["LIE-1"]["attempts"][0]["investigation"].startswith("claim of the agent")
    assert ".ralph/backlog/feature_list.json" in json.dumps(items["EDIT-1"]["attempts"])
    assert ".ralph/prd/PRD-1.md" in json.dumps(items["PRD-1"]["attempts"])
    rejected = items["EDIT-1"]["attempts"][0]["rejected"]
    assert "features/EDIT-1.txt" in place.git("ls-tree", "-r", "--name-only", rejected)
    explained = world.ralph("next", "--explain")
    assert explained.code == 6
    assert "F-9: waits for NO-1" in explained.out
    assert "OFF-1: not enabled" in explained.out
    assert not place.git("for-each-ref", "refs/heads/ralph/backlog")
    again = world.ralph("reset", "LIE-1", "--reason", "another agent")
    assert again.code == 0
    assert world.items()["LIE-1"]["ralph_loop"]["current_iteration"] == 0


@pytest.mark.soak
@pytest.mark.slow
def test_three_at_the_same_time(place: Place) -> None:
    """Items at the same time are joined one after the other; two that change the same lines both get in, the
    second on a new base, and that does not count as a failed attempt."""
    world = Backlog(place, item("F-1"), item("BOTH-1"), item("BOTH-2"))
    done = world.run("--parallel", "3")
    assert done.code == 0, done.err
    assert set(world.statuses().values()) == {"PASSING"}
    assert sorted(world.commits()) == ["BOTH-1: Make BOTH-1", "BOTH-2: Make BOTH-2", "F-1: Make F-1"]
    assert [one["ralph_loop"]["current_iteration"] for one in world.items().values()] == [0, 0, 0]
    tree = place.git("ls-tree", "-r", "--name-only", "ralph/backlog")
    assert all(f"features/{name}.txt" in tree for name in ("F-1", "BOTH-1", "BOTH-2"))


@pytest.mark.slow
def test_background_and_kill(place: Place) -> None:
    """Killed in the middle of an attempt, a run in the background is started again by the worker, goes on
    with the same agent call, and repeats nothing. `stop` ends one for good, and `run` goes on."""
    world = Backlog(place, item("SLOW-1", priority=1), item("F-2", "SLOW-1"), item("SLOW-3", "F-2"))
    words = (
        "--agent-cmd",
        WORKER,
        "--confirm",
        "1",
        "--max-items",
        "2",
        "--harness-dir",
        "../.ralph/backlog",
    )
    begun = place.ralph("backlog", "run", "-d", *words, cwd=place.repo / "features")
    assert begun.code == 0, begun.err
    pid = int(begun.out.split("pid ")[1].split()[0])
    _await(lambda: "AgentStarted" in place.ralph("logs", "--json").out)
    assert world.run().code == 5
    assert f"pid {pid}" in world.ralph("list").out
    os.kill(pid, signal.SIGKILL)
    _await(lambda: list(world.statuses().values()).count("PASSING") == 2)
    assert world.commits() == ["SLOW-1: Make SLOW-1", "F-2: Make F-2"]
    assert [len(one["attempts"]) for one in world.items().values()] == [1, 1, 0]
    assert world.items()["SLOW-1"]["attempts"][0]["spend"]["calls"] == 1
    _await(lambda: "at work" not in world.ralph("list").out)
    assert world.ralph("stop").code == 6
    assert world.run("-d").code == 0
    _await(lambda: "slow-3" in place.ralph("status").out and "working" in place.ralph("status").out)
    stopped = world.ralph("stop")
    assert stopped.code == 0, stopped.err
    assert "paused slow-3" in stopped.out
    place.ralph("worker", "stop")
    place.no_process_left(grace=10)
    assert world.run().code == 0
    assert set(world.statuses().values()) == {"PASSING"}


def _await(seen: Callable[[], bool], limit: float = 240) -> None:
    until = time.monotonic() + limit
    while not seen():
        assert time.monotonic() < until
        time.sleep(0.5)


@pytest.mark.soak
@pytest.mark.slow
def test_boot_and_protected_files(place: Place) -> None:
    """A failing boot check stops before any item (4), except for the item that is about it; touching a
    protected file runs its tests."""
    boot = "test -e features/F-1.txt"
    register = [{"path": "features/F-2.txt", "criticality": "HIGH", "required_tests": ["test -e never"]}]
    world = Backlog(place, item("F-1", verification=[boot]), item("F-2", cap=1), protected_files=register)
    (place.config / "ralph" / "config.toml").write_text(f'[backlog]\nboot = "{boot}"\n')
    stopped = world.run("--item", "F-2")
    assert stopped.code == 4, stopped.err
    assert "boot" in stopped.err
    assert world.run("--item", "F-1").code == 0
    refused = world.run("--item", "F-2")
    assert refused.code == 3
    assert "protected file" in world.items()["F-2"]["attempts"][0]["failure_reason"]
    assert world.commits() == ["F-1: Make F-1"]


@pytest.mark.slow
def test_helpers_keep_their_word(place: Place) -> None:
    """PASSED is recorded only when the item's checks pass on the commit; already green needs a person."""
    world = Backlog(place, item("F-1"), item("F-2", verification=["grep -q features features/README"]))
    lied = world.ralph("attempt", "F-1", "PASSED", "--summary", "works", "--commit", "HEAD")
    assert lied.code == 1
    assert json.loads(lied.out)["error"] == "invalid_attempt_data"
    assert world.statuses()["F-1"] == "FAILING"
    (place.repo / "features" / "F-1.txt").write_text("F-1\n")
    place.git("-c", "core.hooksPath=/dev/null", "add", "features/F-1.txt")
    place.git("-c", "core.hooksPath=/dev/null", "commit", "-qm", "by hand", "--", "features/F-1.txt")
    honest = json.loads(world.ralph("attempt", "F-1", "PASSED", "--summary", "works").out)
    assert honest["attempt"]["evidence"]["checks"][0]["status"] == "pass"
    assert world.statuses()["F-1"] == "PASSING"
    once = world.run("--once")
    assert once.code == 3
    assert world.statuses()["F-2"] == "FAILING"
    assert world.items()["F-2"]["ralph_loop"]["current_iteration"] == 0
    assert world.ralph("validate", "F-2", "--accept", "--reason", "it was there").code == 0
    assert "already satisfied" in world.items()["F-2"]["attempts"][-1]["notes"]


@pytest.mark.soak
@pytest.mark.slow
def test_what_nothing_proves_needs_a_persons_word(place: Place) -> None:
    """Green before any work, or green without a witness, is FAILING with a question and does not count; an
    item that declares that nothing can prove it, with a reason, passes; without one the list is refused."""
    (place.repo / "features").mkdir()
    (place.repo / "features/test_kept.py").write_text(KEPT)
    gate = "python3 -m unittest -q features/test_kept.py"
    (place.config / "ralph").mkdir(exist_ok=True)
    (place.config / "ralph" / "config.toml").write_text(f'[gates.test]\nrun = "{gate}"\n')
    green, declared = ["grep -q features features/README"], {"proof": "none", "proof_reason": "it is prose"}
    terms = {"enabled": True, "convergence_criteria": {"tests_pass": True}}
    world = Backlog(
        place,
        item("A-1", verification=["true"]),
        item("A-2", verification=["true"]),
        item("F-1", verification=green),
        item("F-2", verification=green, **declared),
        item("F-3", verification=[], ralph_loop=terms),
        item("F-4", verification=[], ralph_loop=terms, **declared),
    )
    done = world.run()
    assert done.code == 3, done.err
    passing = {"F-2", "F-4"}
    assert {name for name, status in world.statuses().items() if status == "PASSING"} == passing
    assert done.err.count("'true' proves nothing") == 2, "and what comes after such items is worked on"
    items = world.items()
    assert world.commits() == ["F-4: Make F-4"]
    assert [items[name]["attempts"][0]["spend"]["calls"] for name in ("F-1", "F-2")] == [0, 0]
    assert "already satisfied; declared as not provable: it is prose" in items["F-2"]["attempts"][0]["notes"]
    assert "green, not proven; declared" in items["F-4"]["attempts"][0]["notes"]
    assert "passed before any work" in items["F-1"]["question"]
    assert "nothing that failed before proves it" in items["F-3"]["question"]
    assert {items[name]["ralph_loop"].get("current_iteration", 0) for name in ("F-1", "F-3")} == {0}
    assert "waits for a person" in world.ralph("next", "--explain").out
    kept = json.loads(world.file.read_text())
    kept["items"][4] |= {"proof": "none"}
    world.file.write_text(json.dumps(kept, indent=2))
    refused = world.run()
    assert refused.code == 2
    assert "/items/4/proof" in refused.err
    assert "proof_reason" in refused.err


@pytest.mark.slow
def test_the_hook_stops_a_push_and_the_report_tells(place: Place, tmp_path: Path) -> None:
    """Installed as a pre-push hook it lets a whole list pass and stops one that refers to a PRD that is not
    there, judged by what is pushed; the report tells what was recorded."""
    repo = tmp_path / "clean"
    env = {**os.environ, **{key: value for key, value in place.env().items() if value is not None}}
    env["PATH"] = f"{os.path.dirname(sys.executable)}:{env['PATH']}"

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        return subprocess.run(
            ["git", *who, *words], cwd=repo, env=env, capture_output=True, text=True, check=False
        )

    repo.mkdir()
    git("init", "-q")
    git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    assert place.ralph("backlog", "init", cwd=repo).code == 0
    assert place.ralph("backlog", "add", "One thing", "--verify", "test -e thing", cwd=repo).code == 0
    git("add", "-A")
    git("commit", "-qm", "a backlog")
    assert place.ralph("backlog", "hook", "--install", cwd=repo).code == 0
    pushed = git("push", "-q", str(tmp_path / "remote.git"), "HEAD")
    assert pushed.returncode == 0, pushed.stderr
    file = repo / ".ralph/backlog/feature_list.json"
    listed = json.loads(file.read_text())
    [row] = next(rows for rows in listed.values() if isinstance(rows, list))
    row["prd_reference"] = "missing.json"
    file.write_text(json.dumps(listed, indent=2))
    git("commit", "-qam", "refer to nothing")
    stopped = git("push", "-q", str(tmp_path / "remote.git"), "HEAD")
    assert stopped.returncode != 0
    assert "'FEAT-001' refers to 'missing.json'" in stopped.stderr
    assert "added FEAT-001" in place.ralph("backlog", "report", cwd=repo).out


def twelve_items(place: Place) -> Backlog:
    return Backlog(
        place,
        item("F-1", priority=0), item("F-2", "F-1"), item("F-3", "F-1"), item("F-4", "F-2", "F-3"),
        item("BREAK-1", "F-1"), item("BOTH-1"), item("BOTH-2"), item("LIE-1", cap=1), item("NO-1", cap=2),
        item("F-9", "NO-1"), item("EDIT-1"),
        item("PRD-1", verification=[], prd_reference={"file": "PRD-1.md"}),
    )  # fmt: skip


def holds_the_story(world: Backlog) -> None:
    found = world.statuses()
    passing = {"F-1", "F-2", "F-3", "F-4", "BREAK-1", "BOTH-1", "BOTH-2"}
    assert {name for name, status in found.items() if status == "PASSING"} == passing
    blocked = {"LIE-1", "NO-1", "EDIT-1", "PRD-1"}
    assert {name for name, status in found.items() if status == "BLOCKED"} == blocked
    culprits = [one["culprit"] for one in world.items()["F-1"]["attempts"] if one.get("culprit")]
    assert culprits, "who broke F-1 is named"
    assert "BREAK-1" in world.place.git("log", "-1", "--format=%s", culprits[0])
    for name in ("LIE-1", "NO-1"):
        counted = [one for one in world.items()[name]["attempts"] if one.get("counted", True)]
        assert len(counted) == world.items()[name]["ralph_loop"]["max_iterations"]
    subjects = [one.partition(":")[0] for one in world.commits()]
    assert sorted(subjects) == sorted([*passing, "F-1"]), "one commit a pass; F-1 passed twice"
    assert world.ralph("validate").code == 0


@pytest.mark.soak
def test_twelve_items_of_every_kind(place: Place) -> None:
    """Passes, a lie, a hopeless item, edits of list and PRD, a break that is mended, three at a time."""
    world = twelve_items(place)
    done = world.run("--parallel", "3", "--max-iterations", "2", limit=1200)
    assert done.code == 3, done.err
    holds_the_story(world)


@pytest.mark.soak
def test_twelve_items_in_the_background_with_kills(place: Place) -> None:
    """The same story by the worker, three at a time: the run is killed with -9 in three places, once together
    with the worker; each time it goes on, and in the end nothing is missing, doubled or counted twice."""
    world = twelve_items(place)
    begun = world.run("-d", "--parallel", "3", "--max-iterations", "2")
    assert begun.code == 0, begun.err

    def recorded() -> int:
        return sum(len(one["attempts"]) for one in world.items().values())

    for number in range(3):
        before = recorded()
        _await(lambda before=before: recorded() > before, limit=600)
        _await(lambda: "at work, pid " in world.ralph("list").out)
        os.kill(int(world.ralph("list").out.split("at work, pid ")[1].split(";")[0]), signal.SIGKILL)
        if number == 1:
            found = json.loads(place.ralph("worker", "status", "--json").out)
            os.kill(found["pid"], signal.SIGKILL)
            assert place.ralph("worker", "start").code == 0
    _await(lambda: world.ralph("next").code == 6 and "at work" not in world.ralph("list").out, limit=1200)
    holds_the_story(world)
    loops = [one["loop"] for row in world.items().values() for one in row["attempts"] if "loop" in one]
    assert len(loops) == len(set(loops)), "no loop was recorded twice"
    assert not place.git("for-each-ref", "refs/heads/ralph/").count("\n") > 1
    place.ralph("worker", "stop")
    place.no_process_left(grace=10)
