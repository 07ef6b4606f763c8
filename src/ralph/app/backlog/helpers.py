"""S3's helpers: select, attempt, increment, validate, each with its JSON and its exit code."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct, to_builtins

from ralph.app.backlog.desk import Desk, choose, clip, iso_now, prd_problems
from ralph.clock import SystemClock
from ralph.core.backlog.changes import CAP_WORDS, BacklogFact, recurring_pattern
from ralph.core.backlog.items import BacklogItem, Problem
from ralph.core.backlog.read_list import attempt_problems, read_list
from ralph.core.backlog.select import DONE, nothing_words, waiting_for
from ralph.core.model.verdict import Verdict
from ralph.errors import UserError
from ralph.shell.backlog.store import UNREADABLE, facts_of, read_file
from ralph.shell.git.project import Project, find_project, user_call


class HelperAnswer(Struct, frozen=True):
    body: dict[str, Any]
    exit_code: int = 0


def select_json(desk: Desk) -> HelperAnswer:
    opened = desk.read()
    selection = choose(desk, opened)
    item, found = selection.first, opened.found
    stats = {
        "total_items": len(found.items),
        "ralph_enabled": sum(one.enabled for one in found.items),
        "failing": sum(one.status == "FAILING" for one in found.items),
        "eligible": len(selection.eligible),
    }
    waits = sorted(
        {
            name
            for one in found.items
            if one.enabled and one.status == "FAILING"
            for name in waiting_for(one, found.by_id)
        }
    )
    body: dict[str, Any] = {
        "success": True,
        "selected": item and item_json(item),
        "dependency_check": {
            "satisfied": item is not None,
            "blocking_deps": [] if item else waits,
            "warnings": [one.words for one in opened.notes],
        },
        "stats": stats,
    }
    body["message"] = f"Selected {item.id}: {item.title}" if item else nothing_words(found)
    return HelperAnswer(body, 0 if item else 1)


def item_json(item: BacklogItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        "priority": item.priority,
        "ralph_loop": {
            "enabled": item.enabled,
            "max_iterations": item.max_attempts,
            "current_iteration": item.iteration,
            "convergence_criteria": dict.fromkeys(item.criteria, True),
        },
        "prd_reference": to_builtins(item.prd),
        "dependencies": list(item.dependencies),
        "acceptance_criteria": list(item.acceptance),
        "verification": list(item.verification),
    }


class AttemptRequest(Struct, frozen=True, kw_only=True):
    item: str
    result: str
    run_id: str = ""
    commands: tuple[str, ...] = ()
    summary: str = ""
    commit: str = ""
    reverted: bool = False
    failure_reason: str = ""
    investigation: str = ""


def record_attempt(desk: Desk, request: AttemptRequest) -> HelperAnswer:
    """PASSED is recorded only when the item's own gates pass on the commit; what was typed is a claim."""
    opened = desk.read()
    item = opened.item(request.item)
    if request.result != "IN_PROGRESS" and not request.summary.strip():
        raise UserError(
            f"{request.result} needs a summary",
            code="E-BACKLOG-INVALID-ATTEMPT-DATA",
            next="ralph backlog attempt --help",
        )
    commit = ""
    project = find_project(desk.place.top)
    if request.commit or request.result == "PASSED":
        commit = _full_commit(project, request.commit or "HEAD")
    attempt: dict[str, Any] = {
        "run_id": request.run_id or time.strftime("run-%Y%m%d-%H%M%S", time.gmtime(SystemClock().now())),
        "timestamp": iso_now(),
        "result": request.result,
        "evidence": {"commands_run": list(request.commands), "results_summary": clip(request.summary)},
        "commit": commit or None,
        "reverted": request.reverted,
    }
    if request.failure_reason:
        attempt["failure_reason"] = clip(request.failure_reason)
    if request.investigation:
        attempt["investigation"] = clip(request.investigation)
    status: Any = None
    if request.result == "PASSED":
        from ralph.app.backlog.approve import (
            require_approval,  # judging is heavy; lists start in milliseconds
        )

        require_approval(desk, opened.found)
        attempt["evidence"] = evidence_on(desk, item, project, commit) | {"claim": clip(request.summary)}
        status = "PASSING"
    with desk.change() as changing:
        old = changing.state_of(item.id)
        fact = BacklogFact(
            deed="attempt", item=item.id, attempt=attempt, status=None if old.status == status else status
        )
        changing.commit(fact)
        total = len(changing.state_of(item.id).attempts)
    return HelperAnswer({"success": True, "item_id": item.id, "attempt": attempt, "total_attempts": total})


def evidence_on(desk: Desk, item: BacklogItem, project: Project, commit: str) -> dict[str, Any]:
    """The item's gates, judged on a commit; refused when one of them does not pass."""
    from ralph.app.backlog.criteria import item_gates, judge_commit

    commands = item_gates(desk, item, project, commit).commands
    verdicts = judge_commit(desk, project, commit, commands)
    red = [one for one in verdicts.values() if one.status != "pass"]
    if red:
        raise UserError(
            f"'{item.id}' does not pass on {commit[:12]}: {red[0].gate}, {commands[red[0].gate][:80]}",
            code="E-BACKLOG-INVALID-ATTEMPT-DATA",
            why="; ".join(f"{one.gate}: {one.summary}" for one in red)[:1000],
            next=f"ralph backlog show {item.id}",
        )
    return {**evidence_of(commands, verdicts), "tree": next(iter(verdicts.values())).tree}


def evidence_of(commands: dict[str, str], verdicts: dict[str, Verdict]) -> dict[str, Any]:
    checks = [
        {"name": name, "run": run, "status": verdicts[name].status, "evidence": verdicts[name].evidence}
        for name, run in commands.items()
        if name in verdicts
    ]
    summary = "; ".join(f"{name}: {one.status}, {one.summary}" for name, one in verdicts.items())
    return {
        "commands_run": [one["run"] for one in checks],
        "results_summary": clip(summary),
        "checks": checks,
    }


def _full_commit(project: Project, rev: str) -> str:
    done = user_call(
        project, ["rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{commit}}"], ok=None
    )
    if done.code:
        raise UserError(
            f"there is no commit '{rev[:80]}'",
            code="E-BACKLOG-INVALID-ATTEMPT-DATA",
            next="git log --oneline",
        )
    return done.out.decode().strip()


def increment(desk: Desk, name: str, *, block_on_max: bool, reason: str) -> HelperAnswer:
    with desk.change() as opened:
        item, old = opened.item(name), opened.state_of(name)
        if old.status != "FAILING":
            raise UserError(
                f"'{name}' is {old.status}: only FAILING items are tried",
                code="E-BACKLOG-FORBIDDEN-TRANSITION",
                next=f"ralph backlog show {name}",
            )
        now = old.iteration + 1
        exceeded = now >= item.max_attempts
        blocks = exceeded and block_on_max
        if blocks and not reason:
            raise UserError(
                "blocking needs a reason",
                code="E-BACKLOG-MISSING-OVERRIDE-REASON",
                next=f'ralph backlog increment {name} --block-on-max --override-reason "…"',
            )
        pattern = recurring_pattern(old.attempts)
        why = f"{reason} ({CAP_WORDS}{f'; {pattern}' if pattern else ''})" if blocks else ""
        opened.commit(
            BacklogFact(
                deed="iteration", item=name, iteration=now, status="BLOCKED" if blocks else None, reason=why
            )
        )
    body = {
        "success": True,
        "item_id": name,
        "previous_iteration": old.iteration,
        "current_iteration": now,
        "max_iterations": item.max_attempts,
        "max_exceeded": exceeded,
        "warnings": [CAP_WORDS] if exceeded else [],
        "status_changed": blocks,
    }
    return HelperAnswer(body, 1 if exceeded and not blocks else 0)


def validate(desk: Desk, name: str, *, strict: bool) -> HelperAnswer:
    """Everything that is wrong with the list, its evidence and its PRDs."""
    found = read_list(read_file(desk.place.file))
    unreadable = any(one.code in UNREADABLE for one in found.problems)
    notes: list[Problem] = []
    if not unreadable:
        opened = desk.read()
        found = opened.found
        gone = {
            one
            for fact in facts_of(desk.place, desk.env)
            for one in (*fact.items, *(raw["id"] for raw in fact.added))
        }
        notes = [
            Problem("CRITICAL", "item_removed", f"/items ({one})", "items are cancelled, not deleted")
            for one in sorted(gone - found.by_id.keys())
        ]
        notes += [Problem("WARNING", "edited_by_hand", one.item, one.words) for one in opened.notes]
    if name and not unreadable:
        opened.item(name)
    problems = [*found.problems, *notes, *prd_problems(desk, found)]
    problems += [
        Problem(
            "WARNING",
            "needs_criterion",
            f"/{found.at}/{one.index}",
            f"'{one.id}' is enabled, and nothing proves it",
        )
        for one in found.items
        if one.enabled
        and one.status not in DONE
        and not one.verification
        and not one.criteria
        and one.prd is None
    ]
    by_item: dict[str, list[Problem]] = {}
    for one in problems:
        by_item.setdefault("/".join(one.pointer.split("/")[: 3 if found.at else 2]), []).append(one)
    top = f"/{found.at}" if found.at else ""
    chosen = [item for item in found.items if not name or item.id == name]
    results = [_result(item, by_item.get(f"{top}/{item.index}", [])) for item in chosen]
    of_item = f"/{found.at}/{found.by_id[name].index}" if name and name in found.by_id else ""
    shown = [one for one in problems if not of_item or f"{one.pointer}/".startswith(f"{of_item}/")]
    issues = sum(one.severity == "CRITICAL" for one in shown)
    warnings = sum(one.severity == "WARNING" for one in shown)
    body = {
        "success": not unreadable,
        "valid": not issues and not (strict and warnings),
        "total_items": len(found.items),
        "issues": issues,
        "warnings": warnings,
        "results": results,
        "problems": to_builtins(shown),
    }
    return HelperAnswer(body, 2 if unreadable else 0 if body["valid"] else 1)


def _result(item: BacklogItem, own: list[Problem]) -> dict[str, Any]:
    issues = [one.message for one in own if one.severity == "CRITICAL"]
    return {
        "item_id": item.id,
        "status": item.status,
        "total_attempts": len(item.attempts),
        "passed_attempts": sum(
            one.get("result") == "PASSED" and not [*attempt_problems(one)] for one in item.attempts
        ),
        "issues": issues,
        "warnings": [one.message for one in own if one.severity == "WARNING"],
        "valid": not issues,
    }


def accept(desk: Desk, name: str, reason: str) -> HelperAnswer:
    """An item whose gates are green already is PASSING by a person's word, with the evidence of today."""
    opened = desk.read()
    item = opened.item(name)
    if item.status != "FAILING":
        raise UserError(
            f"'{name}' is {item.status}",
            code="E-BACKLOG-FORBIDDEN-TRANSITION",
            next=f"ralph backlog show {name}",
        )
    from ralph.app.backlog.approve import require_approval

    require_approval(desk, opened.found)
    project = find_project(desk.place.top)
    evidence = evidence_on(desk, item, project, project.head)
    attempt = {
        "run_id": time.strftime("accept-%Y%m%d-%H%M%S", time.gmtime(SystemClock().now())),
        "timestamp": iso_now(),
        "result": "PASSED",
        "evidence": evidence,
        "commit": project.head,
        "reverted": False,
        "notes": f"already satisfied, accepted by the user: {clip(reason)}",
    }
    with desk.change() as changing:
        changing.commit(BacklogFact(deed="attempt", item=name, attempt=attempt, status="PASSING"))
    return HelperAnswer({"success": True, "item_id": name, "attempt": attempt})
