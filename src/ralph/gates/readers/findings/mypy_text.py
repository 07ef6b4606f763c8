"""Reader "mypy": its one-line messages with columns and codes, and the summary as evidence."""

from __future__ import annotations

import re

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
    settle_findings,
    stopped_early,
)

_ERROR = re.compile(
    r"^(?P<path>[^\n:][^\n]*?):(?:(?P<line>\d{1,9}):)?(?:\d{1,9}:)?(?:\d+:\d+:)? error: (?P<text>[^\n]*?)"
    r"(?:  \[(?P<code>[\w-]+)\])?$",
    re.MULTILINE,
)
_SUCCESS = re.compile(r"^Success: no issues found in (\d+) source files?$", re.MULTILINE)
_FOUND = re.compile(r"^Found (\d+) errors? in \d+ files?", re.MULTILINE)
_NOTHING = re.compile(r"^There are no \.py\[i\] files in directory", re.MULTILINE)


def read(obs: Observation, gate: Gate) -> Reading:
    early = stopped_early(obs, gate)
    if early:
        return early
    text = clean(obs.output)
    if _NOTHING.search(text):
        return error_reading("no-tests", "mypy found no files to check", obs)
    found = [
        Finding(
            key=hit["code"] or "error",
            message=message(hit["text"]),
            path=repo_path(hit["path"], obs, gate),
            line=int(hit["line"] or 0),
        )
        for hit in _ERROR.finditer(text)
    ]
    success = _SUCCESS.search(text)
    if not found and not (success and int(success.group(1)) > 0):
        return lost_report(obs, "mypy printed no summary")
    if success and _FOUND.search(text):
        return error_reading("torn-report", "mypy's output contradicts itself", obs)
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1, 2))
