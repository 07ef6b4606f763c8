"""Promise: file and record of a backlog agree after any kill, any edit by hand, and any number of writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ralph.clock import SystemClock
from ralph.core.backlog.changes import FOLLOWS, BacklogFact, fold, shown_state
from ralph.errors import NeedsHuman, NothingToDo, RalphError, UserError
from ralph.shell.backlog.place import find_place
from ralph.shell.backlog.store import change_backlog, digest, facts_of, read_backlog

ITEMS: list[dict[str, Any]] = [
    {
        "id": "A-1",
        "title": "One",
        "status": "FAILING",
        "x": 1.0,
        "ralph_loop": {"enabled": True, "max_iterations": 3},
    },
    {"id": "B-2", "title": "Two", "status": "FAILING", "dependencies": ["A-1"]},
]


class World:
    def __init__(self, folder: Path, items: list[dict[str, Any]] = ITEMS) -> None:
        (folder / ".git").mkdir(parents=True)
        self.file = folder / ".ralph/backlog/feature_list.json"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(json.dumps({"items": items}, indent=4) + "\n")
        self.env = {"RALPH_STATE_DIR": str(folder / "state")}
        self.place = find_place(str(folder))

    def read(self) -> Any:
        return read_backlog(self.place, self.env, SystemClock())

    def commit(self, *facts: BacklogFact, **more: Any) -> None:
        with change_backlog(self.place, self.env, SystemClock(), **more) as opened:
            for fact in facts:
                opened.commit(fact)

    def agrees(self) -> bool:
        opened, facts = self.read(), facts_of(self.place, self.env)
        state = fold(facts)
        same = all(_same(shown_state(item), state[item.id]) for item in opened.found.items)
        return same and facts[-1].after == digest(self.file.read_bytes())


def _same(shown: Any, known: Any) -> bool:
    return (shown.status, shown.iteration, shown.attempts, shown.override) == (
        known.status, known.iteration, known.attempts, known.override,
    )  # fmt: skip


def attempt(number: int) -> BacklogFact:
    return BacklogFact(
        deed="attempt", item="A-1", attempt={"run_id": f"r{number}", "result": "FAILED"}, iteration=number
    )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "project")


def test_no_byte_changes_without_need(world: World) -> None:
    """Reading and taking over a list leaves its file as it is; a change touches its own values only."""
    before = world.file.read_bytes()
    world.read()
    assert world.file.read_bytes() == before
    world.commit(BacklogFact(deed="status", item="B-2", status="BLOCKED", reason="no key"))
    after = world.file.read_text()
    assert '"x": 1.0' in after
    assert after.startswith(before.decode()[: before.decode().index('"B-2"')])
    assert world.agrees()


def test_results_edited_by_hand_do_not_count(world: World) -> None:
    """A forged PASSING is named and rendered back; an edited definition is taken; so is a new item."""
    world.commit(attempt(1))
    data = json.loads(world.file.read_text())
    data["items"][1] |= {"status": "PASSING", "title": "Better words", "override_reason": "trust me"}
    data["items"].append({"id": "C-3", "title": "New", "status": "PASSING"})
    world.file.write_text(json.dumps(data))
    opened = world.read()
    assert {one.item for one in opened.notes} == {"B-2", "C-3"}
    items = opened.found.by_id
    assert (items["B-2"].status, items["B-2"].title, items["B-2"].override) == ("FAILING", "Better words", "")
    assert items["C-3"].status == "FAILING"
    assert items["A-1"].attempts == ({"run_id": "r1", "result": "FAILED"},)
    assert world.agrees()
    assert world.read().notes == []


def test_a_reset_by_hand_asks_for_its_reason(world: World) -> None:
    """A counter that a person set back is recorded as a reset, with the reason, or refused."""
    world.commit(
        attempt(1), attempt(2), BacklogFact(deed="status", item="A-1", status="BLOCKED", reason="cap")
    )
    data = json.loads(world.file.read_text())
    data["items"][0] |= {"status": "FAILING"}
    data["items"][0]["ralph_loop"]["current_iteration"] = 0
    world.file.write_text(json.dumps(data))
    with pytest.raises(NeedsHuman, match="by hand"):
        world.read()
    world.commit(
        BacklogFact(deed="iteration", item="A-1", iteration=0, status="FAILING", reason="fixed"), resets="A-1"
    )
    item = world.read().found.by_id["A-1"]
    assert (item.status, item.iteration, len(item.attempts)) == ("FAILING", 0, 2)


def test_an_item_that_vanished_is_named(world: World) -> None:
    """Items are never deleted: one that is gone from the file is told."""
    world.read()
    world.file.write_text(json.dumps({"items": ITEMS[:1]}))
    assert [one.item for one in world.read().notes] == ["B-2"]


def test_without_a_file_or_with_a_torn_one(world: World) -> None:
    """A missing list is nothing to do, a torn one an error that names its place; neither is overwritten."""
    world.read()
    world.file.write_text('{"items": [')
    with pytest.raises(UserError, match="1 error"):
        world.commit(attempt(1))
    assert world.file.read_text() == '{"items": ['
    world.file.unlink()
    with pytest.raises(NothingToDo):
        world.read()


KILLED = """
import os, sys
from ralph.clock import SystemClock
from ralph.core.backlog.changes import BacklogFact
from ralph.shell.backlog import store
from ralph.shell.backlog.place import find_place

left = int(sys.argv[2])
def counted(call):
    def wrapped(*args, **more):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        done = call(*args, **more)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return done
    return wrapped

for name in ("fsync", "replace", "chmod", "unlink", "open"):
    setattr(os, name, counted(getattr(os, name)))
import ralph.shell.journal.writer as writer
writer.SqliteJournal.append = counted(writer.SqliteJournal.append)
place = find_place(sys.argv[1])
with store.change_backlog(place, os.environ, SystemClock()) as opened:
    number = len(opened.state_of("A-1").attempts) + 1
    tried = {"run_id": f"r{number}", "result": "FAILED"}
    opened.commit(BacklogFact(deed="attempt", item="A-1", attempt=tried))
    opened.commit(BacklogFact(deed="edited", item="B-2", define={"title": f"Title {number}"}))
    made = {"id": f"N-{number}", "title": "New", "status": "FAILING"}
    opened.commit(BacklogFact(deed="added", added=(made,)))
print("done")
"""


@pytest.mark.parametrize("point", range(1, 60))
@pytest.mark.sample(check=2, test=14)
def test_kill_at_every_write(tmp_path: Path, point: int) -> None:
    """Killed before or after any write: the next start finds file and record agreed, and nothing lost."""
    world = World(tmp_path / "project")
    world.read()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "project"), str(point)]
    done = subprocess.run(
        command, env={**os.environ, **world.env}, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, -9), done.stderr
    facts = facts_of(world.place, world.env)
    found = world.read().found.by_id
    assert world.agrees()
    assert world.read().notes == []
    deeds = {fact.deed for fact in facts}
    assert len(found["A-1"].attempts) == ("attempt" in deeds)
    assert found["B-2"].title == ("Title 1" if "edited" in deeds else "Two")
    assert ("N-1" in found) == ("added" in deeds)
    assert [name for name in os.listdir(world.file.parent) if name.endswith(".json")] == ["feature_list.json"]


WRITER = """
import os, sys
from ralph.clock import SystemClock
from ralph.core.backlog.changes import BacklogFact
from ralph.shell.backlog.place import find_place
from ralph.shell.backlog.store import change_backlog
for number in range(int(sys.argv[3])):
    with change_backlog(find_place(sys.argv[1]), os.environ, SystemClock()) as opened:
        tried = {"run_id": f"{sys.argv[2]}-{number}", "result": "FAILED"}
        opened.commit(BacklogFact(deed="attempt", item="A-1", attempt=tried))
"""


@pytest.mark.slow
def test_two_writers_lose_nothing(world: World) -> None:
    """What two processes append at the same time is all there, once each."""
    world.read()
    place = str(world.file.parents[2])
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, place, name, "12"], env={**os.environ, **world.env})
        for name in ("one", "two", "three")
    ]
    assert [one.wait() for one in started] == [0, 0, 0]
    runs = [one["run_id"] for one in world.read().found.by_id["A-1"].attempts]
    assert sorted(runs) == sorted(
        f"{name}-{number}" for name in ("one", "two", "three") for number in range(12)
    )
    assert world.agrees()


class AnyOrder(RuleBasedStateMachine):
    """Any sequence of facts: those that rights and transitions allow happen, the others change nothing."""

    @initialize()
    def begin(self) -> None:
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name) / "project")
        self.world.read()
        self.attempts = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @rule(
        name=st.sampled_from(["A-1", "B-2", "Z-9"]),
        deed=st.sampled_from(["attempt", "status", "iteration", "override", "edited"]),
        by=st.sampled_from(["user", "ralph"]),
        status=st.sampled_from([None, "FAILING", "PASSING", "BLOCKED", "CANCELLED"]),
        reason=st.sampled_from(["", "because"]),
        iteration=st.sampled_from([None, 0, 1, 4]),
        result=st.sampled_from(["PASSED", "FAILED"]),
    )
    def change(
        self, name: str, deed: Any, by: Any, status: Any, reason: str, iteration: Any, result: str
    ) -> None:
        before = self.world.file.read_bytes()
        old = self.world.read().found.by_id.get(name)
        tried = {"run_id": "r", "timestamp": "2026-01-01T00:00:00Z", "result": result}
        tried["evidence"] = {"commands_run": ["x"], "results_summary": "y"}  # type: ignore[assignment]
        fact = BacklogFact(
            deed=deed, item=name, by=by, reason=reason,
            status=None if deed == "edited" else status, iteration=None if deed == "edited" else iteration,
            attempt=tried if deed == "attempt" else None, define={"title": "T"} if deed == "edited" else {},
        )  # fmt: skip
        try:
            self.world.commit(fact)
        except RalphError:
            assert self.world.file.read_bytes() == before
            return
        new = self.world.read().found.by_id[name]
        assert old is not None
        assert new.status == old.status or new.status in FOLLOWS[old.status]
        if new.status != old.status and new.status == "PASSING":
            assert (deed, by, bool(reason)) == ("override", "user", True) or (deed, result) == (
                "attempt",
                "PASSED",
            )
        if new.iteration < old.iteration:
            assert by == "user"
            assert reason
        assert new.attempts[: len(old.attempts)] == old.attempts

    @invariant()
    def file_and_record_agree(self) -> None:
        if hasattr(self, "world"):
            assert self.world.agrees()


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=examples(20), stateful_step_count=12, deadline=None)
