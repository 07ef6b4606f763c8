"""`ralph build`: plan from the specs, then build item by item until everything is proven."""

from __future__ import annotations

from typing import Any

import click

from ralph.ui.cli.loop_options import loop_options, plan_options
from ralph.ui.cli.task_text import TaskCommand, task_argument


@click.command(cls=TaskCommand, short_help="Build what the specs describe, item by item.")
@task_argument
@plan_options
@loop_options
def command(**given: Any) -> int:
    """Build what specs/, IMPLEMENTATION_PLAN.md and TASK describe, one item per iteration.

    Plans first when there is no plan, or when specs or code have changed since it was written. Checks each
    item like a separate task, and ticks and commits it on the result branch only when it is verified. Every
    criterion of the specs must be named by a passing test. Same as `ralph loop --plan`.

    \b
    Examples:
      ralph build --check "npm test"
      ralph build "a command line for the todo list" --check "npm test" --max-iterations 40
    """
    from ralph.ui.ask.loop_flags import read_flags
    from ralph.ui.ask.start_loop import start

    flags = read_flags(given)
    return start(flags, flags.planning)
