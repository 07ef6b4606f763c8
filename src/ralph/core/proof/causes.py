"""Why a gate gave no answer, and whose doing that is.

A *machine cause* is nobody's verdict: the gate is asked again (`after_fault`). What a tree does to its own
check is red like any other red, and says nothing of what the check would have found. The shell finds out
which of them an end was (`shell.sandbox.machine_cause`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ralph.core.model.verdict import Reading, Verdict

TRIES = 3  # of one gate on one tree, before a human is told
# Machine causes, and the words for them.
MACHINE: dict[str, str] = {
    "interrupted": "it was killed from outside",
    "keeper-lost": "its keeper process was lost",
    "spawn": "it could not be started",
    "disk": "the disk was full or failed",
    "frozen": "it was frozen past its time limit",
    "survivors": "its processes could not be stopped",
    "wrong-tree": "the checkout was not the tree to check",
}


def is_missing(said: Reading | Verdict, *, settled: bool = False) -> bool:
    """Is this no answer at all? `settled`: what is in doubt was in doubt before on this very tree."""
    return said.cause in MACHINE or (said.doubt and not settled)


def sort_answers(verdicts: Iterable[Verdict], *, settled: bool) -> Iterator[tuple[Verdict, bool]]:
    """Each verdict, and whether it is an answer.

    What struck one gate may have struck another at the same moment: of several in doubt only the first is
    told, and the others stay owed. None of them becomes a verdict by the first one's having been asked.
    """
    doubted = settled
    for verdict in verdicts:
        if not is_missing(verdict, settled=settled):
            yield verdict, True
        elif is_missing(verdict, settled=doubted):
            doubted = doubted or verdict.doubt
            yield verdict, False
