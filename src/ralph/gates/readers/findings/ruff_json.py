"""Reader "ruff": the JSON report of `ruff check`."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    error_reading,
    finding_keys,
    lost_report,
    message,
    repo_path,
    report_problem,
    settle_findings,
    stopped_early,
)


class _Place(Struct):
    row: int = 0


class _Item(Struct):
    message: str
    filename: str
    code: str | None = None
    location: _Place | None = None


def read(obs: Observation, gate: Gate) -> Reading:
    early = stopped_early(obs, gate)
    if early:
        return early
    problem = report_problem(obs)
    if problem or obs.report is None:
        return lost_report(obs, problem)
    try:
        items = msgspec.json.decode(obs.report, type=list[_Item])
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return lost_report(obs, f"the report is torn ({clean(str(error))})")
    if not items and b"No Python files found" in obs.output:
        return error_reading("no-tests", "ruff found no files to check", obs)
    found = [
        Finding(
            key=clean(item.code or "error"),
            message=message(item.message),
            path=repo_path(item.filename, obs, gate),
            line=item.location.row if item.location else 0,
        )
        for item in items
    ]
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1,))
