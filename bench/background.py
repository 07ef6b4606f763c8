"""The worker beside 1,000 queued and 200 waiting loops: processor and memory; `status --all` of 10,000 loops.

Also what an iteration takes with 1, 4 and 8 loops at work at once, beside as many bash loops at once.

The waiting loops hold all places, so the queued ones find none and the worker has nothing to do but look.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from measuring import MEGABYTE, Line, interleaved, median, quiet, ratio_line
from sample import (
    RALPH,
    Place,
    facts,
    floor_iterations,
    loop_command,
    make_project,
    place,
    ralph_iterations,
    ralph_loop,
)

from ralph.core.decide.machine import fold
from ralph.core.model import events as e
from ralph.core.model.agent import SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.order import Order, StartPoint
from ralph.core.model.spend import Limits
from ralph.shell.journal.open import open_journal
from ralph.shell.journal.record import summary_row
from ralph.shell.journal.store import JournalStore

PART = "background"
QUEUED, WAITING, ENDED = 1000, 200, 10_000
CPU_AIM, MEMORY_AIM, STATUS_AIM, ITERATION_AIM = 0.5, 80.0, 6.0, 3.0
AT_ONCE, FILES, LOOP_SECONDS = (1, 4, 8), 100, 600


def measure(quick: bool) -> list[Line]:
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    seconds = 10.0 if quick else 60.0
    with tempfile.TemporaryDirectory(dir=memory) as root:
        os.chmod(root, 0o700)
        env = {**os.environ, "RALPH_STATE_DIR": root, "RALPH_MAX_LOOPS_MACHINE": str(WAITING)}
        share, used = _worker(root, env, seconds)
    with tempfile.TemporaryDirectory(dir=memory) as root:
        os.chmod(root, 0o700)
        status = _status(root, {**os.environ, "RALPH_STATE_DIR": root}, 5 if quick else 20)
    loops = f"{QUEUED:,} queued, {WAITING} waiting"
    shares = {"ralph": share, "unit": "%", "value": share, "value_unit": "%", "aim": CPU_AIM}
    sizes = {"ralph": used, "unit": "MB", "value": used, "value_unit": "MB", "aim": MEMORY_AIM}
    return [
        Line(part=PART, what=f"idle worker, {loops}: of a core", **shares),
        Line(part=PART, what=f"idle worker, {loops}: memory", **sizes),
        status,
        *(_at_once(count, 5 if quick else 12) for count in AT_ONCE),
    ]


def _at_once(count: int, turns: int) -> Line:
    """Seconds of an iteration with so many loops of the background at work, and with so many bash loops."""
    with place() as here, ThreadPoolExecutor(count) as pool:
        make_project(here, FILES, turns)
        ralph_loop(here, "warm-up", 2)
        names = [f"l{number}" for number in range(count)]
        floors = list(pool.map(lambda name: median(floor_iterations(here, turns, f"floor-{name}")), names))
        here.env["RALPH_MAX_LOOPS"] = str(count)

        def begin(name: str) -> None:
            argv = loop_command(here, name, turns, "-d")
            subprocess.run(argv, cwd=here.repo, env=here.env, check=True, stdout=subprocess.DEVNULL)

        list(pool.map(begin, names))  # all at once: the first must not be done before the last begins
        loops = [_ended_facts(here, name) for name in names]
        subprocess.run([RALPH, "worker", "stop"], env=here.env, check=True, stdout=subprocess.DEVNULL)
    together = _while_all_work(loops)
    what = f"one iteration, {count} loops at once{'' if together else ' (not all)'}"
    ralphs = together or [seconds for found in loops for seconds in ralph_iterations(found)]
    return ratio_line(PART, what, median(floors), median(ralphs), ITERATION_AIM)


def _while_all_work(loops: list[list[e.AnyEvent]]) -> list[float]:
    """Iterations from the moment in which the last loop began to work, up to the first one's last call."""
    calls = [[one for one in found if isinstance(one, e.AgentStarted)] for found in loops]
    first, last = max(one[0].at for one in calls), min(one[-1].at for one in calls)
    return [
        seconds for one in calls for seconds in ralph_iterations([c for c in one if first <= c.at <= last])
    ]


def _ended_facts(here: Place, name: str) -> list[e.AnyEvent]:
    until = time.monotonic() + LOOP_SECONDS
    while time.monotonic() < until:
        found = facts(here, name)
        if isinstance(found[-1], e.LoopEnded):
            return found
        time.sleep(0.5)
    raise SystemExit(f"loop {name} has not ended within {LOOP_SECONDS} s; its newest fact is {found[-1]}")


def _worker(root: str, env: dict[str, str], seconds: float) -> tuple[float, float]:
    """Per cent of a core and megabytes of a worker that looks after them."""
    with open_journal(root) as journal, ExitStack() as held:
        for number in range(QUEUED):
            _add(journal, f"queued-{number}", "/repo/a", (e.LoopQueued(at=1.0),))
        for number in range(WAITING):
            name = f"waiting-{number}"
            stint = journal.admit(name, at=1)
            held.callback(stint.release)
            _add(journal, name, "/repo/b", (e.LoopQueued(at=1.0), _stint()))
        argv = [RALPH, "worker", "start", "--foreground"]
        worker = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(5.0)  # it has read everything by then
            before = _ticks(worker.pid)
            time.sleep(seconds)
            used = (_ticks(worker.pid) - before) / os.sysconf("SC_CLK_TCK")
            with open(f"/proc/{worker.pid}/statm", encoding="ascii") as file:
                resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE
        finally:
            worker.terminate()
            worker.wait(30)
    return 100 * used / seconds, resident


def _ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _status(root: str, env: dict[str, str], rounds: int) -> Line:
    with open_journal(root) as journal:
        for number in range(ENDED):
            ending = (
                e.AbortAsked(at=2.0),
                e.LoopEnded(outcome="aborted", reason="aborted by the user", at=3.0),
            )
            _add(journal, f"ended-{number}", f"/repo/{number % 20}", ending, at=1000 * number)

    def seconds(*argv: str) -> float:
        began = time.monotonic()
        subprocess.run(argv, cwd="/", env=env, stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - began

    bare, all_ = interleaved(
        rounds, lambda: seconds(sys.executable, "-c", "pass"), lambda: seconds(RALPH, "status", "--all")
    )
    return ratio_line(
        PART, f"ralph status --all, {ENDED:,} ended loops", quiet(bare), quiet(all_), STATUS_AIM
    )


def _stint() -> e.StintStarted:
    return e.StintStarted(pid=1, host="h", version="1", protection="S2", hosted=True, at=2.0)


def _add(
    journal: JournalStore, name: str, repo: str, more: tuple[e.AnyEvent, ...], *, at: int = 1000
) -> None:
    order = Order(
        loop=name,
        task="make the tests pass",
        repo=repo,
        criterion=Criterion(task_class="test-pass", gates=(Gate(name="test", run="true", argv=("true",)),)),
        limits=Limits(),
        agent=SealedAgent("demo"),
        base=StartPoint("c0", "t0"),
    )
    facts = (e.LoopStarted(order=order, rules=e.RULES, at=1.0), *more)
    for seq, event in enumerate(facts):
        words = {"at": at + seq, "kind": e.kind_of(event), "v": e.VERSIONS[e.kind_of(event)]}
        row = summary_row(fold(facts[: seq + 1]), 1.0)
        if seq == 0:
            journal.create(name, body=e.encode(event), summary=row, **words)
        else:
            journal.append(name, seq, body=e.encode(event), summary=row, **words)
