"""Reader "mypy": its one-line messages with columns and codes, and the summary as evidence."""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    error_reading,
    finding_keys,
    line_findings,
    lost_report,
    settle_findings,
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
    text = clean(obs.output)
    if _NOTHING.search(text):
        return error_reading("no-tests", "mypy found no files to check", obs)
    found = line_findings(_ERROR, text, obs, gate)
    success = _SUCCESS.search(text)
    if not found and not (success and int(success.group(1)) > 0):
        return lost_report(obs, "mypy printed no summary")
    if success and _FOUND.search(text):
        return error_reading("torn-report", "mypy's output contradicts itself", obs)
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1, 2))
