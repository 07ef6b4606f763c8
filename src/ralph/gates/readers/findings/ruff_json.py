"""Reader "ruff": the JSON report of `ruff check`."""

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


class _Place(Struct):
    row: int = 0


class _Item(Struct):
    message: str
    filename: str
    code: str | None = None
    location: _Place | None = None


def read(obs: Observation, gate: Gate) -> Reading:
    items = decode_report(obs, list[_Item])
    if isinstance(items, Reading):
        return items
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
