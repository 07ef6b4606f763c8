"""Reader "coverage": coverage.py JSON, Cobertura XML, LCOV or Go's profile against the gate's minimum.

Without a minimum the exit code decides and the percentage is only shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as ET

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.text.clean import clean
from ralph.gates.readers._kit.observation import (
    Observation,
    error_reading,
    last_lines,
    lost_report,
    repo_path,
    report_problem,
)
from ralph.gates.readers._kit.safe_xml import BadXml, parse

MAX_SHOWN_FILES = 60


class Bad(Exception):  # noqa: N818 (a value: the reader turns it into a Reading)
    """The report cannot be used; the text says why."""


class CoveredSource(Struct, frozen=True):
    path: str
    percent: float
    missing: tuple[int, ...]  # first few lines never executed


class Coverage(Struct, frozen=True):
    percent: float
    lines: int  # what could have been covered; 0 means that nothing was measured
    sources: tuple[CoveredSource, ...]


def read(obs: Observation, gate: Gate) -> Reading:
    problem = report_problem(obs)
    if problem or obs.report is None:
        return lost_report(obs, problem)
    try:
        seen = load(obs.report)
    except (Bad, BadXml, RecursionError) as error:
        return lost_report(obs, clean(str(error)))
    if not math.isfinite(seen.percent) or not 0 <= seen.percent <= 100:
        return lost_report(obs, f"the report says {seen.percent} percent")
    if seen.lines <= 0:
        return error_reading("no-tests", "the report measured no lines", obs)
    return _judge(seen, obs, gate)


def _judge(seen: Coverage, obs: Observation, gate: Gate) -> Reading:
    words = f"{seen.percent:.2f} % covered"
    findings = _holes(seen, obs, gate)
    status = "pass"
    if gate.minimum is not None:
        words += f", at least {gate.minimum:g} % wanted"
        # A report rounded to hundredths must not fail by less than it can say.
        if seen.percent + 1e-6 < gate.minimum:
            status = "fail"
            findings = (Finding("coverage.total", words, severity="P1"), *findings)
    if obs.exit_code:
        status = "fail"
        words += f", exit code {obs.exit_code}"
        findings = (Finding("exit", f"{words}\n{last_lines(obs)}".strip()), *findings)
    return Reading("fail" if status == "fail" else "pass", words, findings=findings)


def _holes(seen: Coverage, obs: Observation, gate: Gate) -> tuple[Finding, ...]:
    """The least covered files, as advice."""
    open_files = sorted(
        (source for source in seen.sources if source.missing), key=lambda s: (s.percent, s.path)
    )
    findings = []
    for source in open_files[:MAX_SHOWN_FILES]:
        path = repo_path(source.path, obs, gate)
        some = ", ".join(str(line) for line in source.missing[:10])
        text = f"{source.percent:.0f} % covered; not executed: line {some}"
        findings.append(Finding(f"coverage:{path}", text, path=path, line=source.missing[0], severity="P2"))
    return tuple(findings)


def load(report: bytes) -> Coverage:
    head = report[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith(b"{"):
        return _json(report)
    if head.startswith(b"<"):
        return _cobertura(report)
    if head.startswith((b"TN:", b"SF:")):
        return _lcov(report)
    if head.startswith(b"mode: "):
        return _go_profile(report)
    raise Bad("the report is neither coverage.py JSON, Cobertura XML, LCOV nor a Go profile")


class _Sum(Struct):
    percent_covered: float
    num_statements: int = 0


class _File(Struct):
    summary: _Sum
    missing_lines: list[int] = []


class _Json(Struct):
    totals: _Sum
    files: dict[str, _File] = {}


def _json(report: bytes) -> Coverage:
    try:
        data = msgspec.json.decode(report, type=_Json)
    except (msgspec.DecodeError, ValueError) as error:
        raise Bad(f"the report is torn ({error})") from error
    sources = tuple(
        CoveredSource(path, file.summary.percent_covered, tuple(file.missing_lines[:10]))
        for path, file in data.files.items()
    )
    return Coverage(data.totals.percent_covered, data.totals.num_statements, sources)


def _cobertura(report: bytes) -> Coverage:
    root = parse(_without_doctype(report))
    if root.tag != "coverage":
        raise Bad(f"the report is not Cobertura XML: it begins with <{root.tag[:40]}>")
    own = _add_up(
        (one.get("filename", ""), {int(n): (1, hits != "0") for n, hits in _hits(one) if n.isdigit()})
        for one in root.iter("class")
    )
    if not own.lines:
        raise Bad("the report measured no lines")
    try:
        rate = float(root.get("line-rate", "nan")) * 100
    except ValueError:
        rate = math.nan
    # The lines themselves are the evidence; a total that claims much more is not believed.
    if not abs(rate - own.percent) < 1.0:
        rate = min(rate, own.percent) if math.isfinite(rate) else own.percent
    return replace(own, percent=rate)


def _hits(element: ET.Element) -> Iterator[tuple[str, str]]:
    return ((line.get("number", ""), line.get("hits", "0")) for line in element.iterfind("lines/line"))


def _add_up(files: Iterable[tuple[str, dict[int, tuple[int, bool]]]]) -> Coverage:
    """By path and line: how many statements begin there, and whether they were executed."""
    sources, total, covered = [], 0, 0
    for path, lines in files:
        whole = sum(count for count, _ in lines.values())
        seen = sum(count for count, hit in lines.values() if hit)
        missing = sorted(line for line, (_, hit) in lines.items() if not hit)[:10]
        sources.append(CoveredSource(path, 100 * seen / whole if whole else 100.0, tuple(missing)))
        total, covered = total + whole, covered + seen
    return Coverage(100 * covered / total if total else 0.0, total, tuple(sources))


def _without_doctype(report: bytes) -> bytes:
    """coverage.py names Cobertura's DTD; a plain reference without entities is taken out, not followed."""
    start = report.find(b"<!DOCTYPE", 0, 2048)
    end = report.find(b">", start)
    if start < 0 or end < 0 or b"[" in report[start:end]:
        return report
    return report[:start] + report[end + 1 :]


_BLOCK = re.compile(r"(\S{1,400}):(\d{1,7})\.\d{1,7},\d{1,7}\.\d{1,7} (\d{1,7}) (\d{1,12})")


def _go_profile(report: bytes) -> Coverage:
    """Blocks of statements; one that several test binaries report counts once, hit if any of them hit it."""
    blocks: dict[str, tuple[str, int, int, bool]] = {}
    for row in report.decode("utf-8", "replace").splitlines():
        if not row.strip() or row.startswith("mode: "):
            continue
        hit = _BLOCK.fullmatch(row.strip())
        if hit is None:
            raise Bad(f"the report is torn (line {row[:40]!r})")
        key = row.rsplit(" ", 1)[0]
        before = key in blocks and blocks[key][3]
        blocks[key] = (hit.group(1), int(hit.group(2)), int(hit.group(3)), before or hit.group(4) != "0")
    sources = []
    for path in dict.fromkeys(block[0] for block in blocks.values()):
        own = [block for block in blocks.values() if block[0] == path]
        whole = sum(block[2] for block in own)
        seen = sum(block[2] for block in own if block[3])
        missing = tuple(sorted(block[1] for block in own if not block[3])[:10])
        sources.append(CoveredSource(path, 100 * seen / whole if whole else 100.0, missing))
    total = sum(block[2] for block in blocks.values())
    covered = sum(block[2] for block in blocks.values() if block[3])
    return Coverage(100 * covered / total if total else 0.0, total, tuple(sources))


def _lcov(report: bytes) -> Coverage:
    files: list[tuple[str, dict[int, tuple[int, bool]]]] = []
    ended = True
    for raw in report.decode("utf-8", "replace").splitlines():
        row = raw.strip()
        if row.startswith("SF:"):
            files.append((row[3:], {}))
            ended = False
        elif row.startswith("DA:") and not ended:
            number, _, hits = row[3:].partition(",")
            if not number.isdigit():
                raise Bad(f"the report is torn (line {row[:40]!r})")
            files[-1][1][int(number)] = (1, hits.split(",")[0] not in ("0", ""))
        elif row == "end_of_record":
            ended = True
    if not ended:
        raise Bad("the report is torn (no end_of_record)")
    return _add_up(files)
