"""`ralph classify TASK`: how large a task looks by its words, and what to type for it."""

from __future__ import annotations

import click

from ralph.ui.cli.backlog.group import JSON, print_json
from ralph.ui.cli.task_text import task_argument


@click.command(short_help="Estimate a task by its words, and propose commands.")
@task_argument
@JSON
def command(task: str, as_json: bool) -> int:
    """Estimate complexity (1-10), density and context of TASK, and propose the commands for it.

    This is advice from the words of the task alone. Nothing is started, the project is not read, and what
    proves the task does not change. A task without a known word has complexity 5.

    \b
    Examples:
      ralph classify "fix a typo in the login page"
      ralph classify "migrate every module of the codebase to asyncio" --json
      ralph classify @task.md
    """
    from ralph.app.words.format import safe, table
    from ralph.core.sentence.classify import classify

    if not task.strip():
        raise click.UsageError("a task is missing")
    found = classify(task)
    if as_json:
        print_json({"v": 1, "task": task, **found})
        return 0
    rows = [(key, str(found[key])) for key in ("complexity", "density", "context")]
    rows += [
        ("route", f"{found['route']}, at most {found['max_iterations']} iterations: {found['what']}"),
        ("review", "advised: the team's reviewer" if found["review"] else "not advised"),
        ("because of", safe(", ".join(found["words"]), 100) or "no known word, so these are the defaults"),
        *(("type", safe(one, 1000)) for one in found["commands"]),
    ]
    print("\n".join(table(rows)))
    print("advice from the words alone; nothing was started, and the checks decide as always")
    return 0
