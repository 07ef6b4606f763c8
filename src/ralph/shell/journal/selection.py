"""Which loop is meant, and which project: questions that lists ask without decoding events.

Kept apart from `record` because `ralph status` must start in milliseconds and needs no core for this.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from ralph.errors import NothingToDo, UserError
from ralph.shell.journal.store import JournalReader

MAX_SHOWN = 8


def resolve(
    reader: JournalReader, text: str, repo: str | None = None, *, repos: Collection[str] | None = None
) -> list[str]:
    """Names of the loops that `text` may mean, those of `repo` first: a name, an id, a number; else a
    beginning, else any other part. With `repos`, loops of other repositories are not there at all."""
    wanted = {text, text.removeprefix("ralph-")}
    every = _names(reader, repos)
    exact = [name for name in every if name in wanted]
    if exact or not text:
        return exact
    if text.removeprefix("#").isdecimal() and len(text) < 10:
        number = int(text.removeprefix("#"))
        found = (reader.loops_with_number(number, repo) if repo else []) or reader.loops_with_number(number)
        found = [name for name in found if repos is None or name in every]
        if found or text.startswith("#") or len(text) < 3:  # a digit is in every other name
            return found
    begin = tuple(filter(None, wanted))
    here = [row.loop for row in reader.summaries(repo)] if repo else []
    for names in (here, every):
        found = [name for name in names if name.startswith(begin)] or [name for name in names if text in name]
        if found:
            return found
    return []


def _names(reader: JournalReader, repos: Collection[str] | None) -> list[str]:
    if repos is None:
        return reader.names()
    return [row.loop for repo in repos for row in reader.summaries(repo)]


def find_loop(
    reader: JournalReader, text: str, repo: str | None = None, *, repos: Collection[str] | None = None
) -> str:
    """The one loop that a name, an id, a number, or a unique part of a name stands for; see `resolve`."""
    found = resolve(reader, text, repo, repos=repos)
    if len(found) == 1:
        return found[0]
    if not found:
        raise unknown_loop_error(text, _names(reader, repos))
    raise several_loops_error(f"'{text}'", found, f"ralph status {found[0]}")


def several_loops_error(said: str, found: list[str], next_line: str) -> UserError:
    """More than one fits: they are named, and the first is offered."""
    more = f" and {len(found) - MAX_SHOWN} more" if len(found) > MAX_SHOWN else ""
    return UserError(
        f"{said} matches {len(found)} loops",
        code="E-LOOP-AMBIGUOUS",
        why=f"name one of them: {', '.join(found[:MAX_SHOWN])}{more}",
        next=next_line,
    )


def choose_loop(reader: JournalReader, text: str | None, repo: str | None, *, active: bool = False) -> str:
    """The loop that was named, else the newest of this repository (of all, outside one)."""
    if text is not None:
        return find_loop(reader, text, repo)
    newest = reader.summaries(repo, 1, active=True if active else None)
    if newest:
        return newest[0].loop
    where = f" for '{repo}'" if repo else ""
    kind = "unfinished loop" if active else "loop"
    raise NothingToDo(f"there is no {kind}{where}", code="E-LOOP-NONE", next="ralph status --all")


def unknown_loop_error(text: str, names: list[str]) -> UserError:
    from difflib import get_close_matches

    near = get_close_matches(text.removeprefix("ralph-"), names, n=1, cutoff=0.6)
    return UserError(
        f"there is no loop '{text}'",
        code="E-LOOP-UNKNOWN",
        why=f"did you mean '{near[0]}'?" if near else "no loop has this number or a name that contains it",
        next=f"ralph status {near[0]}" if near else "ralph status --all",
    )


def project_top(cwd: str) -> str | None:
    """The work tree around `cwd`, found as git finds it but without a process; None outside one."""
    here = os.path.realpath(cwd)
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            return None
        here = above
