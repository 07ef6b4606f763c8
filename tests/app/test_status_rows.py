"""What `ralph status` computes for its table from a summary and the clock."""

from __future__ import annotations

import pytest

from ralph.app.views.rows import ListRow, elapsed_seconds

BODY = {"spend": {"seconds": 60.0, "waited": 5.0}}


@pytest.mark.parametrize(
    ("word", "pid", "seconds"),
    [
        ("working", 7, 95.0),
        ("judging", 7, 95.0),
        ("paused", 7, 65.0),
        ("verified", None, 65.0),
        ("working", None, 65.0),
    ],
)
def test_elapsed_time_goes_on_while_a_runner_is_at_work(word: str, pid: int | None, seconds: float) -> None:
    """A call is recorded when it ends; until then its time so far is added, and only where somebody works."""
    row = ListRow("fix-1", word, BODY, 1000.0, pid=pid)
    assert elapsed_seconds(row, 1030.0) == seconds
