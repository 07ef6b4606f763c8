"""`ralph loop TASK`: work on a task until it is verified done."""

from __future__ import annotations

from typing import Any

import click

from ralph.ui.cli.loop_options import loop_options, plan_options
from ralph.ui.cli.task_text import TaskCommand, task_argument


@click.command(cls=TaskCommand, short_help="Work on a task until it is verified done.")
@task_argument
@click.option(
    "--plan",
    "planned",
    is_flag=True,
    help="Plan from specs/ or TASK first, then build item by item. Same as `ralph build`.",
)
@plan_options
@loop_options
def command(**given: Any) -> int:
    """Work on TASK until Ralph has verified the result.

    The agent works in an isolated copy of your repository. What it says is only a claim: Ralph runs the
    checks itself, on the commit, in a clean checkout. Your files are not touched; the result is a branch that
    you take with `ralph merge`.

    \b
    Examples:
      ralph loop "make the tests pass" --check "npm test" --agent-cmd "./my-agent.sh"
      ralph loop fix the parser --check tests="npm test" --max-iterations 5 --dry-run
      ralph loop --task-file task.md        (or @task.md; - reads the task from stdin)
      ralph loop "raise the coverage above 80%" --dry-run
      ralph loop --plan --check "npm test"
    """
    from ralph.ui.ask.loop_flags import read_flags
    from ralph.ui.ask.start_loop import start

    flags = read_flags(given)
    if not flags.planned and not flags.task:
        raise click.UsageError("Missing argument 'TASK'")
    return start(flags, flags.planning if flags.planned else None)
