"""A loop in S2's files: registry, state, checkpoints, analytics, completion report; from the journal alone.

Every field of S2's schemas is there; what Ralph does not know of it is null, never a made-up value.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ralph.app.place import journal_of, state_of
from ralph.app.records import read_newest
from ralph.app.report.report_files import write_reports
from ralph.app.views.checkpoints import CheckpointRow, checkpoint_rows
from ralph.app.views.rows import ListRow, list_row, s2_entry
from ralph.app.views.rows import steps as next_commands
from ralph.app.words.format import iso
from ralph.clock import SystemClock
from ralph.core.model import events as e
from ralph.core.model.outcome import DONE
from ralph.core.views.analytics import FLAT, LoopAnalytics, analyse
from ralph.core.views.notices import limit_shares
from ralph.core.views.summary import FAMILIAR
from ralph.errors import RalphError
from ralph.shell.git.project import find_project, user_call
from ralph.shell.journal.entries import Record

VERSION = "2.0.0"
MAX_LOOPS = 4  # in S2's registry
DEED = {"A": "created", "M": "modified", "T": "modified", "D": "deleted"}


def export_loop(text: str | None, env: Mapping[str, str], cwd: str, target: str) -> list[str]:
    """Write the files below `target`; their paths."""
    record = read_newest(text, env, cwd)
    with journal_of(env) as reader:
        rows = [list_row(one, reader) for one in reader.summaries(record.loop.sealed.repo)]
    folder = os.path.join(target, "loops", f"ralph-{record.name}")
    os.makedirs(os.path.join(folder, "checkpoints"), exist_ok=True)
    found = analyse(record.loop, record.events)
    lost = ListRow(record.name, "damaged", {}, record.loop.now)  # its summary: all else is in the record
    row = next((one for one in rows if one.name == record.name), lost)
    files: dict[str, bytes] = {
        os.path.join(target, "registry.json"): _encode(registry_of(rows, target)),
        os.path.join(folder, "state.json"): _encode(state_of_loop(record, found, row)),
        os.path.join(folder, "analytics.json"): _encode(analytics_of(record, found, row)),
    }
    for number, made in _checkpoints(record):
        path = os.path.join(folder, "checkpoints", f"iteration-{number:03d}.json.gz")
        made["metadata"]["size_bytes"] = len(_encode(made))
        files[path] = gzip.compress(_encode(made), mtime=0)
    report, _ = write_reports(state_of(env), record)
    with open(report, "rb") as file:
        files[os.path.join(folder, f"completion-{int(record.started)}.md")] = file.read()
    for path, data in files.items():
        with open(path, "wb") as file:
            file.write(data)
    return sorted(files)


def _encode(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def registry_of(rows: list[ListRow], target: str) -> dict[str, Any]:
    """S2 knows four loops: of more, the newest, and the number of all."""
    active = [row for row in rows if row.body and row.body["outcome"] is None]
    ends = [row.body["outcome"] for row in rows if row.body]
    now = iso(SystemClock().now())
    return {
        "version": VERSION,
        "max_concurrent_loops": MAX_LOOPS,
        "active_loops": [
            s2_entry(row) | {"state_file": f"loops/ralph-{row.name}/state.json"} for row in active[:MAX_LOOPS]
        ],
        "registry_path": os.path.abspath(os.path.join(target, "registry.json")),
        "last_updated": now,
        "updated_at": now,
        "total_active": len(active),
        "total_completed": sum(one in ("verified", "satisfied") for one in ends),
        "total_aborted": ends.count("aborted"),
    }


def state_of_loop(record: Record, found: LoopAnalytics, row: ListRow) -> dict[str, Any]:
    loop, order = record.loop, record.loop.sealed
    checks = [
        {
            "iteration": one.iteration,
            "timestamp": iso(one.at),
            "passed": one.verdict.status == "pass",
            "output": one.verdict.summary,
        }
        for one in record.events
        if isinstance(one, e.GateEnded) and one.verdict.stage != "baseline"
    ]
    calls = found.lines
    good = sum(one.red == 0 for one in calls)
    seconds = loop.elapsed_seconds
    return {
        "version": VERSION,
        "loop_id": f"ralph-{record.name}",
        "status": "crashed" if row.word == "crashed" else FAMILIAR[loop.outcome or loop.phase],
        "iteration": loop.iteration,
        "task": order.task,
        "completion_criteria": " && ".join(gate.run for gate in order.criterion.gates if not gate.hidden),
        "started_at": iso(record.started),
        "last_updated": iso(loop.now),
        "completed_at": iso(loop.now) if loop.phase == "ended" else None,
        "owner": order.agent.name,
        "pid": row.pid,
        "working_directory": order.repo,
        "last_checkpoint": loop.work.commit or None,
        "configuration": {
            "max_iterations": loop.limits.iterations,
            "timeout_minutes": None if loop.limits.time is None else loop.limits.time / 60,
            "interactive": False,
            "auto_test": True,
            "checkpoint_interval": 1,
            "execution_mode": "strict",
        },
        "progress": {
            "completion_checks": checks,
            "last_completion_check": checks[-1] if checks else None,
            "estimated_completion": found.forecast.iterations if found.forecast else None,
        },
        "metrics": {
            "total_iterations": len(calls),
            "successful_iterations": good,
            "failed_iterations": len(calls) - good,
            "total_tokens": loop.spend.tokens,
            "total_cost_usd": None if loop.spend.blind else loop.spend.cost,
            "total_duration_seconds": seconds,
            "average_iteration_time_seconds": seconds / len(calls) if calls else None,
        },
        "error_context": _error_context(record, row),
        "baseline_metrics": _baseline_metrics(record),
        "iteration_history": _iterations(record, found),
        "best_iteration": found.best,
        "regression_events": None,
        "reinforcement_level": None,
        "recovery_history": None,
    }


def _error_context(record: Record, row: ListRow) -> dict[str, Any]:
    """Why it does not go on; a result is no error."""
    loop = record.loop
    stopped = loop.outcome not in (None, *DONE) or (
        loop.outcome is None and (row.word == "crashed" or loop.phase == "paused")
    )
    return {
        "error_message": (loop.reason or row.word) if stopped else None,
        "error_timestamp": iso(loop.now) if stopped else None,
        "stack_trace": None,
        "recovery_attempted": sum(isinstance(one, e.StintStarted) for one in record.events) > 1,
    }


def _baseline_metrics(record: Record) -> dict[str, Any] | None:
    first = [one for one in record.events if isinstance(one, e.GateEnded) and one.verdict.stage == "baseline"]
    if not first:
        return None
    unknown = (
        "test_count", "coverage_percentage", "typescript_errors", "lint_errors", "lint_warnings",
        "file_count", "lines_of_code",
    )  # fmt: skip
    reds = {one.verdict.gate: one.verdict.red for one in first}
    return {"captured_at": iso(first[-1].at), **dict.fromkeys(unknown), "custom_metrics": {"red": reds}}


def _iterations(record: Record, found: LoopAnalytics) -> list[dict[str, Any]]:
    made = {one.iteration for one in checkpoint_rows(record)}
    rows, before = [], 0.0
    for one in found.lines:
        judged = "skipped" if one.red is None else "failed" if one.red else "passed"
        rows.append(
            {
                "loop_id": f"ralph-{found.loop}",
                "iteration_number": one.iteration,
                "timestamp": iso(one.at) if one.at else None,
                "quality_score": one.quality,
                "quality_delta": None if one.quality is None else one.quality - before,
                "tokens_used": one.tokens,
                "token_cost_usd": one.cost,
                "input_tokens": one.read,
                "output_tokens": one.written,
                "tool_calls": None,
                "execution_time_ms": round(1000 * (one.agent_seconds + one.gate_seconds)),
                "verification_status": judged,
                "output_snapshot_path": f"checkpoints/iteration-{one.iteration:03d}.json.gz"
                if one.iteration in made
                else None,
                "reflections": list(one.learned),
                "experiment": None,
            }
        )
        before = one.quality if one.quality is not None else before
    return rows


def analytics_of(record: Record, found: LoopAnalytics, row: ListRow) -> dict[str, Any]:
    loop, rows = record.loop, _iterations(record, found)
    shares = limit_shares(loop)
    limits = {name: value for name, value in msgspec.structs.asdict(loop.limits).items() if value is not None}
    exhausted = [name for name, share in shares.items() if share >= 1]
    observed = {"iterations": loop.iteration, "tokens": loop.spend.tokens, "cost": loop.spend.cost}
    deltas = [one["quality_delta"] for one in rows]
    flat = next(
        (at for at, one in enumerate(reversed(deltas)) if one is None or abs(one) > FLAT), len(deltas)
    )
    step = next(iter(next_commands(row)), None)
    chosen = found.best if loop.landing.result or found.best else None
    summary = {
        "total_iterations": len(rows),
        "total_tokens": loop.spend.tokens,
        "total_cost_usd": None if loop.spend.blind else loop.spend.cost,
        "total_execution_time_ms": sum(one["execution_time_ms"] for one in rows),
        "optimal_iteration": found.best,
        "final_iteration": found.lines[-1].iteration if found.lines else None,
        "selected_iteration": chosen,
        "selection_reason": None if chosen is None else "most required checks pass, then the smallest change",
        "trajectory": None if found.trajectory == "unknown" else found.trajectory,
        "diminishing_returns": found.diminishing,
        "budget_usage": shares,
        "budget_limits": limits,
        "budget_exhausted": bool(exhausted),
        "stop_report": {
            "stop_reason": found.reason or None,
            "outcome": found.outcome,
            "limits": limits,
            "observed": observed,
            "exhausted": exhausted,
            "unobservable": [name for name, value in observed.items() if value is None],
            "next_recommended_action": step.command if step else None,
        },
        "flat_cycle_count": flat,
        "structural_variant_required": None,
    }
    return {"iterations": rows, "summary": summary}


def _checkpoints(record: Record) -> Iterator[tuple[int, dict[str, Any]]]:
    loop, order, rows = record.loop, record.loop.sealed, checkpoint_rows(record)
    paths = {one.commit: one.paths for one in record.events if isinstance(one, e.CheckpointMade)}
    before, failures = order.base.commit, 0
    for row in rows:
        failures += bool(row.red)  # None: not judged
        artifacts = _artifacts(record, before, row) or [
            {"path": path, "hash": None, "status": None} for path in paths[row.commit]
        ]
        before = row.commit
        yield (
            row.iteration,
            {
                "checkpoint_id": row.commit,
                "workflow_id": f"ralph-{record.name}",
                "loop_id": f"ralph-{record.name}",
                "workflow_type": "ralph",
                "created_at": iso(row.at),
                "trigger": "iteration",
                "state": {
                    "phase": "judging",
                    "step": row.iteration,
                    "progress": {
                        "total": loop.limits.iterations,
                        "completed": row.iteration,
                        "percentage": None,
                    },
                    "iteration": {
                        "current": row.iteration,
                        "max": loop.limits.iterations,
                        "failures": failures,
                    },
                    "artifacts": artifacts,
                    "variables": {"tree": row.tree, "commit": row.commit},
                    "agent_state": {
                        "current_agent": order.agent.name,
                        "memory": None,
                        "pending_actions": None,
                    },
                },
                "execution_config": {
                    "model": order.agent.model or None,
                    "temperature": None,
                    "seed": None,
                    "execution_mode": "strict",
                    "agent": order.agent.name,
                    "tools": None,
                    "inputs": {"task": order.task},
                },
                "metadata": {
                    "size_bytes": 0,
                    "compression": "gzip",
                    "retention_days": None,
                    "tags": [],
                    "schema_version": VERSION,
                },
            },
        )


def _artifacts(record: Record, before: str, row: CheckpointRow) -> list[dict[str, Any]]:
    """Files that an iteration changed, by git; none where the repository or the commits are gone."""
    args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, row.commit]
    try:
        done = user_call(find_project(record.loop.sealed.repo), args, ok=None)
    except RalphError:
        return []
    words = done.out.decode("utf-8", "replace").split("\0") if not done.code else []
    found = []
    for about, path in zip(words[::2], words[1::2], strict=False):
        *_, blob, deed = about.split(" ")
        gone = deed == "D"
        found.append({"path": path, "hash": None if gone else blob, "status": DEED.get(deed, "modified")})
    return found
