"""The roles of a team, and what its members are called. What was agreed of each is in `order.Team`."""

from __future__ import annotations

from typing import Literal

Role = Literal["planner", "coder", "tester", "reviewer", "judge"]
ROLES: tuple[Role, ...] = ("planner", "coder", "tester", "reviewer", "judge")
Seat = Literal["judge", "reviewer"]  # who says of a result whether it may leave
LEADER = "loop-lead"


def member(role: str) -> str:
    return f"ralph-{role}"


def team_name(task: str) -> str:
    import hashlib  # `ralph --help` reads the names of roles, and does not need it

    return f"loop-{hashlib.sha256(task.encode()).hexdigest()[:8]}"
