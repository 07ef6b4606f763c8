"""`ralph clean`: remove what is no longer needed, after showing it."""

from __future__ import annotations

import os
import sys

import click

from ralph.clock import SystemClock
from ralph.errors import NeedsHuman, UserError


@click.command(short_help="Remove what is no longer needed.")
@click.option(
    "--older-than",
    default="",
    metavar="30d",
    help="Age of ended loops whose workspaces go; from the settings when left out.",
)
@click.option("--dry-run", is_flag=True, help="Only show it.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(older_than: str, dry_run: bool, yes: bool) -> int:
    """Remove workspaces of loops that ended long ago, and leftovers that belong to no loop.

    Results, checkpoints and records stay.

    \b
    Example:
      ralph clean --older-than 7d --dry-run
    """
    from ralph.app.words.format import safe
    from ralph.shell import config
    from ralph.shell.files import units
    from ralph.shell.state.directory import config_dir
    from ralph.shell.upkeep.clean import DAY, find_waste, remove_waste

    env = dict(os.environ)
    settings = config.load(cwd=os.getcwd(), top=None, env=env, flags={}, user_dir=config_dir(env))
    age = settings.retention.keep_days * DAY
    if older_than:
        try:
            days = older_than.removesuffix("d")
            age = float(days) * DAY if days.isdigit() else units.parse_duration(older_than)
        except ValueError as error:
            raise UserError(
                f"--older-than is '{older_than}': expected {error}", code="E-USAGE", next="ralph clean --help"
            ) from None
    now = SystemClock().now()
    waste = find_waste(env, age, now)
    for item in waste[:40]:
        print(f"  {units.size_words(item.size):>10}  {item.why}  {safe(item.path, 120)}")
    if len(waste) > 40:
        print(f"  and {len(waste) - 40} more")
    total = units.size_words(sum(item.size for item in waste))
    if not waste:
        print("nothing to remove")
        return 0
    if dry_run:
        print(f"{total} could be removed; nothing was")
        return 0
    if not yes:
        if not sys.stdin.isatty():
            raise NeedsHuman("cleaning needs a yes", code="E-CLEAN-ASK", next="ralph clean --yes")
        if not click.confirm(f"remove {total}?", default=False):
            return 1
    remove_waste(env, waste, age, now)
    print(f"removed {total}")
    return 0
