"""Reader "eslint": its JSON report. Errors block, warnings advise."""

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


class _Message(Struct):
    message: str
    severity: int = 2
    ruleId: str | None = None  # noqa: N815 (the report's own name)
    line: int | None = None


class _File(Struct):
    filePath: str  # noqa: N815
    messages: list[_Message] = []


def read(obs: Observation, gate: Gate) -> Reading:
    early = stopped_early(obs, gate)
    if early:
        return early
    problem = report_problem(obs)
    if problem or obs.report is None:
        return lost_report(obs, problem)
    try:
        files = msgspec.json.decode(obs.report, type=list[_File])
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return lost_report(obs, f"the report is torn ({clean(str(error))})")
    if not files:
        return error_reading("no-tests", "eslint found no files to check", obs)
    found = [
        Finding(
            key=clean(one.ruleId or "error"),
            message=message(one.message),
            path=repo_path(file.filePath, obs, gate),
            line=one.line or 0,
            severity="P1" if one.severity >= 2 else "P2",
        )
        for file in files
        for one in file.messages
    ]
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1,))
