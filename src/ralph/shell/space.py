"""Room on the disk: the floor below which no call is begun, and the reserve that keeps the record going."""

from __future__ import annotations

from ralph.errors import SetupError
from ralph.shell import statedir
from ralph.shell.statedir import State


def refuse_full_disk(state: State, floor: int) -> None:
    """Stop before work that would fill the disk; what is recorded stays recorded."""
    free = statedir.free_bytes(state.root)
    if free >= floor:
        statedir.reserve_make(state.root)
        return
    raise SetupError(
        f"only {free // 1_000_000} MB are free for '{state.root}', expected {floor // 1_000_000} MB",
        code="E-DISK-LOW",
        why="a full disk loses an agent's work; the loop is paused and nothing is lost",
        next="ralph clean",
    )
