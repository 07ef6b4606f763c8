"""Room on the disk: the floor below which no call is begun, and the reserve that keeps the record going."""

from __future__ import annotations

from ralph.errors import SetupError
from ralph.shell import statedir
from ralph.shell.statedir import State


def refuse_full_disk(state: State, floor: int) -> None:
    """Stop before work that would fill the disk; what is recorded stays recorded."""
    if statedir.free_bytes(state.root) >= floor and statedir.reserve_make(state.root):
        return
    # Without the reserve the very reason for stopping could not be recorded.
    wanted = max(floor, 2 * statedir.RESERVE_BYTES) // 1_000_000
    free = statedir.free_bytes(state.root) // 1_000_000
    raise SetupError(
        f"only {free} MB are free for '{state.root}', expected {wanted} MB",
        code="E-DISK-LOW",
        why="a full disk loses an agent's work; the loop is paused and nothing is lost",
        next="ralph clean",
    )
