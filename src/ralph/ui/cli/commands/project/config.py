"""`ralph config`: the settings, where each came from, and changing the user's own."""

from __future__ import annotations

import json
import os
import sys

import click


@click.group(short_help="Show and change settings.")
def command() -> None:
    """Show settings (defaults, your own file, the project's file, the environment) and change your own."""


@command.command("show", short_help="Show the settings that differ from the defaults.")
@click.option("--all", "every", is_flag=True, help="Show every setting in effect here.")
@click.option("--origin", is_flag=True, help="Show which layer and line each setting comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print every setting as one JSON object.")
def show(every: bool, origin: bool, as_json: bool) -> int:
    """Show the settings in effect here that differ from the defaults; with --all every one.

    \b
    Examples:
      ralph config show
      ralph config show --all --origin
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
    shown = [row for row in rows if every or row.layer != "defaults"]
    cells = [
        (row.key, "=", safe(row.value, 80), *((f"{row.layer}: {safe(row.where, 80)}",) if origin else ()))
        for row in shown
    ]
    for line in table(cells):
        print(line)
    if len(shown) < len(rows):
        print(
            f"{len(rows) - len(shown)} settings have their default: ralph config show --all", file=sys.stderr
        )
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


@command.command("get", short_help="Print one setting.")
@click.argument("key")
def get(key: str) -> int:
    """Print the value of KEY that is in effect here, alone on stdout.

    \b
    Example:
      ralph config get limits.iterations
    """
    from ralph.app.settings import project_settings, setting_rows
    from ralph.app.words.format import safe
    from ralph.errors import UserError

    rows = {row.key: row.value for row in setting_rows(project_settings(dict(os.environ), os.getcwd()))}
    if key not in rows:
        from difflib import get_close_matches

        near = get_close_matches(key, list(rows), n=1, cutoff=0.5)
        raise UserError(
            f"there is no setting '{key}'",
            code="E-CONFIG-KEY",
            why=f"did you mean '{near[0]}'?" if near else "",
            next=f"ralph config get {near[0]}" if near else "ralph config show --all",
        )
    print(safe(rows[key], 2000))
    return 0


@command.command("set", short_help="Set one of your own settings.")
@click.argument("key")
@click.argument("value")
def set_(key: str, value: str) -> int:
    """Set KEY to VALUE in your own settings file; a project's ralph.toml is edited by hand.

    \b
    Examples:
      ralph config set agent codex
      ralph config set limits.cost 5
    """
    from ralph.app.settings import set_user_values

    print(f"{key} = {value} in {set_user_values({key: value}, os.environ)}")
    return 0


@command.command("reset", short_help="Put your own settings back to the defaults.")
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def reset(keys: tuple[str, ...], yes: bool) -> int:
    """Remove each KEY from your own settings file; without any, all of them, after asking. A copy is kept.

    \b
    Example:
      ralph config reset limits.cost
    """
    from ralph.app.settings import reset_user_values, user_config_path
    from ralph.errors import NeedsHuman

    path = user_config_path(os.environ)
    if not keys and not yes:
        if not sys.stdin.isatty():
            raise NeedsHuman(
                "resetting every setting needs a yes", code="E-CONFIG-ASK", next="ralph config reset --yes"
            )
        if not click.confirm(f"empty {path}? a copy is kept", default=False, err=True):
            return 1
    reset_user_values(keys, os.environ)
    print(f"{', '.join(keys) or 'every setting'} back to the default in {path}")
    return 0


@command.command("preset", short_help="Set limits for quick, thorough or ci work.")
@click.argument("name", type=click.Choice(("quick", "thorough", "ci")))
def preset(name: str) -> int:
    """Set several limits at once in your own settings file.

    \b
    quick      3 iterations, 15 minutes
    thorough   20 iterations, 2 hours
    ci         5 iterations, 30 minutes, no progress on screen

    \b
    Example:
      ralph config preset quick
    """
    from ralph.app.settings import preset_values, set_user_values

    values = preset_values(name)
    path = set_user_values(values, os.environ)
    print(f"{', '.join(f'{key} = {value}' for key, value in values.items())} in {path}")
    return 0


@command.command("path", short_help="Print where your own settings are.")
def path_() -> int:
    """Print the path of your own settings file, whether it is there or not.

    \b
    Example:
      cat "$(ralph config path)"
    """
    from ralph.app.settings import user_config_path

    print(user_config_path(os.environ))
    return 0


@command.command("edit", short_help="Open your own settings in $EDITOR.")
def edit() -> int:
    """Open your own settings file in $VISUAL or $EDITOR, and check it afterwards.

    \b
    Example:
      EDITOR=nano ralph config edit
    """
    from ralph.app.settings import user_config_path, user_settings

    path = user_config_path(os.environ)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    click.edit(filename=path)
    user_settings(dict(os.environ), os.getcwd())
    return 0
