"""Throwing a loop away: what it owns, and removing that. The record of what happened stays."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from ralph.app.records import read_loop
from ralph.app.tell import send_and_wait
from ralph.clock import SystemClock
from ralph.core.model import events as e
from ralph.errors import Bug, JournalError, NothingToDo, RalphError, SetupError, UserError
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.git.project import find_object
from ralph.shell.git.refs import loop_ref, read_refs
from ralph.shell.git.workspace import remove_loop
from ralph.shell.ports import Quiet
from ralph.shell.run.hold import hold_loop, hold_record
from ralph.shell.run.site import loop_folder
from ralph.shell.sandbox.own_copy import give_back
from ralph.shell.state.directory import State, open_state, state_dir

GONE = frozenset({"E-GIT-NONE", "E-GIT-OBJECTS", "E-GIT-EMPTY", "E-GIT-BARE", "E-FOLDER-GONE"})


class Belongings(Struct, frozen=True):
    """What a loop owns outside the journal."""

    refs: tuple[str, ...]
    branch: str
    folders: tuple[str, ...]


def find_belongings(name: str, env: Mapping[str, str]) -> Belongings:
    """What dropping this loop would remove; refused when that was done before."""
    try:
        return _find_whole(name, env)
    except NothingToDo:
        raise
    except (UserError, SetupError) as broken:
        if not is_broken(broken):
            raise
        state = open_state(state_dir(env), create=True)
        places = (os.path.join(state.workspaces, name), loop_folder(state, name))
        return Belongings((), "", tuple(place for place in places if os.path.isdir(place)))


def is_broken(error: RalphError) -> bool:
    """Is it the repository or the record that is gone? Then what is left can still be thrown away."""
    return isinstance(error, JournalError) or error.code in GONE


def _find_whole(name: str, env: Mapping[str, str]) -> Belongings:
    if read_loop(name, env).loop.landing.was_dropped:
        raise NothingToDo(
            f"loop '{name}' was dropped already", code="E-LOOP-DROPPED", next=f"ralph report {name}"
        )
    with hold_loop(name, env, SystemClock()) as held:
        loop, state = held.loop, held.state
        name = loop.sealed.loop
        project = held.store.project
        there = bool(find_object(project, f"refs/heads/{loop.landing.branch}"))
        places = (os.path.join(state.workspaces, name), loop_folder(state, name))
        return Belongings(
            refs=tuple(read_refs(project, loop_ref(name, ""))),
            branch=loop.landing.branch if there and loop.landing.result else "",
            folders=tuple(place for place in places if os.path.isdir(place)),
        )


def drop(name: str, env: Mapping[str, str]) -> None:
    """Remove refs, result branch, workspace and folders. A loop that has not ended is aborted first.

    Where its repository or its record is gone or damaged, what is left of it goes all the same.
    """
    try:
        _drop_whole(name, env)
    except (UserError, SetupError) as broken:
        if not is_broken(broken):
            raise
        _drop_rest(name, env)


def _drop_rest(name: str, env: Mapping[str, str]) -> None:
    state, reason = open_state(state_dir(env), create=True), "dropped by the user; its repository was gone"
    # A record that cannot be read, or a call that nobody accounted for, stays as it is.
    with suppress(JournalError, Bug), hold_record(name, env, SystemClock(), Quiet()) as scribe:
        if scribe.loop.phase != "ended":
            scribe.append(e.AbortAsked(reason=reason))
            scribe.append(e.LoopEnded(outcome="aborted", reason=reason))
        scribe.append(e.LoopDropped(note=reason))
    remove_tree(os.path.join(state.workspaces, name))
    _remove_papers(state, name)


def _drop_whole(name: str, env: Mapping[str, str]) -> None:
    if read_loop(name, env).loop.phase != "ended":
        send_and_wait(name, env, e.AbortAsked(reason="dropped by the user"), until="ended")
    with hold_loop(name, env, SystemClock()) as held:
        loop, state = held.loop, held.state
        name = loop.sealed.loop
        held.scribe.append(e.LoopDropped(note="dropped by the user"))
        remove_loop(
            held.store.project,
            name,
            paths=(os.path.join(state.workspaces, name),),
            branch=loop.landing.branch if loop.landing.result else None,
            result=loop.landing.result or None,
        )
        _remove_papers(state, name)


def _remove_papers(state: State, name: str) -> None:
    for suffix in (".md", ".json", ".html"):
        remove_tree(os.path.join(state.reports, name + suffix))
    for suffix in (".log", ".runner.log"):
        remove_tree(os.path.join(state.logs, name + suffix))
    folder = loop_folder(state, name)
    give_back(os.path.join(folder, "own"), SystemClock().now(), whole=True)
    for part in os.listdir(folder):
        if part != "lock":  # held by us; an empty folder with a free lock is what remains
            remove_tree(os.path.join(folder, part))
