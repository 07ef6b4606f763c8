"""Which agent judges a loop's result, sealed beside the rubric before the first agent call."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ralph.core.model import SpareAgent
from ralph.core.rubric import Rubric
from ralph.errors import UserError
from ralph.shell import config
from ralph.shell.agentchoice import Choice, choose, spare
from ralph.shell.config.judge import rubric_of
from ralph.shell.project import Project

SAME = (
    "the judge is the agent that does the work, which is weaker than another one: "
    "[judge] agent, model or profile names another"
)


class Seated(msgspec.Struct, frozen=True):
    """The judge, if there is one: its rubric, its agent, and what is to be said of it."""

    rubric: Rubric | None = None
    judge: SpareAgent | None = None
    choices: tuple[Choice, ...] = ()  # the agent once more, as it was chosen
    notes: tuple[str, ...] = ()


def seat(settings: config.Settings, project: Project, env: Mapping[str, str], worker: Choice) -> Seated:
    """The judge that these settings ask for. `worker` is the agent that does the work."""
    rubric = rubric_of(settings)
    if rubric is None:
        return Seated()
    choice = _choice(settings, project, env) or worker
    model = settings.judge_model or _profile(settings).model
    if choice is worker and not model:
        model = settings.model
    same = (choice.agent, choice.argv, model) == (worker.agent, worker.argv, settings.model)
    notes = () if choice is worker else tuple(f"judge: {note}" for note in choice.notes)
    return Seated(
        rubric=replace(rubric, same_agent=same),
        judge=replace(spare(choice), model=model),
        choices=(choice,),
        notes=(*notes, SAME) if same else notes,
    )


def _choice(settings: config.Settings, project: Project, env: Mapping[str, str]) -> Choice | None:
    """Another agent than the worker's; its profile's key and price are its own, never the worker's."""
    name = settings.judge_agent or _profile(settings).agent.partition(",")[0]
    if not name:
        return None
    return choose(replace(settings, agent=name, profile=settings.judge_profile), project, env)[0]


def _profile(settings: config.Settings) -> config.ProfileSpec:
    name = settings.judge_profile
    if name and name not in settings.profiles:
        raise UserError(
            f'[judge] names the profile "{name}", which is not defined',
            code="E-JUDGE",
            at=settings.origins["judge.profile"].where,
            why=f"expected one of {', '.join(sorted(settings.profiles))}",
            next="ralph config show --origin",
        )
    return settings.profiles.get(name, config.ProfileSpec())
