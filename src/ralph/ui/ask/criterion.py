"""A proposal on screen and the conversation about it; see `app.criterion`. Shared by `infer` and `loop`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click
import msgspec

from ralph.app.words.format import safe
from ralph.core.criterion.proposal import Proposal


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


def print_lines(rows: list[str]) -> None:
    for row in rows:
        print(row, file=sys.stderr)


class Terminal:
    """The answers of whoever sits at this terminal; what is shown goes to stderr."""

    def show(self, proposal: Proposal) -> None:
        print_lines(proposal_lines(proposal))

    def show_trial(self, proposal: Proposal) -> None:
        told = ("confidence", "  tried", "  note")
        print_lines([row for row in proposal_lines(proposal) if row.startswith(told)])

    def may_try(self, proposal: Proposal, *, held: bool) -> bool:  # noqa: ARG002 (it was just shown)
        where = "in the gate box, without network" if held else "without a sandbox, with your own rights"
        return click.confirm(f"use these checks? They are tried once now, {where}", default=True, err=True)

    def may_use(self, proposal: Proposal) -> bool:  # noqa: ARG002
        return click.confirm("use this criterion?", default=False, err=True)


def loop_command(made: Proposal, answers: Mapping[str, str]) -> str:
    """The command line that uses this proposal, ready to paste."""
    import shlex

    words = ["ralph", "loop", made.task]
    plain = all(
        check.proof
        and check.read == "auto"
        and check.minimum is None
        and not check.counted
        and check.cwd == "."
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
