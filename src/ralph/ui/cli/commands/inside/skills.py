"""`ralph skills`: Ralph as a command and as hooks inside an agent's host."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from ralph.core.session.hosts import HOST_FACTS
from ralph.ui.cli.option_groups import with_options
from ralph.ui.cli.streams import on_terminal


@click.group(short_help="Install Ralph's /ralph and hooks into an agent.")
def command() -> None:
    """Install `/ralph` and Ralph's hooks into Claude Code, Codex, Gemini, Qwen, Copilot or OpenCode."""


_where = with_options(
    click.option(
        "--agent", "hosts", multiple=True, type=click.Choice(tuple(HOST_FACTS)), metavar="NAME",
        help="claude, codex, gemini, qwen, copilot or opencode. Repeatable (default: those found here).",
    ),
    click.option("--user", "scope", flag_value="user", help="For you (default)."),
    click.option("--project", "scope", flag_value="project", help="In this project, for everybody."),
)  # fmt: skip


def _skills(hosts: tuple[str, ...], scope: str | None, goal: str | None = None) -> list[Any]:
    """The hosts that were named, else those whose program is here; each with the goal it has, or this one."""
    import shutil

    from msgspec.structs import replace

    from ralph.app.place import project_of
    from ralph.app.skills.install import read_note
    from ralph.app.skills.layout import skill_for

    env = dict(os.environ)
    scope = scope or "user"
    top = (project_of(os.getcwd()) or os.getcwd()) if scope == "project" else os.path.expanduser("~")
    chosen = hosts or tuple(name for name in HOST_FACTS if shutil.which(name))
    found = [skill_for(name, scope, top, env) for name in chosen]  # type: ignore[arg-type]
    if goal is not None:
        return [replace(one, goal=goal == "native") for one in found]
    return [replace(one, goal=note.goal) if (note := read_note(one, env)) else one for one in found]


@command.command("install", short_help="Install or update.")
@_where
@click.option(
    "--goal",
    type=click.Choice(("ralph", "native")),
    default=None,
    help="Who says when it is over: Ralph's Stop gate (default), or the host's own /goal. Never both. "
    "An update keeps what is installed.",
)
@click.option("--dry-run", is_flag=True, help="Show the difference and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def install(hosts: tuple[str, ...], scope: str | None, goal: str | None, dry_run: bool, yes: bool) -> int:
    """Install `/ralph` and the hooks, or bring them up to date. Shows the exact difference first.

    \b
    Example:
      ralph skills install --agent claude
    """
    from ralph.app.skills.install import apply_install, plan_install
    from ralph.app.skills.layout import host_table
    from ralph.errors import UserError

    env = dict(os.environ)
    if not (skills := _skills(hosts, scope, goal)):
        raise UserError(
            "no agent that could hold Ralph was found",
            code="E-SKILLS-NONE",
            why=f"looked for {', '.join(HOST_FACTS)} in PATH",
            next="ralph skills install --agent claude",
        )
    for skill in skills:
        if skill.goal and not HOST_FACTS[skill.host].goal:
            raise UserError(
                f"{skill.host} has no goal command of its own",
                code="E-SKILLS-GOAL",
                next=f"ralph skills install --agent {skill.host}",
            )
        changes = plan_install(skill, env)
        if not changes:
            print(f"{skill.host}: up to date")
            continue
        if not _ask_to_apply(f"write this for {skill.host}?", changes, yes=yes, dry_run=dry_run):
            continue
        apply_install(skill, env, changes)
        print(f"{skill.host}: installed; in a new session, /ralph")
        own, told = HOST_FACTS[skill.host].goal, host_table()[skill.host].get("note", "")
        if own:
            here = f"ralph skills install --agent {skill.host} --{skill.scope} --goal"
            told = f"{own} asks a model when it is over; Ralph's Stop gate instead: {here} ralph"
            if not skill.goal:
                told = f"Ralph's Stop gate says when it is over; {own} of {skill.host} instead: {here} native"
        if told:
            print(f"note: {told}")
    return 0


def _ask_to_apply(question: str, changes: list[Any], *, yes: bool, dry_run: bool) -> bool:
    from ralph.app.skills.install import diff_lines
    from ralph.core.text.clean import clean
    from ralph.errors import AGAIN, NeedsHuman

    print(clean("\n".join(diff_lines(changes))))
    if dry_run:
        return False
    if yes:
        return True
    if not on_terminal():
        raise NeedsHuman(
            "these files are yours, and nobody agreed to change them",
            code="E-SKILLS-ASK",
            why="there is no terminal to ask at",
            next=f"{AGAIN} --yes",
        )
    return bool(click.confirm(question, default=True, err=True))


@command.command("uninstall", short_help="Remove what was installed.")
@_where
@click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation.")
def uninstall(hosts: tuple[str, ...], scope: str | None, yes: bool) -> int:
    """Remove what `install` wrote, and nothing else; settings are as they were before, to the byte.

    \b
    Example:
      ralph skills uninstall --agent claude
    """
    from ralph.app.skills.install import apply_uninstall, plan_uninstall

    env = dict(os.environ)
    for skill in _skills(hosts or tuple(HOST_FACTS), scope):
        changes, kept = plan_uninstall(skill, env)
        if not changes and not kept:
            continue
        if not _ask_to_apply(f"change this for {skill.host}?", changes, yes=yes, dry_run=False):
            continue
        apply_uninstall(skill, env, changes)
        print(f"{skill.host}: removed")
        for path in kept:
            print(f"note: left '{path}', which was edited since")
    return 0


@command.command("status", short_help="Show where Ralph is installed.")
@_where
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def status(hosts: tuple[str, ...], scope: str | None, as_json: bool) -> int:
    """Show in which agents Ralph is installed, whether that is up to date, and how long a stop may take.

    Without --agent all of them; without --user and --project, yours and this project's.

    \b
    Example:
      ralph skills status
    """
    from ralph.app.skills.install import read_note, skill_state
    from ralph.app.words.format import table

    env = dict(os.environ)
    rows: list[dict[str, Any]] = []
    for place in (scope,) if scope else ("user", "project"):
        for skill in _skills(hosts or tuple(HOST_FACTS), place):
            facts, note = HOST_FACTS[skill.host], read_note(skill, env)
            native = note is not None and note.goal
            gate = facts.goal if native else "Stop gate" if "Stop" not in facts.ignores else "none"
            rows.append({
                "agent": skill.host, "scope": place, "state": skill_state(skill, env), "until": gate,
                "or": "Stop gate" if native else facts.goal or None,
                "stop_seconds": facts.seconds if gate == "Stop gate" else None,
            })  # fmt: skip
    if as_json:
        print(json.dumps({"v": 1, "skills": rows}))
        return 0
    shown = [
        (row["agent"], row["scope"], row["state"], _until(row))
        for row in rows
        if scope or row["scope"] == "user" or row["state"] != "not installed"
    ]
    print("\n".join(table(shown)))
    print("checks that take longer than a stop may go on by themselves; the next stop hears the verdict")
    if any(row["state"] in ("stale", "edited") for row in rows):
        print("update: ralph skills install")
    return 0


def _until(row: dict[str, Any]) -> str:
    """Who says when it is over, how soon, and what could be chosen instead."""
    if row["until"] == "none":
        return "no stop gate: /ralph starts loops outside"
    soon = f", answers within {row['stop_seconds']} s" if row["stop_seconds"] else ""
    instead = f" (or {row['or']}: install --goal {'native' if soon else 'ralph'})" if row["or"] else ""
    return f"{row['until']}{soon}{instead}"
