"""What stands below the folded iterations of the live view: activity, checks, spend, what is missing, keys.

Every line is made for the width and height at hand: labels stay, values are cut at words, and what does not
fit is left out from the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ralph.app.words.ending import newest_verdicts
from ralph.app.words.format import (
    DOT,
    MARKS,
    bar,
    brief_seconds,
    clock,
    cost_words,
    cut_words,
    dollars,
    plural,
    safe,
    thousands,
)
from ralph.app.words.story import red_words
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import Verdict
from ralph.core.views.plan_view import plan_line
from ralph.ui.display.stint_words import QUIET_SECONDS, alert_words, doing_words, purpose_words

if TYPE_CHECKING:
    from ralph.app.drive import Activity

WIDE = 120  # columns from which what the agent does stands beside the rest
CELLS = 10
_LABEL = 10
_FIXED_LINES = 8  # rules, what goes on, spend, missing, keys, and a line to breathe
TONES = {
    "pass": "green",
    "fail": "red",
    "error": "yellow",
    "flaky": "yellow",
    "skipped": "yellow",
    "unknown": "dim",
}


class View(Struct, frozen=True):
    """What is drawn, and how much room there is for it."""

    loop: Loop
    activity: Activity | None
    facts: Sequence[str]
    reds: Mapping[str, int]  # by gate: how many were red before this iteration
    seconds: float  # of the loop, until now
    keys: Sequence[str]
    width: int
    height: int


def panel(view: View) -> RenderableType:
    line = Text("─" * view.width, style="dim")
    return Group(line, _current(view), _body(view), line, *_keys(view))


def _body(view: View) -> RenderableType:
    inner = view.width // 2 - 2 if view.width >= WIDE else view.width
    state = [*_checks(view, inner), _spend(view, inner), *_missing(view, inner)]
    if view.width < WIDE:
        room = max(1, view.height - _FIXED_LINES - len(state) - len(view.keys) + 1)
        facts = _fact_lines(view, view.width, min(room, 6))
        return Group(*facts, Text(""), *state) if view.height >= 20 else Group(*facts, *state)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(width=view.width - inner - 2, no_wrap=True)
    grid.add_column(width=inner, no_wrap=True)
    left = _fact_lines(view, view.width - inner - 2, max(len(state), 8)) or [
        Text("   no output yet", style="dim")
    ]
    grid.add_row(Group(*left), Group(*state))
    return grid


def _current(view: View) -> Text:
    """▶ 3 of 15  agent working 0:17 (last output 2s ago)"""
    loop = view.loop
    limit, hand = loop.limits.iterations, purpose_words(loop)
    where = f"{loop.iteration} of {limit or '∞'}" if loop.iteration else "" if hand else "baseline"
    doing = doing_words(loop, view.activity) if view.activity is not None else loop.phase
    doing += ", then it stops" if loop.control.pause_reason else ""
    quiet = view.activity is not None and view.activity.quiet_seconds >= QUIET_SECONDS
    text = "  ".join(part for part in (f"▶ {where}".rstrip(), hand, doing) if part)
    return Text(cut_words(text, view.width), style="bold yellow" if quiet else "bold")


def _fact_lines(view: View, width: int, most: int) -> list[Text]:
    return [Text(cut_words(f"   {line}", width), style="dim") for line in list(view.facts)[-most:]]


def _row(label: str, value: Text, width: int) -> Text:
    line = Text(f" {label:<{_LABEL - 1}}").append_text(value)
    line.no_wrap, line.overflow = True, "ellipsis"
    line.truncate(width, overflow="ellipsis")
    return line


def _checks(view: View, width: int) -> list[Text]:
    rows = newest_verdicts(view.loop)
    most = max(1, min(len(rows), view.height - _FIXED_LINES - 2))
    pad = min(12, max((len(gate.name) for gate, _ in rows), default=0))
    lines = [
        _row("checks" if not at else "", _check(view, gate, verdict, pad, width - _LABEL), width)
        for at, (gate, verdict) in enumerate(rows[:most])
    ]
    if len(rows) > most:
        lines[-1] = _row("", Text(f"and {len(rows) - most + 1} more checks", style="dim"), width)
    return lines


def _check(view: View, gate: Gate, verdict: Verdict | None, pad: int, width: int) -> Text:
    """Tests     ✘ 2→1 red  test_progress_of_an_empty_list"""
    status = verdict.status if verdict is not None else "unknown"
    line = Text(f"{safe(gate.name, 12):<{pad}} ").append(MARKS[status], style=TONES[status])
    doing = view.activity
    if doing is not None and doing.what == "gate" and gate.name in doing.names:
        line.append(" ▸", style="bold")
    if verdict is None:
        line.append(" not judged yet", style="dim")
    elif verdict.red:
        before = view.reds.get(gate.name, verdict.red)
        line.append(f" {red_words(verdict, before)}")
        found = ", ".join(safe(finding.key, 80) for finding in verdict.findings[:3])
        line.append(f"  {cut_words(found, max(0, width - len(line.plain) - 2))}", style="dim")
    else:
        line.append(f" {safe(verdict.summary, 60) or status}  {brief_seconds(verdict.seconds)}")
    if not gate.required:
        line.append("  advisory", style="dim")
    return line


def _spend(view: View, width: int) -> Text:
    """3/15 ██░░░░░░░░  $0.23/5.00 ░░░░░░░░░░  1:36  ~$0.12 an iteration"""
    loop, limits, spend = view.loop, view.loop.limits, view.loop.spend
    parts = []
    if limits.iterations is not None:
        parts.append(f"{loop.iteration}/{limits.iterations} {bar(loop.iteration, limits.iterations, CELLS)}")
    cost = cost_words(spend.cost, spend.blind, spend.calls, estimated=spend.estimated)
    if limits.cost is not None and spend.cost is not None:
        cost = f"{cost}/{limits.cost:.2f} {bar(spend.cost, limits.cost, CELLS)}"
    parts.append(cost)
    parts.append(clock(view.seconds) + (f"/{clock(limits.time)}" if limits.time is not None else ""))
    told = spend.calls - spend.blind - loop.call.running  # the call at work has not told yet
    if spend.cost and told > 0:
        parts.append(f"~{dollars(spend.cost / told)} an iteration")
    if spend.tokens is not None:
        of = f"/{thousands(limits.tokens)}" if limits.tokens is not None else ""
        parts.append(f"{thousands(spend.tokens)}{of} tokens")
    while len(parts) > 1 and len("  ".join(parts)) > width - _LABEL:
        parts.pop()
    return _row("spend", Text("  ".join(parts)), width)


def _missing(view: View, width: int) -> list[Text]:
    """What stands between here and done, and what people are warned of."""
    lines = [_row("missing", Text(cut_words(DOT.join(missing_parts(view.loop)), width - _LABEL)), width)]
    warned = alert_words(view.loop)
    return (
        [*lines, _row("alert", Text(cut_words(warned, width - _LABEL), style="yellow"), width)]
        if warned
        else lines
    )


def missing_parts(loop: Loop) -> list[str]:
    """Such as: tests green, 3 of 5 plan items, final proof."""
    if loop.phase in ("ended", "paused"):
        return ["nothing"] if loop.outcome == "verified" else [safe(loop.reason, 200) or loop.phase]
    rows = newest_verdicts(loop)
    red = [gate for gate, verdict in rows if gate.required and (verdict is None or verdict.status != "pass")]
    parts = [f"{safe(gate.name, 30)} green" for gate in red]
    own = tuple(f"{gate.name}:" for gate, _ in rows)  # their lines above say it
    parts += [safe(text, 200) for text in loop.proof.not_yet if not text.startswith(own)]
    line = plan_line(loop)
    if line is not None and line.total > line.done:
        parts.append(f"{plural(line.total - line.done, 'plan item')} of {line.total}")
    return [*parts, "final proof"]


def _keys(view: View) -> list[Text]:
    return [Text(cut_words(f" {line}", view.width), style="dim") for line in view.keys]
