"""From an ended loop to the record of an attempt: what counts, what passes, what a person must look at."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.backlog.criteria import ItemGates
from ralph.app.backlog.desk import Desk, clip, iso_time
from ralph.app.backlog.judge import judge_commit
from ralph.app.backlog.work.branch import changed_paths, join_branch, keep_failed_work
from ralph.app.place import journal_of
from ralph.app.records import Record, read_loop
from ralph.core.backlog.changes import CAP_WORDS, BacklogFact, after_failure, fold, recurring_pattern
from ralph.core.backlog.items import BacklogItem, FeatureList
from ralph.core.backlog.task_text import CLAIM
from ralph.core.model.loop import Loop
from ralph.core.text.clean import one_line
from ralph.gates.judging_paths import matches
from ralph.shell.backlog.store import facts_of
from ralph.shell.git.project import Project

# outcomes that say nothing of the item: the attempt does not count
_UNCOUNTED = {"aborted": "it was aborted", "broken": "the machine failed", "satisfied": "", "unproven": ""}


class Recorded(Struct, frozen=True, kw_only=True):
    item: str
    result: str  # PASSED, FAILED, or OPEN: the loop has not ended
    words: str
    commit: str = ""
    base: str = ""
    blocked: bool = False
    question: str = ""
    outcome: str = ""


def record_loop(
    desk: Desk, project: Project, found: FeatureList, item: BacklogItem, name: str, gates: ItemGates
) -> Recorded:
    """Record what came of a loop on an item; a verified result goes onto the backlog's branch first."""
    record = read_loop(name, desk.env)
    loop = record.loop
    if loop.phase != "ended":
        return Recorded(item=item.id, result="OPEN", words=f"loop {name} has not ended", outcome=loop.phase)
    attempt = _attempt(project, record, found, gates)
    trouble, counts = one_line(loop.reason, 500), loop.outcome not in _UNCOUNTED
    told = Recorded(
        item=item.id, result="FAILED", words="", base=loop.sealed.base.commit, outcome=loop.outcome or ""
    )
    if loop.outcome in ("verified", "satisfied", "unproven"):
        end = _passing(desk, project, found, item, loop, gates)
        attempt |= end.more
        if end.commit:
            attempt |= {"result": "PASSED", "commit": end.commit}
            fact = BacklogFact(deed="attempt", item=item.id, by="ralph", attempt=attempt, status="PASSING")
            desk.commit(fact)
            words = f"{item.id} passed: {end.commit[:12]}"
            return replace(told, result="PASSED", words=words, commit=end.commit)
        trouble, counts = end.trouble, loop.outcome == "verified" and end.own_fault
    failing = _failing(loop) or [trouble]
    same = not counts or failing[0] == trouble
    attempt |= {
        "result": "FAILED",
        "failure_reason": trouble if same else clip(f"{trouble}; {'; '.join(failing[:3])}"),
        "counted": counts,
        "reverted": True,
        "failing": failing,
        "rejected": keep_failed_work(project, loop) or None,
    }
    return _record_failure(desk, item, told, attempt, trouble, counts=counts)


def _record_failure(
    desk: Desk, item: BacklogItem, told: Recorded, attempt: dict[str, Any], trouble: str, *, counts: bool
) -> Recorded:
    asks = told.outcome in ("satisfied", "unproven", "blocked")
    with desk.change() as opened:
        old = opened.state_of(item.id)
        iteration, status = after_failure(item, old, counts=counts)
        reason = ""
        if status == "BLOCKED":
            pattern = recurring_pattern([*old.attempts, attempt])
            reason = CAP_WORDS + (f"; {pattern}" if pattern else "")
        elif told.outcome == "blocked":
            status, reason = "BLOCKED", f"needs a person: {trouble}"
        question = trouble if asks and status != "BLOCKED" else ""
        opened.commit(
            BacklogFact(
                deed="attempt", item=item.id, by="ralph", attempt=attempt, iteration=iteration, status=status,
                reason=reason, question=question,
            )
        )  # fmt: skip
    words = f"{item.id} failed ({told.outcome}): {trouble}"
    words = f"{item.id} is BLOCKED: {reason}" if status == "BLOCKED" else words
    return replace(told, words=words, blocked=status == "BLOCKED", question=trouble if asks else "")


class _End(Struct, frozen=True):
    """Where a green loop brought its item: onto the branch, or not, and why."""

    commit: str = ""
    trouble: str = ""
    own_fault: bool = False
    more: dict[str, Any] = {}  # for the attempt


def _passing(
    desk: Desk, project: Project, found: FeatureList, item: BacklogItem, loop: Loop, gates: ItemGates
) -> _End:
    """Does the item pass by this loop, and if not, why?"""
    more: dict[str, Any] = {}
    if loop.outcome != "verified":
        if not item.no_proof:
            step = f'ralph backlog validate {item.id} --accept --reason "already done"'
            if loop.outcome == "satisfied":
                words = (
                    f"its checks passed before any work: accept it ({step}) or give it a check that fails now"
                )
            else:
                words = f"green, but nothing that failed before proves it: {one_line(loop.reason, 300)}"
            return _End(trouble=words)
        known = "already satisfied" if loop.outcome == "satisfied" else "green, not proven"
        more["notes"] = f"{known}; declared as not provable: {clip(item.no_proof)}"
    if not loop.landing.result:  # satisfied: nothing was changed
        return _End(commit=loop.sealed.base.commit, more=more)
    touched = protected_tests(found, changed_paths(project, loop.sealed.base.commit, loop.landing.result))
    if touched:
        verdicts = judge_commit(desk, project, loop.landing.result, touched)
        more["protected"] = [{"run": touched[name], "status": one.status} for name, one in verdicts.items()]
        red = next((one for one in verdicts.values() if one.status != "pass"), None)
        if red is not None:
            said = f"'{touched[red.gate]}' says {red.status}: {red.summary}"
            words = f"it touches a protected file, and {said}"
            return _End(trouble=words, own_fault=red.status == "fail", more=more)
    joined = join_branch(desk, project, loop, gates)
    return _End(commit=joined.commit, trouble=joined.trouble, more=more)


def protected_tests(found: FeatureList, paths: list[str]) -> dict[str, str]:
    """Tests that the register of protected files asks for, because of these changes."""
    runs: dict[str, None] = {}
    for one in found.protected:
        if any(path == one.path or matches(path, one.path) for path in paths):
            runs |= dict.fromkeys(one.tests)
    return {f"protected-{number}": run for number, run in enumerate(runs, 1)}


def _attempt(project: Project, record: Record, found: FeatureList, gates: ItemGates) -> dict[str, Any]:
    loop = record.loop
    verdicts, before = loop.newest_verdicts, loop.proof.baseline
    checks = [
        {
            "name": gate.name,
            "run": gate.run,
            "before": before[gate.name].status if gate.name in before else "unknown",
            "status": verdicts[gate.name].status if gate.name in verdicts else "unknown",
            "evidence": verdicts[gate.name].evidence if gate.name in verdicts else "",
        }
        for gate in loop.sealed.criterion.gates
        if not gate.hidden
    ]
    summary = f"{loop.outcome}{f', grade {loop.grade}' if loop.grade else ''}: " + "; ".join(
        f"{one['name']} {one['before']} -> {one['status']}" for one in checks
    )
    number = 1 + sum(len(one.attempts) for one in found.items)
    commit, spend, claim = loop.landing.result or loop.work.commit, loop.spend, loop.call.claim
    said = " ".join(filter(None, (claim.recommendation if claim else "", *loop.agents.learnings[-3:])))
    made: dict[str, Any] = {
        "run_id": f"worker-{number:03d}",
        "timestamp": iso_time(),
        "started_at": iso_time(record.started),
        "result": "IN_PROGRESS",
        "evidence": {
            "commands_run": [one["run"] for one in checks],
            "results_summary": clip(summary),
            "tree": loop.work.tree,
            "checks": checks,
        },
        "commit": None,
        "reverted": False,
        "loop": loop.sealed.loop,
        "files_changed": changed_paths(project, loop.sealed.base.commit, commit)[:200] if commit else [],
        "spend": {name: getattr(spend, name) for name in ("calls", "seconds", "cost", "tokens")},
    }
    made |= {"told_not_checked": list(gates.told)} if gates.told else {}
    return made | ({"investigation": clip(CLAIM + one_line(said, 1500))} if said else {})


def _failing(loop: Loop) -> list[str]:
    """What was red at the end, in words that can recur."""
    found: list[str] = []
    for verdict in loop.newest_verdicts.values():
        if verdict.status != "pass":
            keys = [one_line(one.key, 120) for one in verdict.findings[:5] if one.key != "exit"]
            found += [f"{verdict.gate}: {key}" for key in keys or [one_line(verdict.summary, 120)]]
    return found[:20]


def begun_loops(desk: Desk) -> dict[str, tuple[str, bool]]:
    """Items whose attempt was begun and not recorded -> the loop, and whether it has ended."""
    states = fold(facts_of(desk.place, desk.env))
    with journal_of(desk.env) as reader:
        known = set(reader.names())  # without a loop it was killed before one was made
    begun = {name: one.loop for name, one in states.items() if one.loop in known}
    return {name: (loop, read_loop(loop, desk.env).loop.phase == "ended") for name, loop in begun.items()}
