"""Whether a proposal may be used: approval of its commands by hash, and rule 28.

The hash covers each command with its folder and the script it was seen to start, so that a changed script
asks again. Asking is `ui`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from ralph.core.criterion.proposal import Check, Proposal
from ralph.shell.config import approvals
from ralph.shell.config.settings import Approval, AskedItem, Settings

_VERSION = "ralph inferred 1"
Decision = Literal["adopt", "ask", "stop"]


def approval_of(proposal: Proposal, repo: str) -> Approval:
    """What is agreed to when somebody agrees to a proposal."""
    return approval_for(proposal.checks, repo)


def approval_for(checks: Iterable[Check], repo: str) -> Approval:
    """The same for checks of any origin."""
    from hashlib import sha256

    listed = list(checks)
    asked = [[check.run, check.cwd, check.executes] for check in listed]
    digest = sha256(msgspec.json.encode([_VERSION, asked])).hexdigest()
    items = tuple(
        AskedItem(
            f"inferred.{check.name}", _words(check.run, check.cwd, check.executes), check.where or "inferred"
        )
        for check in listed
    )
    return Approval(digest, repo, items)


def foreign(checks: Iterable[Check]) -> bool:
    """Did the repository write one of these commands, or what it starts? Nobody's flag can know that."""
    return any(check.layer not in ("task", "table") or check.executes for check in checks)


def is_held(settings: Settings, env: Mapping[str, str]) -> bool:
    """Would these commands be executed in a box? Without one, `-y` does not approve foreign ones."""
    from ralph.shell.sandbox.probe import find_protection
    from ralph.shell.state.directory import open_state, state_dir

    root = open_state(state_dir(env), create=True).root
    return find_protection(settings.box.sandbox, settings.net == "on", root, env)[0] is not None


def _words(run: str, cwd: str, executes: str) -> str:
    where = "" if cwd == "." else f" in {cwd}"
    return f"inferred check executes {run}{where}" + (f" (its script: {executes})" if executes else "")


def is_approved(proposal: Proposal, user_dir: str, *, typed: bool = True) -> bool:
    """What the user typed is approved; the rest by hash. `typed`: it was a person who wrote the task."""
    typed = typed and all(check.layer == "task" for check in proposal.checks)
    return typed or approvals.is_approved(user_dir, approval_of(proposal, "").hash)


def approve(proposal: Proposal, repo: str, user_dir: str, now: float) -> None:
    approval = approval_of(proposal, repo)
    approvals.remember(user_dir, approval, now)
    approvals.approve(user_dir, approval.hash, now)


def decide(proposal: Proposal, *, yes: bool, auto: bool, terminal: bool) -> Decision:
    """Rule 28: high is adopted, medium needs a yes or --auto-criteria, low never goes unattended."""
    if proposal.confidence == "high" or (proposal.confidence == "medium" and (yes or auto)):
        return "adopt"
    return "ask" if terminal else "stop"
