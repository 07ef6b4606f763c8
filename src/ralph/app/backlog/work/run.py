"""Working through a backlog: boot, select, one loop for an item, record, commit or set aside, verify again.

Who drives a loop is the caller (`Hands`): a terminal, a script, a background process. After a kill at any
instant the next `run` goes on: what was started is in the record, and its loop is found by name.
"""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from ralph.app.backlog.approve import require_approval
from ralph.app.backlog.criteria import ItemGates, item_gates
from ralph.app.backlog.desk import Desk, choose
from ralph.app.backlog.judge import judge_commit
from ralph.app.backlog.work.attempt import BegunAttempt, begin_attempt, prepare_attempt
from ralph.app.backlog.work.branch import base_for_item, branch_of, changed_paths, newest_of
from ralph.app.backlog.work.outcome import Recorded, begun_loops, record_loop
from ralph.app.backlog.work.ratchet import Regression, check_passing
from ralph.app.start import Prepared, Started, StartRequest
from ralph.app.words.format import plural
from ralph.core.backlog.items import BacklogItem, FeatureList
from ralph.core.backlog.select import nothing_words, why_not
from ralph.errors import NothingToDo, SetupError, UserError
from ralph.shell.git.project import Project, find_project, name_some, uncommitted_paths
from ralph.shell.start.gates import refuse_missing_tool


class RunRequest(Struct, frozen=True, kw_only=True):
    item: str = ""
    max_items: int = 0  # 0 = until nothing is left
    parallel: int = 1
    done: int = 0  # of `max_items`, by a process that was killed
    start: StartRequest  # agent, limits and the like, as typed; task and checks are the item's
    yes: bool = False


class Hands(Protocol):
    """Drives loops until they stop, and tells what happens."""

    queue: bool  # whether a loop may wait for its place

    def drive(self, started: Started, prepared: Prepared) -> None: ...
    def resume(self, names: list[str]) -> None: ...
    def say(self, text: str) -> None: ...


class RunSummary(Struct, kw_only=True):
    recorded: list[Recorded] = []
    broken: list[Regression] = []
    skipped: dict[str, str] = {}  # item -> why it could not be begun
    message: str = ""
    branch: str = ""
    stopped: bool = False

    @property
    def exit_code(self) -> int:
        if self.stopped:
            return 1
        if not self.recorded and not self.broken:
            return 3 if self.skipped else 6
        last: dict[str, Recorded] = {one.item: one for one in self.recorded}
        if any(one.outcome == "broken" for one in last.values()):
            return 4
        if any(one.blocked or one.question for one in last.values()) or self.skipped:
            return 3
        open_again = {one.item for one in self.broken} - {
            one.item for one in self.recorded if one.result == "PASSED"
        }
        return 1 if open_again or any(one.result != "PASSED" for one in last.values()) else 0


def prepare_first(desk: Desk, request: RunRequest) -> Prepared | None:
    """What would be begun first, with everything that could refuse it; nothing is written."""
    opened = desk.read()
    require_approval(desk, opened.found)
    first = choose(desk, opened, 1).first
    if first is None:
        return None
    project = find_project(desk.place.top)
    base = base_for_item(desk, project)
    gates = item_gates(desk, first, project, base)
    return prepare_attempt(desk, first, gates, opened.found, request.start, base)


def run_backlog(desk: Desk, request: RunRequest, hands: Hands) -> RunSummary:
    """Until nothing is eligible, or so many items were worked on; a second runner is refused."""
    held = desk.hold_for_run()
    try:
        return _BacklogRun(desk, request, hands).work()
    finally:
        held.release()


class _BacklogRun:
    def __init__(self, desk: Desk, request: RunRequest, hands: Hands) -> None:
        self.desk, self.request, self.hands = desk, request, hands
        self.summary = RunSummary(branch=branch_of(desk))
        self.booted = ""  # the commit on which the boot command passed

    def work(self) -> RunSummary:
        opened = self.desk.read()
        for one in opened.notes:
            self.hands.say(f"{one.item}: {one.words}")
        choose(self.desk, opened, 1)
        require_approval(self.desk, opened.found)
        self._tell_ground()
        done = self.request.done + self._finish_open()
        while not self.summary.stopped and (not self.request.max_items or done < self.request.max_items):
            most = self.request.parallel
            if self.request.max_items:
                most = min(most, self.request.max_items - done)
            over = len(self.summary.skipped)
            batch = self._begin_batch(most)
            if not batch and len(self.summary.skipped) == over:
                break
            self._drive(batch)
            for begun in batch:
                self._record(begun.item, begun.started.name, begun.gates)
            done += len(batch)
            if self.request.item:
                break
        if self.request.max_items != 1 and not self.summary.stopped:
            self._verify_again(None)
        return self.summary

    def _tell_ground(self) -> None:
        """On which branch it begins, and what of the user's no item sees."""
        project = find_project(self.desk.place.top)
        branch = (project.branch or "no branch").removeprefix("refs/heads/")
        self.hands.say(f"on {branch}, results go to {self.summary.branch}")
        paths = [path for path in uncommitted_paths(project) if path != self.desk.place.inside]
        if paths:
            count = plural(len(paths), "uncommitted file")
            self.hands.say(f"warning: {count}, which no item sees: {name_some(paths)}")

    def _finish_open(self) -> int:
        """Attempts that were begun and not recorded, because a runner was stopped; how many count."""
        for name, (loop, ended) in begun_loops(self.desk).items():
            item = self.desk.read().found.by_id.get(name)
            if item is None:
                continue
            if not ended:
                self.hands.say(f"{name}: going on with loop {loop}")
                self.hands.resume([loop])
            project = find_project(self.desk.place.top)
            self._record(item, loop, item_gates(self.desk, item, project, project.head))
        asked = self.request.item
        return sum(not asked or one.item == asked for one in self.summary.recorded)

    def _begin_batch(self, most: int) -> list[BegunAttempt]:
        batch: list[BegunAttempt] = []
        opened = self.desk.read()
        chosen = choose(self.desk, opened, 0 if self.request.item or self.summary.skipped else most).eligible
        eligible = [one for one in chosen if one.id not in self.summary.skipped]
        if self.request.item:
            eligible = [self._item_asked_for(opened.found, eligible)]
        if not eligible:
            self.summary.message = nothing_words(opened.found)
            return []
        project = find_project(self.desk.place.top)
        base = base_for_item(self.desk, project)
        for item in eligible:
            if len(batch) == most:
                break
            try:
                self._boot(item, project, base)
                batch.append(self._begin(item, opened.found, project, base))
            except (UserError, SetupError) as error:
                if self.request.item or (isinstance(error, SetupError) and error.code != "E-GATE-MISSING"):
                    raise
                self.summary.skipped[item.id] = f"{error.what}: {error.why}" if error.why else error.what
                self.hands.say(f"{item.id} is passed over: {self.summary.skipped[item.id]}")
        return batch

    def _item_asked_for(self, found: FeatureList, eligible: list[BacklogItem]) -> BacklogItem:
        item = next((one for one in eligible if one.id == self.request.item), None)
        if item is None:
            named = self.desk.read().item(self.request.item)
            why = why_not(named, found.by_id) or "it needs a criterion"
            what = f"'{named.id}' is not eligible: {why}"
            raise NothingToDo(what, code="E-BACKLOG-NOT-ELIGIBLE", next=f"ralph backlog show {named.id}")
        return item

    def _boot(self, item: BacklogItem, project: Project, base: str) -> None:
        boot = self.desk.settings.backlog.boot
        if not boot or self.booted == base or boot.strip() in (one.strip() for one in item.verification):
            return
        verdict = judge_commit(self.desk, project, base, {"boot": boot})["boot"]
        if verdict.status != "pass":
            raise SetupError(
                f"the boot check does not pass on {base[:12]}: {boot}",
                code="E-BACKLOG-BOOT",
                why=f"{verdict.summary}; fix this first, or make it an item that this command verifies",
                next="ralph backlog next --explain",
            )
        self.booted = base

    def _begin(self, item: BacklogItem, found: FeatureList, project: Project, base: str) -> BegunAttempt:
        gates = item_gates(self.desk, item, project, base)
        for note in gates.notes:
            self.hands.say(f"{item.id}: {note}")
        prepared = prepare_attempt(self.desk, item, gates, found, self.request.start, base)
        refuse_missing_tool(prepared.order.criterion.gates, project, self.desk.env)
        begun = begin_attempt(self.desk, item, gates, prepared, queue=self.hands.queue)
        attempt = f"attempt {item.iteration + 1} of {item.max_attempts}"
        self.hands.say(f"{item.id}: {attempt}, loop {begun.started.name}")
        return begun

    def _drive(self, batch: list[BegunAttempt]) -> None:
        if len(batch) == 1:
            self.hands.drive(batch[0].started, batch[0].prepared)
        if len(batch) < 2:
            return
        for one in batch:
            one.started.stint.release()
        self.hands.resume([one.started.name for one in batch])

    def _record(self, item: BacklogItem, loop: str, gates: ItemGates) -> None:
        project = find_project(self.desk.place.top)
        made = record_loop(self.desk, project, self.desk.read().found, item, loop, gates)
        self.summary.recorded.append(made)
        self.hands.say(made.words)
        if made.result == "OPEN":
            self.summary.stopped = True
        elif why := made.words if made.outcome == "broken" else made.question:
            self.summary.skipped[item.id] = why
        elif made.commit and made.commit != made.base:
            self._verify_again(changed_paths(project, made.base, made.commit), leave_out=(item.id,))

    def _verify_again(self, paths: list[str] | None, leave_out: tuple[str, ...] = ()) -> None:
        project = find_project(self.desk.place.top)
        tip = newest_of(self.desk, project)
        found, say = self.desk.read().found, self.hands.say
        broken = check_passing(self.desk, project, found, tip, paths=paths, leave_out=leave_out, say=say)
        for one in broken:
            self.hands.say(one.words)
        self.summary.broken += broken
