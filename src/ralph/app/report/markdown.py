"""The report in Markdown: S0's section names, with the proof and the story inside them.

Everything that is printed stands in `loop_report.LoopReport`; `templates/report.md.j2` lays it out. Values
are escaped so that a task or a test name cannot draw a table, a link or a heading of its own.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from ralph.app.report.loop_report import LoopReport, ReportNotes
from ralph.app.report.page import template_text
from ralph.app.words import format as say
from ralph.app.words.lines import limit_words
from ralph.core.decide.stuck.attempts import escalation_lines
from ralph.core.model.outcome import DONE
from ralph.core.views.plan_view import words as plan_words

if TYPE_CHECKING:
    from jinja2 import Template

_MARKS = {"COMPLETED": "✔", "FAILED": "✘", "PARTIAL": "◐", "IN_PROGRESS": "▶"}
_SPECIAL = re.compile(r"([\\`*\[\]<>|#~]|(?<!\w)_|_(?!\w))")  # inside a word an underscore is only that


def report_md(report: LoopReport) -> str:
    spend = report.spend
    cost = say.cost_words(
        spend.cost, spend.calls_of_unknown_cost, spend.calls, estimated=spend.cost_estimated
    )
    if report.change is not None:
        changed = say.change_words(**report.change)
    else:
        changed = f"{say.plural(report.changed_lines, 'line')} changed" if report.changed_lines else "none"
    return _template().render(
        report=report,
        spend=spend,
        mark=_MARKS[report.status],
        done=report.state.outcome in DONE,
        cost=cost.removeprefix("cost "),
        changed=changed,
        open_points=[(name, lines) for name, lines in _open_points(report.notes).items() if lines],
        fence="`" * max(3, _longest_run("".join(report.reproduce)) + 1),
    )


def text(value: str) -> str:
    """Foreign words as words and nothing else."""
    return _SPECIAL.sub(r"\\\1", value)


def code(value: str) -> str:
    """A code span that its content cannot close; a bar would end a table cell, so it is escaped there."""
    ticks = "`" * (_longest_run(value) + 1)
    pad = " " if value.startswith("`") or value.endswith("`") else ""
    return f"{ticks}{pad}{value}{pad}{ticks}" if value else ""


def _longest_run(value: str) -> int:
    return max((len(run) for run in re.findall(r"`+", value)), default=0)


def _cell(value: str) -> str:
    return code(value).replace("|", "\\|")


def _open_points(notes: ReportNotes) -> dict[str, tuple[str, ...]]:
    return {
        "not yet": notes.not_yet,
        "not proven": notes.unproven,
        "found but not run": notes.not_run,
        "red before and still red": notes.old_red,
        "waived": tuple(f"{key} ({why})" for key, why in notes.waivers.items()),
        "said at the start": notes.warnings,
    }


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(  # noqa: S701 (Markdown: its own filters escape)
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters |= {"words": text, "code": code, "cell": _cell}
    environment.globals |= {
        "MERGE_WORDS": say.MERGE_WORDS,
        "clock": say.clock,
        "iso": say.iso,
        "plural": say.plural,
        "tokens": lambda count: "unknown" if count is None else say.thousands(count),
        "dollars": lambda cost: "unknown" if cost is None else say.dollars(cost),
        "limit_words": limit_words,
        "plan_words": plan_words,
        "escalation_lines": escalation_lines,
    }
    return environment.from_string(template_text("report.md.j2"))
