"""Criteria inference: from a task and a repository to a proposal. Reads and resolves; executes nothing.

`propose` is the one entry. What happens with a proposal (shown, approved, tried, adopted) is in `trying` and
`adopting`; how one is chosen from what was found is in `core.criterion.propose`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph.core.criterion.named_tools import named_class
from ralph.core.criterion.proposal import Proposal
from ralph.core.criterion.propose import choose, refuse
from ralph.core.model.gate import TaskClass

__all__ = ["Proposal", "propose"]


def propose(
    task: str,
    repo: str = "",
    cwd: str = ".",
    *,
    until: str = "",
    chosen: TaskClass | None = None,
    env: Mapping[str, str] | None = None,
    base: str = "",
) -> Proposal:
    """What would prove `task` in the repository around `cwd`, not approved and not tried.

    `repo` is looked at when `cwd` is empty. A proposal with `refused` set is none; its `examples` would do.
    """
    from ralph.shell.criterion.survey import survey
    from ralph.shell.git.project import find_project

    project = find_project(cwd or repo)
    found = survey(project, base or project.head, task, os.environ if env is None else env)
    made = choose(task, chosen or named_class(task), found, until=until, prefix=project.prefix)
    for check in made.checks:
        if check.counted and not _one_by_one(check.run):
            why = f"what `{check.run}` finds cannot be counted: its own options decide what it prints"
            return refuse(made, why, "no new warnings")
    return made


def _one_by_one(run: str) -> bool:
    """Would this command's findings be read from a report, and not only its exit code?"""
    from ralph.gates.readers import locates_findings
    from ralph.gates.seal import seal

    return locates_findings(seal("x", run, tree_paths=frozenset()).read)
