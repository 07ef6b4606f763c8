"""`ralph mcp`: serve this project's loops to an MCP client over stdio."""

from __future__ import annotations

import os

import click

from ralph.errors import SetupError


@click.command(short_help="Serve loops to an MCP client.")
@click.option(
    "--project",
    "projects",
    multiple=True,
    metavar="PATH",
    help="Serve the repository around PATH instead of the one around this folder. Repeatable.",
)
def command(projects: tuple[str, ...]) -> int:
    """Serve the loops of a project over stdio, as a Model Context Protocol server.

    A client can start, watch, steer, pause, resume, abort, answer, verify and read loops, and look at the
    backlog. It cannot approve commands, waive findings, loosen the sandbox, choose the agent or raise limits:
    that needs you. See docs/mcp.md. Needs the extra `mcp`.

    \b
    Examples:
      claude mcp add ralph -- ralph mcp
      codex mcp add ralph -- ralph mcp --project ~/src/shop
    """
    from ralph.app.remote.scope import scope_of

    env = dict(os.environ)
    scope = scope_of(projects, os.getcwd(), env)
    try:
        from ralph.ui.mcp.server import serve
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] == "ralph":
            raise
        raise SetupError(
            "the MCP server needs the extra `mcp`",
            code="E-MCP-MISSING",
            why=f"the module '{missing.name}' is not installed; in Ralph's source folder:",
            next="uv tool install '.[mcp]'",
        ) from None
    serve(scope, env)
    return 0
