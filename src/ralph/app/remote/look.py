"""What a program may read: loops, their text page by page, the backlog. Bounded, cleaned, redacted."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ralph.app.backlog.desk import choose, open_desk
from ralph.app.backlog.helpers import item_json
from ralph.app.place import project_of, recorded_rows
from ralph.app.records import RecordEntry, read_loop
from ralph.app.remote import arguments as a
from ralph.app.remote.scope import ServedProjects
from ralph.app.report.report_files import report_md, report_of
from ralph.app.results.verify import VerifyRequest, outcome_json, verify
from ralph.app.views.differences import diff_text
from ralph.app.views.rows import json_row, newest_rows, one_row
from ralph.app.words.format import safe, safe_lines
from ralph.app.words.lines import entry_line
from ralph.clock import Clock, SystemClock
from ralph.core.backlog.select import nothing_words
from ralph.shell.journal.entries import decode_row

MAX_CHARS = 24_000  # of one page: what a model can be asked to read at once
MAX_EVENTS = 40
POLL_SECONDS = 1.0


def list_loops(asked: a.ListLoops, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    rows, counts, more = newest_rows(env, project_of(scope.folder(asked.project)), asked.limit)
    return {"counts": dict(counts), "loops": [json_row(row) for row in rows], "more": more}


def loop_status(asked: a.LoopStatus, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    return json_row(one_row(scope.loop(asked.loop, env), env))


def wait_for_loop(
    asked: a.WaitForLoop,
    scope: ServedProjects,
    env: Mapping[str, str],
    leave: Callable[[], bool] = lambda: False,
    clock: Clock | None = None,
) -> dict[str, Any]:
    """Until the loop stops, the time is over, or nobody waits any more."""
    clock = clock or SystemClock()
    name, end = scope.loop(asked.loop, env), clock.monotonic() + asked.seconds
    while True:
        row = one_row(name, env)
        stopped = row.word in ("crashed", "damaged") or row.body.get("phase") in ("paused", "ended")
        if stopped or leave() or clock.monotonic() >= end:
            break
        clock.sleep(POLL_SECONDS)
    last, lines = asked.after, deque[str](maxlen=MAX_EVENTS)
    for one in recorded_rows(name, env, asked.after):
        last = one.seq
        lines.append(entry_line(RecordEntry(one, decode_row(one))))
    return {"stopped": stopped, "last_event": last, "events": list(lines), "status": json_row(row)}


def read_page(asked: a.ReadLoop, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    name, text = loop_text(asked.loop, asked.what, scope, env)
    page = text[asked.offset : asked.offset + MAX_CHARS]
    end = asked.offset + len(page)
    return {
        "loop": name,
        "what": asked.what,
        "text": page,
        "total_chars": len(text),
        "next_offset": end if end < len(text) else None,
    }


def loop_text(loop: str, what: str, scope: ServedProjects, env: Mapping[str, str]) -> tuple[str, str]:
    """The name of the loop, and its report, diff or log as text that any reader can show."""
    name = scope.loop(loop, env)
    if what == "log":
        rows = recorded_rows(name, env)
        return name, "\n".join(entry_line(RecordEntry(one, decode_row(one))) for one in rows)
    record = read_loop(name, env)
    return name, safe_lines(report_md(report_of(record, env)) if what == "report" else diff_text(record))


def verify_loop(
    asked: a.VerifyLoop,
    scope: ServedProjects,
    env: Mapping[str, str],
    leave: Callable[[], bool] = lambda: False,
) -> dict[str, Any]:
    """Nobody is there to agree to foreign commands or to trust a key: such a check says what is needed."""
    name, clock = scope.loop(asked.loop, env), SystemClock()
    request = VerifyRequest(
        target=name, cwd=scope.default, rerun=asked.rerun, token=secrets.token_hex(4), now=clock.now()
    )
    outcome = outcome_json(verify(request, env, attend=lambda _: leave()), name)
    for check in outcome["checks"]:
        check["words"] = safe(check["words"], 2000)
    return outcome


def backlog_next(asked: a.BacklogNext, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    desk = open_desk(scope.folder(asked.project), env)
    opened = desk.read()
    chosen = choose(desk, opened)
    item = chosen.first
    passed = [{"id": name, "reason": safe(why, 300)} for name, why in [*chosen.passed_over.items()][:50]]
    return {
        "next": item and _clean_words(item_json(item)),
        "message": "" if item else nothing_words(opened.found),
        "passed_over": passed,
    }


def backlog_list(asked: a.BacklogList, scope: ServedProjects, env: Mapping[str, str]) -> dict[str, Any]:
    found = open_desk(scope.folder(asked.project), env).read().found
    items = [one for one in found.items if not asked.status or one.status == asked.status]
    chosen = sorted(items, key=lambda one: one.order)[: asked.limit]
    rows = [{**item_json(one), "status": one.status, "attempts": len(one.attempts)} for one in chosen]
    return {"items": [_clean_words(row) for row in rows], "more": len(items) - len(chosen)}


def _clean_words(value: Any) -> Any:
    """Every text in it cleaned, redacted and cut: a backlog is a file of the repository."""
    if isinstance(value, str):
        return safe_lines(value)[:2000]
    if isinstance(value, dict):
        return {safe(str(key), 100): _clean_words(inner) for key, inner in value.items()}
    return [_clean_words(inner) for inner in value[:50]] if isinstance(value, list | tuple) else value
