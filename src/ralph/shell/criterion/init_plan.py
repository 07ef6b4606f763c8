"""What `ralph init` proposes: gates, and how the dependencies get into a workspace. Executes nothing."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping

import msgspec

from ralph.core.criterion.gates_for_project import Planned, plan_gates
from ralph.core.criterion.proposal import ProjectFacts
from ralph.core.toolchains.kinds import Level
from ralph.core.toolchains.load import toolchains
from ralph.shell.criterion.survey import survey
from ralph.shell.dependencies.shared import NODE_FOLDERS, PYTHON_FOLDERS
from ralph.shell.git.project import Project, user_call


class InitPlan(msgspec.Struct, frozen=True, kw_only=True):
    languages: tuple[str, ...]
    gates: tuple[Planned, ...]
    setup: str = ""
    setup_why: str = ""
    share: tuple[str, ...] = ()
    share_why: str = ""
    dropped: tuple[str, ...] = ()  # commands that were seen and not proposed, with the reason


def make_plan(project: Project, env: Mapping[str, str], level: Level) -> InitPlan:
    """The gates of the last commit's project, by level."""
    found = survey(project, project.head, "", env)
    setup, why = _setup(project, found)
    share = _share(project, found)
    dropped = [
        f"{one.was or one.run}: {one.rejected} ({one.where})"
        for one in found.candidates
        if one.rejected and not one.rejected.endswith(("that is known", "as a check here", "known elsewhere"))
    ]
    return InitPlan(
        languages=tuple(dict.fromkeys(one.language for one in found.manifests)),
        gates=plan_gates(found, level),
        setup=setup,
        setup_why=why,
        share=share,
        share_why="dependencies in your work tree that git ignores" if share else "",
        dropped=tuple(dict.fromkeys(dropped))[:8],
    )


def _setup(project: Project, found: ProjectFacts) -> tuple[str, str]:
    """The command that installs dependencies at the top, when they are locked and not there."""
    for manifest in found.manifests:
        language = toolchains().languages[manifest.language]
        if manifest.folder != "." or not language.cache:
            continue
        for lock, command in language.lockfiles:
            there = any(
                os.path.isdir(os.path.join(project.top, name))
                for name in (language.cache, *_others(language.cache))
            )
            if f"file:{lock}" in manifest.signs and not there:
                return command, f"{lock} is there and {language.cache} is not"
    return "", ""


def _others(cache: str) -> tuple[str, ...]:
    return PYTHON_FOLDERS if cache in PYTHON_FOLDERS else ()


def _share(project: Project, found: ProjectFacts) -> tuple[str, ...]:
    """Ignored dependency folders that are not shared by themselves."""
    usual = {*PYTHON_FOLDERS, *NODE_FOLDERS}
    wanted = []
    for manifest in found.manifests:
        cache = toolchains().languages[manifest.language].cache
        path = posixpath.normpath(posixpath.join(manifest.folder, cache)) if cache else ""
        if path and cache not in usual and os.path.isdir(os.path.join(project.top, path)):
            wanted.append(path)
    return tuple(path for path in dict.fromkeys(wanted) if _ignored(project, path))


def _ignored(project: Project, path: str) -> bool:
    return user_call(project, ["check-ignore", "-q", "--", path], ok=None).code == 0
