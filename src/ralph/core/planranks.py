"""Sets of ranks as values: adding or taking one away gives another set, at a cost that hardly grows.

A set is a tuple of integers that each hold a thousand ranks as bits, so that a change copies one of them and
a short tuple. The highest rank is the first, because the highest bit of an integer is found at once. For
`planselect`; all sets that meet have room for the same number of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_SHIFT = 10
_MASK = (1 << _SHIFT) - 1

Ranks = tuple[int, ...]


def ranks_of(some: Iterable[int], room: int) -> Ranks:
    """The set of these, with room for ranks below `room`."""
    made = [0] * ((room >> _SHIFT) + 1)
    for at in some:
        made[at >> _SHIFT] |= 1 << (at & _MASK)
    return tuple(made)


def put(ranks: Ranks, at: int, there: bool) -> Ranks:
    part = at >> _SHIFT
    word, bit = ranks[part], 1 << (at & _MASK)
    if bool(word & bit) is there:
        return ranks
    return (*ranks[:part], word ^ bit, *ranks[part + 1 :])


def holds(ranks: Ranks, at: int) -> bool:
    return bool(ranks[at >> _SHIFT] >> (at & _MASK) & 1)


def within(ranks: Ranks, other: Ranks) -> bool:
    """Whether all of them are in the other set, too."""
    return all(word & there == word for word, there in zip(ranks, other, strict=True) if word)


def meet(ranks: Ranks, other: Ranks) -> bool:
    return any(word & there for word, there in zip(ranks, other, strict=True) if word)


def first_common(ranks: Ranks, other: Ranks) -> int:
    """The first of those that are in both; -1 for none."""
    for part in range(len(ranks) - 1, -1, -1):
        both = ranks[part] & other[part]
        if both:
            return (part << _SHIFT) + both.bit_length() - 1
    return -1


def first_of(ranks: Ranks, most: int) -> Iterator[int]:
    """The first few."""
    for part in range(len(ranks) - 1, -1, -1):
        word = ranks[part]
        while word and most > 0:
            at = word.bit_length() - 1
            yield (part << _SHIFT) + at
            word ^= 1 << at
            most -= 1
