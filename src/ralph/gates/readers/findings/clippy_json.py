"""Reader "clippy": compiler messages of `cargo clippy`, `check` or `build` as JSON lines.

Errors block, warnings advise: with `-D warnings` clippy itself makes errors of them. Green needs the line
that says that the build finished with success.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    finding_keys,
    lost_report,
    message,
    repo_path,
    settle_findings,
)


class _Span(Struct):
    file_name: str = ""
    line_start: int = 0
    is_primary: bool = False


class _Code(Struct):
    code: str = ""


class _Message(Struct):
    message: str = ""
    level: str = ""
    code: _Code | None = None
    spans: list[_Span] = []


class _Line(Struct):
    reason: str
    message: _Message | None = None
    success: bool | None = None


def read(obs: Observation, gate: Gate) -> Reading:
    decode = msgspec.json.Decoder(_Line).decode
    found: dict[tuple[str, str, int], Finding] = {}
    ended: bool | None = None
    for raw in obs.output.splitlines():
        if not raw.startswith(b"{"):
            continue
        try:
            line = decode(raw)
        except (msgspec.DecodeError, ValueError, RecursionError):
            continue
        if line.reason == "build-finished":
            ended = bool(line.success)
        elif (
            line.reason == "compiler-message" and line.message and line.message.level in ("error", "warning")
        ):
            one = _finding(line.message, obs, gate)
            if one.path:  # the closing "2 warnings emitted" has no place of its own
                found.setdefault((one.key, one.path, one.line), one)
    if ended is None:
        return lost_report(obs, "cargo did not say how the build ended")
    if not ended and obs.exit_code == 0:
        return lost_report(obs, "cargo says that the build failed")
    return settle_findings(obs, gate, finding_keys(list(found.values())), red_exits=(101, 1))


def _finding(told: _Message, obs: Observation, gate: Gate) -> Finding:
    span = next((span for span in told.spans if span.is_primary), None)
    return Finding(
        key=clean(told.code.code if told.code else told.level),
        message=message(told.message),
        path=repo_path(span.file_name, obs, gate) if span else "",
        line=span.line_start if span else 0,
        severity="P1" if told.level == "error" else "P2",
    )
