"""A proposal on screen and the conversation about it: shown first, then agreed to, then tried, then used.

Shared by `infer` and `loop`. Which answer is needed is decided in `shell.criterion.adopting`.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from ralph.app.words.format import safe
from ralph.clock import SystemClock
from ralph.core.criterion.proposal import Proposal
from ralph.errors import NeedsHuman, UserError


def proposal_lines(proposal: Proposal) -> list[str]:
    """The proposal for a person: every command that would be executed stands here in full."""
    if proposal.refused:
        said = [f"no criterion: {safe(proposal.refused, 600)}"]
        said += [f"  dropped    {safe(_dropped(one), 300)}" for one in proposal.alternatives_considered]
        return [*said, "  usable would be:", *(f"    {safe(example, 300)}" for example in proposal.examples)]
    said = [f"criterion    {safe(proposal.criterion, 600)}"]
    for check in proposal.checks:
        where = "" if check.cwd == "." else f" in {check.cwd}"
        kind = "proof" if check.proof else "stays green"
        said.append(f"  {check.name:10} {kind}: {safe(check.run, 600)}{where}")
        if check.minimum is not None:
            said.append(f"  {'':10} at least {check.minimum:g} %")
        if check.maximum is not None:
            said.append(f"  {'':10} at most {check.maximum} {check.counted}")
        if check.executes:
            said.append(f"  {'':10} its script: {safe(check.executes, 600)}")
    said.append(f"confidence   {proposal.confidence}{'' if proposal.tried else ' (not tried)'}")
    said += [f"  why        {safe(reason, 400)}" for reason in proposal.rationale]
    said += [
        f"  tried      {safe(f'{one.name}: {one.status}, {one.summary}', 300)}" for one in proposal.trials
    ]
    said += [f"  note       {safe(text, 300)}" for text in proposal.warnings]
    return said + [f"  not        {safe(_dropped(one), 300)}" for one in proposal.alternatives_considered[:4]]


def _dropped(one: Any) -> str:
    return f"{one.criterion}: {one.rejected_because}"


def as_data(proposal: Proposal, approval: str = "") -> dict[str, Any]:
    """The proposal by the names that `--json` promises."""
    if proposal.refused:
        return {
            "v": 1,
            "refused": {"reason": proposal.refused, "examples": list(proposal.examples)},
            "task_class": proposal.task_class,
            "alternatives_considered": msgspec.to_builtins(proposal.alternatives_considered),
        }
    names = [
        "criterion",
        "verification_command",
        "rationale",
        "confidence",
        "alternatives_considered",
        "max_iterations_suggestion",
        "needs_human_confirmation",
        "tried",
        "trials",
        "warnings",
    ]
    body = {name: msgspec.to_builtins(getattr(proposal, name)) for name in names}
    body["checks"] = [
        {**msgspec.to_builtins(check), "proof": check.proof, "cwd": check.cwd} for check in proposal.checks
    ]
    body["grade_at_most"] = proposal.grade_at_most or None
    return {"v": 1, "task_class": proposal.task_class, "approval": approval, "proposed_completion": body}


def on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def print_lines(rows: list[str]) -> None:
    for row in rows:
        print(row, file=sys.stderr)


def ask_agreement(
    proposal: Proposal, *, cwd: str, env: Mapping[str, str], yes: bool, ask: bool, held: bool = True
) -> str:
    """Did the user agree to execute these commands: "known" by hash or flag, "asked" just now, or "".

    `held`: in a box. Without one a flag does not stand for commands that the repository wrote.
    """
    from ralph.shell.criterion import adopt as criterion_adopt
    from ralph.shell.state.directory import config_dir

    folder = config_dir(env)
    typed = yes and (held or not criterion_adopt.foreign(proposal.checks))
    if typed or criterion_adopt.is_approved(proposal, folder):
        return "known"
    if not ask:
        return ""
    where = "in the gate box, without network" if held else "without a sandbox, with your own rights"
    question = f"use these checks? They are tried once now, {where}"
    if not click.confirm(question, default=True, err=True):
        return ""
    criterion_adopt.approve(proposal, cwd, folder, SystemClock().now())
    return "asked"


def try_out(proposal: Proposal, *, cwd: str, env: Mapping[str, str]) -> Proposal:
    from ralph.shell.criterion.try_once import try_proposal

    return try_proposal(proposal, cwd=cwd, env=env, token=secrets.token_hex(4), now=SystemClock().now())


def adopt_checks(request: Any, env: Mapping[str, str], *, yes: bool, auto: bool, dry: bool) -> Any:
    """The request with inferred checks, when it has none of its own; a stop says why and what would do."""
    from ralph.core.criterion.named_tools import names_without_gate
    from ralph.core.criterion.predicate import names_measure
    from ralph.shell.criterion import adopt as criterion_adopt
    from ralph.shell.criterion import propose
    from ralph.shell.start.request import class_of, read_settings

    _, settings = read_settings(request, env, SystemClock().now())
    runs = tuple(spec.run for spec in settings.gates.values() if spec.required)
    if request.checks or request.hidden_checks:
        return request
    if (
        runs
        and not names_measure(request.until)
        and not names_without_gate(request.task, request.until, class_of(request), runs)
    ):
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
        raise _no_check_found(request.task, made)
    print_lines(proposal_lines(made))
    if dry:
        return _with(request, made)
    ask = on_terminal() and not yes
    held = criterion_adopt.is_held(settings, env)
    word = ask_agreement(made, cwd=request.cwd, env=env, yes=yes or auto, ask=ask, held=held)
    if not word and not held and criterion_adopt.foreign(made.checks):
        raise unheld(made.checks, request.cwd, env)
    if word:
        made = try_out(made, cwd=request.cwd, env=env)
        print_lines(
            [row for row in proposal_lines(made) if row.startswith(("confidence", "  tried", "  note"))]
        )
    decision = criterion_adopt.decide(
        made, yes=yes or word == "asked", auto=auto, terminal=ask and bool(word)
    )
    if decision == "ask":
        decision = "adopt" if click.confirm("use this criterion?", default=False, err=True) else "stop"
    if decision == "stop":
        approval = criterion_adopt.approval_of(made, request.cwd)
        remember(env, approval)
        raise UserError(
            f"the criterion found has {made.confidence} confidence, and nobody agreed to it",
            code="E-CRITERION-UNSURE",
            why=f"`{made.verification_command}`; agree to it with -y, --auto-criteria or "
            f"`ralph approve {approval.short}`, or give a check of your own",
            next=f'ralph loop "{_short(request.task)}" --check "{made.verification_command}"',
        )
    return _with(request, made)


def _no_check_found(task: str, made: Any) -> UserError:
    infer = f'ralph infer "{_short(task)}"'
    return UserError(
        f"no check was found that could prove this task: {made.refused}",
        code="E-CRITERION-NONE",
        why="; ".join(("usable would be", *made.examples)),
        next=_loop_command(task, made.next) if made.next else infer,
    )


def _loop_command(task: str, check: str) -> str:
    import shlex

    return f'ralph loop "{_short(task)}" --check {shlex.quote(check)}'


def unheld(checks: Any, cwd: str, env: Mapping[str, str]) -> NeedsHuman:
    """The stop before commands of the repository, where nothing would hold them."""
    from ralph.shell.config import approvals
    from ralph.shell.criterion import adopt as criterion_adopt
    from ralph.shell.state.directory import config_dir

    approval = criterion_adopt.approval_for(checks, cwd)
    stop = approvals.needs_approval_error(config_dir(env), approval, SystemClock().now())
    stop.what = (
        "without a sandbox, commands that this repository wrote need your approval; -y does not give it"
    )
    return stop


def remember(env: Mapping[str, str], approval: Any) -> None:
    """Keep what was shown, so that `ralph approve HASH` can agree to it."""
    from ralph.shell.config import approvals
    from ralph.shell.state.directory import config_dir

    approvals.remember(config_dir(env), approval, SystemClock().now())


def loop_command(made: Proposal, answers: Mapping[str, str]) -> str:
    """The command line that uses this proposal, ready to paste."""
    import shlex

    words = ["ralph", "loop", made.task]
    plain = all(
        check.proof and check.minimum is None and not check.counted and check.cwd == "."
        for check in made.checks
    )
    if plain and made.confidence != "high":
        words += [part for check in made.checks for part in ("--check", f"{check.name}={check.run}")]
    elif made.until:
        words += ["--until", made.until]
    kept = f"do not touch {answers['protect']}" if answers.get("protect") else ""
    notes = [note for note in (answers.get("constraints", ""), kept) if note]
    if notes:
        words += ["--steer", "; ".join(notes)]
    if answers.get("keep", "").startswith("y"):
        words += ["--on-fail", "keep"]
    return shlex.join(words)


def _with(request: Any, made: Proposal) -> Any:
    words = f"criterion inferred ({made.confidence}): {made.criterion}; {made.verification_command}"
    first = made.rationale[1] if len(made.rationale) > 1 else ""
    return msgspec.structs.replace(
        request,
        inferred=made.checks,
        task_class=request.task_class or made.task_class,
        until=request.until or made.criterion,
        notes=(*request.notes, words, *((f"because {first}",) if first else ()), *made.warnings),
    )


def _short(task: str) -> str:
    return "".join(char for char in task if char.isalnum() or char in " .,:-_/")[:60]


def interview() -> dict[str, str]:
    """The five questions of `--interactive`; each may be left empty."""
    questions = (
        ("outcome", "what must be true at the end?"),
        ("command", "which command shows it? (empty: found by Ralph)"),
        ("protect", "which files must not be touched? (comma between)"),
        ("keep", "keep the work of failed iterations? (yes, no, auto)"),
        ("constraints", "what else must the agent keep to?"),
    )
    return {
        key: click.prompt(text, default="", show_default=False, err=True).strip() for key, text in questions
    }
