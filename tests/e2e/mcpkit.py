"""The official MCP client against the installed `ralph mcp`, over stdio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from kit import ralph_argv
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

LIMIT = 240.0


class Talk:
    """One conversation: every tool's answer, as a client sees it."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ok(self, tool: str, **given: Any) -> dict[str, Any]:
        found = await self.client.call_tool(tool, given)
        assert not found.is_error, found.content[0].text
        return found.structured_content

    async def refused(self, tool: str, **given: Any) -> dict[str, str]:
        found = await self.client.call_tool(tool, given)
        assert found.is_error, found.structured_content
        assert "next" in found.structured_content["error"]
        assert f"[{found.structured_content['error']['code']}]" in found.content[0].text
        return found.structured_content["error"]

    async def until_stopped(self, loop: str) -> dict[str, Any]:
        after, events = 0, []
        while True:
            seen = await self.ok("wait_for_loop", loop=loop, seconds=10, after=after)
            after, events = seen["last_event"], events + seen["events"]
            if seen["stopped"]:
                return seen["status"] | {"told": events}


def talk(
    env: dict[str, str],
    repo: Path,
    log: Path,
    work: Callable[[Talk], Awaitable[None]],
    *flags: str,
    mode: str = "auto",
) -> None:
    """Start a server as a client does, do the work, and close; what the server printed is in `log`."""
    words = [*ralph_argv(), "mcp", *flags]

    async def run() -> None:
        params = StdioServerParameters(command=words[0], args=words[1:], env=env, cwd=repo)
        with log.open("a") as errors, anyio.fail_after(LIMIT):
            async with Client(stdio_client(params, errlog=errors), mode=mode) as client:
                await work(Talk(client))

    anyio.run(run)
