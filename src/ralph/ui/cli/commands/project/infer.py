"""`ralph infer TASK`: what would prove a task here, with reasons; or why nothing would."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from ralph.ui.cli.streams import on_terminal

CLASSES = {"code": "implement-feature", "test": "test-pass", "docs": "docs", "refactor": "regression"}


@click.command(short_help="Find checks that would prove a task.")
@click.argument("task")
@click.option(
    "--until",
    "--completion",
    "until",
    default="",
    metavar="TEXT",
    help="What must be true at the end, in words.",
)
@click.option(
    "--class",
    "task_class",
    default="",
    metavar="CLASS",
    help="Task class (default: inferred from the task's wording).",
)
@click.option("--task-type", default="", type=click.Choice(("", *CLASSES)), hidden=True)
@click.option("--base", default="", metavar="REV", help="Commit to look at (default: HEAD).")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; see docs/inference.md.")
@click.option("--yaml", "as_yaml", is_flag=True, help="Print YAML instead.")
@click.option("-y", "--yes", is_flag=True, help="Approve the commands and try each once in the sandbox.")
@click.option("--no-try", "--non-interactive", "no_try", is_flag=True, help="Do not execute or ask anything.")
@click.option("--interactive", is_flag=True, help="Answer five questions first.")
def command(task: str, as_json: bool, as_yaml: bool, yes: bool, no_try: bool, **given: Any) -> int:
    """Find checks that would prove TASK in this repository, with reasons and confidence.

    Reads documents, CI files and manifests; never executes them. Shows the commands it found and, if you
    agree, tries each once in the sandbox. Exit code 0: proposed. 2: refused, with the reason and a wording
    that would work.

    \b
    Examples:
      ralph infer "make the tests pass"
      ralph infer "raise the coverage above 80%" --json
    """
    from ralph.app.criterion.adopt import Consent
    from ralph.app.criterion.infer import InferRequest, infer
    from ralph.ui.ask import criterion

    quiet = as_json or as_yaml
    answers = criterion.interview() if given["interactive"] and on_terminal() else {}
    until = given["until"] or answers.get("outcome", "")
    if answers.get("command"):
        until = f"`{answers['command']}` passes"
    request = InferRequest(
        task=task,
        cwd=os.getcwd(),
        until=until,
        task_class=given["task_class"] or CLASSES.get(given["task_type"], ""),
        base=given["base"],
        execute=not no_try,
    )
    consent = Consent(yes=yes, ask=not quiet and not no_try and on_terminal())
    found = infer(request, dict(os.environ), consent, criterion.Terminal())
    made, approval = found.proposal, found.approval
    if quiet:
        _print(criterion.as_data(made, approval), as_yaml=as_yaml)
    else:
        print(*criterion.proposal_lines(made), sep="\n")
        if not made.refused:
            print(f"use it       {criterion.loop_command(made, answers)}")
            if not made.tried and approval:
                print(f"agree to it  ralph approve {approval}")
    return 2 if made.refused else 0


def _print(data: dict[str, Any], *, as_yaml: bool) -> None:
    if not as_yaml:
        print(json.dumps(data, ensure_ascii=False))
        return
    import yaml

    print(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), end="")
