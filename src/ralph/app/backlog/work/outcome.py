"""From an ended loop to the record of an attempt: what counts, what passes, what a person must look at."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from ralph.app.backlog.criteria import ItemGates, judge_commit
from ralph.app.backlog.desk import Desk, clip, iso_now
from ralph.app.backlog.work.branch import changed_paths, join_branch, keep_failed_work
from ralph.app.place import journal_of
from ralph.app.records import read_loop
from ralph.core.backlog.changes import CAP_WORDS, BacklogFact, after_failure, fold, recurring_pattern
from ralph.core.backlog.items import BacklogItem, FeatureList
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
    loop = read_loop(name, desk.env).loop
    if loop.phase != "ended":
        return Recorded(item=item.id, result="OPEN", words=f"loop {name} has not ended", outcome=loop.phase)
    attempt = _attempt(project, loop, found)
    base = loop.sealed.base.commit
    trouble, counts = one_line(loop.reason, 500), loop.outcome not in _UNCOUNTED
    if loop.outcome in ("verified", "satisfied", "unproven"):
        passed, trouble = _passing(desk, project, found, item, loop, gates, attempt)
        if passed:
            attempt["result"] = "PASSED"
            _commit(
                desk, BacklogFact(deed="attempt", item=item.id, by="ralph", attempt=attempt, status="PASSING")
            )
            words = f"{item.id} passed: {attempt['commit'][:12]}"
            return Recorded(
                item=item.id,
                result="PASSED",
                words=words,
                commit=attempt["commit"],
                base=base,
                outcome=loop.outcome,
            )
        counts = loop.outcome == "verified" and attempt.pop("own_fault", False)
    attempt |= {"result": "FAILED", "failure_reason": trouble, "counted": counts, "reverted": True}
    attempt["failing"] = _failing(loop) or [trouble]
    if counts and attempt["failing"][0] != trouble:
        attempt["failure_reason"] = clip(f"{trouble}; {'; '.join(attempt['failing'][:3])}")
    attempt["rejected"] = keep_failed_work(project, loop) or None
    attempt["commit"] = None
    return _record_failure(desk, item, loop, attempt, trouble, counts=counts)


def _record_failure(
    desk: Desk, item: BacklogItem, loop: Loop, attempt: dict[str, Any], trouble: str, *, counts: bool
) -> Recorded:
    question = trouble if loop.outcome in ("satisfied", "unproven", "blocked") else ""
    with desk.change() as opened:
        old = opened.state_of(item.id)
        iteration, status = after_failure(item, old, counts=counts)
        reason = ""
        if status == "BLOCKED":
            pattern = recurring_pattern([*old.attempts, attempt])
            reason = CAP_WORDS + (f"; {pattern}" if pattern else "")
        elif loop.outcome == "blocked":
            status, reason = "BLOCKED", f"needs a person: {trouble}"
        opened.commit(
            BacklogFact(
                deed="attempt", item=item.id, by="ralph", attempt=attempt, iteration=iteration, status=status,
                reason=reason, question=question,
            )
        )  # fmt: skip
    words = (
        f"{item.id} is BLOCKED: {reason}"
        if status == "BLOCKED"
        else f"{item.id} failed ({loop.outcome}): {trouble}"
    )
    return Recorded(
        item=item.id, result="FAILED", words=words, base=loop.sealed.base.commit, blocked=status == "BLOCKED",
        question=question, outcome=loop.outcome or "",
    )  # fmt: skip


def _passing(
    desk: Desk,
    project: Project,
    found: FeatureList,
    item: BacklogItem,
    loop: Loop,
    gates: ItemGates,
    attempt: dict[str, Any],
) -> tuple[bool, str]:
    """Does the item pass by this loop, and if not, why?"""
    if loop.outcome != "verified" and not item.no_proof:
        if loop.outcome == "satisfied":
            step = f'ralph backlog validate {item.id} --accept --reason "…"'
            return (
                False,
                f"its checks passed before any work: accept it ({step}) or give it a check that fails now",
            )
        return False, f"green, but nothing that failed before proves it: {one_line(loop.reason, 300)}"
    if item.no_proof and loop.outcome != "verified":
        attempt["notes"] = f"already satisfied; declared as not provable: {clip(item.no_proof)}"
    if not loop.landing.result:  # satisfied: nothing was changed
        attempt["commit"] = loop.sealed.base.commit
        return True, ""
    touched = protected_tests(found, changed_paths(project, loop.sealed.base.commit, loop.landing.result))
    if touched:
        verdicts = judge_commit(desk, project, loop.landing.result, touched)
        attempt["protected"] = [
            {"run": touched[name], "status": one.status} for name, one in verdicts.items()
        ]
        red = [one for one in verdicts.values() if one.status != "pass"]
        if red:
            attempt["own_fault"] = red[0].status == "fail"
            said = f"'{touched[red[0].gate]}' says {red[0].status}: {red[0].summary}"
            return False, f"it touches a protected file, and {said}"
    joined = join_branch(desk, project, loop, gates)
    attempt["commit"] = joined.commit or None
    return bool(joined.commit), joined.trouble


def protected_tests(found: FeatureList, paths: list[str]) -> dict[str, str]:
    """Tests that the register of protected files asks for, because of these changes."""
    runs: dict[str, None] = {}
    for one in found.protected:
        if any(path == one.path or matches(path, one.path) for path in paths):
            runs |= dict.fromkeys(one.tests)
    return {f"protected-{number}": run for number, run in enumerate(runs, 1)}


def _attempt(project: Project, loop: Loop, found: FeatureList) -> dict[str, Any]:
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
    commit = loop.landing.result or loop.work.commit
    claim = loop.call.claim
    said = " ".join(filter(None, (claim.recommendation if claim else "", *loop.agents.learnings[-3:])))
    made: dict[str, Any] = {
        "run_id": f"worker-{number:03d}",
        "timestamp": iso_now(),
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
        "spend": {
            "calls": loop.spend.calls,
            "seconds": round(loop.spend.seconds, 1),
            "cost": loop.spend.cost,
            "tokens": loop.spend.tokens,
        },
    }
    if said:
        made["investigation"] = clip(f"claim of the agent: {one_line(said, 1500)}")
    return made


def _failing(loop: Loop) -> list[str]:
    """What was red at the end, in words that can recur."""
    found: list[str] = []
    for verdict in loop.newest_verdicts.values():
        if verdict.status != "pass":
            keys = [one_line(one.key, 120) for one in verdict.findings[:5] if one.key != "exit"]
            found += [f"{verdict.gate}: {key}" for key in keys or [one_line(verdict.summary, 120)]]
    return found[:20]


def _commit(desk: Desk, fact: BacklogFact) -> None:
    with desk.change() as opened:
        opened.commit(fact)


def begun_loops(desk: Desk) -> dict[str, tuple[str, bool]]:
    """Items whose attempt was begun and not recorded -> the loop, and whether it has ended."""
    states = fold(facts_of(desk.place, desk.env))
    with journal_of(desk.env) as reader:
        known = set(reader.names())  # without a loop it was killed before one was made
    begun = {name: one.loop for name, one in states.items() if one.loop in known}
    return {name: (loop, read_loop(loop, desk.env).loop.phase == "ended") for name, loop in begun.items()}
