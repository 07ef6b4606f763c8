"""Reader "exit": the exit code is all there is to know, and the last lines say why."""

from __future__ import annotations

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.gates.readers._kit.observation import Observation, last_lines


def read(obs: Observation, gate: Gate) -> Reading:  # noqa: ARG001
    if obs.exit_code == 0:
        return Reading("pass", "exit code 0")
    summary = f"exit code {obs.exit_code}"
    return Reading("fail", summary, findings=(Finding("exit", last_lines(obs) or summary),))
