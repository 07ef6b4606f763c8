"""Reader "eslint": its JSON report. Errors block, warnings advise."""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    decode_report,
    error_reading,
    finding_keys,
    message,
    repo_path,
    settle_findings,
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
    files = decode_report(obs, list[_File])
    if isinstance(files, Reading):
        return files
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
