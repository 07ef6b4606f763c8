"""`ralph gates`: list the gates of this project, or judge the work tree with them."""

from __future__ import annotations

import json
import os
import shlex
from typing import Any

import click

from ralph.app.criterion.gates import GateFacts
from ralph.app.words.format import safe, table
from ralph.core.toolchains.kinds import LEVEL_OF

LEVELS = ("minimal", "default", "full", "security")


@click.group(short_help="List checks, or run them on your work tree.")
def command() -> None:
    """List, run and find gates: the checks that decide whether a tree is good."""


def _request(checks: tuple[str, ...], **more: Any) -> Any:
    from ralph.app.criterion.gates import GatesRequest

    return GatesRequest(cwd=os.getcwd(), checks=checks, **more)


@command.command("list", short_help="List the checks a loop would use here.")
@click.option("--check", "checks", multiple=True, metavar="[NAME=]CMD", help="Add a check. Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(checks: tuple[str, ...], as_json: bool) -> int:
    """List the checks a loop would use here, and how Ralph reads each one.

    \b
    Example:
      ralph gates list
    """
    import msgspec

    from ralph.app.criterion.gates import list_gates
    from ralph.app.words.format import safe, table

    gates = list_gates(_request(checks), dict(os.environ))
    if as_json:
        print(json.dumps({"v": 1, "gates": [msgspec.to_builtins(gate) for gate in gates]}))
        return 0
    rows = []
    for gate in gates:
        kind = "proof" if gate.proof else "required" if gate.required else "advisory"
        network = "network" if gate.network else "no network"
        rows.append(
            (gate.name, kind, safe(gate.run, 60), f"read {gate.read}", gate.cwd, network, gate.origin)
        )
    for line in table(rows):
        print(line)
    return 0


@command.command("run", short_help="Run checks on a snapshot of your work tree.")
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--check", "checks", multiple=True, metavar="[NAME=]CMD", help="Add a check. Repeatable.")
@click.option("--base", is_flag=True, help="Check HEAD instead of your work tree.")
@click.option("--minimal", "level", flag_value="minimal", help="Run only lint.")
@click.option("--default", "level", flag_value="default", help="Run only lint, format and types.")
@click.option("--full", "level", flag_value="full", help="Run everything except security.")
@click.option("--changed", is_flag=True, help="Run only checks that your uncommitted changes could affect.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def run(
    names: tuple[str, ...],
    checks: tuple[str, ...],
    base: bool,
    level: str | None,
    changed: bool,
    as_json: bool,
) -> int:
    """Run checks on a snapshot of your work tree in a clean checkout, without touching your files.

    \b
    Examples:
      ralph gates run
      ralph gates run --minimal --changed
      ralph gates run --base --check "npm test"
    """
    import msgspec

    from ralph.app.criterion.gates import judge_here
    from ralph.app.words.format import brief_seconds, safe, short

    def tell(gate: Any, verdict: Any) -> None:
        took = brief_seconds(verdict.seconds)
        print(f"{gate.name:.<24} {verdict.status}  {safe(verdict.summary, 100)}  {took}")
        for finding in verdict.findings if verdict.status != "pass" else ():
            place = f"{finding.path}:{finding.line}: " if finding.path else ""
            print(f"    {safe(place + finding.message.split(chr(10))[0], 160)}")

    request = _request(checks, names=names, level=level, changed=changed, base=base)
    judged = judge_here(request, dict(os.environ), (lambda *_: None) if as_json else tell)
    if as_json:
        listed = [msgspec.to_builtins(verdict) for verdict in judged.verdicts]
        print(json.dumps({"v": 1, "tree": judged.tree, "passed": judged.passed, "verdicts": listed}))
    else:
        word = "every required gate passes" if judged.passed else "not green"
        print(f"tree {short(judged.tree)}: {word}")
    return 0 if judged.passed else 1


@command.command("infer", short_help="Find checks for this project.")
@click.option(
    "--level",
    default="full",
    show_default=True,
    type=click.Choice(LEVELS),
    help="Which kinds of checks to look for.",
)
@click.option("--write", is_flag=True, help="Try the checks and add them to ralph.toml, like `ralph init`.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("-y", "--yes", is_flag=True, help="Accept everything without asking.")
@click.pass_context
def infer(ctx: click.Context, level: str, write: bool, as_json: bool, yes: bool) -> int:
    """Find checks in this project's manifests, CI files and documents, without executing anything.

    \b
    Examples:
      ralph gates infer
      ralph gates infer --write
    """
    from ralph.ui.cli.commands.project.init import command as init

    given = {"level": level, "no_try": False, "dry_run": not write, "as_json": as_json, "yes": yes}
    return int(ctx.invoke(init, **given))


@command.command("explain", short_help="Explain a check.")
@click.argument("name")
@click.option("--check", "checks", multiple=True, metavar="[NAME=]CMD", help="Add a check. Repeatable.")
def explain(name: str, checks: tuple[str, ...]) -> int:
    """Explain what a check runs, where it comes from, how Ralph reads it and when it counts.

    \b
    Example:
      ralph gates explain tests
    """
    from ralph.app.criterion.gates import explain_gate

    print(*explain_lines(explain_gate(_request(checks), name, dict(os.environ))), sep="\n")
    return 0


READ_WORDS = {
    "exit": "its exit code is all that is known of it",
    "junit": "a JUnit report that it writes, test by test",
    "coverage": "a coverage report that it writes, against the minimum",
    "sarif": "a SARIF report that it writes, finding by finding",
}


def explain_lines(facts: GateFacts) -> list[str]:
    """One gate explained, a fact a line."""
    gate, kind = facts.gate, facts.kind
    read = READ_WORDS.get(gate.read, f"what {gate.read} tells, test by test or finding by finding")
    counts = (
        "proof: red before, green after" if gate.proof else "stays green" if gate.required else "advisory"
    )
    rows = [
        ("gate", gate.name),
        ("executes", safe(gate.run, 600)),
        ("really", safe(shlex.join(facts.argv), 600)),
        ("in", gate.cwd),
        ("from", facts.origin),
        ("kind", f"{kind}, level {LEVEL_OF[kind]}" if kind else "not known: part of the level full"),
        ("counts as", counts),
        ("read by", f"{gate.read}: {read}"),
        ("tool", safe(gate.tool) if gate.tool else "is in the repository, or is not installed"),
        ("network", "yes" if gate.network else "none"),
        ("at most", f"{gate.timeout:g} s"),
        ("judge it", f"ralph gates run {gate.name}"),
    ]
    if gate.own_files:
        rows.insert(8, ("its files", ", ".join(gate.own_files)))
    return table(rows)
