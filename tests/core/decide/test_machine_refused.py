"""What the phase allows and the state does not: refused with its reason."""

from __future__ import annotations

import builders as b
import law_asked
import law_landing
import pytest
from builders import BASE
from law_machine import (
    BASE_RED,
    BEGUN,
    CALLING,
    FINAL,
    GUARDS,
    JUDGING,
    PUBLISH,
    READY,
    RESTORE,
    SNAP,
    gate_ended,
)
from msgspec.structs import replace

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.loop import Loop
from ralph.core.model.verdict import GuardResult
from ralph.errors import IllegalEvent


def start_call(iteration: int, call: int) -> e.AgentStarted:
    return e.AgentStarted(iteration=iteration, call=call, agent="demo", prompt="p")


def guards(tree: str, *results: GuardResult) -> e.GuardsEnded:
    return e.GuardsEnded(iteration=1, tree=tree, results=results)


def restore(tree: str) -> e.WorkspaceRestored:
    return e.WorkspaceRestored(iteration=2, tree=tree)


def publish(tree: str) -> e.ResultPublished:
    return e.ResultPublished(branch="b", commit="c", tree=tree)


NO_VERDICT = "no verdict was asked for on this tree"
NO_CALL = "no such call was asked for"
NO_SNAPSHOT = "no snapshot was asked for"
NO_GUARDS = "no guards were asked for on this tree"
NO_RESTORE = "that is not the checkpoint that was asked for"
NO_RESULT = "no result was to be published"
LATER = replace(b.snapshot("t1", SNAP), iteration=2)
REFUSED: list[tuple[str, Loop, e.AnyEvent, str]] = [
    ("a second workspace", b.started(), e.WorkspaceMade(path="/x"), "no workspace was asked for"),
    ("a verdict before the workspace", BEGUN, gate_ended(BASE_RED), NO_VERDICT),
    ("a stale verdict", JUDGING, gate_ended(b.green(tree=BASE)), NO_VERDICT),
    ("a fast verdict as a final one", FINAL, gate_ended(b.green()), NO_VERDICT),
    ("an unknown gate", JUDGING, gate_ended(b.green("lint")), "gate lint was not asked for or has answered"),
    ("a verdict beside the guards", GUARDS, gate_ended(b.final(b.green())), NO_VERDICT),
    ("a call of another number", READY, start_call(1, 2), NO_CALL),
    ("a call of another iteration", READY, start_call(2, 1), NO_CALL),
    ("a second call beside the first", CALLING, start_call(1, 1), NO_CALL),
    ("the end of a call that was not", READY, e.AgentEnded(iteration=1, call=0), "no such call is open"),
    ("the end of another call", CALLING, e.AgentEnded(iteration=1, call=2), "no such call is open"),
    ("a snapshot that nobody asked for", CALLING, b.snapshot("t1", CALLING), NO_SNAPSHOT),
    ("a snapshot of another iteration", SNAP, LATER, NO_SNAPSHOT),
    ("guards that nobody asked for", FINAL, guards("t1"), NO_GUARDS),
    ("guards on another tree", GUARDS, guards("t2"), NO_GUARDS),
    (
        "one guard on another tree",
        GUARDS,
        guards("t1", b.guard(), b.guard("t2")),
        "a guard looked at another tree",
    ),
    ("a restore that nobody asked for", READY, restore(BASE), NO_RESTORE),
    ("a restore to another tree", RESTORE, restore("t1"), NO_RESTORE),
    ("publishing what is not owed", GUARDS, publish("t1"), NO_RESULT),
    ("publishing another tree", PUBLISH, publish("t2"), NO_RESULT),
]


ALL = [*REFUSED, *law_asked.REFUSED, *law_landing.REFUSED]


@pytest.mark.parametrize(("loop", "event", "why"), [line[1:] for line in ALL], ids=[x[0] for x in ALL])
def test_refused(loop: Loop, event: e.AnyEvent, why: str) -> None:
    """A fact that the phase allows but the state does not is refused with its reason."""
    with pytest.raises(IllegalEvent) as caught:
        decide(loop, event)
    assert caught.value.what == f"{type(event).__name__} in phase {loop.phase}: {why}"
