"""How a loop may stand and end: the words for it, and which ends are final."""

from __future__ import annotations

from typing import Literal, get_args

Phase = Literal["new", "queued", "baseline", "working", "judging", "waiting", "paused", "ended"]
Outcome = Literal["verified", "satisfied", "unproven", "exhausted", "stalled", "blocked", "aborted", "broken"]
PHASES: tuple[Phase, ...] = get_args(Phase)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
# An ended loop of these may be taken up again; verified, satisfied and aborted are final.
RESUMABLE: frozenset[str] = frozenset({"unproven", "exhausted", "stalled", "blocked", "broken"})
FINAL: frozenset[str] = frozenset(OUTCOMES) - RESUMABLE
# There is a result, or there was nothing to do: no user's word can end such a loop any more.
DONE: frozenset[str] = frozenset({"verified", "satisfied", "unproven"})
# Who stopped a loop. A person's word stands until a person says otherwise; a signal or the machine's trouble
# may pass; a limit is one of Ralph's own rules, which waits for a person too.
Stopper = Literal["person", "signal", "machine", "limit"]
Priority = Literal["low", "medium", "high", "critical"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
