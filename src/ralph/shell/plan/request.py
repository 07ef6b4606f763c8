"""What was typed about a plan, and what came of it: data that also loops without a plan pass around."""

from __future__ import annotations

import msgspec

from ralph.core.model.agent import SealedAgent
from ralph.core.model.order import Brief

SPECS = "specs/*.md"  # protected: what is to be built is not changed by who builds it
FROM_SPECS = "Do what the specs and the plan ask for"  # the task of who gives none


class PlanAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What was typed about the plan."""

    mode: str = "build"  # build, plan
    refresh: bool = False
    replan_every: int = 0
    readers: int = 0
    reader_agent: str = ""  # "" = the one that plans
    reader_model: str = ""
    allow_red: bool = False


class Briefed(msgspec.Struct, frozen=True):
    brief: Brief | None = None  # None: one task, without a plan
    texts: dict[str, str] = {}  # the specs, by path; they become blobs when the loop begins
    warnings: tuple[str, ...] = ()

    def with_reader(self, reader: SealedAgent | None) -> Brief | None:
        return self.brief if self.brief is None else msgspec.structs.replace(self.brief, reader=reader)
