"""Whether a proposal may be used: approval of its commands by hash, and rule 28.

The hash covers each command with its folder and the script it was seen to start, so that a changed script
asks again. Asking is `ui`'s matter.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ralph.core.inferred import Proposal
from ralph.shell import approvals
from ralph.shell.config.settings import Approval, Item

_VERSION = "ralph inferred 1"
Decision = Literal["adopt", "ask", "stop"]


def approval_of(proposal: Proposal, repo: str) -> Approval:
    """What is agreed to when somebody agrees to a proposal."""
    from hashlib import sha256

    asked = [[check.run, check.cwd, check.executes] for check in proposal.checks]
    digest = sha256(msgspec.json.encode([_VERSION, asked])).hexdigest()
    items = tuple(
        Item(
            f"inferred.{check.name}", _words(check.run, check.cwd, check.executes), check.where or "inferred"
        )
        for check in proposal.checks
    )
    return Approval(digest, repo, items)


def _words(run: str, cwd: str, executes: str) -> str:
    where = "" if cwd == "." else f" in {cwd}"
    return f"inferred check executes {run}{where}" + (f" (its script: {executes})" if executes else "")


def is_approved(proposal: Proposal, user_dir: str) -> bool:
    """What the user typed is approved; the rest by hash."""
    typed = all(check.layer == "task" for check in proposal.checks)
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
