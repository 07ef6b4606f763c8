"""What a worker starts again, it starts a bounded number of times; what is broken keeps no other waiting."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from pathlib import Path

import msgspec
import pytest
from clockkit import ScriptedClock

from ralph.core.backlog.changes import BacklogFact
from ralph.core.decide.failover import FAULT_CAP
from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.order import Order, StartPoint
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import Verdict
from ralph.shell.backlog.orders import RunOrder, open_orders, put_order
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.record import summary_row
from ralph.shell.journal.store import backlog_stream
from ralph.shell.ports import Quiet
from ralph.shell.run.hold import hold_record
from ralph.shell.state.directory import open_state
from ralph.shell.worker.backlogs import progress_of
from ralph.shell.worker.supervise import Supervisor

STREAM = backlog_stream("b1")
STINT = e.StintStarted(pid=1, host="h", version="1", protection="S2", hosted=True, at=3.0)
MADE = e.WorkspaceMade(path="/w")


class World:
    """A worker by a clock that stands still but for its sleeps; what it starts is real, and ends at once."""

    def __init__(self, top: Path) -> None:
        self.root = open_state(str(top / "state"), create=True).root
        self.env = {"PATH": os.environ["PATH"], "HOME": str(top), "XDG_CONFIG_HOME": str(top / "config")}
        self.clock, self.told, self.paused = ScriptedClock(), list[str](), dict[str, str]()

    def queue(self, name: str, repo: str, *more: e.AnyEvent) -> None:
        gates = (Gate(name="test", run="true", argv=("true",)),)
        order = Order(
            loop=name,
            task="make the tests pass",
            repo=repo,
            criterion=Criterion(task_class="test-pass", gates=gates),
            limits=Limits(),
            agent=SealedAgent("demo"),
            base=StartPoint("c0", "t0"),
        )
        facts = (e.LoopStarted(order=order, rules=e.RULES, at=1.0), e.LoopQueued(at=2.0), *more)
        with open_journal(self.root) as journal:
            for seq, event in enumerate(facts):
                words = {
                    "at": int(self.clock.now() * 1000) + seq,
                    "kind": e.kind_of(event),
                    "v": e.VERSIONS[e.kind_of(event)],
                }
                row = summary_row(fold(facts[: seq + 1]), 1.0)
                write = journal.append if seq else lambda name, _, **more: journal.create(name, **more)
                write(name, seq, body=e.encode(event), summary=row, **words)

    def add(self, fact: BacklogFact) -> None:
        with open_journal(self.root) as journal:
            row = journal.newest(STREAM)
            body = msgspec.json.encode(fact)
            journal.append(STREAM, row.seq if row else 0, at=1000, kind="BacklogFact", v=1, body=body)

    def tell(self, text: str) -> None:
        self.told.append(text)
        if pid := re.search(r"started pid (\d+)", text):
            os.waitid(os.P_PID, int(pid[1]), os.WEXITED | os.WNOWAIT)

    def starts(self, what: str) -> int:
        return sum("started pid" in line for line in self.told if what in line)

    def work(self, seconds: float) -> None:
        until = self.clock.monotonic() + seconds
        worker = Supervisor(
            self.root,
            self.env,
            self.clock,
            machine=16,
            stopping=lambda: self.clock.monotonic() > until,
            tell=self.tell,
            leave_paused=self.leave_paused,
        )
        worker.run()
        worker._reap()

    def leave_paused(self, loop: str, why: str) -> None:
        env = {**self.env, "RALPH_STATE_DIR": self.root}
        with hold_record(loop, env, self.clock, Quiet()) as scribe:
            scribe.append(e.PauseAsked(reason=why, now=True, by="limit"))
        self.paused[loop] = why


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.mark.slow
def test_a_loop_that_nobody_can_take_up_is_left_paused(world: World) -> None:
    """Its repository is gone, so each runner ends before it says anything: after three a person must look.

    A loop before it in the queue whose record is damaged is told of, a few times, and keeps it not waiting.
    """
    world.queue("damaged", "/nowhere/one")
    world.queue("gone", "/nowhere/two")
    with sqlite3.connect(os.path.join(world.root, "journal.db")) as journal:
        for (name,) in journal.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            journal.execute(f"DROP TRIGGER {name}")
        journal.execute("UPDATE event SET body = x'7b7d' WHERE loop = 'damaged' AND seq = 1")
    journal.close()
    world.work(80.0)
    assert (world.starts("damaged"), world.starts("gone")) == (0, FAULT_CAP), world.told
    assert "3 runners ended before they took it up" in world.paused["gone"]
    assert 1 <= sum(line.startswith("damaged") for line in world.told) <= 2 * FAULT_CAP, world.told


@pytest.mark.slow
@pytest.mark.parametrize("deed", ["started", "attempt"])
def test_a_backlog_run_that_gets_nowhere_is_given_up(world: World, deed: str) -> None:
    """Each start leaves a row: an attempt begun again, or one that the machine spoiled. That is no progress,
    so after three starts the run is given up; what counts as an attempt is progress.
    """
    order = RunOrder("/nowhere/at/all", (), STREAM)
    path = os.path.join(world.root, "backlogs", f"{STREAM.replace(':', '-')}.order")
    put_order(path, order)
    world.add(BacklogFact(deed="adopted"))

    def tell(text: str, tell=world.tell) -> None:
        tell(text)
        if "started pid" in text:
            counts = deed == "attempt" and world.starts("backlog") == 2
            world.add(BacklogFact(deed=deed, item="F-1", loop="never-made", attempt={"counted": counts}))

    world.tell = tell  # type: ignore[method-assign]
    world.work(60.0)
    assert world.starts("backlog") == FAULT_CAP + (2 if deed == "attempt" else 0), world.told
    assert "without getting anywhere" in world.told[-1]
    assert not dict(open_orders(world.root))
    with read_journal(world.root) as reader:
        assert reader.newest(STREAM) is not None


def test_a_call_that_no_runner_can_end_is_asked_to_pause_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its runner died in a call and no other one comes up: three tries, one pause, three for the pause."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    verdict = Verdict(gate="test", status="fail", stage="baseline", tree="t0", red=1)
    facts = (
        STINT,
        MADE,
        e.GateEnded(iteration=0, verdict=verdict),
        e.AgentStarted(iteration=1, call=1, agent="demo", prompt="p"),
    )
    world.queue("gone", "/nowhere", *facts)
    world.work(1800.0)
    assert world.starts("gone") == 2 * FAULT_CAP, world.told
    with read_journal(world.root) as reader:
        assert [row.kind for row in reader.rows("gone")].count("PauseAsked") == 1


def test_queueing_a_begun_loop_again_is_no_progress(world: World) -> None:
    """A backlog's run hands its loop over at each start: only what the loop does itself is a step."""
    world.add(BacklogFact(deed="started", item="F-1", loop="begun"))
    found = []
    asked = (STINT, e.ResumeAsked(author="worker"), e.LoopQueued(at=4.0))
    for name, facts in (("begun", ()), ("again", asked), ("worked", (STINT, MADE))):
        world.queue(name, "/nowhere", *facts)
        world.add(BacklogFact(deed="started", item="F-1", loop=name))
        with read_journal(world.root) as reader:
            found.append(progress_of(STREAM, reader))
    assert found[0] == found[1] != found[2]


def test_a_loop_that_found_its_place_still_taken_is_not_overtaken(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Turned away, it tries again before those behind it, once: one that is never let in holds nobody up."""
    busy = tmp_path / "busy"
    busy.write_text("#!/bin/sh\nexit 5\n")
    busy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(busy))
    for name, priority in (("low", "low"), ("high", "high")):
        world.queue(name, "/nowhere", e.LoopQueued(at=3.0, priority=priority, most=1))
    world.work(15.0)
    started = [line.split(":")[0] for line in world.told if "started pid" in line]
    assert started[:2] == ["high", "high"]
    assert "low" in started
