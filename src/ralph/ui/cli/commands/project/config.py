"""`ralph config`: the settings, and where each came from."""

from __future__ import annotations

import json
import os
import sys

import click


@click.group(short_help="Show the settings and where each comes from.")
def command() -> None:
    """Show settings: defaults, your own file, the project's file and the environment."""


@command.command("show", short_help="Show every setting in effect here.")
@click.option("--origin", is_flag=True, help="Show which layer and line each setting comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(origin: bool, as_json: bool) -> int:
    """Show every setting in effect here.

    \b
    Example:
      ralph config show --origin
    """
    from ralph.app.settings import approval_needed, project_settings, remember, setting_rows
    from ralph.app.words.format import safe, table

    env = dict(os.environ)
    settings = project_settings(env, os.getcwd())
    rows = setting_rows(settings)
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
    needed = approval_needed(settings)
    if needed is not None:
        print(
            f"note: not approved, so left out; show and approve it: ralph approve {needed.short}",
            file=sys.stderr,
        )
        remember(needed, env)
    return 0
