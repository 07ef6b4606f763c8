"""Before a push: the pushed commits' list and PRDs must be valid, their constraints hold, the build pass."""

from __future__ import annotations

import os
import posixpath
import re

from ralph.app.backlog.approve import PrdReader, require_approval
from ralph.app.backlog.criteria import configured_gates, project_check
from ralph.app.backlog.desk import Desk
from ralph.app.backlog.judge import judge_commit
from ralph.core.backlog.items import FeatureList, Problem
from ralph.core.backlog.prd import Prd, check_links, prd_names, read_prd
from ralph.core.backlog.read_list import read_list
from ralph.errors import NeedsHuman, UserError
from ralph.shell.git.project import Project, committed_file, find_project, user_call

_MARK = "# installed by ralph backlog hook --install"
_SCRIPT = f"#!/bin/sh\n{_MARK}\nexec ralph backlog hook\n"


def install_hook(desk: Desk) -> str:
    """Write the hook; one of somebody else's is never replaced."""
    project = find_project(desk.place.top)
    path = os.path.join(project.common_dir, "hooks", "pre-push")
    if os.path.lexists(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            if _MARK not in file.read(100_000):
                why = "Ralph does not replace it; call `ralph backlog hook` from it, with git's stdin"
                words, step = "there is a pre-push hook already", f"cat '{path}'"
                raise UserError(words, code="E-BACKLOG-HOOK", at=path, why=why, next=step)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(_SCRIPT)
    os.chmod(path, 0o755)  # noqa: S103 - git runs it for whoever pushes
    return path


def check_push(desk: Desk, refs: str) -> list[Problem]:
    """`refs` are git's lines: local ref, local commit, remote ref, remote commit."""
    project = find_project(desk.place.top)
    commits = [words[1] for line in refs.splitlines() if len(words := line.split()) == 4]
    pushed = [
        one for one in dict.fromkeys(commits) if re.fullmatch(r"[0-9a-f]{40,64}", one) and set(one) != {"0"}
    ]
    return [one for commit in pushed for one in _check_commit(desk, project, commit)]


def _check_commit(desk: Desk, project: Project, commit: str) -> list[Problem]:
    data = committed_file(project, commit, desk.place.inside)
    if data is None:
        return []
    found = read_list(data.decode("utf-8", "replace"))
    problems = [one for one in found.problems if one.severity != "INFO"]
    names, read = _prds_at(desk, project, commit)
    prds, more = check_links(found, names, read)
    problems += more
    guards = dict.fromkeys(run for prd in prds for run in prd.guards.values())
    commands = {f"constraint-{number}": run for number, run in enumerate(guards, 1)}
    check = project_check(desk, project, commit, "build", proof=False)[0]
    commands |= configured_gates(desk, "build") or ({"build": check.run} if check else {})
    try:
        require_approval(desk, found if commands else FeatureList(), read=read)
    except NeedsHuman as asks:
        words = f"constraints and build are not run until you approve their commands: {asks.next}"
        return [*problems, Problem("CRITICAL", "not_approved", commit[:12], words)]
    for name, verdict in (judge_commit(desk, project, commit, commands) if commands else {}).items():
        if verdict.status != "pass":
            words = f"{commands[name]}: {verdict.status}, {verdict.summary}"
            problems.append(Problem("CRITICAL", name, commit[:12], words))
    return problems


def _prds_at(desk: Desk, project: Project, commit: str) -> tuple[list[str], PrdReader]:
    """The names of the commit's PRDs, and what reads one of them there: the work tree may have others."""
    folder = os.path.relpath(desk.place.prds, desk.place.top)
    listed = user_call(project, ["ls-tree", "--name-only", "-z", commit, f"{folder}/"], ok=None).out
    names = [posixpath.basename(os.fsdecode(path)) for path in listed.split(b"\0") if path]

    def read(file: str) -> Prd | None:
        path = next((f"{folder}/{one}" for one in prd_names(file) if one in names), "")
        data = committed_file(project, commit, path) if path else None
        return read_prd((data or b"").decode("utf-8", "replace"), path) if path else None

    return names, read
