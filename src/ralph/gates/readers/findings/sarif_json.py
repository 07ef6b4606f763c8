"""Reader "sarif": SARIF 2.1.0, the ten fields of it that name a finding and how bad it is."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from msgspec import Struct, field
from msgspec.structs import replace

from ralph.core.model.gate import Gate, Severity
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    decode_report,
    error_reading,
    finding_keys,
    lost_report,
    message,
    repo_path,
    settle_findings,
)

_MARK = b"\xef\xbb\xbf"  # of bytes that are UTF-8
# These report secrets, and say neither level nor severity: a secret always blocks.
_SECRET_TOOLS = ("gitleaks", "trufflehog", "detect-secrets", "ggshield")
_LEVELS: dict[str, Severity] = {"error": "P1", "warning": "P2", "note": "P2", "none": "P2"}


class _Text(Struct):
    text: str = ""


class _Config(Struct):
    level: str = "warning"


class _Rule(Struct):
    id: str = ""
    config: _Config | None = field(default=None, name="defaultConfiguration")
    properties: dict[str, Any] | None = None


class _Driver(Struct):
    name: str = ""
    rules: list[_Rule] = []


class _Tool(Struct):
    driver: _Driver
    extensions: list[_Driver] = []


class _Region(Struct):
    line: int = field(default=0, name="startLine")


class _Uri(Struct):
    uri: str = ""


class _Physical(Struct):
    artifact: _Uri | None = field(default=None, name="artifactLocation")
    region: _Region | None = None


class _Location(Struct):
    physical: _Physical | None = field(default=None, name="physicalLocation")


class _RuleRef(Struct):
    id: str = ""


class _Result(Struct):
    message: _Text
    rule_id: str = field(default="", name="ruleId")
    rule: _RuleRef | None = None
    level: str = ""
    kind: str = "fail"
    locations: list[_Location] = []
    suppressions: list[dict[str, Any]] | None = None
    state: str = field(default="", name="baselineState")
    properties: dict[str, Any] | None = None


class _Invocation(Struct):
    successful: bool = field(default=True, name="executionSuccessful")


class _Run(Struct):
    tool: _Tool
    results: list[_Result] | None = None
    invocations: list[_Invocation] | None = None


class _Sarif(Struct):
    version: str
    runs: list[_Run]


def read(obs: Observation, gate: Gate) -> Reading:
    sarif = decode_report(replace(obs, report=obs.report and obs.report.removeprefix(_MARK)), _Sarif)
    if isinstance(sarif, Reading):
        return sarif
    if not sarif.version.startswith("2."):
        return lost_report(obs, f"the report is SARIF {clean(sarif.version)[:20]}, expected 2.1.0")
    # Null results mean that the tool did not come to look; no runs at all mean the same.
    if not sarif.runs or any(run.results is None for run in sarif.runs):
        return error_reading("torn-report", "the report holds no results of any tool", obs)
    if any(not call.successful for run in sarif.runs for call in run.invocations or ()):
        return error_reading("tool-error", "the tool says that it did not succeed", obs)
    found = [
        _finding(result, run, obs, gate)
        for run in sarif.runs
        for result in run.results or ()
        if result.kind in ("fail", "open", "review", "")
        and not result.suppressions
        and result.state != "absent"
    ]
    return settle_findings(obs, gate, finding_keys(found), red_exits=(1,))


def _finding(result: _Result, run: _Run, obs: Observation, gate: Gate) -> Finding:
    name = result.rule_id or (result.rule.id if result.rule else "")
    rules = [rule for driver in (run.tool.driver, *run.tool.extensions) for rule in driver.rules]
    rule = next((rule for rule in rules if rule.id == name), None)
    physical = next((place.physical for place in result.locations if place.physical), None)
    uri = physical.artifact.uri if physical and physical.artifact else ""
    return Finding(
        key=clean(name) or "finding",
        message=message(result.message.text) or clean(name),
        path=repo_path(unquote(uri), obs, gate),
        line=physical.region.line if physical and physical.region else 0,
        severity=_severity(result, rule, run.tool.driver.name),
    )


def _severity(result: _Result, rule: _Rule | None, tool: str) -> Severity:
    for properties in (result.properties, rule.properties if rule else None):
        try:
            score = float((properties or {}).get("security-severity", "nan"))
        except (TypeError, ValueError):
            continue
        if score == score:  # noqa: PLR0124 (not a number: nothing was said)
            return "P0" if score >= 9 else "P1" if score >= 7 else "P2"
    if tool.lower() in _SECRET_TOOLS:
        return "P0"
    level = result.level or (rule.config.level if rule and rule.config else "warning")
    return _LEVELS.get(level, "P1")
