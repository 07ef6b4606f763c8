"""Two readings of one gate held against each other: newly red, fixed, vanished.

Per test id where ids are known, else per finding, else per gate (the key "exit"). Pure: digests and
signatures only name sets and texts so that others can compare them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from msgspec import Struct

from ralph.core.model.gate import Severity
from ralph.core.model.verdict import Reading

_JS_FILE = re.compile(r"\.[cm]?[jt]sx?\Z")
COLLECT = "collect:"  # findings about tests that could not be loaded

# What is asked over the network, where there is none.
UNFETCHED = re.compile(
    r"^.*(?:(?:failed|unable) to (?:download|fetch|resolve|connect|get)|could not (?:download|fetch"
    r"|resolve|connect)"
    r"|couldn't fetch|max retries exceeded|name or service not known|failure in name resolution|ENOTFOUND"
    r"|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|no such host|getaddrinfo|connection attempts failed"
    r"|connection (?:refused|error|timed out)|network is unreachable).*$",
    re.IGNORECASE | re.MULTILINE,
)


class Comparison(Struct, frozen=True):
    red: int
    red_digest: str
    unseen: int = 0  # of `red`, what was known at the base and is not reported now
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


def lacked_network(reading: Reading, key: str) -> bool:
    """Is this red for want of the network, as its text says? Checks have none: such a red tells nothing."""
    return any(one.key == key and UNFETCHED.search(one.message) for one in reading.findings)


def compare(base: Reading | None, now: Reading, *, fail_on: Severity = "P1") -> Comparison:
    """`base` is None when the gate was never judged there: then everything red is new."""
    red_now = red_keys(now, fail_on)
    if base is None:
        return Comparison(len(red_now), digest(red_now), new_red=tuple(sorted(red_now)))
    red_base = red_keys(base, fail_on)
    gone = _vanished_tests(base, now)
    fixed = tuple(sorted(key for key in red_base if _is_green(key, base, now, red_now)))
    # While a gate is red, what no longer shows is not progress: it may just not have been reached.
    unseen = red_now if now.status == "pass" else red_now | frozenset(gone)
    if not _looked(now):
        unseen |= red_base
    return Comparison(
        red=len(unseen),
        red_digest=digest(unseen),
        unseen=len(unseen - red_now),
        new_red=tuple(sorted(red_now - red_base)),
        fixed=fixed,
        witness=tuple(key for key in fixed if key != "exit" and key not in base.flaky),
        vanished=gone,
    )


def turned_tests(base: Reading, now: Reading, *, fail_on: Severity = "P1") -> list[str]:
    """Tests that were red at the base and pass now; where it loads not all, also those it does not know."""
    keys, tests = compare(base, now, fail_on=fail_on).witness, now.tests or {}
    unknown = [name for name, state in tests.items() if state == "pass" and name not in (base.tests or {})]
    lost = any(key.startswith(COLLECT) for key in keys)
    return [key for key in keys if key in tests] + (sorted(unknown) if lost else [])


def _looked(now: Reading) -> bool:
    """Did the gate come to a judgement that a report or an exit code of its own stands behind?"""
    return now.status not in ("error", "skipped") and not now.cause


def _vanished_tests(base: Reading, now: Reading) -> tuple[str, ...]:
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
        return _loads_now(key.removeprefix(COLLECT), base, now)
    if key == "exit":
        return now.status == "pass"
    return True  # the tool looked again and did not report it


def _loads_now(where: str, base: Reading, now: Reading) -> bool:
    """Do tests of a file (or dotted module) that could not be loaded pass now?"""
    # Runners of JavaScript that tell no files: what they could not reach is green.
    if now.status == "pass" and not now.files and _JS_FILE.search(where):
        return any(
            state == "pass" and name not in (base.tests or {}) for name, state in (now.tests or {}).items()
        )
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


# What differs between two calls that failed the same way. A value in quotes of its own ('00:01:30', '0x1f')
# is one that a test compares: it is kept, and so is every number that nothing marks as one of these.
_QUOTED = r"(?<![\w'\"`.])"
_DAY, _CLOCK = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}", r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?"
_UNIT = r"(?:ns|µs|us|ms|s|secs?|seconds?|mins?|minutes?|hours?)"
_CHANGING: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), instead)
    for pattern, instead in (
        (r"(?:/private)?/(?:tmp|var/tmp|var/folders|dev/shm)/[^\s'\":,)\]]*", "TMP"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID"),
        (rf"(?:{_QUOTED}|(?<=at ))0x[0-9a-f]+\b", "HEX"),
        (r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{16,128}\b", "HEX"),
        (rf"{_QUOTED}(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{{7,15}}\b", "HEX"),
        (r"\b1[34]\d{13}\b", "ID"),  # what Python's id() gives
        (rf"{_QUOTED}{_DAY}[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?", "TIME"),
        (rf"{_QUOTED}\d{{1,2}}:\d\d(?::\d\d(?:[.,]\d+)?\b|(?=\s?[ap]m\b))", "TIME"),
        (rf"{_QUOTED}1[4-9]\d{{8}}\.\d{{2,}}", "TIME"),  # seconds since 1970
        (r"\b(time|timestamp|ts|epoch|now)(\W{1,3})1[4-9]\d{8}(?:\d{3}){0,3}\b", r"\1\2TIME"),
        (rf"{_QUOTED}(?:\d+\s?[dhm]\s?){{0,3}}\d+(?:[.,]\d+){{0,2}}\s?{_UNIT}\b", "TIME"),
        (r"\b(took|elapsed|runtime)(\W{1,3})\d+(?:\.\d+)?\b", r"\1\2TIME"),
        (r"\b(line|column|col)([ :=]{1,2})\d+\b", r"\1\2N"),
        (r"\blines \d+\s?-\s?\d+\b", "lines N"),
        (r"(\.[a-z]\w{0,9}):\d+(?:[:-]\d+)?\b", r"\1:N"),
        (r"(\.(?:[cm]?[jt]sx?|vue|cs|fs|vb))\(\d+(?:,\s?\d+)?\)", r"\1(N)"),
        (r"(?m)^([ \t]{0,9}[>→]?[ \t]{0,9})\d+( {1,9}[|│])", r"\1N\2"),  # beside a line of source
        (r"\b(p?pid|process|tid|seed)(\W{1,3})\d+\b", r"\1\2N"),
        (r"\b(thread '[^'\n]*' )\(\d+\)", r"\1(N)"),
        (r"==\d{2,}==", "==N=="),
        (r"\b(localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{5}\b", r"\1:N"),
        (r"\s+", " "),
    )
)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?", re.IGNORECASE)


def strip_volatile_parts(text: str) -> str:
    """Text without what differs between two calls that failed the same way; with the values compared."""
    for pattern, instead in _CHANGING:
        text = pattern.sub(instead, text)
    return text.strip()


def signature(reading: Reading) -> str:
    """Names the error itself: equal for two failures that say the same, "" when nothing is red."""
    return _name(reading, strip_volatile_parts)


def outline(reading: Reading) -> str:
    """Names the error but for every number in it: what only ever varies those stays known by it."""
    return _name(reading, lambda text: _NUMBER.sub("N", strip_volatile_parts(text)))


def count_unloaded(reading: Reading) -> int:
    """How many files or packages hide their tests; at least one where nothing could be judged at all."""
    hidden = sum(finding.key.startswith(COLLECT) for finding in reading.findings)
    return max(hidden, 1) if reading.status == "error" else hidden


def _name(reading: Reading, plain: Callable[[str], str]) -> str:
    if reading.status in ("pass", "skipped"):
        return ""
    told = sorted({plain(f"{finding.key} {finding.message[:2000]}") for finding in reading.findings})
    lines = [reading.status, reading.cause, *(told or [plain(reading.summary[:2000])])]
    return hashlib.sha256("\n".join(lines).encode("utf-8", "replace")).hexdigest()[:16]
