"""Starting a loop: from what was asked for to a recorded loop that is held, ready to be driven."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ralph.app.people.memory import notes_for
from ralph.app.place import journal_of
from ralph.app.views.at_work import naming_loops
from ralph.clock import SystemClock
from ralph.errors import RalphError
from ralph.shell import config
from ralph.shell.git.project import find_project
from ralph.shell.journal.store import exists_error
from ralph.shell.plan.request import FROM_SPECS, PlanAsk
from ralph.shell.run.open import begin_loop, refuse_start
from ralph.shell.start.agents import choose_agents
from ralph.shell.start.gates import refuse_missing_tool
from ralph.shell.start.prepare import Prepared, prepare
from ralph.shell.start.request import StartRequest
from ralph.shell.state.directory import config_dir
from ralph.shell.state.stints import Stint, many_loops_error

__all__ = [
    "FROM_SPECS",
    "PlanAsk",
    "Prepared",
    "StartRequest",
    "Started",
    "prepare_start",
    "refuse_dry",
    "start",
]


class Started(Struct, frozen=True):
    """`stint` is the hold on the new loop: give it to `drive`, or release it."""

    name: str
    stint: Stint
    warnings: tuple[str, ...]
    min_free: int
    max_loops: int
    max_loops_machine: int


def prepare_start(request: StartRequest, env: Mapping[str, str], *, token: str = "") -> Prepared:
    """Everything that can refuse a loop refuses it here; nothing is written. `token` ends its name."""
    if request.loop_id:
        _refuse_taken(request.loop_id.removeprefix("ralph-"), env)
    made = prepare(request, env=env, token=token or secrets.token_hex(4), now=SystemClock().now())
    order, people = made.order, made.order.people
    if made.settings.people.memory == "on":
        people = replace(people, memory=notes_for(order.task, order.repo, env))
    return replace(made, order=replace(order, other_checks=_other_checks(made, env), people=people))


def _refuse_taken(name: str, env: Mapping[str, str]) -> None:
    with journal_of(env) as reader:
        if name in reader.names():
            raise exists_error(name)


def _other_checks(made: Prepared, env: Mapping[str, str]) -> dict[str, str]:
    """What else could be checked here, so that the last screen can name it; nothing is executed."""
    brief = made.order.brief
    if brief is not None and brief.mode == "plan":
        return {}
    from ralph.core.criterion.gates_for_project import checks_beside
    from ralph.shell.criterion.survey import survey

    try:
        found = survey(made.project, made.base_rev or made.project.head, made.order.task, env)
    except RalphError:
        return {}  # a repository that inference cannot read has nothing to name
    return checks_beside(found, made.order.criterion.gates)


def check_agent(typed: Mapping[str, object], command: str, env: Mapping[str, str], cwd: str) -> None:
    """The refusal for want of an agent, before anything else is asked."""
    project = find_project(cwd)
    folder = config_dir(env)
    settings = config.load(
        cwd=cwd,
        top=project.top,
        env=env,
        flags=typed,
        user_dir=folder,
        trust=config.approvals.trust_check(folder),
    )
    choose_agents(settings, project, env, command=command)


def refuse_dry(prepared: Prepared, env: Mapping[str, str], *, queue: bool) -> None:
    """What `start` and the baseline would refuse, found without writing anything."""
    order, places = prepared.order, prepared.settings.places
    refuse_start(prepared)
    refuse_missing_tool(order.criterion.gates, prepared.project, env)
    with journal_of(env) as reader:
        active = [row.loop for row in reader.summaries(order.repo, active=True)]
        driven = [name for name in active if reader.driver(name) is not None]
    if len(driven) >= places.max_loops and not queue:
        with naming_loops(env):
            raise many_loops_error(driven, places.max_loops)


def start(prepared: Prepared, env: Mapping[str, str], *, queue: bool = False) -> Started:
    """Record the loop. Nobody else drives it until its stint is released. `queue`: it needs no place yet."""
    with naming_loops(env):
        name, stint = begin_loop(prepared, env, SystemClock().now(), queue=queue)
    places, free = prepared.settings.places, prepared.settings.retention.min_free
    return Started(name, stint, prepared.warnings, free, places.max_loops, places.max_loops_machine)
