"""The ratchet: what passed must keep passing. Items are verified again; a break reopens one."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec import Struct

from ralph.app.backlog.criteria import lasting_commands
from ralph.app.backlog.desk import Desk, clip, iso_time
from ralph.app.backlog.helpers import evidence_of
from ralph.app.backlog.judge import judge_commit
from ralph.core.backlog.changes import BacklogFact
from ralph.core.backlog.items import BacklogItem, FeatureList
from ralph.core.model.verdict import Verdict
from ralph.core.toolchains.kinds import could_affect_gate
from ralph.shell.git.project import Project, is_ancestor, user_call


class Regression(Struct, frozen=True, kw_only=True):
    """An item that passed and does not pass any more, and the commit that broke it."""

    item: str
    command: str
    summary: str
    culprit: str = ""  # "" = not found
    culprit_item: str = ""

    @property
    def words(self) -> str:
        whose = f" ({self.culprit_item})" if self.culprit_item else ""
        by = f", broken by {self.culprit[:12]}{whose}" if self.culprit else ""
        return f"{self.item} no longer passes: {self.command}: {self.summary}{by}"


def check_passing(
    desk: Desk,
    project: Project,
    found: FeatureList,
    commit: str,
    *,
    paths: Collection[str] | None = None,
    leave_out: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> list[Regression]:
    """Verify PASSING items on a commit: those that a change of `paths` could concern, else all.

    What passes by a person's word alone has no evidence to lose, and is left alone."""
    wanted: dict[str, list[BacklogItem]] = {}  # by command: items share many
    passing = [one for one in found.items if one.status == "PASSING" and not one.override]
    for item, runs in lasting_commands(desk, project, commit, passing):
        for run in runs if item.id not in leave_out else ():
            wanted.setdefault(run, []).append(item)
    if paths is not None:
        wanted = {run: items for run, items in wanted.items() if could_affect_gate(run, ".", paths)}
    if not wanted:
        return []
    own = {gate.run: name for name, gate in desk.settings.gates.items()}
    names = {own.get(run, f"again-{number}"): run for number, run in enumerate(wanted, 1)}
    verdicts = judge_commit(desk, project, commit, names)
    broken: dict[str, Regression] = {}
    for name, run in names.items():
        verdict = verdicts.get(name)
        if verdict is None or verdict.status in ("error", "skipped"):
            say(f"not verified again: {run}: {verdict.summary if verdict else 'no verdict'}")
        elif verdict.status != "pass":
            for item in wanted[run]:
                if item.id not in broken:
                    broken[item.id] = _reopen(desk, project, item, run, verdict, commit)
    return list(broken.values())


def _reopen(
    desk: Desk, project: Project, item: BacklogItem, run: str, verdict: Verdict, commit: str
) -> Regression:
    culprit = _find_culprit(desk, project, item, {verdict.gate: run}, commit)
    whose = _item_of(project, culprit) if culprit else ""
    made = Regression(item=item.id, command=run, summary=verdict.summary, culprit=culprit, culprit_item=whose)
    attempt = {
        "run_id": f"regression-{len(item.attempts) + 1:03d}",
        "timestamp": iso_time(),
        "result": "FAILED",
        "evidence": evidence_of({verdict.gate: run}, {verdict.gate: verdict}),
        "commit": commit,
        "reverted": False,
        "counted": False,
        "failure_reason": clip(made.words),
        "culprit": culprit or None,
    }
    desk.commit(
        BacklogFact(
            deed="attempt", item=item.id, by="ralph", attempt=attempt, status="FAILING", reason=made.words
        )
    )
    return made


def _find_culprit(desk: Desk, project: Project, item: BacklogItem, command: dict[str, str], bad: str) -> str:
    """The first commit after the item's own on which the command fails; "" when that cannot be told."""
    passed = [one.get("commit") for one in item.attempts if one.get("result") == "PASSED"]
    good = passed[-1] if passed and isinstance(passed[-1], str) else ""
    if not good or not is_ancestor(project, good, bad):
        return ""
    asked = ["rev-list", "--reverse", "--first-parent", f"{good}..{bad}"]
    commits = user_call(project, asked).out.decode().split()
    low, high = 0, len(commits) - 1  # the last one is known to be bad
    while low < high:
        middle = (low + high) // 2
        [verdict] = judge_commit(desk, project, commits[middle], command).values()
        if verdict.status == "pass":
            low = middle + 1
        else:
            high = middle
    return commits[high] if commits else ""


def _item_of(project: Project, commit: str) -> str:
    asked = ["log", "-1", "--format=%(trailers:key=Ralph-Item,valueonly)", commit]
    return user_call(project, asked).out.decode("utf-8", "replace").strip()
