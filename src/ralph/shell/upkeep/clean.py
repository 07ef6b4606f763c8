"""`ralph clean`: what is no longer needed, found first and removed only when told so.

Ended loops older than the retention lose their workspace, private home and copies, call folders and rejected
refs; refs of checkpoints, the result branch and the journal stay. Folders of no loop, evidence that no record
names, and dependencies that no loop has used for so long go too. What the user made is never touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from ralph.errors import JournalError, RalphError
from ralph.shell.dependencies import built as dependencies_built
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.project import find_project
from ralph.shell.git.refs import RefChange, loop_ref, move_refs, read_refs
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.store import SESSIONS, JournalReader
from ralph.shell.sandbox.own_copy import give_back
from ralph.shell.state import blobs
from ralph.shell.state.directory import State, open_state, state_dir

DAY = 86400.0
_HASH = re.compile(rb'"([0-9a-f]{64})"')


class Waste(msgspec.Struct, frozen=True):
    path: str
    why: str
    size: int


def find_waste(env: Mapping[str, str], older_than: float, now: float) -> list[Waste]:
    """Everything that may go, with its size. Nothing is changed."""
    state = open_state(state_dir(env), create=True)
    found: list[Waste] = []
    with read_journal(state.root) as reader:
        rows = {row.loop: row for row in reader.summaries()}
        kept = _named_blobs(state, reader)
        sessions = _sessions(reader)
        for name, row in rows.items():
            age = now - row.updated / 1000
            if row.phase == "ended" and age >= older_than and reader.driver(name) is None:
                found += _folders(state, name, f"loop ended {int(age / DAY)} days ago")
    recent = {name for name, at in sessions.items() if now - at < older_than}
    for place in (state.workspaces, state.loops):
        for name in sorted(os.listdir(place)):
            path = os.path.join(place, name)
            old = now - os.lstat(path).st_mtime >= min(older_than, DAY)
            if old and name not in rows and name not in recent:
                found.append(Waste(path, "belongs to no loop", _size(path)))
    for path, age in dependencies_built.builds(state.root, now):
        if age >= older_than:
            found.append(Waste(path, f"dependencies not used for {int(age / DAY)} days", _size(path)))
    found += _stray_blobs(state, kept, now - min(older_than, DAY))
    return found


def _sessions(reader: JournalReader) -> dict[str, float]:
    """Folders of sessions in a host, and when something was last recorded of each."""
    found = {key: reader.newest(key) for key in reader.streams(SESSIONS)}
    return {key.replace(":", "-"): row.at / 1000 for key, row in found.items() if row is not None}


def _folders(state: State, name: str, why: str) -> list[Waste]:
    places = [os.path.join(state.workspaces, name)]
    places += [
        os.path.join(state.loops, name, part)
        for part in ("home", "own", "calls", "checkouts", "gates", "deps")
    ]
    return [Waste(path, why, _size(path)) for path in places if os.path.isdir(path)]


def _named_blobs(state: State, reader: JournalReader) -> set[str]:
    """Every hash that a record names, and every hash that those blobs name in turn (evidence)."""
    kept: set[str] = set()
    for name in (*reader.names(), *reader.streams(SESSIONS)):
        try:
            for row in reader.rows(name):
                kept |= {match.decode() for match in _HASH.findall(row.body)}
        except RalphError:
            continue  # a damaged record: what it named beyond the damage cannot be known
    for digest in list(kept):
        path = blobs.path(state.blobs, digest)
        if os.path.isfile(path) and os.path.getsize(path) < 1_000_000:
            with suppress(JournalError):  # a damaged one names nothing
                kept |= {match.decode() for match in _HASH.findall(blobs.get(state.blobs, digest))}
    return kept


def _stray_blobs(state: State, kept: set[str], before: float) -> list[Waste]:
    found = []
    for folder, _, files in os.walk(state.blobs):
        for name in files:
            path = os.path.join(folder, name)
            if name not in kept and os.lstat(path).st_mtime < before:
                found.append(Waste(path, "evidence of no loop", os.lstat(path).st_size))
    return found


def _size(path: str) -> int:
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def remove_waste(env: Mapping[str, str], waste: list[Waste], older_than: float, now: float) -> int:
    """Bytes given back."""
    state = open_state(state_dir(env), create=True)
    built = {path for path, _ in dependencies_built.builds(state.root, now)}
    for item in waste:
        if os.path.basename(item.path) == "own":
            give_back(item.path, now, whole=True)
        elif item.path not in built:
            remove_tree(item.path)
        else:
            dependencies_built.discard(item.path)
    with read_journal(state.root) as reader:
        old = [
            row
            for row in reader.summaries()
            if row.phase == "ended" and now - row.updated / 1000 >= older_than
        ]
    for row in old:
        _drop_rejected(row.repo, row.loop)
    return sum(item.size for item in waste)


def _drop_rejected(repo: str, name: str) -> None:
    """Work that was set aside long ago; a repository that is gone has nothing to drop."""
    try:
        project = find_project(repo)
        refs = read_refs(project, loop_ref(name, "rejected"))
        move_refs(project, [RefChange(ref, None, oid) for ref, oid in refs.items()])
    except RalphError:
        return
