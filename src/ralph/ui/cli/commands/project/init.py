"""`ralph init`: find the checks of this project and write them to ralph.toml, with reasons."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from ralph.ui.cli.streams import on_terminal

LEVELS = ("minimal", "default", "full", "security")


@click.command(short_help="Find this project's checks and write ralph.toml.")
@click.option(
    "--level",
    default="full",
    show_default=True,
    type=click.Choice(LEVELS),
    help="Find checks: minimal = lint; default = lint, format, types; full = build, tests; security = all.",
)
@click.option(
    "--ci",
    type=click.Choice(("github", "pre-commit")),
    help="Write files for CI or hooks instead: workflows for GitHub Actions, or a pre-commit configuration.",
)
@click.option("--no-try", is_flag=True, help="Do not execute anything; mark the checks as untried.")
@click.option(
    "--dry-run", is_flag=True, help="Show what would be proposed; do not execute or write anything."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; write only with -y.")
@click.option("-y", "--yes", is_flag=True, help="Accept everything without asking.")
def command(level: str, ci: str | None, no_try: bool, dry_run: bool, as_json: bool, yes: bool) -> int:
    """Find this project's languages, tools and checks, try each check once, and write ralph.toml.

    Reads manifests, CI files and documents of the last commit; never executes them. Shows the commands it
    found and, if you agree, tries each in a clean checkout without network. Only adds to an existing file,
    after showing you the diff.

    With --ci, writes workflow or hook files from templates (docs/ci.md); existing files are never replaced.

    \b
    Examples:
      ralph init
      ralph init --level security --dry-run
      ralph init --ci github
    """
    if ci is not None:
        return _write_ci(ci, dry_run=dry_run, as_json=as_json)
    import msgspec

    from ralph.app.criterion import init
    from ralph.errors import UserError
    from ralph.ui.ask import init_screens

    env, cwd = dict(os.environ), os.getcwd()
    plan = init.plan_init(cwd, env, level)  # type: ignore[arg-type]
    if not as_json:
        print(*init_screens.plan_lines(plan), sep="\n")
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
        print(init_screens.verdict_line(plan, trials))
    return 0


def _write_ci(kind: Any, *, dry_run: bool, as_json: bool) -> int:
    from ralph.app.criterion.init_ci import ci_files, write_ci

    if dry_run and not as_json:
        for one in ci_files(kind):
            print(f"# {one.path}\n{one.text}")
        return 0
    paths = [one.path for one in ci_files(kind)] if dry_run else write_ci(kind, os.getcwd())
    if as_json:
        print(json.dumps({"v": 1, "files": list(paths), "written": not dry_run}))
        return 0
    for path in paths:
        print(f"wrote {path}")
    print("next  read their first lines: they say what to set up")
    return 0
