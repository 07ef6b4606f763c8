"""A verified loop without an agent: real commits, real evidence, events that the real machine accepted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import msgspec
from gitkit import make_repo, write
from msgspec.structs import replace
from userstate import git

from ralph.core.decide.machine import decide
from ralph.core.model import actions
from ralph.core.model import events as e
from ralph.core.model.agent import Claim, SealedAgent
from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.loop import Loop
from ralph.core.model.order import Order, StartPoint
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import Counts, Finding, GuardResult, Reading, Verdict
from ralph.core.views.summary import summarise, summary_json
from ralph.shell.journal.open import open_journal, read_journal
from ralph.shell.journal.record import Record, load
from ralph.shell.journal.store import SummaryRow
from ralph.shell.state import blobs
from ralph.shell.state.directory import State, open_state

START = 1_700_000_000.0
NAME = "fix-add-7f3a91c2"
CHECK = "python3 -m unittest -v"
SHA = "5e" * 32


class Made(NamedTuple):
    repo: Path
    state: State
    record: Record
    env: dict[str, str]

    @property
    def config(self) -> Path:
        return Path(self.env["XDG_CONFIG_HOME"]) / "ralph"

    def commit(self, rev: str) -> str:
        return git(self.repo, "rev-parse", rev)


def tests_gate(**more) -> Gate:
    plain = {"name": "tests", "run": CHECK, "argv": tuple(CHECK.split()), "read": "unittest", "proof": True}
    return Gate(**plain | {"tool": "/usr/bin/python3", "tool_sha": SHA} | more)


def _evidence(state: State, gate: Gate, tree: str, stage: str, *, passed: bool, output: bytes) -> dict:
    """Blobs as the judge leaves them; the fields of a verdict that name them."""
    tests = {"test_calc.T.test_add": "pass" if passed else "fail", "test_calc.T.test_one": "pass"}
    counts = Counts(passed=2) if passed else Counts(passed=1, failed=1)
    status, summary = ("pass", "2 passed") if passed else ("fail", "1 failed, 1 passed")
    findings = () if passed else (Finding(key="test_calc.T.test_add", message="no"),)
    reading = Reading(status, summary, counts=counts, tests=tests, findings=findings)
    evidence = {
        "gate": gate.name,
        "stage": stage,
        "tree": tree,
        "proven_tree": tree,
        "argv": gate.argv,
        "run": gate.run,
        "cwd": gate.cwd,
        "tool": gate.tool,
        "tool_sha256": gate.tool_sha,
        "environment": ("HOME", "PATH"),
        "sandbox": "S2",
        "network": False,
        "ended": {"exit_code": 0 if passed else 1, "ended": "exited"},
        "output": blobs.put(state.blobs, output),
        "report": None,
        "report_at": "/tmp/r/report",
    }
    return {
        "status": status,
        "summary": summary,
        "exit_code": evidence["ended"]["exit_code"],
        "counts": counts,
        "per_test": True,
        "red": 0 if passed else 1,
        "red_digest": "" if passed else "x",
        "witness_count": int(passed),
        "fixed_count": int(passed),
        "findings": findings,
        "evidence": blobs.put(state.blobs, json.dumps(evidence).encode()),
        "reading": blobs.put(state.blobs, msgspec.json.encode(reading)),
    }


def make(top: Path, *gates: Gate, task: str = "make add right", output: bytes = b"ok\n", **more) -> Made:
    """A repository, and a loop in it that ended verified."""
    home, repo = top / "home", top / "home" / "work" / "calc"
    tests = "import unittest, calc\nclass T(unittest.TestCase):\n"
    tests += "    def test_add(self): self.assertEqual(calc.add(1, 2), 3)\n    def test_one(self): pass\n"
    make_repo(repo, {"calc.py": "def add(a, b): return a - b\n", "test_calc.py": tests})
    git(repo, "commit", "-q", "--allow-empty", "-m", "second")  # so that the base has a history
    base, base_tree = git(repo, "rev-parse", "HEAD"), git(repo, "rev-parse", "HEAD^{tree}")
    git(repo, "checkout", "-q", "-b", "ralph/fix")
    write(repo, {"calc.py": "def add(a, b): return a + b\n"})
    git(repo, "commit", "-q", "-am", "result")
    result, tree = git(repo, "rev-parse", "HEAD"), git(repo, "rev-parse", "HEAD^{tree}")
    git(repo, "checkout", "-q", "main")
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(top / "config"), "RALPH_STATE_DIR": str(top / "state")}
    env["PATH"] = os.environ["PATH"]
    state = open_state(env["RALPH_STATE_DIR"], create=True)
    gates = gates or (tests_gate(),)
    order = Order(
        loop=NAME,
        task=task,
        repo=str(repo),
        criterion=Criterion(task_class="test-pass", gates=gates, **more),
        limits=Limits(),
        agent=SealedAgent("command", model="m-1"),
        base=StartPoint(base, base_tree),
        branch="ralph/fix",
        config_digest="c0" * 32,
    )

    def judged(stage: str, where: str, *, passed: bool) -> list:
        found = []
        for gate in gates:
            fields = _evidence(state, gate, where, stage, passed=passed or not gate.proof, output=output)
            verdict = Verdict(gate=gate.name, tree=where, stage=stage, seconds=0.1, **fields)
            found.append(e.GateEnded(iteration=0 if stage == "baseline" else 1, verdict=verdict))
        return found

    guards = (GuardResult(guard="inventory", tree=tree, applied=True, summary="2 tests before and after"),)
    events = [
        e.LoopStarted(rules=e.RULES, order=order),
        e.StintStarted(pid=7, host="h", version="0.1.0", protection="S2", words=("no network",)),
        e.WorkspaceMade(path=str(top / "state" / "workspaces" / NAME)),
        *judged("baseline", base_tree, passed=False),
        e.AgentStarted(iteration=1, call=1, agent="command", prompt="77" * 32),
        e.AgentEnded(iteration=1, call=1, exit_code=0, seconds=9.0, claim=Claim(status="COMPLETE")),
        e.CheckpointMade(iteration=1, tree=tree, commit=result, files=1, added=1, removed=1, total_lines=2),
        *judged("fast", tree, passed=True),
        *judged("final", tree, passed=True),
        e.GuardsEnded(iteration=1, tree=tree, results=guards),
        e.ResultPublished(branch="ralph/fix", commit=result, tree=tree),
    ]
    _journal(state, events)
    with read_journal(state.root) as reader:
        return Made(repo, state, load(reader, NAME), env)


def _journal(state: State, events: list) -> None:
    loop = Loop()
    with open_journal(state.root) as journal:
        for seq, event in enumerate([*events, None]):
            if event is None:
                owed = loop.todo[0]
                assert isinstance(owed, actions.Finish), loop.todo
                event = e.LoopEnded(outcome=owed.outcome, reason=owed.reason, grade=owed.grade)  # noqa: PLW2901
            event = replace(event, at=START + seq, took=1.0)  # noqa: PLW2901
            loop = decide(loop, event)
            row = SummaryRow(
                loop=NAME,
                repo=loop.sealed.repo,
                phase=loop.phase,
                outcome=loop.outcome or "",
                body=summary_json(summarise(loop, START)),
            )
            fields = {"at": int(event.at * 1000), "kind": e.kind_of(event), "v": 1, "body": e.encode(event)}
            if seq == 0:
                journal.create(NAME, **fields, summary=row)
            else:
                journal.append(NAME, seq, **fields, summary=row)
