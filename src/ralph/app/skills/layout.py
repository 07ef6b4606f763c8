"""What belongs into a host: the files of Ralph's package, rendered, and the hooks for its settings."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files as package_files
from typing import Any, Literal

from msgspec import Struct

from ralph import __version__
from ralph.core.session.hosts import HOST_FACTS

Scope = Literal["user", "project"]
_TOOL_SECONDS = 10
_TOOLS = ("PreToolUse", "PostToolUse")


class Skill(Struct, frozen=True):
    """Ralph in one host, for a user or in a project."""

    host: str
    scope: Scope
    top: str  # the home, or the project
    goal: bool = False  # the host's own goal instead of the Stop gate
    home: str = ""  # in place of the first folder of a user's paths

    def path(self, pair: list[str]) -> str:
        if self.scope == "project":
            return os.path.join(self.top, pair[1])
        if self.home:
            return os.path.join(self.home, pair[0].partition("/")[2])
        return os.path.join(self.top, pair[0])


@cache
def host_table() -> dict[str, Any]:
    text = package_files("ralph").joinpath("templates/skills/hosts.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def skill_for(host: str, scope: Scope, top: str, env: Mapping[str, str], *, goal: bool = False) -> Skill:
    moved = env.get(host_table()[host].get("home", ""), "") if scope == "user" else ""
    return Skill(host, scope, top, goal, moved if os.path.isabs(moved) else "")


def own_files(skill: Skill) -> dict[str, str]:
    """Path -> text of every file that is Ralph's alone."""
    return {
        skill.path(pair): _render(skill, name) for name, pair in host_table()[skill.host]["files"].items()
    }


def _render(skill: Skill, name: str) -> str:
    if name == "plugin.json":
        made = {
            "name": "ralph",
            "version": __version__,
            "description": "Work on a task until Ralph has verified it; a false done is refused.",
            "author": {"name": "Ralph"},
            "license": "MIT",
        }
        return json.dumps(made, indent=2) + "\n"
    if name == "hooks.json":
        body = {"hooks": hook_entries(skill)}
        return json.dumps({"version": 1, **body} if skill.host == "copilot" else body, indent=2) + "\n"
    from jinja2 import Environment, StrictUndefined

    source = package_files("ralph").joinpath(f"templates/skills/{name}.j2").read_text(encoding="utf-8")
    maker = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701
    session = "Stop" in host_table()[skill.host]["events"]
    return maker.from_string(source).render(host=skill.host, goal=skill.goal, session=session)


def hook_entries(skill: Skill) -> dict[str, list[dict[str, Any]]]:
    """By the host's own event names: what is called, and how long it may take."""
    row = host_table()[skill.host]
    entries: dict[str, list[dict[str, Any]]] = {}
    for event, name in row["events"].items():
        if skill.goal and event == "Stop":
            continue
        seconds = _TOOL_SECONDS if event in _TOOLS else HOST_FACTS[skill.host].seconds
        command = f"{ralph_command(skill)} hook {event} --host {skill.host}"
        if row["format"] == "copilot":
            entries[name] = [{"type": "command", "bash": command, "timeoutSec": seconds}]
            continue
        hook: dict[str, Any] = {"type": "command", "command": command, "timeout": seconds}
        if row["format"] == "gemini":
            hook = {"name": f"ralph-{event.lower()}", **hook, "timeout": seconds * 1000}
            entries[name] = [{"matcher": "*", "hooks": [hook]}]
        else:
            entries[name] = [{"hooks": [hook]}]
    return entries


def ralph_command(skill: Skill) -> str:
    """For a user, the very program that wrote it; a project is shared, so whatever `ralph` is there."""
    if skill.scope == "project":
        return "ralph"
    own = os.path.abspath(sys.argv[0])
    found = own if os.path.basename(own) == "ralph" and os.access(own, os.X_OK) else shutil.which("ralph")
    return shlex.quote(found or "ralph")


def is_ours(entry: Any, host: str) -> bool:
    """Is this a hook that Ralph wrote, whichever Ralph that was?"""
    text = json.dumps(entry)
    return "ralph" in text and " hook " in text and f"--host {host}" in text


def without_ours(group: Any, host: str) -> Any | None:
    """The group of hooks without Ralph's; None when nothing is left. What a user added to it stays."""
    if not is_ours(group, host):
        return group
    hooks = group.get("hooks") if isinstance(group, dict) else None
    left = [one for one in hooks if not is_ours(one, host)] if isinstance(hooks, list) else []
    return {**group, "hooks": left} if left else None
