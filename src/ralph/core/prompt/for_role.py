"""What the roles of a team are told: the planner, the tester, and what a coder hears of them.

A tester hears the task and the checks, with a plan one item of it, and nothing of the work: none exists when
it is asked. What the planner said is data to the coder, behind marks.
"""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.loop import Loop
from ralph.core.prompt.context import DATA
from ralph.core.prompt.facts import HIDDEN, MAX_SENTENCE, render
from ralph.core.text.clean import one_line
from ralph.core.text.quoting import fence_text

MAX_PATHS = 20


class RoleQuestion(Struct, frozen=True, kw_only=True):
    task: str
    item: str  # of a plan, which alone is asked about
    serves: tuple[str, ...]  # ids of criteria
    notes: tuple[str, ...]
    until: str
    checks: tuple[str, ...]
    asked: str  # the user's own words to this role
    trouble: str


def role_question(template: str, loop: Loop, role: str) -> str:
    order, team, item = loop.sealed, loop.sealed.team, loop.build.item
    assert team is not None
    shown = [gate for gate in order.criterion.gates if gate.origin != HIDDEN]
    facts = RoleQuestion(
        task=order.task,
        item=one_line(f"{item.id}: {item.title}", MAX_SENTENCE) if item is not None else "",
        serves=item.serves if item is not None else (),
        notes=tuple(one_line(note, MAX_SENTENCE) for note in item.notes[:MAX_PATHS]) if item else (),
        until=order.criterion.until,
        checks=tuple(f"{gate.name}: `{one_line(gate.run, MAX_SENTENCE)}`" for gate in shown),
        asked=team.roles[role].prompt,
        trouble=one_line(loop.team.trouble, MAX_SENTENCE),
    )
    return render(template, facts)


def planner_part(loop: Loop) -> str:
    """The user's own words to who makes the plan; "" without any."""
    planner = loop.sealed.team.roles.get("planner") if loop.sealed.team is not None else None
    return f"# Your team\n\n{planner.prompt}" if planner is not None and planner.prompt else ""


def coder_part(loop: Loop, nonce: str) -> str:
    """What the agent that works is told of its team; "" without one."""
    team, state = loop.sealed.team, loop.team
    if team is None:
        return ""
    parts = [f"# Your team\n\nYou are ralph-coder in the team {team.name}. Ralph leads it."]
    if state.sealed and state.tests is not None:
        paths = state.tests.paths
        more = f" and {len(paths) - MAX_PATHS} more" if len(paths) > MAX_PATHS else ""
        parts.append(
            "The tester wrote these tests from the task before you began, and never sees your work: "
            f"{', '.join(one_line(path, 200) for path in paths[:MAX_PATHS])}{more}. Make them pass. Do not "
            "edit them: if one of them contradicts the task, answer BLOCKED and say which and why."
        )
    if state.advice and not loop.has_plan:
        parts.append(f"Advice of the planner: {DATA}.\n\n{fence_text('advice', state.advice, nonce)}")
    if (coder := team.roles.get("coder")) is not None and coder.prompt:
        parts.append(coder.prompt)
    return "\n\n".join(parts) if len(parts) > 1 else ""
