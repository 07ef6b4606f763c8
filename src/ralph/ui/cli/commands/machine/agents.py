"""`ralph agents`: which agents can be used here, and whether one of them really works."""

from __future__ import annotations

import contextlib
import io
import json
import os

import click

TASK = "make the test pass: add(2, 3) must be 5"
CHECK = "test=python3 -m unittest -q"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "import unittest\n\nfrom calc import add\n\n\nclass Add(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n",
    ".gitignore": "__pycache__/\n",
}


@click.group(short_help="List and test agents.")
def command() -> None:
    """List and test agents: the built-in ones and those in your configuration."""


@command.command("list", short_help="List agents with version, login and features.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_(as_json: bool) -> int:
    """List agents: whether each is installed and logged in, its version and features.

    Asks each program for its version; sends nothing to a model.

    \b
    Example:
      ralph agents list
    """
    import msgspec

    from ralph.agents.acp.adapter import WEAKER
    from ralph.app.upkeep import list_agents
    from ralph.app.words.format import safe, table

    rows = list_agents(dict(os.environ), os.getcwd())
    if as_json:
        print(json.dumps({"v": 1, "agents": [msgspec.to_builtins(row) for row in rows]}))
        return 0
    cells = [
        (
            safe(row.name),
            "ready" if row.installed else "missing",
            safe(row.version, 30),
            {"yes": "logged in", "no": "not logged in", "unknown": "login unknown"}[row.login],
            safe(" ".join(row.features), 60),
            safe(row.hint, 80),
        )
        for row in rows
    ]
    print(*table(cells), f"weaker: {WEAKER}", sep="\n")
    return 0


@command.command("test", short_help="Try an agent on a small throw-away project.")
@click.argument("name")
@click.option("--model", default=None, metavar="NAME", help="Model for the agent.")
@click.option("--display", default="auto", type=click.Choice(("auto", "live", "plain", "none")))
@click.option("--json", "as_json", is_flag=True, help="Print events as JSON lines; see docs/json.md.")
def test(name: str, model: str | None, display: str, as_json: bool) -> int:
    """Let agent NAME fix one line in a throw-away project, in at most two model calls.

    \b
    Example:
      ralph agents test claude
    """
    import tempfile

    from ralph.app.records import read_loop
    from ralph.app.start import StartRequest, prepare_start, start
    from ralph.app.upkeep import refuse_without_login
    from ralph.app.words.format import safe
    from ralph.ui.ask.demo_project import commit_files
    from ralph.ui.ask.drive_loop import drive_and_show

    with tempfile.TemporaryDirectory(prefix="ralph-agent-test-") as folder:
        project = os.path.join(folder, "project")
        os.mkdir(project)
        commit_files(project, [("A function with a bug", FILES)])
        # Its record goes away with it: this loop is about the agent, and nobody will land its result.
        env = {**os.environ, "RALPH_STATE_DIR": os.path.join(folder, "state")}
        flags = {"--agent": name, "--model": model, "--max-iterations": "2", "--iteration-timeout": "10m"}
        request = StartRequest(task=TASK, cwd=project, checks=(CHECK,), flags=dict(flags))
        prepared = prepare_start(request, env)
        refuse_without_login(prepared.order, env)
        started = start(prepared, env)
        # What a loop's end offers (diff, merge, …) is about a loop that is kept: this one is not.
        with contextlib.nullcontext() if as_json else contextlib.redirect_stdout(io.StringIO()):
            code = drive_and_show(
                started.name,
                env,
                started,
                mode=display,
                as_json=as_json,
                may_ask=False,
                min_free=0,
                alone=True,
            )
        loop = read_loop(started.name, env).loop
    if not as_json:
        works = "works: it changed a file, and Ralph verified the result" if code == 0 else "did not do it"
        print(f"agent {safe(name)} {works} ({loop.outcome}: {safe(loop.reason, 300)})")
    return code
