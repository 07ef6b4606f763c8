"""Every loop ends: the limits that must be there before a loop may start.

Called when the agent is known, because only then it is known whether a cost limit can be seen at all.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ralph.errors import UserError
from ralph.shell.config.schema import LIMIT_KEYS
from ralph.shell.config.settings import Settings


def explicit_limits(settings: Settings) -> frozenset[str]:
    """Limits that somebody set, in whichever layer."""
    return frozenset(key for key in LIMIT_KEYS if settings.origins[key].layer != "defaults")


def check_limits(settings: Settings, explicit: AbstractSet[str], agent_reports_cost: bool) -> None:
    """Refuse a loop that nothing would end, and a cost limit that nobody could see being passed.

    `explicit` names the limits that were set on purpose (`explicit_limits`): a default that happens to
    hold is no answer to a user who asked for a bound on money.
    """
    limits = settings.limits
    seen_cost = limits.cost is not None and agent_reports_cost
    if limits.iterations is None:
        origin = settings.origins["limits.iterations"]
        if origin.layer != "flag":
            raise UserError(
                'limits.iterations = "unlimited" counts only as a flag: expected a number here',
                code="E-LIMITS",
                at=origin.where,
                why="a loop without a bound must be asked for each time",
                next="ralph loop TASK --max-iterations unlimited --max-time 4h",
            )
        if limits.time is None and not seen_cost:
            blind = limits.cost is not None
            raise UserError(
                "unlimited iterations need a time limit"
                + (" with this agent" if blind else " or a cost limit"),
                code="E-LIMITS",
                at=origin.where,
                why="this agent does not report its cost" if blind else "nothing else would end this loop",
                next="ralph loop TASK --max-iterations unlimited --max-time 4h",
            )
    bounded = (limits.iterations is not None and "limits.iterations" in explicit) or (
        limits.time is not None and "limits.time" in explicit
    )
    if limits.cost is not None and not agent_reports_cost and not bounded:
        raise UserError(
            "a cost limit cannot be kept with this agent",
            code="E-LIMITS",
            at=settings.origins["limits.cost"].where,
            why="it does not report its cost; expected another limit beside it (iterations or time)",
            next="ralph loop TASK --max-cost 5 --max-time 4h",
        )
