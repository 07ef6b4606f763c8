"""The checkpoints of a loop: what each iteration left, from the commits that the journal names."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ralph.app.views.differences import commits_to_compare, diff_between
from ralph.app.words.format import change_words, iso, safe_lines, short, stamp, table
from ralph.core.model import events as e
from ralph.core.views.analytics import iteration_lines
from ralph.errors import UserError
from ralph.shell.git.project import find_project, user_call
from ralph.shell.journal.entries import Record


class CheckpointRow(Struct, frozen=True):
    iteration: int
    at: float
    tree: str
    commit: str
    files: int
    added: int
    removed: int
    red: int | None = None  # of required checks; None = not judged
    best: bool = False


def checkpoint_rows(record: Record) -> list[CheckpointRow]:
    best = record.loop.progress.best
    reds = {one.iteration: one.red for one in iteration_lines(record.events)}
    rows: dict[int, CheckpointRow] = {}
    for event in record.events:
        if isinstance(event, e.CheckpointMade):
            rows[event.iteration] = CheckpointRow(
                iteration=event.iteration,
                at=event.at,
                tree=event.tree,
                commit=event.commit,
                files=event.files,
                added=event.added,
                removed=event.removed,
                red=reds.get(event.iteration),
                best=best is not None and best.iteration == event.iteration,
            )
    return [rows[number] for number in sorted(rows)]


def rows_lines(rows: list[CheckpointRow]) -> list[str]:
    if not rows:
        return ["no checkpoint yet: the first iteration has not ended"]
    return table(
        [
            (
                str(row.iteration),
                stamp(row.at),
                short(row.commit),
                change_words(row.files, row.added, row.removed) if row.files else "no change",
                "not judged" if row.red is None else f"{row.red} red" if row.red else "green",
                "best" if row.best else "",
            )
            for row in rows
        ]
    )


def json_rows(name: str, rows: list[CheckpointRow]) -> str:
    shown = [msgspec.structs.asdict(row) | {"at": iso(row.at)} for row in rows]
    return msgspec.json.encode({"v": 1, "loop": name, "checkpoints": shown}).decode()


def show_text(record: Record, number: int, *, whole: bool) -> str:
    """What changed up to this checkpoint: since the base, or since the one before it."""
    base, after = commits_to_compare(record, number)
    if not whole:
        before = [row.commit for row in checkpoint_rows(record) if row.iteration < number]
        base = before[-1] if before else base
    return safe_lines(diff_between(record, base, after))


def branch_at(record: Record, commit: str, name: str) -> None:
    """A branch of the user's own, asked for by name; never one that exists."""
    project = find_project(record.loop.sealed.repo)
    done = user_call(project, ["branch", "--no-track", name, commit], ok=None)
    if done.code:
        raise UserError(
            f"branch '{name}' cannot be made",
            code="E-BRANCH-TAKEN",
            why=done.err.decode("utf-8", "replace").strip(),
            next="git branch --list",
        )
