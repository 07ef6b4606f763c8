"""S2's files as JSON schemas, from its description: registry, loop state, checkpoint, analytics."""

from __future__ import annotations

from typing import Any

TEXT, COUNT, NUMBER, FLAG = ({"type": one} for one in ("string", "integer", "number", "boolean"))
WHEN = {"type": "string", "format": "date-time"}


def maybe(schema: dict[str, Any]) -> dict[str, Any]:
    """Unknown is null."""
    return {"anyOf": [schema, {"type": "null"}]}


def whole(**fields: dict[str, Any]) -> dict[str, Any]:
    """An object with all of these and nothing else."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


def words(*allowed: str) -> dict[str, Any]:
    return {"enum": list(allowed)}


def many(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": of, **more}


ANY: dict[str, Any] = {}
UNKNOWN = {"type": "null"}
VERSION = {"type": "string", "pattern": r"^2\.\d+\.\d+$"}
LOOP_ID = {"type": "string", "pattern": "^ralph-[a-z0-9-]+-[a-f0-9]{8}$"}
COMMON: dict[str, dict[str, Any]] = {
    "loop_id": LOOP_ID,
    "iteration": {"type": "integer", "minimum": 0},
    "completion_criteria": TEXT,
    "started_at": WHEN,
    "pid": maybe(COUNT),
    "owner": TEXT,
    "working_directory": TEXT,
}
ENTRY = whole(
    **COMMON,
    status=words("running", "paused", "waiting", "completing", "crashed"),
    task_summary={"type": "string", "maxLength": 200},
    last_active=WHEN,
    state_file=TEXT,
    max_iterations=maybe(COUNT),
    timeout_minutes=maybe(NUMBER),
    priority=words("low", "medium", "high", "critical"),
    tags=many(TEXT),
)
REGISTRY = whole(
    version=VERSION,
    max_concurrent_loops={"const": 4},
    active_loops=many(ENTRY, maxItems=4),
    registry_path=TEXT,
    last_updated=WHEN,
    updated_at=WHEN,
    total_active=COUNT,
    total_completed=COUNT,
    total_aborted=COUNT,
)
CHECK = whole(iteration=COUNT, timestamp=WHEN, passed=FLAG, output=TEXT)
JUDGED = words("passed", "failed", "skipped")
ITERATION = whole(
    loop_id=LOOP_ID,
    iteration_number=COUNT,
    timestamp=maybe(WHEN),
    quality_score=maybe({"type": "number", "minimum": 0, "maximum": 100}),
    quality_delta=maybe(NUMBER),
    tokens_used=maybe(COUNT),
    token_cost_usd=maybe(NUMBER),
    input_tokens=maybe(COUNT),
    output_tokens=maybe(COUNT),
    tool_calls=maybe(COUNT),
    execution_time_ms=COUNT,
    verification_status=JUDGED,
    output_snapshot_path=maybe(TEXT),
    reflections=many(TEXT),
    experiment=UNKNOWN,
)
STATE = whole(
    **COMMON,
    version=VERSION,
    status=words("pending", "running", "paused", "completing", "completed", "failed", "aborted", "crashed"),
    task=TEXT,
    last_updated=WHEN,
    completed_at=maybe(WHEN),
    last_checkpoint=maybe(TEXT),
    configuration=whole(
        max_iterations=maybe(COUNT),
        timeout_minutes=maybe(NUMBER),
        interactive=FLAG,
        auto_test=FLAG,
        checkpoint_interval={"const": 1},
        execution_mode=words("strict", "seeded", "logged", "default"),
    ),
    progress=whole(
        completion_checks=many(CHECK), last_completion_check=maybe(CHECK), estimated_completion=maybe(COUNT)
    ),
    metrics=whole(
        total_iterations=COUNT,
        successful_iterations=COUNT,
        failed_iterations=COUNT,
        total_tokens=maybe(COUNT),
        total_cost_usd=maybe(NUMBER),
        total_duration_seconds=NUMBER,
        average_iteration_time_seconds=maybe(NUMBER),
    ),
    error_context=whole(
        error_message=maybe(TEXT),
        error_timestamp=maybe(WHEN),
        stack_trace=maybe(TEXT),
        recovery_attempted=maybe(FLAG),
    ),
    baseline_metrics=maybe(
        whole(
            captured_at=WHEN,
            test_count=maybe(COUNT),
            coverage_percentage=maybe(NUMBER),
            typescript_errors=maybe(COUNT),
            lint_errors=maybe(COUNT),
            lint_warnings=maybe(COUNT),
            file_count=maybe(COUNT),
            lines_of_code=maybe(COUNT),
            custom_metrics={"type": "object"},
        )
    ),
    iteration_history=many(ITERATION),
    best_iteration=maybe(COUNT),
    regression_events=UNKNOWN,
    reinforcement_level=UNKNOWN,
    recovery_history=UNKNOWN,
)
CHECKPOINT = whole(
    checkpoint_id=TEXT,
    workflow_id=TEXT,
    loop_id=LOOP_ID,
    workflow_type=TEXT,
    created_at=WHEN,
    trigger=words("manual", "automatic", "phase_boundary", "iteration", "pre_risky_op", "error_recovery"),
    state=whole(
        phase=TEXT,
        step=COUNT,
        progress=whole(total=maybe(COUNT), completed=COUNT, percentage=maybe(NUMBER)),
        iteration=whole(current=COUNT, max=maybe(COUNT), failures=maybe(COUNT)),
        artifacts=many(
            whole(
                path=TEXT,
                hash=maybe(TEXT),
                status=maybe(words("created", "modified", "deleted", "unchanged")),
            )
        ),
        variables={"type": "object"},
        agent_state=whole(current_agent=TEXT, memory=ANY, pending_actions=ANY),
    ),
    execution_config=whole(
        model=maybe(TEXT),
        temperature=maybe(NUMBER),
        seed=maybe(COUNT),
        execution_mode=words("strict", "seeded", "logged", "default"),
        agent=TEXT,
        tools=maybe(many(TEXT)),
        inputs={"type": "object"},
    ),
    metadata=whole(
        size_bytes={"type": "integer", "minimum": 100},
        compression=words("none", "gzip", "lz4"),
        retention_days=maybe(COUNT),
        tags=many(TEXT),
        schema_version=VERSION,
    ),
)
LIMITS = {"type": "object", "additionalProperties": NUMBER}
ANALYTICS = whole(
    iterations=many(ITERATION),
    summary=whole(
        total_iterations=COUNT,
        total_tokens=maybe(COUNT),
        total_cost_usd=maybe(NUMBER),
        total_execution_time_ms=COUNT,
        optimal_iteration=maybe(COUNT),
        final_iteration=maybe(COUNT),
        selected_iteration=maybe(COUNT),
        selection_reason=maybe(TEXT),
        trajectory=maybe(words("improving", "stable", "declining", "fluctuating")),
        diminishing_returns=FLAG,
        budget_usage=LIMITS,
        budget_limits=LIMITS,
        budget_exhausted=FLAG,
        stop_report=whole(
            stop_reason=maybe(TEXT),
            outcome=maybe(TEXT),
            limits=LIMITS,
            observed={"type": "object"},
            exhausted=many(TEXT),
            unobservable=many(TEXT),
            next_recommended_action=maybe(TEXT),
        ),
        flat_cycle_count=COUNT,
        structural_variant_required=UNKNOWN,
    ),
)
