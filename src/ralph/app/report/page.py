"""The report as one HTML page that opens from disk: timeline, red to green, each iteration with its diff.

Everything is in the page: no script, no font, no picture from elsewhere. What it says comes from the same
`LoopReport` as the other faces; only the charts and the diffs are its own. The template escapes every value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from ralph.app.report.loop_report import LoopReport, Told
from ralph.app.words.format import (
    MARKS,
    brief_seconds,
    change_words,
    clock,
    cost_words,
    dollars,
    plural,
    safe,
    safe_lines,
    thousands,
)
from ralph.app.words.lines import limit_words
from ralph.app.words.story import StoryCall, call_mark, calls_of
from ralph.core.model import events as e
from ralph.core.model.verdict import Verdict
from ralph.shell.journal.entries import Record

if TYPE_CHECKING:
    from jinja2 import Template

MAX_DIFF_LINES = 400
MAX_DIFF_LINES_IN_ALL = 4000
_WIDTH, _ROW, _LABEL = 900, 26, 70  # of the charts, in units of their view box
_KINDS = {"+": "added", "-": "removed", "@": "hunk"}

Diff = Callable[[str, str], str]  # what changed between two commits


class Bar(NamedTuple):
    """A stretch of time in the timeline."""

    x: float
    y: int
    width: float
    kind: str  # agent, passed, failed, guards
    words: str


class Point(NamedTuple):
    """How much was red in one judgement; None: it could not be told."""

    label: str
    red: int | None
    x: float = 0
    y: float = 0


class DiffLine(NamedTuple):
    kind: str
    text: str


class IterationPart(NamedTuple):
    """One call of the agent with all that followed from it."""

    mark: str
    title: str
    told: Told
    spent: str
    verdicts: tuple[tuple[str, str, str, str], ...]  # mark, gate, summary, time
    findings: tuple[str, ...]
    diff: tuple[DiffLine, ...]
    left_out: int  # lines of the diff


class Page(NamedTuple):
    report: LoopReport
    facts: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    points: tuple[Point, ...]
    iterations: tuple[IterationPart, ...]


def report_page(record: Record, report: LoopReport, diff: Diff) -> str:
    """The whole page. `diff` is asked for each iteration's change, and may say in words that it is gone."""
    calls = calls_of(record.events)
    page = Page(
        report=report,
        facts=tuple(_facts(report)),
        bars=tuple(_bars(record)),
        points=_place_points(_points(record)),
        iterations=tuple(_iterations(record, report, calls, diff)),
    )
    return _template().render(
        **page._asdict(),
        width=_WIDTH,
        row=_ROW,
        label=_LABEL,
        dollars=dollars,
        thousands=thousands,
        clock=clock,
    )


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(template_text("report.html.j2"))


def template_text(name: str) -> str:
    return (resources.files("ralph") / "templates" / name).read_text(encoding="utf-8")


def _facts(report: LoopReport) -> Iterable[tuple[str, str]]:
    spend = report.spend
    yield "Outcome", report.state.outcome or report.state.phase
    yield "Grade", report.state.grade or "none"
    yield ("Time", clock(spend.seconds) + (f" and {clock(spend.waited)} waiting" if spend.waited else ""))
    yield "Iterations", f"{spend.iterations} ({plural(spend.calls, 'agent call')})"
    cost = cost_words(spend.cost, spend.calls_of_unknown_cost, spend.calls, estimated=spend.cost_estimated)
    yield "Cost", cost.removeprefix("cost ")
    yield "Change", "unknown" if report.change is None else change_words(**report.change)
    yield "Agent", " ".join(filter(None, (report.agent.name, report.agent.model)))
    yield "Sandbox", report.agent.sandbox or "unknown"
    yield "Limits", limit_words(spend.limits)
    yield "Started", report.state.started
    yield "Repository", report.git.repo
    yield "Base", report.git.base_commit
    yield "Result", report.git.result_commit or "none"
    yield "Tree", report.git.tree


def _bars(record: Record) -> Iterable[Bar]:
    """When the agent worked and when checks ran, from the first event to the last."""
    events = record.events
    begin = record.started
    whole = max(record.loop.now - begin, 1e-3)
    room = _WIDTH - _LABEL

    def bar(at: float, seconds: float, row: int, kind: str, words: str) -> Bar:
        x = _LABEL + room * (at - begin) / whole
        return Bar(round(x, 1), row * _ROW, round(max(room * seconds / whole, 1.5), 1), kind, words)

    before = begin
    for event in events:
        match event:
            case e.GuardsEnded():
                words = f"guards, iteration {event.iteration}: {brief_seconds(event.at - before)}"
                yield bar(before, event.at - before, 1, "guards", words)
            case e.AgentEnded():
                words = f"agent, iteration {event.iteration}: {clock(event.seconds)}"
                yield bar(event.at - event.seconds, event.seconds, 0, "agent", words)
            case e.GateEnded(verdict=Verdict() as verdict):
                kind = "passed" if verdict.status == "pass" else "failed"
                took = f"{verdict.status}, {brief_seconds(verdict.seconds)}"
                words = f"{safe(verdict.gate, 40)}, {_when(event)}: {took}"
                yield bar(event.at - verdict.seconds, verdict.seconds, 1, kind, words)
            case _:
                pass
        before = event.at


def _when(event: e.GateEnded) -> str:
    return "baseline" if event.verdict.stage == "baseline" else f"iteration {event.iteration}"


def _points(record: Record) -> list[Point]:
    """Red tests and findings of all checks, judgement by judgement; the base first."""
    rounds: dict[str, dict[str, Verdict]] = {}
    for event in record.events:
        if isinstance(event, e.GateEnded):
            label = "base" if event.verdict.stage == "baseline" else str(event.iteration)
            rounds.setdefault(label, {})[event.verdict.gate] = event.verdict
    return [Point(label, _red(verdicts.values())) for label, verdicts in rounds.items()]


def _red(verdicts: Iterable[Verdict]) -> int | None:
    """A check that could not be judged has no number, and then the sum has none."""
    total = 0
    for verdict in verdicts:
        if verdict.status == "pass":
            continue
        if verdict.status != "fail":
            return None
        total += max(verdict.red, 1)
    return total


def _place_points(points: list[Point]) -> tuple[Point, ...]:
    most = max((point.red or 0 for point in points), default=0) or 1
    room, height = _WIDTH - _LABEL - 30, 110
    step = room / max(len(points) - 1, 1)
    return tuple(
        point._replace(
            x=round(_LABEL + at * step, 1), y=round(20 + height * (1 - (point.red or 0) / most), 1)
        )
        for at, point in enumerate(points)
    )


def _iterations(
    record: Record, report: LoopReport, calls: list[StoryCall], diff: Diff
) -> Iterable[IterationPart]:
    before, room = record.loop.sealed.base.commit, MAX_DIFF_LINES_IN_ALL
    for call, told in zip(calls, report.told, strict=True):
        lines: list[DiffLine] = []
        if call.commit and call.commit != before and room:
            lines = diff_lines(diff(before, call.commit))
        shown = lines[: min(MAX_DIFF_LINES, room)]
        room -= len(shown)
        yield IterationPart(
            mark=call_mark(call),
            title=_title(call),
            told=told,
            spent=f"{clock(told.seconds)}, {cost_words(told.cost, 0, 1)}",
            verdicts=tuple(_verdict_row(verdict) for verdict in call.verdicts.values()),
            findings=tuple(
                safe(f"{result.guard}: {found.message}", 500)
                for result in call.guards
                for found in result.findings
            ),
            diff=tuple(shown),
            left_out=len(lines) - len(shown),
        )
        before = call.commit if call.commit and not call.taken_back else before


def _title(call: StoryCall) -> str:
    what = safe(call.item, 80) or {"plan": "planning", "close": "closing call"}.get(call.purpose, "")
    changed = change_words(call.files, call.added, call.removed) if call.files else "no change"
    again = f", call {call.call}" if call.call != call.iteration else ""
    return ", ".join(filter(None, (f"Iteration {call.iteration}{again}", what, changed)))


def _verdict_row(verdict: Verdict) -> tuple[str, str, str, str]:
    return (
        MARKS[verdict.status],
        safe(verdict.gate, 60),
        safe(f"{verdict.status}: {verdict.summary}" if verdict.summary else verdict.status, 300),
        brief_seconds(verdict.seconds),
    )


def diff_lines(text: str) -> list[DiffLine]:
    """The lines of a patch by kind. What stands between a file's name and its first hunk is left out, but
    for words that say more: a mode, a rename, a binary file."""
    found, header = [], False
    for line in safe_lines(text).splitlines():
        if line.startswith("diff --git "):
            header = True
            found.append(DiffLine("file", _file_name(line.removeprefix("diff --git "))))
        elif header and line.startswith(("index ", "--- ", "+++ ")):
            continue
        else:
            header = header and not line.startswith("@@")
            found.append(DiffLine("same" if header else _KINDS.get(line[:1], "same"), line))
    return found


def _file_name(pair: str) -> str:
    """`a/x.py b/x.py` is one file with one name; of a rename both stay."""
    half = (len(pair) - 1) // 2
    old, new = pair[:half], pair[half + 1 :]
    return new[2:] if old[2:] == new[2:] else pair
