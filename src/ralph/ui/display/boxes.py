"""The three boxes of the live view (gates, exit gate, spend) and what is left of them when it is narrow."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ralph.app.words.ending import newest_verdicts
from ralph.app.words.format import (
    MARKS,
    bar,
    brief_seconds,
    clock,
    cost_words,
    dollars,
    safe,
    thousands,
)
from ralph.core.model.gate import Gate
from ralph.core.model.loop import Loop
from ralph.core.model.outcome import DONE
from ralph.core.model.verdict import Verdict
from ralph.core.views.plan_view import plan_line
from ralph.ui.display import Doing

QUIET_SECONDS = 60.0  # seconds without output before it is worth a colour
CELLS = 12
MAX_SENTENCES = 4
_TONES = {
    "pass": "green",
    "fail": "red",
    "error": "yellow",
    "flaky": "yellow",
    "skipped": "yellow",
    "unknown": "dim",
}


def boxes(loop: Loop, activity: Doing | None, width: int) -> RenderableType:
    side = 26 if width < 110 else 32
    grid = Table(box=box.SQUARE, width=min(width, 140), show_edge=True, pad_edge=True, show_lines=False)
    grid.add_column("gates", width=side, no_wrap=True, overflow="ellipsis")
    grid.add_column(f"exit gate: {_state(loop)}", ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column("spend", width=side + 4, no_wrap=True, overflow="ellipsis")
    grid.add_row(
        _lines(gate_lines(loop, activity)), _lines(exit_lines(loop)), _lines(spend_lines(loop, activity))
    )
    return grid


def narrow(loop: Loop, activity: Doing | None) -> RenderableType:
    """The same facts without boxes, one or a few to a line, each cut at the edge."""
    gates = Text(" ", no_wrap=True, overflow="ellipsis")
    for line in gate_lines(loop, activity):
        gates.append_text(line)
        gates.append("  ")
    exits = [Text(" ").append_text(line) for line in exit_lines(loop)[:2]]
    spend = [Text(" ").append_text(line) for line in spend_lines(loop, activity)]
    lines = [gates, *exits, *spend]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _lines(lines: list[Text]) -> Text:
    return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)


def _state(loop: Loop) -> str:
    if loop.outcome in DONE:
        return {"verified": "open", "unproven": "open, unproven"}.get(loop.outcome or "", "not needed")
    return "not judged" if loop.progress.best is None else "not yet"


def gate_lines(loop: Loop, activity: Doing | None) -> list[Text]:
    now = activity.names if activity is not None and activity.what == "gate" else ()
    rows = newest_verdicts(loop)
    pad = min(12, max((len(gate.name) for gate, _ in rows), default=0))
    return [
        _gate(gate, verdict, pad, running=gate.name in now, stale=loop.call.running) for gate, verdict in rows
    ]


def _gate(gate: Gate, verdict: Verdict | None, pad: int, *, running: bool, stale: bool) -> Text:
    status = verdict.status if verdict is not None else "unknown"
    line = Text(f"{safe(gate.name, 12):<{pad}} ")
    line.append(MARKS[status], style=_TONES[status])
    if verdict is not None:
        line.append(f" {verdict.red}" if verdict.red else f" {brief_seconds(verdict.seconds)}")
    if running:
        line.append(" ▸", style="bold")
    elif stale and verdict is not None and status != "pass":
        line.append(" → ?", style="dim")  # the agent is changing the tree that this was said of
    if not gate.required:
        line.append(" advisory", style="dim")
    return line


def exit_lines(loop: Loop) -> list[Text]:
    lines = [Text(safe(sentence, 200)) for sentence in loop.proof.not_yet[:MAX_SENTENCES]]
    more = len(loop.proof.not_yet) - len(lines)
    if more > 0:
        lines.append(Text(f"and {more} more", style="dim"))
    line = plan_line(loop)
    if line is not None and line.total:
        lines.append(Text(f"{line.total - line.done} of {line.total} plan items open"))
    if loop.call.claim is not None:
        lines.append(Text(f"the agent claims {loop.call.claim.status}"))
    elif loop.iteration > 1 or (loop.iteration and not loop.call.running):
        lines.append(Text("no claim from the agent yet", style="dim"))
    reds = [footprint.red for footprint in loop.progress.recent][-4:]
    if len(reds) > 1:
        lines.append(Text(f"red: {' → '.join(map(str, reds))}"))
    return lines or [Text("nothing judged yet", style="dim")]


def spend_lines(loop: Loop, activity: Doing | None) -> list[Text]:
    limits, spend = loop.limits, loop.spend
    lines = []
    if limits.iterations is not None:
        gauge = bar(loop.iteration, limits.iterations, CELLS)
        lines.append(Text(f"it    {loop.iteration}/{limits.iterations} {gauge}"))
    cost = cost_words(spend.cost, spend.blind, spend.calls, estimated=spend.estimated)
    if limits.cost is not None and spend.cost is not None:
        cost = f"{cost}/{dollars(limits.cost)} {bar(spend.cost, limits.cost, CELLS)}"
    lines.append(Text(cost if cost.startswith("cost") else f"cost  {cost}"))
    time = clock(loop.elapsed_seconds + (activity.seconds if activity is not None else 0.0))
    lines.append(Text(f"time  {time}" + (f" / {clock(limits.time)}" if limits.time is not None else "")))
    if spend.tokens is not None:
        of = f" / {thousands(limits.tokens)}" if limits.tokens is not None else ""
        lines.append(Text(f"used  {thousands(spend.tokens)}{of} tokens"))
    if activity is not None and activity.what == "agent":
        quiet = activity.quiet_seconds
        style = "yellow" if quiet >= QUIET_SECONDS else ""
        lines.append(
            Text(
                f"last output {clock(quiet)} ago"
                if quiet >= QUIET_SECONDS
                else f"last output {quiet:.0f}s ago",
                style=style,
            )
        )
    return lines
