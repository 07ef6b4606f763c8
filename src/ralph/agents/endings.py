"""How a call ended, as a fault or none: one rule for all adapters.

Order of trust: that it could not be started; what it reported itself (limit, fault); what the clocks
and the user did to it; its last word and its exit code. Words of its output are quoted in the message,
never read.
"""

from __future__ import annotations

import signal

from ralph.agents import Closed, FaultSeen, LimitHit, Retried
from ralph.core.model import Fault, FaultKind
from ralph.core.text import one_line

_MESSAGE = 300
_ENDED: dict[str, tuple[FaultKind, str]] = {
    "timeout": ("timeout", "the agent ran longer than one iteration may take and was stopped"),
    "idle": ("idle", "the agent was silent for too long and was stopped"),
    "stopped": ("interrupted", "the agent was stopped on request"),
    "killed": ("interrupted", "the agent was killed from outside"),
    "runner-lost": ("interrupted", "Ralph itself was gone before the agent ended"),
}


def fault_of(
    exit_code: int | None, ended: str, limit: LimitHit | None, seen: FaultSeen | None, last_words: str
) -> Fault | None:
    """The fault of a call that ended this way; None when the call did its part."""
    words = _last_line(last_words)
    if ended == "spawn-error":
        return Fault("missing", words or "the agent could not be started")
    if limit is not None:
        return Fault("limit", one_line(limit.message, _MESSAGE) or "usage limit reached", limit.reset_at)
    if seen is not None:
        return Fault(seen.kind, one_line(seen.message, _MESSAGE) or f"the agent reported: {seen.kind}")
    if ended in _ENDED:
        return Fault(*_ENDED[ended])
    if exit_code == 0 and ended != "crashed":  # its keeper was lost: nobody saw how it really ended
        return None
    return Fault("crash", f"{_exit_words(exit_code)}: {words}" if words else _exit_words(exit_code))


def closed_fault(
    found: Fault | None, closed: Closed | None, retried: Retried | None, ended: str, last_words: str
) -> Fault | None:
    """The same for a CLI that has a last word: exit code 0 alone means nothing."""
    if retried is not None and ended in ("idle", "timeout") and found is not None:
        # It was not the work that took so long: the CLI was waiting for its provider.
        return Fault(retried.kind, one_line(f"{retried.message} ({found.message})", _MESSAGE))
    if found is not None:
        return found
    words = _last_line(last_words)
    if closed is None:
        told = "the agent exited with 0 but without its last word"
        return Fault("protocol", f"{told}: {words}" if words else told)
    if not closed.ok:
        return Fault("crash", words or "the agent exited with 0 but reported a failure")
    return None


def _last_line(text: str) -> str:
    return one_line(text.rstrip().rpartition("\n")[2], _MESSAGE)


def _exit_words(code: int | None) -> str:
    if code is None:
        return "the agent ended without an exit code"
    number = -code if code < 0 else code - 128
    if number in {int(known) for known in signal.Signals}:
        return f"the agent was ended by {signal.Signals(number).name}"
    note = {126: " (not executable)", 127: " (command not found)"}.get(code, "")
    return f"the agent exited with {code}{note}"
