"""What a gate's process left behind, and the rules all readers share for turning it into a Reading.

Fail closed: `error_reading` is for what could not be judged, `settle_findings` and `test_log` decide between
pass and fail, and hold report and exit code against each other.
"""

from __future__ import annotations

import posixpath
import re
from typing import TypeVar

import msgspec
from msgspec import Struct

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Counts, Finding, Reading
from ralph.core.proof.compare import UNFETCHED
from ralph.core.text.clean import clean, trim
from ralph.core.toolchains.load import toolchains

_Report = TypeVar("_Report")
MAX_REPORT = 32 * 1024 * 1024  # a longer report is refused, not cut: half a report proves nothing
TAIL_LINES = 40
TAIL_CHARS = 4000
MESSAGE_LINES = 30
MESSAGE_CHARS = 3000
SUCCESS = "although the exit code is 0"  # said of a report with something red in it
MAX_REASON = 200
_MISSING = re.compile(
    r"^(?:.*\b(?:python|pypy)[\d.]*t?: No module named (?P<module>\w+)"
    r"|error: Failed to spawn: `?[\w./-]+`?"
    r"|Command not found: [\w./-]+"
    r"|npm error could not determine executable to run"
    # Tool chains and packages that nobody has downloaded: a check has no network.
    r"|error: (?:rustup could not choose a version of|toolchain '[^'\n]*' is not installed).*"
    r"|error: (?:no matching package named|failed to (?:download|get)) `[^\n]*"
    r"|(?:.*: )?\S+@v\S+: Get \"https?://[^\"\n]+\": dial tcp.*)$",
    re.MULTILINE,
)
# As dash, bash, zsh and make say it of a word of a script.
_NOT_FOUND = re.compile(
    r"^(?:[\w./-]*sh|g?make)(?:\[\d+\])?: (?:line )?(?:\d+: )?(?P<name>[^\s:]+): "
    r"(?:command not found|not found|No such file or directory|Permission denied)$",
    re.MULTILINE,
)
# npx asks the registry for a package that is not installed, and there is no network.
_NPX = re.compile(r"(?:^|[\s;&|(])(?:npx|pnpx|bunx)\s+(?:-\S+\s+)*(?P<name>[^\s-]\S*)")
_NPX_UNFETCHED = re.compile(
    r"^npm (?:error|ERR!) code (?:EAI_AGAIN|ENOTFOUND|ENOTCACHED|E404)$", re.MULTILINE
)
_MAKE_127 = re.compile(r"^g?make(?:\[\d+\])?: \*\*\* .*Error 12[67]$", re.MULTILINE)
_REASON = re.compile(
    r"^(?:E +)?((?:[\w.]+\.)?\w*(?:Error|Exception)(?: \[\w+\])?: [^\n]+|[\w.-]+: error: [^\n]+)$",
    re.MULTILINE,
)


class Observation(Struct, frozen=True):
    """One finished gate call, as bytes."""

    exit_code: int | None = None
    ended: str = "exited"  # as `shell.process.client.Ended` has it
    output: bytes = b""  # head and tail; a gap marker stands where bytes were dropped
    report: bytes | None = None  # what stood at the path given for {report}
    error: str = ""
    root: str = ""  # absolute path at which the judged tree stood for the gate


def last_lines(obs: Observation) -> str:
    """The end of what the gate said, cleaned, for people and prompts."""
    rows = clean(obs.output[-64_000:]).rstrip().split("\n")
    return trim("\n".join(rows[-TAIL_LINES:]), TAIL_LINES, TAIL_CHARS).strip()


def error_reading(cause: str, summary: str, obs: Observation) -> Reading:
    said = last_lines(obs)
    message = f"{summary}\n{said}" if said else summary
    return Reading("error", summary, cause=cause, findings=(Finding("exit", message),))


def stopped_early(obs: Observation, gate: Gate) -> Reading | None:
    """The reading of a gate that did not come to an end of its own, or whose tool is not there."""
    if obs.ended == "spawn-error":
        return _not_started(clean(obs.error) or "it could not be started", obs, gate)
    if obs.ended in ("timeout", "idle"):
        return error_reading("timeout", f"stopped after {gate.timeout:g} s ({obs.ended})", obs)
    if obs.ended == "memory":
        return error_reading("memory", "it used more memory than a check may have", obs)
    if obs.ended != "exited" or obs.exit_code is None:
        return error_reading("killed", clean(obs.error) or f"did not end by itself ({obs.ended})", obs)
    if obs.exit_code < 0 or 128 < obs.exit_code <= 192:
        signal = -obs.exit_code if obs.exit_code < 0 else obs.exit_code - 128
        return error_reading("killed", f"killed by signal {signal}", obs)
    if obs.exit_code in (126, 127):
        return _not_started("cannot be executed" if obs.exit_code == 126 else "not found", obs, gate)
    if (unread := _rules_not_fetched(obs, gate)) is not None:
        return unread
    hit = _MISSING.search(clean(obs.output[-8_000:])) if obs.exit_code and obs.report is None else None
    if hit and (hit["module"] is None or hit["module"] in toolchains().tools):
        return error_reading("missing", hit.group(0).strip(), obs)
    asked = _NPX.search(gate.run) if obs.exit_code and obs.report is None else None
    if asked and _NPX_UNFETCHED.search(clean(obs.output[-8_000:])):
        why = f"command not found: {asked['name']} (not installed, and npx could not fetch it)"
        return error_reading("missing", why, obs)
    if obs.exit_code and obs.report is None and _MAKE_127.search(clean(obs.output[-8_000:])):
        return _not_started("not found", obs, gate)
    return None


# Scanners that get rules or advisories from the network, and how they say that they got none.
_SCANNER = re.compile(
    r"(?:^|[\s/])(?:semgrep|pip-audit|govulncheck|osv-scanner|trivy|safety|bundle-audit)\b|\baudit\b"
)
_NO_RULES = re.compile(
    r"^.*\b(?:ran 0 rules|no rules (?:were )?(?:found|run|loaded))\b.*$", re.IGNORECASE | re.MULTILINE
)


def _rules_not_fetched(obs: Observation, gate: Gate) -> Reading | None:
    """A scanner without its rules has looked at nothing: neither red nor green is a verdict of it."""
    if not _SCANNER.search(gate.run):
        return None
    said = clean(obs.output[-8_000:])
    hit = (UNFETCHED.search(said) if obs.exit_code else None) or _NO_RULES.search(said)
    if hit is None:
        return None
    return error_reading("missing", f"its rules could not be fetched: {hit.group(0).strip()[:200]}", obs)


def _not_started(why: str, obs: Observation, gate: Gate) -> Reading:
    """A tool that is not there cannot judge. A program of the repository itself may be the very task."""
    shell = gate.argv[:2] == ("/bin/sh", "-c")
    named = _NOT_FOUND.search(clean(obs.output[-8_000:])) if obs.ended == "exited" else None
    word = named["name"] if named else gate.run.split(maxsplit=1)[0] if shell else gate.argv[0]
    asks = f", which {gate.run} asks for" if named and not shell and word != gate.argv[0] else ""
    summary = f"command not found: {word} ({why}{asks})"
    installed = not {".venv", "venv", "node_modules"}.isdisjoint(word.split("/"))
    if "/" in word and not word.startswith(("/", "~")) and not installed:
        return Reading("fail", summary, findings=(Finding("exit", summary),))
    return error_reading("missing", summary, obs)


def lost_report(obs: Observation, problem: str) -> Reading:
    """No usable report. A red exit code is still a judgement; a green one without evidence is none."""
    said = last_lines(obs)
    if obs.exit_code:
        reason = reason_in(said)
        summary = f"exit code {obs.exit_code}, {problem}" + (f": {reason}" if reason else "")
        return Reading("fail", summary, cause="torn-report", findings=(Finding("exit", said or summary),))
    return error_reading("torn-report", f"exit code 0, but {problem}", obs)


def reason_in(text: str) -> str:
    """The last error that a text names, in one line: why something could not be loaded."""
    found = _REASON.findall(text)
    return found[-1].strip()[:MAX_REASON] if found else ""


def report_problem(obs: Observation) -> str:
    """Why the report's bytes cannot be used at all; "" when they may be parsed."""
    if obs.report is None:
        return "no report was written"
    if not obs.report.strip():
        return "the report is empty"
    if len(obs.report) > MAX_REPORT:
        return f"the report is larger than {MAX_REPORT // 1024 // 1024} MB"
    return ""


def decode_report(obs: Observation, kind: type[_Report]) -> _Report | Reading:
    """A JSON report as what it should be, or the reading that says why it cannot be used."""
    problem = report_problem(obs)
    if problem or obs.report is None:
        return lost_report(obs, problem)
    try:
        return msgspec.json.decode(obs.report, type=kind)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        return lost_report(obs, f"the report is torn ({clean(str(error))})")


def repo_path(path: str, obs: Observation, gate: Gate) -> str:
    """A path as a tool printed it, as a path inside the repository where that can be known."""
    path = clean(path).replace("\n", " ").removeprefix("file://")
    root = obs.root.rstrip("/")
    if root and path.startswith(root + "/"):
        return posixpath.normpath(path[len(root) + 1 :])
    if path.startswith("/") or not path:
        return path
    path = posixpath.normpath(path)
    folder = posixpath.normpath(gate.cwd)
    if folder != "." and not path.startswith(folder + "/"):
        path = posixpath.normpath(posixpath.join(folder, path))
    return path


def message(text: str) -> str:
    return trim(clean(text).strip(), MESSAGE_LINES, MESSAGE_CHARS)


def in_words(counts: Counts) -> str:
    parts = [f"{counts.passed} passed"]
    if counts.failed:
        parts.insert(0, f"{counts.failed} failed")
    if counts.skipped:
        parts.append(f"{counts.skipped} skipped")
    return ", ".join(parts)


def settle_findings(
    obs: Observation, gate: Gate, findings: list[Finding], *, red_exits: tuple[int, ...]
) -> Reading:
    """Pass when nothing found blocks. `red_exits`: exit codes that only say that something was found."""
    blocking = [finding for finding in findings if finding.severity <= gate.fail_on]
    words = f"{len(findings)} finding{'s' if len(findings) != 1 else ''}"
    if len(blocking) != len(findings):
        words += f", {len(blocking)} of them blocking"
    if gate.maximum is not None:
        words += f", at most {gate.maximum} wanted"
        keys = ((one, one.key.removeprefix(f"{one.path}:")) for one in blocking)
        unread = next((one for one, key in keys if _UNREAD.match(key.partition(":")[0])), None)
        if unread is not None:  # what a linter cannot read it finds nothing in
            words += f", and {unread.path or 'a file'} could not be read by it"
        elif len(blocking) <= gate.maximum:
            blocking = []
        else:
            findings = [Finding("findings.count", words), *findings]
    if blocking:
        if obs.exit_code == 0 and gate.maximum is None:
            words += f", {SUCCESS}"
        return Reading("fail", words, findings=tuple(findings))
    if obs.exit_code == 0 or (obs.exit_code in red_exits and findings):
        return Reading("pass", words if findings else "clean", findings=tuple(findings))
    summary = f"exit code {obs.exit_code}, but {words if findings else 'no findings'} in the report"
    if obs.exit_code in red_exits:
        text = f"{summary}\n{last_lines(obs)}".strip()
        return Reading("fail", summary, findings=(*findings, Finding("exit", text)))
    return error_reading("tool-error", summary, obs)


_NUMBER = re.compile(r"\d+")


# Rules by which linters say that a file is no program at all: ruff, eslint, clippy, mypy, tsc, golangci-lint.
_UNREAD = re.compile(r"(?:error|(?:invalid-)?syntax(?:-error)?|E9\d\d|E0\d{3}|TS1\d{3}|typecheck)\Z")


def finding_keys(found: list[Finding]) -> list[Finding]:
    """The findings with keys that survive lines moving: path, rule, message without numbers, nth of its kind.

    Each finding comes in with its rule as key.
    """
    seen: dict[str, int] = {}
    keyed = []
    for finding in found:
        plain = _NUMBER.sub("N", " ".join(finding.message.split()))[:160]
        key = f"{finding.path}:{finding.key}:{plain}"
        seen[key] = seen.get(key, 0) + 1
        keyed.append(
            Finding(
                key=f"{key}#{seen[key]}",
                message=f"{finding.key}: {finding.message}" if finding.key else finding.message,
                path=finding.path,
                line=finding.line,
                severity=finding.severity,
            )
        )
    return keyed
