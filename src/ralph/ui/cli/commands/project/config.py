"""`ralph config`: the settings, and where each came from."""

from __future__ import annotations

import json
import os
import sys

import click

from ralph.clock import SystemClock


@click.group(short_help="Show the settings and where each came from.")
def command() -> None:
    """Settings: defaults, your own file, the project's, the environment."""


@command.command("show", short_help="Every setting that counts here.")
@click.option("--origin", is_flag=True, help="Also which layer and line it came from.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def show(origin: bool, as_json: bool) -> int:
    """Every setting that counts here.

    \b
    Example:
      ralph config show --origin
    """
    from ralph.app.words.format import safe, table
    from ralph.shell import config
    from ralph.shell.config import approvals
    from ralph.shell.state.directory import config_dir
    from ralph.ui.ask.place import project_here

    env = dict(os.environ)
    user_dir = config_dir(env)
    settings = config.load(
        cwd=os.getcwd(),
        top=project_here(),
        env=env,
        flags={},
        user_dir=user_dir,
        trust=approvals.trust_check(user_dir),
    )
    rows = config.rows(settings)
    if as_json:
        listed = [
            {"key": row.key, "value": row.value, "layer": row.layer, "where": row.where} for row in rows
        ]
        print(json.dumps({"v": 1, "settings": listed, "warnings": list(settings.warnings)}))
        return 0
    cells = [
        (row.key, "=", safe(row.value, 80), *((f"{row.layer}: {safe(row.where, 80)}",) if origin else ()))
        for row in rows
    ]
    for line in table(cells):
        print(line)
    for warning in settings.warnings:
        print(f"note: {safe(warning, 300)}", file=sys.stderr)
    needed = approvals.approval_needed(settings)
    if needed is not None:
        print(
            f"note: not approved, so left out; show and approve it: ralph approve {needed.short}",
            file=sys.stderr,
        )
        approvals.remember(user_dir, needed, SystemClock().now())
    return 0
