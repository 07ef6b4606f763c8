"""What ten thousand items cost: `next`, `list` and `validate` above the start of Ralph, and an item of a run.

An item's cost is the time between two loops of `ralph backlog run`, by the journal's clock: record the one,
write the file, find what it could have broken, select the next, begin it. Nothing could be broken here, so
that no check runs in between and what is left is the length of the list.
"""

import json
import os
import subprocess
import time
from itertools import pairwise

from measuring import Line, interleaved, median, quiet
from sample import PYTHON, RALPH, Place, place, write_file

from ralph.app.backlog.criteria import lasting_commands
from ralph.app.backlog.desk import choose, open_desk
from ralph.core.backlog.changes import BacklogFact
from ralph.core.toolchains.kinds import could_affect_gate
from ralph.shell.journal.open import read_journal

PART = "backlog"
FEW, MANY = 100, 10_000
ABOVE_START, MORE = 300.0, 50.0  # ms
ITEMS = 4  # of a run: the three times between them
CHECK = f"{PYTHON} -m unittest -q test_made."
EVIDENCE = {"commands_run": [f"{CHECK}Sample"], "results_summary": "it passes"}
AGENT = """import re, sys
name = re.search(r"^(FEAT-[0-9]+): ", sys.stdin.read(), re.MULTILINE)[1]
open(f"made-{name}.data", "w").write(name)
"""
TEST = """import os, unittest


def __getattr__(name):
    if not name.startswith("FEAT_"):
        raise AttributeError(name)
    path = "made-" + name.replace("_", "-") + ".data"
    return type(name, (unittest.TestCase,), {"test_made": lambda self: self.assertTrue(os.path.exists(path))})


class Sample(unittest.TestCase):
    def test_it(self):
        pass
"""


def measure(quick: bool) -> list[Line]:
    with place() as small, place() as large:
        for here, count in ((small, FEW), (large, MANY)):
            _make_backlog(here, count)
        rounds = 5 if quick else 20
        commands = (["--help"], ["next"], ["list"], ["validate"])
        start, *taken = interleaved(
            rounds, *(lambda words=words: _seconds(large, words) for words in commands)
        )
        lines = [
            _line(f"{words[0]}, {MANY:,} items", quiet(start), quiet(seconds), ABOVE_START)
            for words, seconds in zip(commands[1:], taken, strict=True)
        ]
        below, above = interleaved(2 if quick else 5, lambda: _between(small), lambda: _between(large))
        lines.append(_line(f"between two items of a run, {MANY:,}", median(below), median(above), MORE))
        few, many = _Keeping(small), _Keeping(large)
        below, above = interleaved(rounds, few.seconds, many.seconds)
    return [*lines, _line(f"of it processor time, {MANY:,}", median(below), median(above), MORE)]


def _line(what: str, floor: float, ralph: float, aim: float) -> Line:
    return Line(
        part=PART, what=what, floor=floor * 1e3, ralph=ralph * 1e3, unit="ms",
        value=(ralph - floor) * 1e3, value_unit="ms more", aim=aim,
    )  # fmt: skip


def _seconds(here: Place, words: list[str]) -> float:
    """Processor time: others may be at work on this machine."""
    none = subprocess.DEVNULL
    argv = [RALPH, "backlog", *words]
    done = subprocess.Popen(argv, cwd=here.repo, env=here.env, stdout=none, stderr=none)
    _, status, used = os.wait4(done.pid, 0)
    done.returncode = os.waitstatus_to_exitcode(status)
    if done.returncode:
        raise SystemExit(f"ralph backlog {words[0]} ended with {done.returncode}")
    return used.ru_utime + used.ru_stime


class _Keeping:
    """What a run does with its list for each item: select, two facts, the file, what may have broken."""

    def __init__(self, here: Place) -> None:
        self.desk = open_desk(here.repo, here.env)
        self.seconds()  # where its items are in the file

    def seconds(self) -> float:
        began = time.process_time()
        item = choose(self.desk, self.desk.read(), 1).first
        if item is None:
            raise SystemExit("the backlog has no next item")
        attempt = {"run_id": "bench", "timestamp": "2026-01-07T19:30:00Z", "result": "IN_PROGRESS"}
        self.desk.commit(BacklogFact(deed="started", item=item.id, by="ralph", loop="bench"))
        self.desk.commit(BacklogFact(deed="attempt", item=item.id, by="ralph", attempt=attempt))
        passing = [one for one in self.desk.read().found.items if one.status == "PASSING"]
        commands = {run for _, runs in lasting_commands(self.desk, None, "", passing) for run in runs}
        sum(could_affect_gate(run, ".", ["made.data"]) for run in commands)
        return time.process_time() - began


def _between(here: Place) -> float:
    """Seconds between two loops of one run."""
    before = set(_loops(here))
    agent = f"{PYTHON} {os.path.join(here.root, 'agent.py')}"
    words = ["run", "--agent-cmd", agent, "--display", "none", "--confirm", "1", "--max-items", str(ITEMS)]
    done = subprocess.run(
        [RALPH, "backlog", *words], cwd=here.repo, env=here.env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"ralph backlog run ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    found = _loops(here)
    spans = sorted(found[name] for name in found.keys() - before)
    return median((later[0] - sooner[1]) / 1000 for sooner, later in pairwise(spans))


def _loops(here: Place) -> dict[str, tuple[int, int]]:
    """Milliseconds of the first and last row of each loop."""
    if not os.path.exists(here.state):
        return {}
    with read_journal(here.state) as reader:
        rows = {name: [row.at for row in reader.rows(name)] for name in reader.names()}
    return {name: (times[0], times[-1]) for name, times in rows.items()}


def _make_backlog(here: Place, count: int) -> None:
    write_file(os.path.join(here.root, "agent.py"), AGENT)
    write_file(os.path.join(here.repo, "test_made.py"), TEST)
    text = json.dumps(
        {"schema_version": "2.0", "items": [_item(number) for number in range(count)]}, indent=2
    )
    write_file(os.path.join(here.repo, ".ralph/backlog/feature_list.json"), text)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "sample"]):
        subprocess.run([*git, *words], cwd=here.repo, env=here.env, check=True)
    asked = subprocess.run(
        [RALPH, "backlog", "run"], cwd=here.repo, env=here.env, capture_output=True, text=True, check=False
    )
    digest = asked.stderr.rsplit("ralph approve ", 1)[-1].split()[0]
    subprocess.run(
        [RALPH, "approve", digest], cwd=here.repo, env=here.env, stdout=subprocess.DEVNULL, check=True
    )


def _item(number: int) -> dict[str, object]:
    name, passed = f"FEAT-{number:05d}", number % 3 == 0
    attempt = {"run_id": f"worker-{number:03d}", "timestamp": "2026-01-07T19:30:00Z", "evidence": EVIDENCE}
    return {
        "id": name,
        "title": f"Feature number {number} of a large product",
        "description": "Some sentences about what is wanted, as people write them. " * 3,
        "acceptance_criteria": ["AC-1: it works", "AC-2: it is fast"],
        "verification": [CHECK + ("Sample" if passed else name.replace("-", "_"))],
        "status": "PASSING" if passed else "FAILING",
        "priority": number % 50,
        "dependencies": [f"FEAT-{number - 1:05d}"] if number % 10 else [],
        "attempts": [attempt | {"result": "PASSED"}] if passed else [],
        "ralph_loop": {"enabled": True, "max_iterations": 5, "current_iteration": 0},
    }
