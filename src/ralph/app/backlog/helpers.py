"""S3's helpers: select, attempt, increment, validate, each with its JSON and its exit code."""

from __future__ import annotations

import time
from typing import Any

from msgspec import Struct, to_builtins

from ralph.app.backlog.desk import Desk, choose, clip, iso_time, lacks_criterion
from ralph.clock import SystemClock
from ralph.core.backlog.changes import CAP_WORDS, BacklogFact, forbidden_move, recurring_pattern
from ralph.core.backlog.items import NO_TERMS, BacklogItem, FeatureList, Problem
from ralph.core.backlog.prd import check_links
from ralph.core.backlog.read_list import is_evidence, unknown_fields
from ralph.core.backlog.select import DONE, nothing_words, waiting_for
from ralph.core.model.verdict import Verdict
from ralph.errors import UserError
from ralph.shell.backlog.place import prd_files, read_prd_file
from ralph.shell.backlog.store import UNREADABLE, load_file, recorded_names
from ralph.shell.git.project import Project, find_object, find_project


class HelperAnswer(Struct, frozen=True):
    body: dict[str, Any]
    exit_code: int = 0


def select_json(desk: Desk) -> HelperAnswer:
    opened = desk.read()
    selection, found = choose(desk, opened), opened.found
    if not found.items:
        raise UserError(nothing_words(found), code="E-BACKLOG-EMPTY-FEATURE-LIST", next="ralph backlog init")
    item = selection.first
    tried = [one for one in found.items if one.enabled and one.status == "FAILING"]
    waits = sorted({name for one in tried for name in waiting_for(one, found.by_id)})
    body: dict[str, Any] = {
        "success": True,
        "selected": item and item_json(item),
        "dependency_check": {
            "satisfied": item is not None,
            "blocking_deps": [] if item else waits,
            "warnings": [one.words for one in opened.notes],
        },
        "stats": {
            "total_items": len(found.items),
            "ralph_enabled": sum(one.enabled for one in found.items),
            "failing": sum(one.status == "FAILING" for one in found.items),
            "eligible": len(selection.eligible),
        },
        "message": f"Selected {item.id}: {item.title}" if item else nothing_words(found),
    }
    return HelperAnswer(body, 0 if item else 1)


def item_json(item: BacklogItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "title": item.title,
        "priority": item.priority,
        "ralph_loop": to_builtins(item.loop) | {"convergence_criteria": dict.fromkeys(item.criteria, True)},
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
    item = desk.read().item(request.item)
    passed = request.result == "PASSED"
    if request.result != "IN_PROGRESS" and not request.summary.strip():
        words = f"{request.result} needs a summary"
        raise UserError(words, code="E-BACKLOG-INVALID-ATTEMPT-DATA", next="ralph backlog attempt --help")
    commit: str | None = None
    evidence = {"commands_run": list(request.commands), "results_summary": clip(request.summary)}
    if request.commit or passed:
        project = find_project(desk.place.top)
        commit = _full_commit(project, request.commit or "HEAD")
        if passed:
            evidence = _evidence_on(desk, item, project, commit) | {"claim": clip(request.summary)}
    attempt = _new_attempt(request.run_id or _run_id("run"), request.result, evidence, commit)
    attempt |= {"reverted": request.reverted}
    for key in ("failure_reason", "investigation"):
        attempt |= {key: clip(getattr(request, key))} if getattr(request, key) else {}
    with desk.change() as opened:
        status: Any = "PASSING" if passed else None
        opened.commit(BacklogFact(deed="attempt", item=item.id, attempt=attempt, status=status))
        total = len(opened.state_of(item.id).attempts)
    return HelperAnswer({"success": True, "item_id": item.id, "attempt": attempt, "total_attempts": total})


def _new_attempt(run_id: str, result: str, evidence: dict[str, Any], commit: str | None) -> dict[str, Any]:
    return {
        "run_id": run_id, "timestamp": iso_time(), "result": result, "evidence": evidence, "commit": commit,
        "reverted": False,
    }  # fmt: skip


def _run_id(kind: str) -> str:
    return time.strftime(f"{kind}-%Y%m%d-%H%M%S", time.gmtime(SystemClock().now()))


def _evidence_on(desk: Desk, item: BacklogItem, project: Project, commit: str) -> dict[str, Any]:
    """The item's gates, judged on a commit; refused when one of them does not pass."""
    from ralph.app.backlog.approve import require_approval  # judging is heavy; lists start in milliseconds
    from ralph.app.backlog.criteria import item_gates
    from ralph.app.backlog.judge import judge_commit

    require_approval(desk, desk.read().found)
    commands = item_gates(desk, item, project, commit).commands
    verdicts = judge_commit(desk, project, commit, commands)
    red = [one for one in verdicts.values() if one.status != "pass"]
    if red:
        what = f"'{item.id}' does not pass on {commit[:12]}: {red[0].gate}, {commands[red[0].gate][:80]}"
        why = "; ".join(f"{one.gate}: {one.summary}" for one in red)[:1000]
        raise UserError(
            what, code="E-BACKLOG-INVALID-ATTEMPT-DATA", why=why, next=f"ralph backlog show {item.id}"
        )
    return evidence_of(commands, verdicts) | {"tree": next(iter(verdicts.values())).tree}


def evidence_of(commands: dict[str, str], verdicts: dict[str, Verdict]) -> dict[str, Any]:
    checks = [
        {"name": name, "run": run, "status": verdicts[name].status, "evidence": verdicts[name].evidence}
        for name, run in commands.items()
        if name in verdicts
    ]
    summary = "; ".join(f"{name}: {one.status}, {one.summary}" for name, one in verdicts.items())
    ran = [one["run"] for one in checks]
    return {"commands_run": ran, "results_summary": clip(summary), "checks": checks}


def _full_commit(project: Project, rev: str) -> str:
    if commit := find_object(project, f"{rev}^{{commit}}"):
        return commit
    words = f"there is no commit '{rev[:80]}'"
    raise UserError(words, code="E-BACKLOG-INVALID-ATTEMPT-DATA", next="git log --oneline")


def increment(desk: Desk, name: str, *, block_on_max: bool, reason: str) -> HelperAnswer:
    with desk.change() as opened:
        item, old = opened.item(name), opened.state_of(name)
        if old.status != "FAILING":
            raise forbidden_move(name, f"{old.status}: only FAILING items are tried")
        if item.loop is NO_TERMS:
            step = f"ralph backlog edit {name} --enable"
            raise UserError(f"'{name}' has no ralph_loop", code="E-BACKLOG-NO-RALPH-LOOP-CONFIG", next=step)
        now = old.iteration + 1
        exceeded = now >= item.max_attempts
        blocks = exceeded and block_on_max
        if blocks and not reason.strip():
            step = f'ralph backlog increment {name} --block-on-max --override-reason "tried enough"'
            raise UserError("blocking needs a reason", code="E-BACKLOG-MISSING-OVERRIDE-REASON", next=step)
        pattern = recurring_pattern(old.attempts)
        why = f"{reason} ({CAP_WORDS}{f'; {pattern}' if pattern else ''})" if blocks else ""
        status: Any = "BLOCKED" if blocks else None
        opened.commit(BacklogFact(deed="iteration", item=name, iteration=now, status=status, reason=why))
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


def validate(desk: Desk, name: str, *, strict: bool, status: str = "") -> HelperAnswer:
    """Everything that is wrong with the list, its evidence and its PRDs."""
    found = load_file(desk.place.file, desk.memory).found
    unreadable = any(one.code in UNREADABLE for one in found.problems)
    problems = list(found.problems)
    if not unreadable:
        opened = desk.read()
        found = opened.found
        of_item = f"{found.pointer(opened.item(name).id)}/" if name else ""
        problems = [*found.problems, *unknown_fields(opened.file.data)]
        problems += [
            Problem("CRITICAL", "item_removed", f"/items ({one})", "items are cancelled, not deleted")
            for one in sorted(recorded_names(desk.place, desk.env) - found.by_id.keys())
        ]
        problems += [Problem("WARNING", "edited_by_hand", one.item, one.words) for one in opened.notes]
        prds = prd_files(desk.place)
        problems += check_links(found, prds, lambda file: read_prd_file(desk.place, file, desk.prds))[1]
        words = "'{}' is enabled, and nothing proves it"
        problems += [
            Problem("WARNING", "needs_criterion", found.pointer(one.id), words.format(one.id))
            for one in found.items
            if one.enabled and one.status not in DONE and lacks_criterion(desk, one)
        ]
        problems = [one for one in problems if f"{one.pointer}/".startswith(of_item)]
    issues, warnings = (sum(one.severity == kind for one in problems) for kind in ("CRITICAL", "WARNING"))
    body = {
        "success": not unreadable,
        "valid": not issues and not (strict and warnings),
        "total_items": len(found.items),
        "issues": issues,
        "warnings": warnings,
        "results": _results(found, problems, name, status.upper()),
        "problems": to_builtins(problems),
    }
    return HelperAnswer(body, 2 if unreadable else 0 if body["valid"] else 1)


def _results(found: FeatureList, problems: list[Problem], name: str, status: str) -> list[dict[str, Any]]:
    by_item: dict[str, list[Problem]] = {}
    for one in problems:
        by_item.setdefault("/".join(one.pointer.split("/")[: 3 if found.at else 2]), []).append(one)
    made = []
    for item in found.items:
        if (name and item.id != name) or (status and item.status != status):
            continue
        own = by_item.get(found.pointer(item.id), ())
        issues = [one.message for one in own if one.severity == "CRITICAL"]
        made.append(
            {
                "item_id": item.id,
                "status": item.status,
                "total_attempts": len(item.attempts),
                "passed_attempts": sum(
                    one.get("result") == "PASSED" and (not own or is_evidence(one)) for one in item.attempts
                ),
                "issues": issues,
                "warnings": [one.message for one in own if one.severity == "WARNING"],
                "valid": not issues,
            }
        )
    return made


def accept(desk: Desk, name: str, reason: str) -> HelperAnswer:
    """An item whose gates are green already is PASSING by a person's word, with the evidence of today."""
    item = desk.read().item(name)
    if item.status != "FAILING":
        raise forbidden_move(name, item.status)
    project = find_project(desk.place.top)
    evidence = _evidence_on(desk, item, project, project.head)
    attempt = _new_attempt(_run_id("accept"), "PASSED", evidence, project.head)
    attempt["notes"] = f"already satisfied, accepted by the user: {clip(reason)}"
    desk.commit(BacklogFact(deed="attempt", item=name, attempt=attempt, status="PASSING"))
    return HelperAnswer({"success": True, "item_id": name, "attempt": attempt})
