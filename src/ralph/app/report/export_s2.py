"""A loop in S2's files: registry, state, checkpoints, analytics, completion report; from the journal alone.

What S2 has a field for and Ralph does not know is null, never a made-up value.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from ralph import __version__
from ralph.app.place import journal_of, state_of
from ralph.app.records import read_newest
from ralph.app.report.report_files import write_reports
from ralph.app.views.checkpoints import checkpoint_rows
from ralph.app.views.rows import list_row, s2_entry
from ralph.app.words.format import iso
from ralph.clock import SystemClock
from ralph.core.model import events as e
from ralph.core.views.analytics import LoopAnalytics, analyse
from ralph.core.views.summary import FAMILIAR
from ralph.shell.journal.entries import Record

VERSION = "2.0.0"
MAX_LOOPS = 4
_VERIFICATION = {None: "skipped", True: "passed", False: "failed"}


def export_loop(text: str | None, env: Mapping[str, str], cwd: str, target: str) -> list[str]:
    """Write the files below `target`; their paths."""
    record = read_newest(text, env, cwd)
    with journal_of(env) as reader:
        active = [list_row(row, reader) for row in reader.summaries(record.loop.sealed.repo, active=True)]
    folder = os.path.join(target, "loops", f"ralph-{record.name}")
    os.makedirs(os.path.join(folder, "checkpoints"), exist_ok=True)
    found = analyse(record.loop, record.events)
    registry = {
        "version": VERSION,
        "max_concurrent_loops": MAX_LOOPS,
        "active_loops": [s2_entry(row) for row in active if row.body],
        "registry_path": os.path.abspath(os.path.join(target, "registry.json")),
        "last_updated": iso(SystemClock().now()),
    }
    files: dict[str, bytes] = {
        os.path.join(target, "registry.json"): _encode(registry),
        os.path.join(folder, "state.json"): _encode(state_of_loop(record, found)),
        os.path.join(folder, "analytics.json"): _encode(analytics_of(found)),
    }
    for row in checkpoint_rows(record):
        path = os.path.join(folder, "checkpoints", f"iteration-{row.iteration:03d}.json.gz")
        files[path] = gzip.compress(_encode(_checkpoint(record, row)), mtime=0)
    report, _ = write_reports(state_of(env), record)
    with open(report, "rb") as file:
        files[os.path.join(folder, f"completion-{int(record.started)}.md")] = file.read()
    for path, data in files.items():
        with open(path, "wb") as file:
            file.write(data)
    return sorted(files)


def _encode(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def state_of_loop(record: Record, found: LoopAnalytics) -> dict[str, Any]:
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
        "status": FAMILIAR[loop.outcome or loop.phase],
        "iteration": loop.iteration,
        "task": order.task,
        "completion_criteria": " && ".join(gate.run for gate in order.criterion.gates if not gate.hidden),
        "started_at": iso(record.started),
        "last_updated": iso(loop.now),
        "completed_at": iso(loop.now) if loop.phase == "ended" else None,
        "owner": order.agent.name,
        "pid": None,
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
        "error_context": {"error_message": loop.reason or None, "recovery_attempted": None},
        "best_iteration": found.best,
    }


def analytics_of(found: LoopAnalytics) -> dict[str, Any]:
    rows, before = [], None
    for one in found.lines:
        delta = None if one.quality is None else one.quality - (before or 0.0)
        rows.append(
            {
                "loop_id": f"ralph-{found.loop}",
                "iteration_number": one.iteration,
                "quality_score": one.quality,
                "quality_delta": delta,
                "tokens_used": one.tokens,
                "token_cost_usd": one.cost,
                "execution_time_ms": round(1000 * (one.agent_seconds + one.gate_seconds)),
                "verification_status": "skipped"
                if one.red is None
                else "passed"
                if one.red == 0
                else "failed",
            }
        )
        before = one.quality if one.quality is not None else before
    summary = {
        "optimal_iteration": found.best,
        "final_iteration": found.lines[-1].iteration if found.lines else None,
        "trajectory": found.trajectory,
        "diminishing_returns": found.diminishing,
        "stop_report": {"stop_reason": found.reason or None, "outcome": found.outcome},
    }
    return {"iterations": rows, "summary": summary}


def _checkpoint(record: Record, row: Any) -> dict[str, Any]:
    loop, order = record.loop, record.loop.sealed
    made = next(
        one for one in record.events if isinstance(one, e.CheckpointMade) and one.commit == row.commit
    )
    return {
        "checkpoint_id": row.commit,
        "workflow_id": f"ralph-{record.name}",
        "loop_id": f"ralph-{record.name}",
        "workflow_type": "ralph",
        "created_at": iso(row.at),
        "trigger": "iteration",
        "state": {
            "phase": "judging",
            "step": row.iteration,
            "progress": {"total": loop.limits.iterations, "completed": row.iteration, "percentage": None},
            "iteration": {"current": row.iteration, "max": loop.limits.iterations, "failures": None},
            "artifacts": [{"path": path, "hash": None, "status": "modified"} for path in made.paths],
            "variables": {"tree": row.tree, "commit": row.commit},
            "agent_state": {"current_agent": order.agent.name, "memory": None, "pending_actions": None},
        },
        "execution_config": {
            "model": order.agent.model or None,
            "temperature": None,
            "seed": None,
            "execution_mode": "strict",
            "agent": order.agent.name,
        },
        "metadata": {"compression": "gzip", "retention_days": 30, "tags": [], "schema_version": __version__},
    }
