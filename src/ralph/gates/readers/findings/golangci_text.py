"""Reader "golangci": the lines of golangci-lint, which are the same in all of its versions."""

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

_ISSUE = re.compile(
    r"^(?P<path>[^\s:][^\n:]{0,400}\.\w+):(?P<line>\d{1,9})(?::\d{1,9})?: (?P<text>[^\n]*?) "
    r"\((?P<linter>[\w-]+)\)$",
    re.MULTILINE,
)
_NOTHING = re.compile(r"no go files to analyze|no Go files", re.IGNORECASE)


def read(obs: Observation, gate: Gate) -> Reading:
    early = stopped_early(obs, gate)
    if early:
        return early
    text = clean(obs.output)
    if _NOTHING.search(text):
        return error_reading("no-tests", "golangci-lint found no files to check", obs)
    found = [
        Finding(
            key=hit["linter"],
            message=message(hit["text"]),
            path=repo_path(hit["path"], obs, gate),
            line=int(hit["line"]),
        )
        for hit in _ISSUE.finditer(text)
    ]
    if not found and obs.exit_code:
        return lost_report(obs, "golangci-lint printed no issue that can be read")
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1,))
