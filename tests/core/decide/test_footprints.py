"""What a loop remembers of its iterations, and how their results are ranked."""

from __future__ import annotations

import builders as b

from ralph.core.decide.stuck import measure
from ralph.core.model.spend import Limits
from ralph.core.model.verdict import Checkpoint


def test_only_so_many_footprints_are_kept() -> None:
    """A long loop remembers its newest iterations and no more."""
    loop = b.based(b.order(on_fail="keep", limits=Limits(iterations=30)), b.red(count=99))
    for turn in range(26):
        loop = b.iterate(loop, f"n{turn}", b.red(tree=f"n{turn}", count=90 - turn))
    assert [footprint.iteration for footprint in loop.progress.history] == list(range(3, 27))


def test_rank_orders_by_rule_31() -> None:
    """Most checks passing, then fewest red, then the smallest change."""
    a, c, d, f = (
        Checkpoint(1, "t", "c", *figures) for figures in ((2, 9, 9), (1, 3, 9), (1, 4, 1), (1, 4, 2))
    )
    assert sorted((f, d, c, a), key=measure.rank) == [a, c, d, f]
