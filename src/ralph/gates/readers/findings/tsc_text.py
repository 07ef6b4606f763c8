"""Reader "tsc": the plain one-line messages of the TypeScript compiler."""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    error_reading,
    finding_keys,
    line_findings,
    lost_report,
    message,
    settle_findings,
)

_ERROR = re.compile(
    r"^(?P<path>[^\n(]{1,400})\((?P<line>\d{1,9}),\d{1,9}\): error (?P<code>TS\d{1,6}): (?P<text>[^\n]*)$",
    re.MULTILINE,
)
_GLOBAL = re.compile(r"^error (?P<code>TS\d{1,6}): (?P<text>[^\n]*)$", re.MULTILINE)
_NO_INPUT = "TS18003"  # no inputs were found in the config file


def read(obs: Observation, gate: Gate) -> Reading:
    text = clean(obs.output)
    whole = list(_GLOBAL.finditer(text))
    if any(hit["code"] == _NO_INPUT for hit in whole):
        return error_reading("no-tests", "tsc found no files to check", obs)
    found = line_findings(_ERROR, text, obs, gate)
    found += [Finding(key=hit["code"], message=message(hit["text"])) for hit in whole]
    if not found and obs.exit_code:
        return lost_report(obs, "tsc printed no error that can be read")
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1, 2))
