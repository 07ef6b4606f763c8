"""Durations, money, sizes and counts: from what people type to numbers, and back to words.

Every reader takes what a TOML file or a flag can hold and raises `ValueError` whose text says what was
expected; the caller knows the key and the value seen. No key, file or policy is known here.
"""

from __future__ import annotations

import math
import re

_DURATION = re.compile(
    r"(?:([0-9]+(?:\.[0-9]+)?)d)?\s*(?:([0-9]+(?:\.[0-9]+)?)h)?\s*"
    r"(?:([0-9]+(?:\.[0-9]+)?)m)?\s*(?:([0-9]+(?:\.[0-9]+)?)s)?"
)
_SECONDS = (86400, 3600, 60, 1)
_MONEY = re.compile(r"(?:\$\s*([0-9]+(?:\.[0-9]+)?)|([0-9]+(?:\.[0-9]+)?)(?:\s*USD)?)", re.IGNORECASE)
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGT]i?)?B?", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kM]?)")
_POWERS = "KMGT"
_MAX_CHARS = 20  # no honest amount needs more characters; longer texts are not worth a regex
_MAX_NUMBER = 10.0**15  # beyond this a number is a slip of the hand, and floats stop being exact

DURATION = 'a duration above zero such as "90s", "30m", "4h" or "1h30m"'
MONEY = 'an amount above zero in US dollars such as "5 USD", "$5" or 5'
SIZE = 'a size such as "500 MB", "2GiB" or a number of bytes'
COUNT = "a whole number above zero"


def parse_duration(raw: object) -> float:
    """Seconds. A bare number is refused: 30 could be seconds or minutes, and both guesses cost somebody."""
    if not isinstance(raw, str) or not 0 < len(raw) <= _MAX_CHARS:
        raise ValueError(DURATION)
    match = _DURATION.fullmatch(raw.strip())
    if match is None:
        raise ValueError(DURATION)
    seconds = sum(float(part) * unit for part, unit in zip(match.groups(), _SECONDS, strict=True) if part)
    return _positive(seconds, DURATION)


def parse_money(raw: object) -> float:
    """US dollars."""
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return _positive(raw, MONEY)
    match = _MONEY.fullmatch(raw.strip()) if isinstance(raw, str) and len(raw) <= _MAX_CHARS else None
    if match is None:
        raise ValueError(MONEY)
    return _positive(float(match[1] or match[2]), MONEY)


def parse_size(raw: object) -> int:
    """Bytes. MB is a million, MiB 1024 * 1024."""
    if isinstance(raw, int) and not isinstance(raw, bool) and 0 <= raw <= _MAX_NUMBER:
        return raw
    match = _SIZE.fullmatch(raw.strip()) if isinstance(raw, str) and len(raw) <= _MAX_CHARS else None
    if match is None:
        raise ValueError(SIZE)
    prefix = (match[2] or "").upper()
    base = 1024 if prefix.endswith("I") else 1000
    power = _POWERS.index(prefix[0]) + 1 if prefix else 0
    amount = float(match[1]) * base**power
    if amount > _MAX_NUMBER:
        raise ValueError(SIZE)
    return int(amount)


def parse_count(raw: object) -> int:
    """A whole number of at least one; in text also 500k and 2M."""
    if isinstance(raw, str) and len(raw) <= _MAX_CHARS:
        match = _COUNT.fullmatch(raw.strip())
        if match is None:
            raise ValueError(COUNT)
        amount = float(match[1]) * {"": 1, "k": 1000, "M": 1_000_000}[match[2]]
        if amount != int(amount):
            raise ValueError(COUNT)
        raw = int(amount)
    if not isinstance(raw, int) or isinstance(raw, bool) or not 0 < raw <= _MAX_NUMBER:
        raise ValueError(COUNT)
    return raw


def duration_words(seconds: float) -> str:
    """The shortest text that `duration` reads back to the same number."""
    rest, words = seconds, ""
    for unit, letter in zip(_SECONDS[:3], "dhm", strict=True):
        amount = int(rest // unit)
        if amount:
            words += f"{amount}{letter}"
            rest -= amount * unit
    return words + (f"{_plain(rest)}s" if rest or not words else "")


def money_words(dollars: float) -> str:
    return f"{_plain(dollars)} USD"


def size_words(amount: int) -> str:
    for power in range(len(_POWERS), 0, -1):
        if amount and amount % 1000**power == 0:
            return f"{amount // 1000**power} {_POWERS[power - 1]}B"
    return f"{amount} B"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else f"{number:.6f}".rstrip("0")


def _positive(number: float, expected: str) -> float:
    # A huge int from a hostile file overflows a float: compared first, converted after.
    if isinstance(number, float) and not math.isfinite(number):
        raise ValueError(expected)
    if not 0 < number <= _MAX_NUMBER:
        raise ValueError(expected)
    return float(number)
