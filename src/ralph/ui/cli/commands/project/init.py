"""`ralph init`: find the checks of this project and write them to ralph.toml, with reasons."""

from __future__ import annotations

import json
import os

import click

LEVELS = ("minimal", "default", "full", "security")


@click.command(short_help="Find the checks of this project, write ralph.toml.")
@click.option(
    "--level",
    default="full",
    show_default=True,
    type=click.Choice(LEVELS),
    help="How much: lint; lint, format, types; build and tests too; security too.",
)
@click.option("--no-try", is_flag=True, help="Execute nothing; the gates are written as not tried.")
@click.option("--dry-run", is_flag=True, help="Show what would be proposed; execute and write nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object; writes only with -y.")
@click.option("-y", "--yes", is_flag=True, help="Agree to everything that is shown.")
def command(level: str, no_try: bool, dry_run: bool, as_json: bool, yes: bool) -> int:
    """Find languages, tools and checks of this project, try each check once, and write ralph.toml.

    Manifests, CI files and documents of the last commit are read, never executed. The commands found are
    shown first; when you agree, each is tried in a clean checkout, without network. A file that is already
    there is only added to, after the difference was shown.

    \b
    Examples:
      ralph init
      ralph init --level security --dry-run
    """
    import msgspec

    from ralph.app.criterion import init
    from ralph.errors import UserError
    from ralph.ui.ask import init_screens
    from ralph.ui.ask.criterion import on_terminal

    env, cwd = dict(os.environ), os.getcwd()
    plan = init.plan_init(cwd, env, level)  # type: ignore[arg-type]
    if not as_json:
        for line in init_screens.plan_lines(plan):
            print(line)
    if dry_run or (as_json and not yes):
        if as_json:
            print(json.dumps({"v": 1, "plan": msgspec.to_builtins(plan), "written": False}))
        return 0
    if not yes and not on_terminal():
        raise UserError(
            "nobody agreed to these commands",
            code="E-INIT-UNASKED",
            why="there is no terminal to ask on; nothing was executed or written",
            next="ralph init -y",
        )
    agreed = (
        no_try or yes or click.confirm("try each of these once, in a clean checkout?", default=True, err=True)
    )
    plan = init.drop_known_gates(cwd, plan)
    held = not yes or init.is_held(plan, cwd, env, execute=not no_try)
    tell = (lambda *_: None) if as_json else init_screens.print_verdict
    trials = {} if no_try or not agreed else init.try_gates(plan, cwd, env, tell)
    for line in [] if as_json else init_screens.missing_lines(plan, trials):
        print(line)
    file = init.render_init(cwd, plan, trials)
    written = init_screens.offer_file(file, env, yes=yes, held=held, quiet=as_json)
    if as_json:
        body = {"v": 1, "plan": msgspec.to_builtins(plan), "written": written}
        print(json.dumps({**body, "trials": msgspec.to_builtins(list(trials.values()))}))
    elif written:
        print('next         ralph loop "make the tests pass"')
    return 0
