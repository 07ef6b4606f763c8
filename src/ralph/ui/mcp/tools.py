"""The tools, one row each: name, what may be asked, who answers, and how a client may treat it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

import msgspec

from ralph.app.remote import arguments as a
from ralph.app.remote.scope import ServedProjects

Effect = Literal["reads", "adds", "ends"]


class McpTool(msgspec.Struct, frozen=True):
    name: str
    request: type[a.Request]
    answer: str  # module and function of `app.remote`, imported when it is called
    effect: Effect
    waits: bool = False  # it may take long, and hears when nobody waits any more

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        _, parts = msgspec.json.schema_components([self.request])
        found = parts[self.request.__name__]
        return {key: value for key, value in found.items() if key not in ("title", "description")}


TOOLS: tuple[McpTool, ...] = (
    McpTool("start_loop", a.StartLoop, "begin.start_loop", "adds"),
    McpTool("list_loops", a.ListLoops, "look.list_loops", "reads"),
    McpTool("loop_status", a.LoopStatus, "look.loop_status", "reads"),
    McpTool("wait_for_loop", a.WaitForLoop, "look.wait_for_loop", "reads", waits=True),
    McpTool("read_loop", a.ReadLoop, "look.read_page", "reads"),
    McpTool("steer_loop", a.SteerLoop, "control.steer_loop", "adds"),
    McpTool("answer_loop", a.AnswerLoop, "control.answer_loop", "adds"),
    McpTool("pause_loop", a.PauseLoop, "control.pause_loop", "adds"),
    McpTool("resume_loop", a.ResumeLoop, "control.resume_loop", "adds"),
    McpTool("abort_loop", a.AbortLoop, "control.abort_loop", "ends"),
    McpTool("verify_loop", a.VerifyLoop, "look.verify_loop", "reads", waits=True),
    McpTool("backlog_next", a.BacklogNext, "look.backlog_next", "reads"),
    McpTool("backlog_list", a.BacklogList, "look.backlog_list", "reads"),
)
BY_NAME = {row.name: row for row in TOOLS}


def call_tool(
    row: McpTool, raw: object, scope: ServedProjects, env: Mapping[str, str], leave: Callable[[], bool]
) -> dict[str, Any]:
    """What the tool answers; RalphError says why not."""
    asked = a.parse_request(row.request, raw)
    module, _, name = row.answer.partition(".")
    answer = getattr(import_module(f"ralph.app.remote.{module}"), name)
    found: dict[str, Any] = answer(asked, scope, env, leave) if row.waits else answer(asked, scope, env)
    return found
