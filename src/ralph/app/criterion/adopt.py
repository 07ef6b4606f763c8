"""Whether an inferred check may be used: shown first, then agreed to, then tried, then used.

Who is asked is an `Answers`: a terminal, a web page, or nobody. Which answer is needed is decided in
`shell.criterion.adopt`.
"""

from __future__ import annotations

import secrets
import shlex
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from ralph.app.settings import remember
from ralph.clock import SystemClock
from ralph.core.criterion.named_tools import names_without_gate
from ralph.core.criterion.predicate import names_measure
from ralph.core.criterion.proposal import Check, Proposal
from ralph.errors import AGAIN, NeedsHuman, UserError
from ralph.shell.config import approvals
from ralph.shell.criterion import adopt as rules
from ralph.shell.criterion import propose
from ralph.shell.criterion.try_once import try_proposal
from ralph.shell.start.request import StartRequest, class_of, read_settings
from ralph.shell.state.directory import config_dir

Agreement = Literal["", "known", "asked"]  # known by hash or flag, asked just now, or none


class Answers(Protocol):
    """Who sees a proposal and answers for the user."""

    def show(self, proposal: Proposal) -> None: ...
    def show_trial(self, proposal: Proposal) -> None: ...
    def may_try(self, proposal: Proposal, *, held: bool) -> bool: ...
    def may_use(self, proposal: Proposal) -> bool: ...


class Nobody:
    """Nobody is there: nothing is shown, and the answer to every question is no."""

    def show(self, proposal: Proposal) -> None: ...
    def show_trial(self, proposal: Proposal) -> None: ...

    def may_try(self, proposal: Proposal, *, held: bool) -> bool:  # noqa: ARG002 (the answer is no)
        return False

    def may_use(self, proposal: Proposal) -> bool:  # noqa: ARG002
        return False


class Consent(Struct, frozen=True, kw_only=True):
    """What the user said beforehand, by flags."""

    yes: bool = False
    auto: bool = False  # medium confidence will do
    ask: bool = False  # somebody can answer
    typed: bool = True  # a person wrote the task: with it they agreed to the commands that it names


def ask_agreement(
    proposal: Proposal, *, cwd: str, env: Mapping[str, str], consent: Consent, held: bool, answers: Answers
) -> Agreement:
    """Did the user agree to execute these commands?

    `held`: in a box. Without one a flag does not stand for commands that the repository wrote.
    """
    folder = config_dir(env)
    typed = consent.yes and (held or not rules.foreign(proposal.checks))
    if typed or rules.is_approved(proposal, folder, typed=consent.typed):
        return "known"
    if not consent.ask or not answers.may_try(proposal, held=held):
        return ""
    rules.approve(proposal, cwd, folder, SystemClock().now())
    return "asked"


def try_out(proposal: Proposal, *, cwd: str, env: Mapping[str, str]) -> Proposal:
    """The proposal with what each of its checks says here now."""
    return try_proposal(proposal, cwd=cwd, env=env, token=secrets.token_hex(4), now=SystemClock().now())


def adopt_checks(
    request: StartRequest, env: Mapping[str, str], consent: Consent, answers: Answers, *, dry: bool = False
) -> StartRequest:
    """The request with inferred checks, when it has none of its own; a stop says why and what would do."""
    _, settings = read_settings(request, env, SystemClock().now())
    runs = tuple(spec.run for spec in settings.gates.values() if spec.required)
    if request.checks or request.hidden_checks or (runs and _gates_will_do(request, runs)):
        return request
    made = propose(
        request.task,
        cwd=request.cwd,
        until=request.until,
        chosen=class_of(request) if request.task_class else None,
        env=env,
        base=request.base,
    )
    if made.refused:
        raise _no_check_found(made)
    answers.show(made)
    if dry:
        return _with_checks(request, made)
    held = rules.is_held(settings, env)
    flags = Consent(yes=consent.yes or consent.auto, ask=consent.ask, typed=consent.typed)
    word = ask_agreement(made, cwd=request.cwd, env=env, consent=flags, held=held, answers=answers)
    if not word and not held and (rules.foreign(made.checks) or not consent.typed):
        raise needs_approval(made.checks, request.cwd, env)
    if word:
        made = try_out(made, cwd=request.cwd, env=env)
        answers.show_trial(made)
    decision = rules.decide(
        made, yes=consent.yes or word == "asked", auto=consent.auto, terminal=consent.ask and bool(word)
    )
    if decision == "ask":
        decision = "adopt" if answers.may_use(made) else "stop"
    if decision == "stop":
        raise _nobody_agreed(request, made, env)
    return _with_checks(request, made)


def _gates_will_do(request: StartRequest, runs: tuple[str, ...]) -> bool:
    """Does the project's own configuration check what was asked for?"""
    return not names_measure(request.until) and not names_without_gate(
        request.task, request.until, class_of(request), runs
    )


def _nobody_agreed(request: StartRequest, made: Proposal, env: Mapping[str, str]) -> UserError:
    approval = rules.approval_of(made, request.cwd)
    remember(approval, env)
    ways = f"accept it with -y, --auto-criteria or `ralph approve {approval.short}`, or name another check"
    if made.confidence == "low":  # no flag is enough
        known = made.warnings if made.tried else ("it needs a yes on a terminal",)
        ways = "; ".join((*known, "if you know better, name it with --check"))
    return UserError(
        f"the check that was found has {made.confidence} confidence and needs your confirmation",
        code="E-CRITERION-UNSURE",
        why=f"`{made.verification_command}`; {ways}",
        next=f"{AGAIN} --check {shlex.quote(made.verification_command)}",
    )


def _no_check_found(made: Proposal) -> UserError:
    return UserError(
        f"no check was found that could prove this task: {made.refused}",
        code="E-CRITERION-NONE",
        why="\n".join(("say what proves it, for example:", *made.examples)),
        next=f"{AGAIN} --check {shlex.quote(made.next)}" if made.next else "ralph help checks",
    )


def needs_approval(checks: Iterable[Check], cwd: str, env: Mapping[str, str]) -> NeedsHuman:
    """The stop before commands of the repository, where nothing would hold them."""
    approval = rules.approval_for(checks, cwd)
    stop = approvals.needs_approval_error(config_dir(env), approval, SystemClock().now())
    stop.what = (
        "without a sandbox, commands that this repository wrote need your approval; -y does not give it"
    )
    return stop


def _with_checks(request: StartRequest, made: Proposal) -> StartRequest:
    words = f"criterion inferred ({made.confidence}): {made.criterion}; {made.verification_command}"
    first = made.rationale[1] if len(made.rationale) > 1 else ""
    return msgspec.structs.replace(
        request,
        inferred=made.checks,
        task_class=request.task_class or made.task_class,
        until=request.until or made.criterion,
        notes=(*request.notes, words, *((f"because {first}",) if first else ()), *made.warnings),
    )
