"""A result merged with a branch that has moved is a new tree: every gate judges it before it lands."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph.clock import SystemClock
from ralph.core.model.verdict import Verdict
from ralph.core.proof import exit_gate
from ralph.core.proof.causes import is_missing
from ralph.errors import NeedsHuman, SetupError
from ralph.shell.files.safe_tree import remove_tree
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.workspace import make_workspace
from ralph.shell.run.hold import HeldLoop
from ralph.shell.run.site import open_site


def rejudge_tree(held: HeldLoop, env: Mapping[str, str], tree: str) -> None:
    """Every gate over the merged tree; raises when it does not pass, or gave no answer."""
    loop, store = held.loop, held.store
    name = loop.sealed.loop
    site = open_site(loop.sealed, held.state, env, SystemClock())
    space = make_workspace(
        store,
        site.workspace,
        os.path.join(site.folder, "git"),
        loop.sealed.base.commit,
        alternates=site.objects_at,
        history=loop.sealed.box.history,
    )
    judge = Judge(site, space.modules)
    judge.omissions.allow_old_red(loop, loop.work.tree, judge.base_reading)
    verdicts: dict[str, Verdict] = {}
    for verdict in judge.patiently(
        loop.sealed.criterion.gates, tree, "final", loop.proof.baseline, lambda _: False
    ):
        verdicts[verdict.gate] = verdict
    remove_tree(os.path.join(site.folder, "checkouts"))
    missing = next((one for one in verdicts.values() if is_missing(one, settled=True)), None)
    if missing is not None:
        raise SetupError(
            "the merged tree could not be judged",
            code="E-LAND-UNJUDGED",
            why=f'gate "{missing.gate}" gave no answer: {missing.summary}',
            next=f"ralph merge {name} --rejudge",
        )
    red = exit_gate.red_sentences(loop.sealed.criterion, loop.proof.baseline, verdicts)
    if red:
        raise NeedsHuman(
            "the merged tree does not pass its checks",
            code="E-LAND-RED",
            why="; ".join(red),
            next=f"git merge {loop.landing.branch}",
        )
