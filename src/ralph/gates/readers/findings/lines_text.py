"""Checkers that print one finding a line: mypy, tsc, golangci-lint. What tells is in their rows."""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.core.toolchains.load import toolchains
from ralph.errors import Bug
from ralph.gates.readers._kit.observation import (
    Observation,
    error_reading,
    finding_keys,
    lost_report,
    message,
    repo_path,
    settle_findings,
)


def read(obs: Observation, gate: Gate) -> Reading:
    runner = toolchains().runners[gate.read]
    row = runner.row.lines
    if row is None:
        raise Bug(f'nothing is known of the lines of "{runner.name}"')
    text = clean(obs.output)
    if re.search(row.no_input, text, re.MULTILINE):
        return error_reading("no-tests", f"{runner.program} found no files to check", obs)
    hits = re.finditer(row.finding, text, re.MULTILINE)
    found = [_finding(hit.groupdict(""), obs, gate) for hit in hits]
    green = row.green and re.search(row.green, text, re.MULTILINE)
    if not found and not green and (row.green or obs.exit_code):
        return lost_report(obs, f"{runner.program} printed {row.lacks}")
    if green and row.red and re.search(row.red, text, re.MULTILINE):
        return error_reading("torn-report", f"{runner.program}'s output contradicts itself", obs)
    return settle_findings(obs, gate, finding_keys(found), red_exits=row.red_exits)


def _finding(said: dict[str, str], obs: Observation, gate: Gate) -> Finding:
    path = repo_path(said["path"].strip(), obs, gate) if said["path"] else ""
    key, line = said["code"] or "error", int(said["line"] or 0)
    return Finding(key=key, message=message(said["text"]), path=path, line=line)
