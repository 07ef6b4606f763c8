"""What was typed for a loop that is to begin, with a name and a type for each flag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ralph.core.model.outcome import Priority
from ralph.ui.cli.loop_options import typed_settings

if TYPE_CHECKING:
    from ralph.app.start import PlanAsk


class AgentFlags(Struct, frozen=True, kw_only=True):
    """What the agent is, and what is added to its command line, beside the settings."""

    agent_cmd: str = ""
    effort: str | None = None
    agent_args: str = ""


class LoopFlags(Struct, frozen=True, kw_only=True):
    """The options of `loop`, `build` and `plan`; a command without one of them leaves its default."""

    task: str = ""
    checks: tuple[str, ...] = ()
    hidden_checks: tuple[str, ...] = ()
    agent_words: AgentFlags = AgentFlags()
    task_class: str = ""
    until: str = ""
    base: str = ""
    with_changes: bool = False
    branch: str = ""
    allow_write: tuple[str, ...] = ()
    loop_id: str = ""
    steer: str = ""
    issue: str = ""
    detach: bool = False
    queue: bool = False
    priority: Priority = "medium"
    display: str | None = None
    as_json: bool = False
    dry_run: bool = False
    yes: bool = False
    no_infer: bool = False
    auto_criteria: bool = False
    planned: bool = False
    planning: PlanAsk
    settings: dict[str, object]  # by flag; None where nothing was typed


def read_flags(given: Mapping[str, object]) -> LoopFlags:
    """The flags from click's parameters; those that only one command has stay with that command."""
    from ralph.app.start import PlanAsk

    return LoopFlags(
        **_fields_of(LoopFlags, given),
        agent_words=AgentFlags(**_fields_of(AgentFlags, given)),
        planning=PlanAsk(**_fields_of(PlanAsk, given)),
        settings=typed_settings(given),
    )


def _fields_of(kind: type[Struct], given: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in kind.__struct_fields__}
