"""A loop as one row of a list, made from the journal's summary alone: no event is decoded.

The summary's body is read as plain JSON because a list must also show what a newer Ralph wrote, and must
start quickly. What a row means is in `core.views.summary`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from ralph.app.place import journal_of, project_of
from ralph.app.words.format import MERGE_WORDS, ago, clock, cost_words, first_paragraph, iso, safe, short
from ralph.app.words.next_steps import LoopStanding, Next, next_steps, room_flag
from ralph.clock import SystemClock
from ralph.errors import JournalError, RalphError, UserError
from ralph.shell.journal.selection import find_loop
from ralph.shell.journal.store import ENDED, JournalReader, SummaryRow

LIMITS: dict[str, Any] = {  # what the journal leaves out because it is the default (`core.model.order`)
    "iterations": 15, "time": None, "iteration_time": 1800.0, "idle": None, "cost": None, "tokens": None,
    "calls_per_hour": None, "iteration_cost": None,
}  # fmt: skip
SPEND: dict[str, Any] = {
    "calls": 0, "seconds": 0.0, "waited": 0.0, "tokens": None, "cost": None, "blind": 0, "estimated": False,
}  # fmt: skip
VERDICT: dict[str, Any] = {
    "gate": "",
    "verdict": "unknown",
    "red": 0,
    "summary": "",
    "required": True,
    "proof": False,
}
OURS = frozenset({"loop", "phase", "outcome", "state", "grade", "base", "result", "tree", "limits", "spend"})
FIELDS = ("loop", "task", "repo", "phase", "iteration", "limits", "spend", "verdicts", "not_yet")
WORDS = (  # every word a loop can be counted under, most urgent first
    "crashed", "damaged", "blocked", "working", "judging", "baseline", "waiting", "queued", "new", "paused",
    "verified", "unproven", "satisfied", "exhausted", "stalled", "broken", "aborted",
)  # fmt: skip


class ListRow(msgspec.Struct, frozen=True):
    name: str
    word: str  # phase, outcome, crashed or damaged
    body: dict[str, Any]
    updated: float
    trouble: str = ""
    number: int = 0
    pid: int | None = None  # of its runner, where one is at work


def list_row(summary: SummaryRow, reader: JournalReader) -> ListRow:
    body = _body(summary)
    updated = summary.updated / 1000
    if body is None:
        return ListRow(
            summary.loop, "damaged", {}, updated, "its summary is lost or not its own; ralph doctor"
        )
    word, pid = status_word(summary, reader)
    return ListRow(summary.loop, word, body, updated, number=summary.number, pid=pid)


def list_rows(env: Mapping[str, str], repo: str | None) -> list[ListRow]:
    """Every loop of a project (of all, for None), newest first."""
    with journal_of(env) as reader:
        return [list_row(summary, reader) for summary in reader.summaries(repo)]


def moment_ago(text: str) -> float:
    """Wall clock of "7d" ago; 0 for no text."""
    if not text:
        return 0.0
    from ralph.core.text.units import parse_duration

    try:
        return SystemClock().now() - parse_duration(text)
    except ValueError as error:
        raise UserError(
            f"--since is '{text}': expected {error}", code="E-USAGE", next="ralph status --since 7d"
        ) from None


def newest_rows(
    env: Mapping[str, str], repo: str | None, limit: int, since: float = 0.0
) -> tuple[list[ListRow], Counter[str], int]:
    """The newest rows, how many loops stand where (complete), and how many rows were left out."""
    with journal_of(env) as reader:
        numbers = reader.counts(repo)
        total = sum(numbers.values())
        active = {summary.loop: list_row(summary, reader) for summary in reader.summaries(repo, active=True)}
        counts = Counter(row.word for row in active.values())
        for (phase, outcome), number in numbers.items():
            if phase == "ended":
                counts[outcome or phase] += number
        rows = []
        for summary in reader.summaries(repo, limit if limit > 0 else -1):
            if summary.updated < since * 1000:
                break  # newest first
            row = active.get(summary.loop) or list_row(summary, reader)
            counted = row.word if summary.loop in active else summary.outcome or summary.phase
            if summary.loop in active:
                # Somebody may go on with an unfinished loop, so its record is proven before it is shown.
                row = check_record(row, reader)
            if row.word == "damaged" != counted:
                counts[counted] -= 1
                counts["damaged"] += 1
            rows.append(row)
    return rows, +counts, total - len(rows)


def one_row(text: str, env: Mapping[str, str], cwd: str = "") -> ListRow:
    """The loop that a name, an id, a number or a unique part stands for; this project's first."""
    with journal_of(env) as reader:
        name = find_loop(reader, text, project_of(cwd) if cwd else None)
        summary = next(summary for summary in reader.summaries() if summary.loop == name)
        return check_record(list_row(summary, reader), reader)


def check_record(row: ListRow, reader: JournalReader) -> ListRow:
    """The row, or the same loop as damaged when its record does not hold."""
    try:
        for _ in reader.rows(row.name):
            pass
    except JournalError as exc:
        return msgspec.structs.replace(row, word="damaged", trouble=exc.what)
    return row


def status_word(summary: SummaryRow, reader: JournalReader) -> tuple[str, int | None]:
    """One word for where a loop stands, and its runner; one that should have one and has none has crashed."""
    if summary.phase == ENDED:
        return summary.outcome or ENDED, None
    if summary.phase in ("paused", "queued"):
        return summary.phase, None
    try:
        held = reader.driver(summary.loop)
    except RalphError:
        return summary.phase, None  # another user's lock: whether it is held is not ours to know
    return (summary.phase, held.pid or None) if held else ("crashed", None)


def _body(summary: SummaryRow) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(summary.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(body, dict) or any(field not in body for field in FIELDS):
        return None
    # A row's own columns are what the journal vouches for; the body is a cache beside them.
    return body | {
        "loop": summary.loop,
        "phase": summary.phase,
        "outcome": summary.outcome or None,
        "limits": LIMITS | body["limits"],
        "spend": SPEND | body["spend"],
        "verdicts": [VERDICT | line for line in body["verdicts"]],
    }


def standing(row: ListRow) -> LoopStanding:
    body = row.body
    plan = body.get("plan") or {}
    return LoopStanding(
        name=row.name,
        word=row.word,
        changed=body.get("changed", body["spend"]["calls"] > 0),  # a row from before that was kept
        result=body.get("result", ""),
        landing=body.get("landing", ""),
        dropped=bool(body.get("dropped")),
        best=body.get("best"),
        room=row_room_flag(body),
        human=next(iter(plan.get("human", ())), ""),
        items=plan.get("newest", 0),
        planned=plan.get("mode") == "planned",
        waivers=tuple(safe(one["key"], 300) for one in body.get("asked", ())),
        accused=tuple(safe(one["key"], 300) for one in body.get("accused", ())),
        approval=body.get("approval"),
    )


def row_room_flag(body: dict[str, Any]) -> str:
    """The flag with which `ralph resume` gives an exhausted loop room again."""
    if body.get("outcome") != "exhausted":
        return ""
    return room_flag(body["iteration"], body["limits"], body["spend"])


def steps(row: ListRow, name: str = "") -> tuple[Next, ...]:
    """`name`: what to call it instead, where people look."""
    if row.word == "damaged":
        return (Next("check", "ralph doctor"),)
    return next_steps(msgspec.structs.replace(standing(row), name=name or row.name))


def numbered_name(row: ListRow) -> str:
    """#7 fix-auth-7f3a91c2"""
    return f"#{row.number} {row.name}" if row.number else row.name


def shown_word(row: ListRow) -> str:
    """What became of a result says more than how it ended."""
    return MERGE_WORDS.get(row.body.get("landing", ""), "") or row.word


def elapsed_seconds(row: ListRow, now: float) -> float:
    """With what a call or a check that runs now has taken so far: it is recorded when it ends."""
    spend = row.body["spend"]
    running = row.pid is not None and row.word in ("working", "judging", "baseline", "waiting")
    return float(spend["seconds"] + spend["waited"] + (max(0.0, now - row.updated) if running else 0.0))


def cells(row: ListRow, now: float, *, with_repo: bool) -> tuple[str, ...]:
    """loop, where it stands, iterations, checks, spend, age, task."""
    body = row.body
    if not body:
        return (numbered_name(row), row.word, "", "", "", ago(now - row.updated), row.trouble)
    limit = body["limits"]["iterations"]
    spend = body["spend"]
    task = safe(first_paragraph(body["task"]), 60)
    where = f"{safe(body['repo'], 60)}: " if with_repo else ""
    return (
        numbered_name(row),
        shown_word(row),
        f"it {body['iteration']}/{limit if limit is not None else '∞'}",
        checks(body["verdicts"]),
        f"{clock(elapsed_seconds(row, now))}  "
        + cost_words(spend["cost"], spend["blind"], spend["calls"], estimated=spend["estimated"]),
        ago(now - row.updated),
        row.trouble or f"{where}{task}",
    )


def checks(verdicts: list[dict[str, Any]]) -> str:
    """2 of 3 green, naming the first red one."""
    required = [line for line in verdicts if line["required"]]
    red = [line for line in required if line["verdict"] != "pass"]
    if not required:
        return "no checks"
    if all(line["verdict"] == "unknown" for line in required):
        return "not judged"
    if not red:
        return "all green"
    worst = red[0]
    words = f"{worst['red']} red" if worst["verdict"] == "fail" and worst["red"] else worst["verdict"]
    green = f"{len(required) - len(red)}/{len(required)} green"
    return f"{green}, {safe(worst['gate'], 20)} {words}"


def json_row(row: ListRow) -> dict[str, Any]:
    """The row for programs: every id in it is one that other commands take."""
    body = row.body
    if not body:
        return {
            "loop": row.name,
            "phase": "damaged",
            "outcome": None,
            "trouble": row.trouble,
            "next": ["ralph doctor"],
        }
    crashed = row.word == "crashed"
    shown = {key: value if key in OURS else _clean(value) for key, value in body.items()}
    shown |= {
        "id": f"ralph-{row.name}",
        "word": row.word,
        "crashed": crashed,
        "state": "crashed" if crashed else body.get("state", ""),
        "stopped_by": body.get("stopped_by") if body.get("phase") == "paused" else None,
        "tree": short(body.get("tree", "")),
        "number": row.number or None,
        "pid": row.pid,
        "s2": s2_entry(row),
        "next": [step.command for step in steps(row)],
    }
    if row.trouble:
        shown["trouble"] = row.trouble
    return shown


# S2's words for a loop in its registry; "crashed" is derived there too.
S2_STATUS = {
    "crashed": "crashed",
    "paused": "paused",
    "waiting": "waiting",
    "queued": "waiting",
    "judging": "completing",
}


def s2_entry(row: ListRow) -> dict[str, Any]:
    """The loop as an entry of S2's registry (docs/json.md)."""
    body = row.body
    limits, host = body["limits"], body.get("host") or {}
    minutes = limits["time"]
    return {
        "loop_id": f"ralph-{row.name}",
        "status": S2_STATUS.get(row.word, "running" if body["outcome"] is None else body.get("state", "")),
        "iteration": body["iteration"],
        "task_summary": safe(body["task"], 200),
        "completion_criteria": ", ".join(
            safe(one["gate"], 60) for one in body["verdicts"] if one["required"]
        ),
        "started_at": iso(body["started"]) if body.get("started") else None,
        "last_active": iso(row.updated),
        "pid": row.pid,
        "owner": safe(body.get("agent", ""), 60),
        "working_directory": safe(body["repo"], 4000),
        "max_iterations": limits["iterations"],
        "timeout_minutes": None if minutes is None else minutes / 60,
        "priority": host.get("priority", "medium"),
        "tags": [],
    }


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return safe(value, 4000)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item) for key, item in value.items()}
    return value
