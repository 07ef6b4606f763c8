"""Reader "golangci": the lines of golangci-lint, which are the same in all of its versions."""

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

_ISSUE = re.compile(
    r"^(?P<path>[^\s:][^\n:]{0,400}\.\w+):(?P<line>\d{1,9})(?::\d{1,9})?: (?P<text>[^\n]*?) "
    r"\((?P<code>[\w-]+)\)$",
    re.MULTILINE,
)
_NOTHING = re.compile(r"no go files to analyze|no Go files", re.IGNORECASE)


def read(obs: Observation, gate: Gate) -> Reading:
    text = clean(obs.output)
    if _NOTHING.search(text):
        return error_reading("no-tests", "golangci-lint found no files to check", obs)
    found = line_findings(_ISSUE, text, obs, gate)
    if not found and obs.exit_code:
        return lost_report(obs, "golangci-lint printed no issue that can be read")
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1,))
