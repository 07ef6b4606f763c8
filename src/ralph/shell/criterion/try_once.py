"""Trying a proposal once, in the gate box, over the base commit; only after somebody agreed to it.

The same judge as in a loop (`shell.criterion.gates_here`). What the trial says settles the confidence, and
the number that "coverage increases" is measured against.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ralph.core.criterion.predicate import Predicate, minimum
from ralph.core.criterion.proposal import Proposal, Trial, join_commands
from ralph.core.criterion.rank import lower
from ralph.core.model.verdict import Verdict
from ralph.shell.start.request import StartRequest

_PERCENT = re.compile(r"^(\d{1,3}(?:\.\d+)?) % covered")
_FOUND = re.compile(r"^(\d{1,9}) findings?(?:, (\d{1,9}) of them blocking)?")
_RISES = Predicate(sort="compare", kind="coverage", metric="coverage", op="rises")


def try_proposal(proposal: Proposal, *, cwd: str, env: Mapping[str, str], token: str, now: float) -> Proposal:
    """The proposal with what each of its checks said; every command in it was shown and agreed to before."""
    from ralph.shell.criterion.gates_here import run_gates_here

    request = StartRequest(task=proposal.task, cwd=cwd, inferred=proposal.checks)
    names = tuple(check.name for check in proposal.checks)
    quiet: dict[str, Any] = {"attend": lambda _: False, "told": lambda *_: None}
    _, verdicts = run_gates_here(request, env, names, head=True, token=token, now=now, **quiet)
    return apply_trials(proposal, tuple(trial_of(verdict) for verdict in verdicts))


def trial_of(verdict: Verdict) -> Trial:
    """What a verdict says, with the number in it."""
    hit = _PERCENT.match(verdict.summary)
    percent = float(hit.group(1)) if hit else None
    seen = _FOUND.match(verdict.summary)
    found = 0 if verdict.summary == "clean" else int(seen.group(2) or seen.group(1)) if seen else None
    return Trial(verdict.gate, verdict.status, verdict.summary, verdict.cause, percent, found)


def apply_trials(proposal: Proposal, trials: tuple[Trial, ...]) -> Proposal:
    """Confidence after a trial: a check that could not be judged is no ground to stand on."""
    by_name = {trial.name: trial for trial in trials}
    level, warnings, checks = proposal.reachable, list(proposal.warnings), []
    for check in proposal.checks:
        trial = by_name.get(check.name)
        if trial is None:
            level = "low"
            warnings.append(f"{check.name} was not tried to its end")
        elif trial.cause in ("no-tests", "all-skipped"):
            level = lower(level, "medium")
            warnings.append(f"{check.name}: {trial.summary}; tests for the new code must exist and pass")
        elif trial.status == "error":
            level = "low"
            warnings.append(f"{check.name} could not be judged: {trial.summary}")
        elif check.kind == "coverage" and check.minimum is None and trial.percent is not None:
            check = replace(check, minimum=minimum(_RISES, trial.percent))  # noqa: PLW2901
        elif check.counted and check.maximum is None:
            if not trial.found:
                level = "low"
                warnings.append(f"{check.name}: {trial.summary}; nothing is there that could become less")
            else:
                check = replace(check, maximum=trial.found - 1)  # noqa: PLW2901
        checks.append(check)
    criterion = proposal.criterion
    for check in checks:
        if check.kind == "coverage" and check.minimum is not None and "rises" in criterion:
            criterion = criterion.replace("coverage rises", f"coverage rises to at least {check.minimum:g} %")
        if check.counted and check.maximum is not None:
            criterion = criterion.replace("than now", f"than now (at most {check.maximum})")
    return replace(
        proposal,
        criterion=criterion,
        checks=tuple(checks),
        verification_command=join_commands(tuple(checks)),
        confidence=level,
        needs_human_confirmation=level != "high",
        tried=True,
        trials=trials,
        warnings=tuple(dict.fromkeys(warnings)),
    )
