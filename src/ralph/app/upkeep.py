"""The machine: which agents can be used, what the sandbox really blocks, what is no longer needed."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ralph import agents
from ralph.agents.acp.adapter import FEATURES
from ralph.app.settings import project_settings, user_settings
from ralph.clock import SystemClock
from ralph.core.text.units import parse_duration
from ralph.errors import RalphError, UserError
from ralph.shell.agent_call.ask_version import probe_all
from ralph.shell.sandbox.attack import Attack
from ralph.shell.sandbox.bubblewrap import BoxRow
from ralph.shell.start.agents import refuse_without_login
from ralph.shell.upkeep.clean import DAY, Waste, find_waste, remove_waste
from ralph.shell.upkeep.doctor import Look, attack, check_machine, list_boxes

__all__ = ["Attack", "BoxRow", "Look", "Waste", "refuse_without_login"]


class AgentRow(Struct, frozen=True):
    name: str
    installed: bool
    version: str
    login: str
    features: tuple[str, ...]
    hint: str


def agent_names(env: Mapping[str, str], cwd: str) -> list[str]:
    """Every agent that can be named, without asking any of them."""
    own = project_settings(env, cwd).agents
    return list(dict.fromkeys((*agents.adapters(), *agents.OVER_ACP, *own)))


def list_agents(env: Mapping[str, str], cwd: str) -> list[AgentRow]:
    """The built-in adapters, asked for their versions, and the agents that the configuration names."""
    settings = project_settings(env, cwd)
    rows = [
        AgentRow(name, found.installed, found.version, found.login, tuple(found.features), found.hint)
        for name, found in probe_all((*agents.adapters(), *agents.OVER_ACP), env).items()
    ]
    for name, spec in sorted(settings.agents.items()):
        if spec.command:
            features = tuple(FEATURES) if spec.settings.get("protocol") == "acp" else ()
            rows.append(AgentRow(name, True, "configured", "unknown", features, spec.command))
    return rows


def look_at_machine(env: Mapping[str, str], cwd: str, *, mend: bool = False) -> list[Look]:
    """Git, the state directory, the agents, and by real attempts what the sandbox blocks."""
    wrong = []
    try:
        least = user_settings(env, cwd).retention.min_free
    except RalphError as error:
        least, wrong = 0, [Look("settings", "bad", f"{error.what}: {error.why}", error.next)]
    return wrong + check_machine(env, least, cwd, SystemClock().now(), mend=mend)


def attack_sandbox(env: Mapping[str, str]) -> Attack:
    """Named attempts against the boxes, made for real: what held and what did not."""
    return attack(env)


def boxes_of(env: Mapping[str, str], cwd: str) -> list[BoxRow]:
    """The table that decides what an agent and a check see here."""
    return list_boxes(env, cwd)


class Cleaning(Struct, frozen=True):
    """What could be removed now, and how old loops had to be."""

    waste: tuple[Waste, ...]
    age: float
    now: float

    @property
    def size(self) -> int:
        return sum(item.size for item in self.waste)


def plan_cleaning(env: Mapping[str, str], cwd: str, older_than: str = "") -> Cleaning:
    """Workspaces of loops that ended long ago, and leftovers that belong to no loop."""
    age = user_settings(env, cwd).retention.keep_days * DAY
    if older_than:
        try:
            days = older_than.removesuffix("d")
            age = float(days) * DAY if days.isdigit() else parse_duration(older_than)
        except ValueError as error:
            raise UserError(
                f"--older-than is '{older_than}': expected {error}", code="E-USAGE", next="ralph clean --help"
            ) from None
    now = SystemClock().now()
    return Cleaning(tuple(find_waste(env, age, now)), age, now)


def clean(env: Mapping[str, str], cleaning: Cleaning) -> None:
    """Remove it; results, checkpoints and records stay."""
    remove_waste(env, list(cleaning.waste), cleaning.age, cleaning.now)
