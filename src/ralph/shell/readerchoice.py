"""Which agent reads before a plan is made: another one or another model where one was named."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from ralph.core.model import SpareAgent
from ralph.shell import config
from ralph.shell.agentchoice import Choice, choose, spare
from ralph.shell.planask import PlanAsk
from ralph.shell.project import Project


def reader_of(
    ask: PlanAsk | None, settings: config.Settings, project: Project, env: Mapping[str, str], worker: Choice
) -> SpareAgent | None:
    """`worker` is the agent that plans. None when nobody is to read."""
    if ask is None or not ask.readers:
        return None
    choice = worker
    if ask.reader_agent:
        choice = choose(replace(settings, agent=ask.reader_agent), project, env)[0]
    return replace(spare(choice), model=ask.reader_model or ("" if ask.reader_agent else settings.model))
