"""`ralph agents`: which agents can be used here."""

from __future__ import annotations

import json
import os

import click


@click.group(short_help="List the agents that can be used.")
def command() -> None:
    """Agents: the built-in adapters, and those that your configuration names."""


@command.command("list", short_help="Each agent, and whether it is installed.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def list_(as_json: bool) -> int:
    """Each agent, and whether it is installed.

    \b
    Example:
      ralph agents list
    """
    from ralph import agents
    from ralph.shell import approvals, config
    from ralph.shell.statedir import config_dir
    from ralph.ui.format import safe, table
    from ralph.ui.place import project_here

    env = dict(os.environ)
    user_dir = config_dir(env)
    settings = config.load(
        cwd=os.getcwd(),
        top=project_here(),
        env=env,
        flags={},
        user_dir=user_dir,
        trust=approvals.trusted(user_dir),
    )
    rows = []
    for name in sorted(agents.ADAPTERS):
        probe = agents.load(name).probe(env)
        rows.append(
            {"agent": name, "installed": probe.installed, "version": probe.version, "hint": probe.hint}
        )
    for name, spec in sorted(settings.agents.items()):
        if spec.command:
            rows.append({"agent": name, "installed": True, "version": "configured", "hint": spec.command})
    if as_json:
        print(json.dumps({"v": 1, "agents": rows}))
        return 0
    cells = [
        (
            safe(str(row["agent"])),
            "ready" if row["installed"] else "missing",
            str(row["version"]),
            safe(str(row["hint"]), 80),
        )
        for row in rows
    ]
    for line in table(cells):
        print(line)
    return 0
