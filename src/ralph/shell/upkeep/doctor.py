"""What `ralph doctor` looks at: this machine, the state directory, and the records in it.

Each look is a value; what can be put right is in `mend`, and done only when asked for. Printing is `ui`'s.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Literal

import msgspec

from ralph import agents
from ralph.errors import RalphError
from ralph.shell.agent_call.ask_version import probe_all
from ralph.shell.git.command import find_git
from ralph.shell.journal import record
from ralph.shell.journal.open import read_journal
from ralph.shell.journal.selection import project_top
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.attack import Attack, attack_boxes
from ralph.shell.sandbox.bubblewrap import Box, BoxRow, box_rows
from ralph.shell.sandbox.own_env import clean_path
from ralph.shell.sandbox.probe import probe_levels
from ralph.shell.sandbox.site import OBJECTS_AT
from ralph.shell.state.directory import config_dir, free_bytes, open_state, state_dir
from ralph.shell.upkeep.mend import false_summaries, find_locks, git_dirs, mend_summaries, remove_lock

MEND = "ralph doctor --mend"


class Look(msgspec.Struct, frozen=True):
    what: str
    state: Literal["ok", "note", "bad"]
    words: str
    next: str = ""


def check_machine(
    env: Mapping[str, str], min_free: int, cwd: str, now: float, *, mend: bool = False
) -> list[Look]:
    """Everything that a loop here would need; with `mend`, what can be put right is."""
    looks = [Look("python", "ok", f"{sys.version.split()[0]}, SQLite {sqlite3.sqlite_version}")]
    looks += _git(env)
    looks += _state(env, min_free, mend=mend)
    looks += _locks(env, cwd, now, mend=mend)
    looks += _sandbox(env)
    return looks + _agents(env)


def _agents(env: Mapping[str, str]) -> list[Look]:
    """Each agent, whether it is logged in, and what of the home it may write in its box."""
    looks = []
    for name, found in probe_all(agents.adapters(), env).items():
        words = [found.version or ("installed" if found.installed else "not installed")]
        if found.installed and found.login != "unknown":
            words.append("logged in" if found.login == "yes" else "not logged in")
        ready = found.installed and found.login != "no"
        fix = "" if ready or not found.installed else found.hint.removeprefix("log in with: ")
        looks.append(Look(f"agent {name}", "ok" if ready else "note", ", ".join(words), fix))
        looks += [Look("", "ok", place) for place in found.places]
    return looks


def _git(env: Mapping[str, str]) -> list[Look]:
    try:
        git = find_git(env.get("PATH"))
    except RalphError as error:
        return [Look("git", "bad", error.what, "install git 2.35 or newer")]
    return [Look("git", "ok", ".".join(map(str, git.version)))]


def _state(env: Mapping[str, str], min_free: int, *, mend: bool) -> list[Look]:
    try:
        root = state_dir(env)
        state = open_state(root, create=True)
        free = free_bytes(state.root)
    except RalphError as error:
        return [Look("state", "bad", ": ".join(filter(None, (error.what, error.why))), error.next)]
    enough = free >= min_free
    looks = [
        Look(
            "state",
            "ok" if enough else "bad",
            f"{root}, {free // 1_000_000} MB free",
            "" if enough else "ralph clean",
        )
    ]
    looks.append(Look("config", "ok", config_dir(env)))
    try:
        with read_journal(state.root) as reader:
            names = reader.names()
            for name in names:
                try:
                    if record.load(reader, name).newer:
                        looks.append(Look(f"loop {name}", "note", "was written by a newer Ralph"))
                except RalphError as error:
                    looks.append(Look(f"loop {name}", "bad", error.what, f"ralph logs {name} --json"))
            false = false_summaries(reader)
        mended = mend_summaries(state.root, false) if mend and false else []
    except RalphError as error:
        return [*looks, Look("journal", "bad", error.what, error.next)]
    for name in false:
        words = "lists did not show it as it is recorded" + ("; mended" if name in mended else "")
        looks.append(Look(f"loop {name}", *(("ok", words) if name in mended else ("bad", words, MEND))))
    return [*looks, Look("journal", "ok", f"{len(names)} loop{'' if len(names) == 1 else 's'}")]


def _locks(env: Mapping[str, str], cwd: str, now: float, *, mend: bool) -> list[Look]:
    """Locks that keep git from working in the repositories of this folder and of the loops."""
    repos = {project_top(cwd)}
    try:
        with read_journal(state_dir(env)) as reader:
            repos |= {row.repo for row in reader.summaries(active=True)}
    except RalphError:
        repos.discard(None)  # that the journal cannot be read is said elsewhere
    looks = []
    places = [(top, git_dir) for top in repos if top for git_dir in git_dirs(top)]
    for lock in find_locks(places, now):
        if not lock.stale:
            who = f"is needed by {lock.by}" if lock.by else "is new, somebody may be at work"
            looks.append(Look("lock", "note", f"{lock.path} {who}"))
            continue
        words = f"{lock.path} is {lock.age:.0f} s old, and no git is at work there"
        looks.append(
            Look("lock", "ok", f"{words}; removed")
            if mend and remove_lock(lock)
            else Look("lock", "bad", words, MEND)
        )
    return looks


def attack(env: Mapping[str, str]) -> Attack:
    """Every attempt against the boxes that a loop would use here, made now."""
    root = open_state(state_dir(env), create=True).root
    return attack_boxes(root, bwrap=shutil.which("bwrap", path=env.get("PATH")))


def list_boxes(env: Mapping[str, str], cwd: str) -> list[BoxRow]:
    """What the boxes of a loop in the project around `cwd` would see and write: the mounts themselves."""
    state, home = open_state(state_dir(env), create=True), os.path.normpath(env.get("HOME") or "/")
    repo, work = project_top(cwd) or os.path.realpath(cwd), os.path.join(state.workspaces, "NAME")
    path = clean_path(env.get("PATH", os.defpath))
    read = tools.path_prefixes(path, home=home, repo=repo, known=tools.ToolMemory())
    found = probe_all(agents.adapters(), env)
    own = tuple((state.loops, folder) for name in found for folder in agents.own_folders(name, env))
    rows: list[BoxRow] = []
    kinds: tuple[Literal["agent", "gate"], ...] = ("agent", "gate")
    for kind in kinds:
        mine = kind == "agent"
        box = Box(
            kind=kind,
            workspace=work,
            mount_at=repo,
            home=home,
            read=read,
            own=own if mine else (),
            object_dirs=((os.path.join(repo, ".git", "objects"), OBJECTS_AT),) if mine else (),
            hide=(state.root, config_dir(env)),
            network=mine,
        )
        rows += box_rows(box)
    return rows


def _sandbox(env: Mapping[str, str]) -> list[Look]:
    """All probes, run now: what is printed was seen, not assumed. They need no state directory."""
    bwrap = shutil.which("bwrap", path=env.get("PATH"))
    with ExitStack() as stack:
        try:
            root = open_state(state_dir(env), create=True).root
        except RalphError:
            root = stack.enter_context(TemporaryDirectory(prefix="ralph-doctor-"))
        found = probe_levels(root, home=env.get("HOME") or "/", bwrap=bwrap)
    held = found.level in ("S2", "S3")
    cure = "" if held else "ralph help sandbox" if bwrap else "apt install bubblewrap"
    looks = [Look("sandbox", "ok" if held else "note", found.level, cure)]
    shut = ("can write only", "cannot see", "has no network", "have no network", "another user")
    looks += [
        Look("", "ok" if held and any(one in words for one in shut) else "note", words)
        for words in found.words
    ]
    return looks + [Look("", "note", reason) for reason in found.reasons]
