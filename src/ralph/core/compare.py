"""Two readings of one gate held against each other: newly red, fixed, vanished.

Per test id where ids are known, else per finding, else per gate (the key "exit"). Pure: digests and
signatures only name sets and texts so that others can compare them.
"""

from __future__ import annotations

import hashlib
import re

from msgspec import Struct

from ralph.core.model import Reading, Severity

COLLECT = "collect:"  # findings about tests that could not be loaded


class Comparison(Struct, frozen=True):
    red: int
    red_digest: str
    new_red: tuple[str, ...] = ()  # red now, not red at the base
    fixed: tuple[str, ...] = ()  # red at the base, seen green now
    witness: tuple[str, ...] = ()  # of those, the ones the base itself brought, red each time
    vanished: tuple[str, ...] = ()  # known at the base as tests, not seen now


def red_keys(reading: Reading, fail_on: Severity = "P1") -> frozenset[str]:
    """What is red in a reading. A red gate that names nothing is red as a whole."""
    if reading.status in ("pass", "skipped"):
        return frozenset()
    keys = {name for name, state in (reading.tests or {}).items() if state == "fail"}
    keys |= {finding.key for finding in reading.findings if finding.severity <= fail_on}
    return frozenset(keys or {"exit"})


def compare(base: Reading | None, now: Reading, *, fail_on: Severity = "P1") -> Comparison:
    """`base` is None when the gate was never judged there: then everything red is new."""
    red_now = red_keys(now, fail_on)
    if base is None:
        return Comparison(len(red_now), digest(red_now), new_red=tuple(sorted(red_now)))
    red_base = red_keys(base, fail_on)
    gone = _vanished(base, now)
    fixed = tuple(sorted(key for key in red_base if _is_green(key, base, now, red_now)))
    # While a gate is red, what no longer shows is not progress: it may just not have been reached.
    unseen = red_now if now.status == "pass" else red_now | frozenset(gone)
    if not _looked(now):
        unseen |= red_base
    return Comparison(
        red=len(unseen),
        red_digest=digest(unseen),
        new_red=tuple(sorted(red_now - red_base)),
        fixed=fixed,
        witness=tuple(key for key in fixed if key != "exit" and key not in base.flaky),
        vanished=gone,
    )


def _looked(now: Reading) -> bool:
    """Did the gate come to a judgement that a report or an exit code of its own stands behind?"""
    return now.status not in ("error", "skipped") and not now.cause


def _vanished(base: Reading, now: Reading) -> tuple[str, ...]:
    seen = now.tests or {}
    if now.tests is None and now.status == "pass":
        return ()  # ids are not known now; that is for a guard to say
    return tuple(sorted(name for name in base.tests or {} if name not in seen))


def _is_green(key: str, base: Reading, now: Reading, red_now: frozenset[str]) -> bool:
    """Was this red thing seen green, and not merely no longer seen?"""
    if key in red_now or not _looked(now):
        return False
    if key in (base.tests or {}):
        return (now.tests or {}).get(key) == "pass"
    if key.startswith(COLLECT):
        return _loaded(key.removeprefix(COLLECT), now)
    if key == "exit":
        return now.status == "pass"
    return True  # the tool looked again and did not report it


def _loaded(where: str, now: Reading) -> bool:
    """Do tests of a file (or dotted module) that could not be loaded pass now?"""
    for name, state in (now.tests or {}).items():
        inside = name.startswith((f"{where}::", f"{where}.", f"{where} > "))
        if state == "pass" and (inside or now.files.get(name) == where):
            return True
    return False


def digest(keys: frozenset[str]) -> str:
    """A short name for a set of red keys; "" for the empty set."""
    if not keys:
        return ""
    return hashlib.sha256("\n".join(sorted(keys)).encode("utf-8", "replace")).hexdigest()[:16]


_CHANGING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'\":,)\]]*"), "TMP"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "ID"),
    (re.compile(r"\b0x[0-9a-f]+\b", re.IGNORECASE), "HEX"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b", re.IGNORECASE), "HEX"),
    (re.compile(r"\d+(?:[.,:]\d+)*\s?(?:ms|s|sec|secs|seconds?|min|minutes?|µs|us)\b"), "TIME"),
    (re.compile(r"\d+"), "N"),
    (re.compile(r"\s+"), " "),
)


def normal(text: str) -> str:
    """Text without what differs between two calls that failed the same way."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text.strip()


def signature(reading: Reading) -> str:
    """Names the error itself: equal for two failures that say the same, "" when nothing is red."""
    if reading.status in ("pass", "skipped"):
        return ""
    told = sorted({normal(f"{finding.key} {finding.message[:2000]}") for finding in reading.findings})
    lines = (
        [reading.status, reading.cause, *told]
        if told
        else [reading.status, reading.cause, normal(reading.summary)]
    )
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]
