"""`ralph init` and `ralph gates infer` on screen: plan, agreement, trial, difference, file."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping

import click

from ralph.app.criterion.init import NAME, InitFile, InitPlan, is_usable, write_init
from ralph.app.words.format import brief_seconds, plural, safe, safe_lines
from ralph.core.criterion.gates_for_project import Planned
from ralph.core.criterion.proposal import Trial, why_missing
from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Verdict


def plan_lines(plan: InitPlan) -> list[str]:
    """Everything that would be executed, in full, with its reason."""
    rows = [f"languages    {', '.join(plan.languages) or 'none known'}"]
    for one in plan.gates:
        where = "" if one.cwd == "." else f" in {one.cwd}"
        rows.append(f"  {one.name:12} {one.level:9} {safe(one.run, 400)}{where}")
        rows.append(f"  {'':12} {'':9} found in {safe(one.why, 200)}")
        if one.executes:
            rows.append(f"  {'':12} {'':9} its script: {safe(one.executes, 400)}")
        if not one.resolved:
            rows.append(f"  {'':12} {'':9} {safe(why_missing(one.run, one.hint), 300)}")
        elif one.network:
            rows.append(f"  {'':12} {'':9} needs the network, so it is not tried now; without it, no verdict")
    if plan.setup:
        rows.append(f"  setup        {safe(plan.setup)}  ({plan.setup_why}; not tried)")
    if plan.share:
        rows.append(f"  share        {', '.join(plan.share)}")
    return rows + [f"  dropped      {safe(text, 200)}" for text in plan.dropped]


def print_verdict(gate: Gate, verdict: Verdict) -> None:
    """A gate that was tried."""
    took = brief_seconds(verdict.seconds)
    words = f"{gate.name:.<24} {verdict.status}  {safe(verdict.summary, 100)}  {took}"
    print(words, file=sys.stderr)


def offer_file(
    file: InitFile, env: Mapping[str, str], *, yes: bool, held: bool = True, quiet: bool = False
) -> bool:
    """Show the difference, and write it when somebody says yes. True when something was written."""
    if file.new == file.old:
        if not quiet:
            print(f"{NAME} has all of this already")
        return False
    before = f"a/{NAME}" if file.old else "/dev/null"
    for row in difflib.unified_diff(
        file.old.splitlines(), file.new.splitlines(), before, f"b/{NAME}", lineterm=""
    ):
        print(safe_lines(row), file=sys.stderr if quiet else sys.stdout)
    if not yes and not click.confirm(f"write this to {NAME}?", default=True, err=True):
        return False
    write_init(file, env, held=held)
    if not quiet:
        print(f"wrote {file.path}")
    return True


def verdict_line(plan: InitPlan, trials: Mapping[str, Trial]) -> str:
    """How the project stands, and the loop that would change it."""
    if trials and not any(is_usable(one, trials) for one in plan.gates):
        return f"not ready: {plural(len(trials), 'check')} tried, none can run here; then: ralph init"
    red = [name for name, trial in trials.items() if trial.status != "pass"]
    words = f"{plural(len(trials), 'check')} tried, {len(red)} red" if trials else "no check was tried"
    task = "make the tests pass" if not red or "tests" in red else f"make {red[0]} pass"
    return f'ready: {words}; next: ralph loop "{task}"' + (" --dry-run" if trials and not red else "")


def missing_lines(plan: InitPlan, trials: Mapping[str, Trial]) -> list[str]:
    """What would be there if its tool were."""
    rows = []
    for one in plan.gates:
        if not is_usable(one, trials):
            hint = f"install it with: {one.hint}" if one.hint else "see ralph gates explain"
            rows.append(f"  missing      {one.name}: {safe(_why(one, trials), 160)}; {hint}")
    return rows


def _why(one: Planned, trials: Mapping[str, Trial]) -> str:
    trial = trials.get(one.name)
    return trial.summary if trial else f'"{one.run.split()[0]}" was not found'
