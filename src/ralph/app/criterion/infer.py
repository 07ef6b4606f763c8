"""What would prove a task somewhere, with reasons; tried once when somebody agrees to it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ralph.app.criterion.adopt import Answers, Consent, Nobody, ask_agreement, needs_approval, try_out
from ralph.app.settings import remember, settings_at_top
from ralph.core.criterion.proposal import Proposal
from ralph.errors import RalphError
from ralph.shell.criterion import adopt as rules
from ralph.shell.criterion import propose
from ralph.shell.journal.selection import project_top
from ralph.shell.start.request import StartRequest, class_of


class InferRequest(Struct, frozen=True, kw_only=True):
    task: str
    cwd: str
    until: str = ""
    task_class: str = ""
    base: str = ""
    execute: bool = True  # False: nothing is tried and nobody is asked


class Inferred(Struct, frozen=True):
    proposal: Proposal
    approval: str = ""  # the hash under which its commands can be approved; "" for a refusal


def infer(
    request: InferRequest, env: Mapping[str, str], consent: Consent, answers: Answers | None = None
) -> Inferred:
    """The proposal, tried when somebody agreed to its commands."""
    answers, cwd = answers or Nobody(), request.cwd
    named = StartRequest(task=request.task, cwd=cwd, task_class=request.task_class)
    chosen = class_of(named) if request.task_class else None
    made = propose(request.task, cwd=cwd, until=request.until, chosen=chosen, env=env, base=request.base)
    if made.refused:
        return Inferred(made)
    if consent.ask and not consent.yes:
        answers.show(made)
    if request.execute:
        held = rules.is_held(settings_at_top(env, cwd), env)
        if ask_agreement(made, cwd=cwd, env=env, consent=consent, held=held, answers=answers):
            made = try_out(made, cwd=cwd, env=env)
        elif consent.yes and not held:
            raise needs_approval(made.checks, cwd, env)
    approval = rules.approval_of(made, cwd)
    remember(approval, env)
    return Inferred(made, approval.short)


def propose_here(task: str, until: str, cwd: str) -> Proposal | None:
    """What inference makes of a sentence; None outside a repository."""
    repo = project_top(cwd)
    if repo is None:
        return None
    try:
        return propose(task, repo=repo, cwd=cwd, until=until)
    except RalphError:
        return None  # a repository that inference cannot read has no check to offer
