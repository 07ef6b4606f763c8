"""`ralph build`: plan from the specs, then build item by item until everything is proven."""

from __future__ import annotations

from typing import Any

import click

from ralph.ui.cli.loop_options import loop_options, plan_ask, plan_options


@click.command(short_help="Build what the specs say, item by item.")
@click.argument("task", required=False, default="")
@plan_options
@loop_options
def command(**given: Any) -> int:
    """Build what specs/ and IMPLEMENTATION_PLAN.md say (and TASK), one item an iteration.

    Planning comes first when there is no plan, or when specs or code have changed since it was made. Each
    item is judged like a task of its own, ticked and committed on the result branch only when it is verified;
    each criterion of the specs must be named by a test that passes. The same as `ralph loop --plan`.

    \b
    Examples:
      ralph build --check "pytest -q"
      ralph build "a command line for the todo list" --check "pytest -q" --max-iterations 40
    """
    from ralph.ui.ask.start_loop import start

    return start(given, plan_ask(given))
