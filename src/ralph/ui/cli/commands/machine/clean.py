"""`ralph clean`: remove what is no longer needed, after showing it."""

from __future__ import annotations

import os
import sys

import click

from ralph.errors import NeedsHuman


@click.command(short_help="Remove old workspaces and leftovers.")
@click.option(
    "--older-than",
    default="",
    metavar="30d",
    help="Remove workspaces of loops that ended longer ago than this (default: from the settings).",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def command(older_than: str, dry_run: bool, yes: bool) -> int:
    """Remove workspaces of loops that ended long ago, and leftovers of no loop.

    Results, checkpoints and records stay.

    \b
    Example:
      ralph clean --older-than 7d --dry-run
    """
    from ralph.app.upkeep import clean, plan_cleaning
    from ralph.app.words.format import safe
    from ralph.core.text.units import size_words

    env = dict(os.environ)
    cleaning = plan_cleaning(env, os.getcwd(), older_than)
    waste = cleaning.waste
    for item in waste[:40]:
        print(f"  {size_words(item.size):>10}  {item.why}  {safe(item.path, 120)}")
    if len(waste) > 40:
        print(f"  and {len(waste) - 40} more")
    total = size_words(cleaning.size)
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
    clean(env, cleaning)
    print(f"removed {total}")
    return 0
