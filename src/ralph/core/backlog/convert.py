"""Items from elsewhere, and items for elsewhere: issue trackers, beads, tables, checklists, prd.json, plans.

What is imported is not enabled and never PASSING: whoever closed it elsewhere, its proof is not here. What
was left out is named. Nothing raises, whatever the text is.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ralph.core.backlog.items import ID, BacklogItem, Status
from ralph.core.model.plan.items import HIGH, LOW, MEDIUM, Item, Plan, State, id_of
from ralph.core.plan.import_markdown import import_plan
from ralph.core.plan.layout import render_plan
from ralph.core.text.clean import one_line

MAX_TEXT = 20_000
FORMATS = ("markdown", "plan", "prd", "csv")
_CLOSED = frozenset(
    {"closed", "done", "completed", "resolved", "cancelled", "canceled", "duplicate", "merged"}
)
_RANKS = ("urgent highest critical blocker", "high", "medium normal", "low", "lowest")
_WORDS = {word: number for number, words in enumerate(_RANKS) for word in words.split()}
_COLUMNS = {
    name: meaning
    for meaning, names in {
        "key": "issue key,key,id,identifier",
        "title": "summary,title,name",
        "body": "description",
        "priority": "priority",
        "status": "status,state",
        "after": "blocked by,inward issue link (blocks)",
    }.items()
    for name in names.split(",")
}


class ImportedItems(Struct, frozen=True):
    items: tuple[dict[str, Any], ...]
    notes: tuple[str, ...] = ()


def import_items(text: str, path: str, known: Iterable[str] = ()) -> ImportedItems:
    """The items of a document; its form is found from the text itself."""
    notes: list[str] = []
    rows = _tracker_rows(text, path)
    if rows is None:
        taken = import_plan(text, path)
        notes += [f"{one.path}:{one.line}: {one.message}" for one in taken.unread[:50]]
        ranks = _ranks(_decoded(text.lstrip("\ufeff")))
        made = [_from_plan(item, ranks) for item in taken.plan.items]
    else:
        made = [raw for row in rows if (raw := _from_row(row, notes)) is not None]
    there, kept = set(known), []
    names = {raw["id"] for raw in made} | there
    for raw in made:
        if raw["id"] in there:
            notes.append(f"{raw['id']} is in the backlog already")
            continue
        there.add(raw["id"])
        lost = [one for one in raw.get("dependencies", ()) if one not in names]
        notes += [f"{raw['id']}: waits for '{one}', which was not imported" for one in lost]
        raw["dependencies"] = [one for one in raw.get("dependencies", ()) if one in names]
        kept.append(raw)
    return ImportedItems(tuple(kept), tuple(notes))


def _tracker_rows(text: str, path: str) -> list[dict[str, Any]] | None:
    """Rows of an issue tracker; None when the text is something else."""
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    if path.endswith(".csv") or (lines and _looks_like_csv(lines[0])):
        found = csv.DictReader(text.lstrip("\ufeff").splitlines(keepends=True))
        return [
            {_COLUMNS.get((key or "").strip().lower(), key): value for key, value in row.items()}
            for row in found
        ]
    if path.endswith(".jsonl") or (
        len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines[:3])
    ):
        rows = [_decoded(line) for line in lines]
        if all(isinstance(row, dict) for row in rows):
            return [_from_beads(row) for row in rows]
    data = _decoded(text.lstrip("\ufeff"))
    data = data["issues"] if isinstance(data, dict) and isinstance(data.get("issues"), list) else data
    issues = (
        isinstance(data, list)
        and bool(data)
        and all(
            isinstance(one, dict) and ("number" in one or "iid" in one) and "title" in one for one in data
        )
    )
    return [_from_issue(one) for one in data] if issues else None


def _looks_like_csv(line: str) -> bool:
    names = {one.strip().strip('"').lower() for one in line.split(",")}
    return (
        len(names) > 1
        and bool(names & {"summary", "title"})
        and bool(names & {"issue key", "id", "identifier", "status"})
    )


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None


def _from_issue(one: dict[str, Any]) -> dict[str, Any]:
    """An issue of GitHub or GitLab, as their command lines and APIs print it."""
    labels = [
        label.get("name", "") if isinstance(label, dict) else label for label in one.get("labels") or ()
    ]
    words = [word for label in labels for word in re.split(r"[:/ -]+", str(label).lower())]
    prefix = "GL" if "iid" in one else "GH"
    body = str(one.get("body") or one.get("description") or "")
    after = re.findall(r"(?:blocked by|depends on):?\s+#(\d+)", body, re.IGNORECASE)
    return {
        "key": f"{prefix}-{one.get('iid', one.get('number'))}",
        "title": one.get("title"),
        "body": body,
        "status": one.get("state"),
        "priority": next((word for word in words if word in _WORDS or re.fullmatch(r"p[0-4]", word)), None),
        "after": [f"{prefix}-{number}" for number in after],
        "notes": one.get("html_url") or one.get("url") or one.get("web_url") or "",
    }


def _from_beads(row: dict[str, Any]) -> dict[str, Any]:
    links = [one for one in row.get("dependencies") or () if isinstance(one, dict)]
    after = [one.get("depends_on_id") for one in links if one.get("type", "blocks") == "blocks"]
    return {
        **row,
        "key": row.get("id"),
        "body": row.get("description"),
        "after": [one for one in after if isinstance(one, str)],
    }


def _from_row(row: dict[str, Any], notes: list[str]) -> dict[str, Any] | None:
    title = one_line(str(row.get("title") or ""), 300)
    name = str(row.get("key") or "")
    name = name if ID.fullmatch(name) and len(name) <= 60 else f"ITEM-{id_of(name or title)[:40]}"
    if not title:
        notes.append(f"{name}: left out, it has no title")
        return None
    if str(row.get("status") or "").lower() in _CLOSED:
        notes.append(f"{name}: left out, it is {str(row['status']).lower()} there")
        return None
    after = row.get("after") or ()
    after = re.split(r"[,;\s]+", after) if isinstance(after, str) else after
    accept = row.get("acceptance_criteria")
    accept = [accept] if isinstance(accept, str) else accept if isinstance(accept, list) else []
    return new_item(
        name,
        title,
        body=str(row.get("body") or ""),
        accept=[str(one) for one in accept if one],
        priority=_priority(row.get("priority")),
        after=[one for one in after if one],
        notes=str(row.get("notes") or ""),
    )


def _priority(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value or "").strip().lower()
    if found := re.fullmatch(r"p?(\d{1,3})", text):
        return int(found[1])
    return _WORDS.get(text)


def _ranks(data: Any) -> dict[str, int]:
    """Priorities that are numbers, by id: a plan knows levels only."""
    rows = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    found = {name: rank for row in rows if isinstance(row, dict | list) for name, rank in _ranks(row).items()}
    if isinstance(data, dict) and isinstance(data.get("id"), str) and type(data.get("priority")) is int:
        found[data["id"]] = data["priority"]
    return found


def _from_plan(item: Item, ranks: dict[str, int]) -> dict[str, Any]:
    name = item.id if ID.fullmatch(item.id) else f"ITEM-{item.id}"[:60].rstrip("-.")
    accept = [note.removeprefix("acceptance: ") for note in item.notes if note.startswith("acceptance: ")]
    notes = " ".join(note for note in item.notes if not note.startswith("acceptance: "))
    after = [one if ID.fullmatch(one) else f"ITEM-{one}" for one in item.after]
    rank = ranks.get(item.id, item.priority)
    return new_item(name, item.title, accept=accept, priority=rank, after=after, notes=notes)


def new_item(
    name: str,
    title: str,
    *,
    body: str = "",
    accept: Sequence[str] = (),
    priority: int | None = None,
    after: Sequence[str] = (),
    notes: str = "",
) -> dict[str, Any]:
    """An item as it is written into the file: not enabled, and nothing done."""
    raw: dict[str, Any] = {"id": name, "title": title}
    raw |= {"description": body[:MAX_TEXT]} if body else {}
    raw |= {"acceptance_criteria": [*accept], "verification": [], "status": "FAILING"}
    raw |= {} if priority is None else {"priority": priority}
    raw["dependencies"] = [*after]
    raw["ralph_loop"] = {"enabled": False, "max_iterations": 5, "current_iteration": 0}
    return raw | ({"notes": notes[:MAX_TEXT]} if notes else {})


_STATES: dict[Status, State] = {
    "PASSING": "done", "CANCELLED": "cancelled", "BLOCKED": "blocked", "FAILING": "open",
}  # fmt: skip


class _Lines(list[str]):
    """What `csv.writer` writes to."""

    write = list.append


def export_items(items: Iterable[BacklogItem], form: str) -> str:
    items = sorted(items, key=lambda one: one.order)
    if form == "csv":
        out = _Lines()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["ID", "Title", "Status", "Priority", "Attempts", "Blocked by"])
        for one in items:
            table.writerow(
                [one.id, one.title, one.status, one.priority, len(one.attempts), " ".join(one.dependencies)]
            )
        return "".join(out)
    if form == "prd":
        stories = [
            {
                "id": one.id, "title": one.title, "description": one.description, "priority": one.priority,
                "acceptanceCriteria": list(one.acceptance), "passes": one.status == "PASSING",
                "notes": one.notes,
            }
            for one in items
        ]  # fmt: skip
        return json.dumps({"userStories": stories}, ensure_ascii=False, indent=2) + "\n"
    if form == "plan":
        return render_plan(Plan(items=tuple(_plan_item(one) for one in items)))
    marks = {"PASSING": "x", "CANCELLED": "-", "BLOCKED": "!", "FAILING": " "}
    lines = [
        f"- [{marks[one.status]}] {one.id}: {one_line(one.title, 300)}"
        + (f" (after {', '.join(one.dependencies)})" if one.dependencies else "")
        for one in items
    ]
    return "\n".join(["# Backlog", "", *lines, ""])


def _plan_item(one: BacklogItem) -> Item:
    level = MEDIUM if one.priority is None else (HIGH, HIGH, MEDIUM, LOW)[min(max(one.priority, 0), 3)]
    notes = [f"acceptance: {text}" for text in one.acceptance] + [
        f"verify: {text}" for text in one.verification
    ]
    return Item(
        id=one.id, title=one.title, priority=level, after=one.dependencies, state=_STATES[one.status],
        notes=tuple(notes),
    )  # fmt: skip
