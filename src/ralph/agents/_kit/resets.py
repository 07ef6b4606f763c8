"""When a limit is lifted, out of the sentence in which a CLI or its provider tells it.

One table of forms for all CLIs, because they hand on each other's: an epoch, a wait, a date, a time of day.
Read only from words that came marked as an error of the CLI itself; nothing here looks for limits, and what a
model or a tool says never comes here. A time of day has no day: which one it is, whoever has a clock says.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from ralph.agents import Reset, TimeOfDay
from ralph.agents._kit.fields import epoch_seconds

LONGEST = 35 * 86_400.0  # the longest that is believed: some plans are counted by the month
GRACE = 600.0  # a time of day that passed so recently means now, not tomorrow
_AGAIN = 60.0  # then it is tried again after this
_STALE = 120.0  # a moment so long before it was told is nonsense
_READ = 8_000  # characters

_LEAD = (
    r"(?:resets?|(?:will|limit|limits) reset|try(?:ing)? again|retry(?:ing)?(?:[- ]after)?|wait(?: until)?|"
    r"available(?: again)?|until|renews?|refresh(?:es)?|back)"
)
_UNIT = r"(?:milliseconds?|ms|weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s)"
_PART = rf"(?:\d{{1,7}}(?:\.\d{{1,9}})?|an?|one)\s*{_UNIT}(?![a-z])"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?(?:\s?(?P<half>[ap])\.?m\b\.?)?"
_ZONE = r"(?:\s*\(?(?P<zone>utc|gmt|z|[a-z]+(?:/[a-z0-9_+-]+)+|[a-z]{1,3}t)\b\)?)?"
_JOIN = r"(?:,|\s|at|on)+"
_TO = r"(?:\s+(?:at|on))?\s*:?\s+"

_EPOCH = re.compile(r"\|\s*(\d{10}|\d{13})\b")
_FIELD = re.compile(r"\"?(?:resets?_?at|reset_?time)\"?\s*[:=]\s*\"?(\d{10}|\d{13})\b")
_ISO = re.compile(
    rf"\b{_LEAD}(?:\s+(?:at|on|after|in))?\s*:?\s*\"?(\d{{4}}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?)"
    r"\s*(z|utc|gmt|[+-]\d\d:?\d\d)?"
)
_WAIT = re.compile(rf"\b{_LEAD}(?:\s+(?:in|after|for|about))*\s*:?\s*({_PART}(?:(?:,|and|\s)*{_PART})*)")
_DELAY = re.compile(r"\"?retry_?(?:delay|info)\"?\s*[:=]\s*\"(\d{1,7}(?:\.\d+)?)s\"")
_SECONDS = re.compile(
    r"\bretry[- ]after\"?\s*[:=]?\s*\"?(\d{1,7})\b(?!\s*[a-z:/-])|\"?resets_in_seconds\"?\s*:\s*(\d{1,8})\b"
)
_MOMENT_AWAY = re.compile(rf"\b{_LEAD}\s+in\s+less than an? (minute|hour)\b")
_CLOCKS = tuple(
    re.compile(rf"\b{_LEAD}{_TO}{form}{_ZONE}")
    for form in (
        rf"{_MONTH}\s+{_DAY}(?:,?\s+(?P<year>\d{{4}}))?{_JOIN}{_TIME}",
        rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}}))?{_JOIN}{_TIME}",
        rf"{_TIME}\s+on\s+{_MONTH}\s+{_DAY}(?:,?\s+(?P<year>\d{{4}}))?",
        rf"(?P<weekday>{'|'.join(_DAYS)})[a-z]*{_JOIN}{_TIME}",
        rf"(?P<tomorrow>tomorrow){_JOIN}{_TIME}",
        _TIME,
    )
)
_SIZES = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}


def read(words: str) -> Reset:
    """The first form that fits; an empty answer when none does."""
    text = " ".join(words[:_READ].split()).lower()  # also the narrow spaces that some put before "AM"
    found = _EPOCH.search(text) or _FIELD.search(text)
    if found:
        return Reset(at=epoch_seconds(found[1]))
    if found := _ISO.search(text):
        offset = (found[2] or "").replace("utc", "z").replace("gmt", "z")
        return Reset(at=epoch_seconds(f"{found[1]}{offset}".upper()))
    if found := _WAIT.search(text):
        return Reset(after=_seconds(found[1]))
    if found := _DELAY.search(text):
        return Reset(after=float(found[1]))
    if found := _SECONDS.search(text):
        return Reset(after=float(found[1] or found[2]))
    if found := _MOMENT_AWAY.search(text):
        return Reset(after=_SIZES[found[1][0]])
    for form in _CLOCKS:
        if (found := form.search(text)) and (clock := _clock(found, words)) is not None:
            return Reset(clock=clock)
    return Reset()


def _seconds(words: str) -> float:
    total = 0.0
    for count, unit in re.findall(rf"(\d+(?:\.\d+)?|an?|one)\s*({_UNIT})(?![a-z])", words):
        size = 0.001 if unit.startswith(("ms", "milli")) else _SIZES[unit[0]]
        total += size * (1.0 if count[0] in "ao" else float(count))
    return total


def _clock(found: re.Match[str], words: str) -> TimeOfDay | None:
    """The parts as numbers; None when they are no time of day."""
    parts = found.groupdict()
    hour, minute = int(parts["hour"]), int(parts["minute"] or 0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts["half"] == "p" else 0)
    elif parts["minute"] is None:  # a bare number is no time
        return None
    if hour > 23 or minute > 59:
        return None
    zone = parts["zone"] or ""
    at = words.lower().find(zone) if zone else 0  # names of zones are told apart by case
    return TimeOfDay(
        hour,
        minute,
        words[at : at + len(zone)] if at >= 0 else zone,
        int(parts.get("year") or 0),
        _MONTHS.index(parts["month"]) + 1 if parts.get("month") else 0,
        int(parts.get("day") or 0),
        _DAYS.index(parts["weekday"]) if parts.get("weekday") else None,
        1 if parts.get("tomorrow") else 0,
    )


def moment_of(reset: Reset, said: float) -> float | None:
    """The moment of a reset that was told at the moment `said`; None when it is unknown or unbelievable."""
    if reset.at is not None:
        found: float | None = reset.at
    elif reset.after is not None:
        found = said + reset.after
    else:
        found = _next(reset.clock, said) if reset.clock is not None else None
    return found if found is not None and said - _STALE <= found <= said + LONGEST else None


def _next(clock: TimeOfDay, said: float) -> float | None:
    """The first such time that is not over; a full date is what it is."""
    known = _zone(clock.zone)
    if clock.zone and known is None:
        return None
    try:
        now = datetime.fromtimestamp(said, known)
        found = now.replace(hour=clock.hour, minute=clock.minute, second=0, microsecond=0, fold=0)
        found += timedelta(days=clock.days)
        if clock.month:
            found = found.replace(year=clock.year or now.year, month=clock.month, day=clock.day)
        elif clock.weekday is not None:
            found += timedelta(days=(clock.weekday - found.weekday()) % 7)
        passed = said - found.timestamp()
        if 0 <= passed <= GRACE:
            return said + _AGAIN
        if passed > 0 and not clock.year:
            found = _later(found, clock)
        return found.timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _later(found: datetime, clock: TimeOfDay) -> datetime:
    if clock.month:
        return found.replace(year=found.year + 1)
    return found + timedelta(days=7 if clock.weekday is not None else 1)


def _zone(name: str) -> tzinfo | None:
    if name.lower() in ("utc", "gmt", "z"):
        return UTC
    from zoneinfo import ZoneInfo  # here, because few calls ever name a zone

    try:
        return ZoneInfo(name) if name else None
    except (KeyError, ValueError, OSError):  # not in the database, or no name at all
        return None
