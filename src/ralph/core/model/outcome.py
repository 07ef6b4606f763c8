"""How a loop may stand and end: the words for it, and which ends are final."""

from __future__ import annotations

from typing import Literal, get_args

Phase = Literal["new", "baseline", "working", "judging", "waiting", "paused", "ended"]
Outcome = Literal["verified", "satisfied", "unproven", "exhausted", "stalled", "blocked", "aborted", "broken"]
PHASES: tuple[Phase, ...] = ("new", "baseline", "working", "judging", "waiting", "paused", "ended")
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# An ended loop of these may be taken up again; verified, satisfied and aborted are final.
RESUMABLE: frozenset[str] = frozenset({"unproven", "exhausted", "stalled", "blocked", "broken"})
FINAL: frozenset[str] = frozenset(OUTCOMES) - RESUMABLE
# There is a result, or there was nothing to do: no user's word can end such a loop any more.
DONE: frozenset[str] = frozenset({"verified", "satisfied", "unproven"})
