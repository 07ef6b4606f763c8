"""Durations, money, sizes and counts as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.text import units
from ralph.shell.config.scan import scan


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("4h", 14400),
        ("1h30m", 5400),
        ("2d", 172800),
        ("1.5h", 5400),
        (" 1h 5s ", 3605),
    ],
)
def test_durations_are_read(text, seconds):
    """The documented ways to write a duration give its seconds."""
    assert units.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "raw", ["", "s", "30", 30, 4.0, "-1h", "1h-", "0m", "1m1h", "1e3s", "1 week", None, True, "9" * 19 + "d"]
)
def test_what_is_no_duration_is_refused(raw):
    """A bare number, zero, a negative or a disordered duration is refused."""
    with pytest.raises(ValueError, match="a duration"):
        units.parse_duration(raw)


@given(st.integers(1, 10**9))
def test_duration_words_read_back(seconds):
    """What is shown can be typed."""
    assert units.parse_duration(units.duration_words(seconds)) == seconds


@pytest.mark.parametrize(
    ("raw", "dollars"),
    [("5 USD", 5), ("$5", 5), (5, 5), ("0.50", 0.5), (2.5, 2.5), ("$ 1.25", 1.25), ("3usd", 3)],
)
def test_money_is_read(raw, dollars):
    """The documented ways to write a cost give its dollars."""
    assert units.parse_money(raw) == dollars


@pytest.mark.parametrize(
    "raw", ["5 EUR", "€5", "$5 USD", "", 0, -1, True, None, float("nan"), float("inf"), 10**400, "1e9", "5,5"]
)
def test_what_is_no_money_is_refused(raw):
    """Other currencies, zero, and numbers that are no bound are refused."""
    with pytest.raises(ValueError, match="an amount"):
        units.parse_money(raw)


@pytest.mark.parametrize(
    ("raw", "amount"),
    [("500 MB", 5 * 10**8), ("2GiB", 2**31), ("1k", 1000), (7, 7), ("0", 0), ("1.5 MB", 1_500_000)],
)
def test_sizes_are_read(raw, amount):
    """Decimal and binary prefixes give bytes."""
    assert units.parse_size(raw) == amount


@pytest.mark.parametrize("raw", ["MB", "-1", "1 XB", None, True, -1, 10**400, "9" * 19 + "T"])
def test_what_is_no_size_is_refused(raw):
    """Anything else is refused."""
    with pytest.raises(ValueError, match="a size"):
        units.parse_size(raw)


@given(st.integers(0, 10**14))
def test_size_words_read_back(amount):
    """What is shown can be typed."""
    assert units.parse_size(units.size_words(amount)) == amount


@given(st.floats(0.01, 10**6).map(lambda x: round(x, 2)))
def test_money_words_read_back(dollars):
    """What is shown can be typed."""
    assert units.parse_money(units.money_words(dollars)) == dollars


@pytest.mark.parametrize(
    ("raw", "number"), [("15", 15), (15, 15), ("500k", 500_000), ("2M", 2_000_000), ("1.5k", 1500)]
)
def test_counts_are_read(raw, number):
    """Whole numbers, in text also with k and M."""
    assert units.parse_count(raw) == number


@pytest.mark.parametrize("raw", [0, -1, "0", "1.5", "x", True, None, 1.0, 10**400, "9" * 30])
def test_what_is_no_count_is_refused(raw):
    """Zero, fractions, truth values and absurd numbers are refused."""
    with pytest.raises(ValueError, match="a whole number"):
        units.parse_count(raw)


@given(st.text(alphabet="ab.\"'[]{}=#\\\n \t", max_size=60))
def test_scanning_ends_on_any_text(text):
    """The line finder neither raises nor hangs, whatever the text."""
    place = scan(text)
    assert all(1 <= line <= text.count("\n") + 1 for line in place.lines.values())


def test_scanning_sees_through_strings_and_comments():
    """Brackets, quotes and hashes in strings and comments are not structure."""
    text = (
        "a = '[[['\n"  # 1
        'b = "\\"[" # ]]\n'  # 2
        'c = """\n[x]\ny = 1 \\"""\n"""" # ends with a quote of its own\n'  # 3-6
        "d = '''\n'[z]'\n'''\n"  # 7-9
        "e = [ # [\n 1,\n]\n"  # 10-12
        "[ t . 'u v' ]\n"  # 13
        'f."g".h = {i = 1}#'  # 14
    )
    place = scan(text)
    assert place.lines == {
        ("a",): 1,
        ("b",): 2,
        ("c",): 3,
        ("d",): 7,
        ("e",): 10,
        ("t", "u v"): 13,
        ("t", "u v", "f"): 14,
        ("t", "u v", "f", "g"): 14,
        ("t", "u v", "f", "g", "h"): 14,
    }
    assert place.depth == 6
