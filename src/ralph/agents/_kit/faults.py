"""Why a call failed: errors of model providers by their structured signs, and how a process ended.

One table for all CLIs, because they hand on the same answers of the same providers. Prose is read only inside
an error that is marked as one, for what has no other sign: a prompt that is too long, a usage limit, its end.
"""

from __future__ import annotations

import re
import signal

from ralph.agents import Closed, FaultSeen, LimitHit, Retried
from ralph.core.model.agent import Fault, FaultKind
from ralph.core.text.clean import one_line

_STATUS: dict[int, FaultKind] = {
    401: "auth",
    402: "credit",
    403: "auth",
    408: "network",
    413: "context",
    429: "limit",
    503: "overload",
    529: "overload",
}


def _by_code(codes: dict[FaultKind, str]) -> dict[str, FaultKind]:
    return {code: kind for kind, words in codes.items() for code in words.split()}


# Classes of litellm's errors; several CLIs call models through it.
LITELLM = _by_code(
    {
        "auth": "AuthenticationError PermissionDeniedError",
        "limit": "RateLimitError",
        "overload": "ServiceUnavailableError",
        "server": "InternalServerError BadGatewayError APIError",
        "network": "APIConnectionError Timeout",
        "context": "ContextWindowExceededError",
        "request": "BadRequestError NotFoundError",
        "credit": "BudgetExceededError",
    }
)
_CODES = _by_code(
    {
        "auth": "authentication_error authentication_failed invalid_api_key permission_error"
        " oauth_org_not_allowed unauthorized",
        "credit": "billing_error insufficient_quota insufficient_balance",
        "limit": "rate_limit rate_limited user_global_rate_limited user_model_rate_limited"
        " user_weekly_rate_limited too_many_requests rate_limit_error rate_limit_exceeded"
        " resource_exhausted usage_limit_reached",
        "overload": "overloaded overloaded_error server_is_overloaded unavailable",
        "server": "api_error internal internal_server_error server_error",
        "network": "connection_error network timeout",
        "context": "context_length_exceeded context_window_exceeded prompt_too_long request_too_large",
        "request": "invalid_request invalid_request_error model_not_found not_found_error",
    }
)
# Some providers refuse a prompt that is too long as they refuse any bad request, and tell it in words only.
_TOO_LONG = re.compile(
    r"prompt (?:is|as) too long|input is too long|token count .{0,40}exceeds|maximum context length|"
    r"context window",
    re.IGNORECASE,
)
# What a subscription's limit is called where the CLI sends no status and no code.
_LIMITED = re.compile(
    r"(?:usage|session|weekly|daily|monthly|\d+-hour|opus|sonnet|rate) limit reached|"
    r"(?:hit|reached|exceeded) (?:your|a|the) "
    r"(?!(?:[\w-]+ ){0,3}(?:tokens?|context|turns?|size|length|output) )(?:[\w-]+ ){0,4}limit\b|"
    r"limits? (?:will|to) reset|quota will reset|"
    r"exhausted your (?:capacity|(?:\w+ )?quota)|\brate[- ]limited\b|too many requests",
    re.IGNORECASE,
)


def kind_of(status: int | None, code: str = "") -> FaultKind | None:
    """The fault behind a provider's answer; a code says more than its status. None = not told."""
    known = _CODES.get(code.lower())
    if known is not None:
        return known
    if status is None or status < 400:
        return None
    return _STATUS.get(status, "server" if status >= 500 else "request")


def fault_fact(
    status: int | None,
    message: str,
    *,
    code: str = "",
    told: str = "",
    reset_at: float | None = None,
    after: float | None = None,
    otherwise: FaultKind = "crash",
) -> FaultSeen | LimitHit:
    """The fact to report; what cannot be told apart is `otherwise`. `told` is the message uncut."""
    kind = kind_of(status, code)
    if kind is None:
        vague = otherwise in ("crash", "network")
        kind = "limit" if vague and is_limit(told or message) else otherwise
    if kind == "request" and _TOO_LONG.search(message):
        kind = "context"
    if kind == "limit":
        return limit_fault(message, told=told, reset_at=reset_at, after=after)
    return FaultSeen(kind, message)


# What Node's fetch and its kin say of a connection that is gone.
_GONE = ("Connection error", "fetch failed", "ECONNREFUSED", "ECONNRESET", "terminated", "socket")
_IN_WORDS = re.compile(r"\b([45]\d\d)\b")
MAX_RETRY_SECONDS = 60.0  # of a CLI's own waiting that are let pass


def fault_in_words(message: str, told: str = "") -> FaultSeen | LimitHit:
    """The same of an error that is words only: with a status among them, or of a lost connection."""
    said = told or message
    found = _IN_WORDS.search(said)
    gone = any(words in said for words in _GONE)
    code = int(found[1]) if found else None
    return fault_fact(code, message, told=told, otherwise="network" if gone else "crash")


def retry_fact(kind: FaultKind, message: str, seconds: float = 0.0) -> FaultSeen | LimitHit | Retried:
    """It tries again by itself: pointless for a refused login, and our business for a long wait."""
    if kind in ("auth", "credit"):
        return FaultSeen(kind, message, stop=True)
    if seconds > MAX_RETRY_SECONDS:
        return LimitHit(message, after=seconds, stop=True)
    return Retried(kind, message, seconds or None)


def is_limit(message: str) -> bool:
    """Do these words, which are an error's, tell of a limit?"""
    return _LIMITED.search(message[:2000]) is not None


def limit_fault(
    message: str, *, told: str = "", reset_at: float | None = None, after: float | None = None
) -> LimitHit:
    """A limit with its end: by a field where there is one, else out of the words."""
    if reset_at is not None or after is not None:
        return LimitHit(message, reset_at, after)
    from ralph.agents._kit.resets import read  # here, because few calls ever meet a limit

    reset = read(told or message)
    return LimitHit(message, reset.at, reset.after, reset.clock)


_MESSAGE = 300
_ENDED: dict[str, tuple[FaultKind, str]] = {
    "timeout": ("timeout", "the agent ran longer than one iteration may take and was stopped"),
    "idle": ("idle", "the agent was silent for too long and was stopped"),
    "stopped": ("interrupted", "the agent was stopped on request"),
    "killed": ("interrupted", "the agent was killed from outside"),
    "runner-lost": ("interrupted", "Ralph itself was gone before the agent ended"),
    "keeper-lost": ("interrupted", "its keeper process was lost: nobody saw how the agent ended"),
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
    if exit_code == 0 and ended != "crashed":
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
