"""Sets of ranks behave as sets do."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph.core.model.plan.board import first_common, first_of, holds, meet, put, ranks_of, within

ROOM = 3000
SETS = st.sets(
    st.one_of(st.integers(0, ROOM - 1), st.sampled_from([0, 1023, 1024, 2047, 2048, ROOM - 1])), max_size=12
)


@given(SETS, SETS, st.integers(0, ROOM - 1), st.booleans(), st.integers(0, 4))
def test_like_a_set(one: set[int], other: set[int], at: int, there: bool, most: int) -> None:
    """Every operation gives what the same one gives on an ordinary set, and changes nothing."""
    mine, theirs = ranks_of(one, ROOM), ranks_of(other, ROOM)
    assert list(first_of(mine, ROOM)) == sorted(one, reverse=True)
    assert list(first_of(mine, most)) == sorted(one, reverse=True)[:most]
    assert put(mine, at, there) == ranks_of(one | {at} if there else one - {at}, ROOM)
    assert holds(mine, at) == (at in one)
    assert within(mine, theirs) == (one <= other)
    assert meet(mine, theirs) == bool(one & other)
    assert first_common(mine, theirs) == max(one & other, default=-1)
    assert mine == ranks_of(one, ROOM)
