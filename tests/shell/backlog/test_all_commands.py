"""Promise: whatever people, scripts and runs do to a backlog in any order, each item moves only as it may."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from effort import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ralph.app.backlog import change, helpers
from ralph.app.backlog.desk import Desk, add_items, choose, open_desk
from ralph.app.backlog.exchange import import_file
from ralph.core.backlog.changes import BacklogFact, fold, shown_state
from ralph.core.backlog.convert import new_item
from ralph.errors import NeedsHuman, RalphError
from ralph.shell.backlog.store import digest, facts_of

EVIDENCE = {"commands_run": ["x"], "results_summary": "y"}
NAMES = st.sampled_from(["A-1", "B-2", "C-3", "GONE-9"])
REASONS = st.sampled_from(["because", "", "  "])
# Who may go where, written down once more: spec 4.3 and nothing of the product.
MOVES = {
    "block": ({"FAILING"}, "BLOCKED"),
    "unblock": ({"BLOCKED"}, "FAILING"),
    "cancel": ({"FAILING", "BLOCKED"}, "CANCELLED"),
    "override": ({"FAILING"}, "PASSING"),
}


class Row:
    """What an item should have come to."""

    def __init__(self) -> None:
        self.status, self.iteration, self.attempts, self.question, self.title = "FAILING", 0, 0, False, "T"


class AllCommands(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        top = Path(self.folder.name) / "project"
        (top / ".git").mkdir(parents=True)
        env = {
            "RALPH_STATE_DIR": str(top / "state"),
            "XDG_CONFIG_HOME": str(top / "config"),
            "HOME": str(top),
        }
        self.top, self.desk = top, open_desk(str(top), env)
        raws = [new_item(name, "T") for name in ("A-1", "B-2", "C-3")]
        for raw in raws:
            raw["ralph_loop"] |= {"enabled": True, "max_iterations": 3}
            raw["verification"] = ["test -e x"]
        add_items(self.desk, raws)
        self.rows = {raw["id"]: Row() for raw in raws}
        self.added = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()

    @property
    def file(self) -> Path:
        return self.top / ".ralph/backlog/feature_list.json"

    def does(self, allowed: bool, act: Callable[[], Any]) -> bool:
        """What is allowed happens; what is not changes no byte of file or record."""
        before, rows = self.file.read_bytes(), len(self.facts())
        try:
            act()
        except RalphError:
            assert not allowed
            assert self.file.read_bytes() == before
            assert len(self.facts()) == rows
            return False
        assert allowed
        return True

    def facts(self) -> list[BacklogFact]:
        return facts_of(self.desk.place, self.desk.env)

    @rule(name=NAMES, what=st.sampled_from(sorted(MOVES)), reason=REASONS)
    def decide(self, name: str, what: str, reason: str) -> None:
        row = self.rows.get(name)
        may, to = MOVES[what]
        deed: Any = "override" if what == "override" else "status"
        act = lambda: change.set_status(self.desk, name, to, reason, deed)  # noqa: E731
        if self.does(bool(row and row.status in may and reason.strip()), act) and row:
            row.status, row.question = to, False

    @rule(name=NAMES, reason=REASONS)
    def reset(self, name: str, reason: str) -> None:
        row = self.rows.get(name)
        allowed = bool(row and row.status in ("FAILING", "BLOCKED") and reason.strip())
        if self.does(allowed, lambda: change.reset_item(self.desk, name, reason)) and row:
            row.status, row.iteration, row.question = "FAILING", 0, False

    @rule(name=NAMES, block=st.booleans(), reason=REASONS)
    def increment(self, name: str, block: bool, reason: str) -> None:
        row = self.rows.get(name)
        at_cap = bool(row and row.iteration + 1 >= 3)
        allowed = bool(row and row.status == "FAILING" and (reason.strip() or not (block and at_cap)))
        codes: list[int] = []

        def act() -> None:
            codes.append(helpers.increment(self.desk, name, block_on_max=block, reason=reason).exit_code)

        if self.does(allowed, act) and row:
            row.iteration, row.question = row.iteration + 1, False
            row.status = "BLOCKED" if at_cap and block else row.status
            assert codes == [1 if at_cap and not block else 0]

    @rule(
        name=NAMES, result=st.sampled_from(["FAILED", "IN_PROGRESS"]), summary=st.sampled_from(["", "said"])
    )
    def type_attempt(self, name: str, result: str, summary: str) -> None:
        """A script's word: kept as an attempt, and never a status."""
        row = self.rows.get(name)
        request = helpers.AttemptRequest(item=name, result=result, summary=summary)
        allowed = bool(row and (summary or result == "IN_PROGRESS"))
        if self.does(allowed, lambda: helpers.record_attempt(self.desk, request)) and row:
            row.attempts, row.question = row.attempts + 1, False

    @rule(name=NAMES, passed=st.booleans(), counts=st.booleans(), asks=st.booleans())
    def work(self, name: str, passed: bool, counts: bool, asks: bool) -> None:
        """What a run records: only here does evidence make an item PASSING, and only from FAILING."""
        row = self.rows.get(name)
        result = "PASSED" if passed else "FAILED"
        attempt = {"run_id": "w", "timestamp": "2026-01-01T00:00:00Z", "result": result, "evidence": EVIDENCE}
        status: Any = "PASSING" if passed else None
        now = row.iteration + 1 if row and counts and not passed else None
        question = "why?" if asks and not passed else ""
        fact = BacklogFact(
            deed="attempt", item=name, by="ralph", attempt=attempt, status=status, iteration=now,
            question=question,
        )  # fmt: skip
        allowed = bool(row and (not passed or row.status in ("FAILING", "PASSING")))
        if self.does(allowed, lambda: self.desk.commit(fact)) and row:
            row.attempts += 1
            row.status, row.question = status or row.status, bool(question)
            row.iteration = row.iteration if now is None else now

    @rule(name=NAMES, deed=st.sampled_from(["override", "edited", "iteration"]))
    def a_worker_oversteps(self, name: str, deed: Any) -> None:
        """Overrides, definitions and resets are a person's."""
        row = self.rows.get(name)
        iteration = 0 if deed == "iteration" else None
        status: Any = "PASSING" if deed == "override" else None
        define = {"acceptance_criteria": ["easier"]} if deed == "edited" else {}
        fact = BacklogFact(
            deed=deed, item=name, by="ralph", reason="r", status=status, iteration=iteration, define=define
        )
        harmless = deed == "iteration" and row is not None and row.iteration == 0
        if self.does(harmless, lambda: self.desk.commit(fact)) and row:
            row.question = False

    @rule(name=NAMES)
    def regress(self, name: str) -> None:
        row = self.rows.get(name)
        attempt = {
            "run_id": "r",
            "timestamp": "2026-01-01T00:00:00Z",
            "result": "FAILED",
            "evidence": EVIDENCE,
        }
        fact = BacklogFact(
            deed="attempt", item=name, by="ralph", attempt=attempt, status="FAILING", reason="broke"
        )
        allowed = bool(row and row.status != "CANCELLED")
        if self.does(allowed, lambda: self.desk.commit(fact)) and row:
            row.status, row.attempts, row.question = "FAILING", row.attempts + 1, False

    @rule(name=NAMES, field=st.sampled_from(["title", "status", "attempts", "id", "dependencies"]))
    def edit(self, name: str, field: str) -> None:
        row = self.rows.get(name)
        value: Any = {"title": "New", "dependencies": ["A-1"]}.get(field, [])
        allowed = bool(row and (field == "title" or (field == "dependencies" and name != "A-1")))
        if self.does(allowed, lambda: change.edit_typed(self.desk, name, {field: value})) and row:
            row.title, row.question = "New" if field == "title" else row.title, False

    @rule(again=st.booleans())
    def add(self, again: bool) -> None:
        name = "A-1" if again else f"NEW-{self.added}"
        if self.does(not again, lambda: change.add_typed(self.desk, name, "FEAT", {"title": "T"})):
            self.rows[name] = Row()
            self.added += 1

    @rule()
    def bring_in(self) -> None:
        path = self.top / "issues.json"
        path.write_text(json.dumps([{"number": self.added, "title": "T"}]))
        taken = import_file(self.desk, str(path))
        for raw in taken.items:
            self.rows[raw["id"]] = Row()
        self.added += 1

    @rule(
        name=NAMES,
        status=st.sampled_from(["FAILING", "PASSING", "BLOCKED", "CANCELLED"]),
        number=st.integers(0, 4),
    )
    def forge(self, name: str, status: str, number: int) -> None:
        """A hand edit of results is rendered back; one that looks like a reset asks for its reason."""
        row = self.rows.get(name)
        if row is None:
            return
        data = json.loads(self.file.read_text())
        raw = next(one for one in data["items"] if one["id"] == name)
        raw["status"], raw["ralph_loop"]["current_iteration"], raw["title"] = status, number, "By hand"
        before = self.file.read_text()
        self.file.write_text(json.dumps(data, indent=2))
        back = number < row.iteration or (row.status == "BLOCKED" and status == "FAILING")
        try:
            self.desk.read()
        except NeedsHuman:
            assert back
            self.file.write_text(before)
            return
        assert not back
        row.title = "By hand"

    @invariant()
    def file_record_and_model_agree(self) -> None:
        if not hasattr(self, "rows"):
            return
        fresh = Desk(place=self.desk.place, settings=self.desk.settings, env=self.desk.env)
        opened = fresh.read()
        state = fold(self.facts())
        assert opened.found.by_id.keys() == self.rows.keys()
        for name, row in self.rows.items():
            item = opened.found.by_id[name]
            assert shown_state(item) == state[name]
            seen = (item.status, item.iteration, len(item.attempts), bool(item.question), item.title)
            assert seen == (row.status, row.iteration, row.attempts, row.question, row.title), name
        assert self.facts()[-1].after == digest(self.file.read_bytes())
        assert not [one for one in opened.found.critical if one.code != "passing_without_evidence"]
        if not opened.found.critical:
            for one in choose(fresh, opened).eligible:
                row = self.rows[one.id]
                assert (row.status, row.question, row.iteration < 5) == ("FAILING", False, True)


TestAllCommands = AllCommands.TestCase
TestAllCommands.settings = settings(max_examples=examples(10), stateful_step_count=20, deadline=None)
