"""Stall rules 13 to 15 and the worth of one iteration, as tables."""

from __future__ import annotations

import builders as b
import pytest
from msgspec.structs import replace

from ralph.core.decide.stuck.measure import score
from ralph.core.decide.stuck.signs import Track, diagnose, first_signs
from ralph.core.model.breaker_state import Footprint

GOING = Track("going")


def idle(**more: object) -> Footprint:
    return b.footprint(tree="t1", before="t1", progress=False, **more)


def busy(
    tree: str, signature: str = "", digest: str = "", *, progress: bool = False, red: int = 1
) -> Footprint:
    return Footprint(1, tree, "before", digest or tree, red, signature, progress=progress)


def errors(*signatures: str) -> tuple[Footprint, ...]:
    return tuple(busy(f"t{number}", signature) for number, signature in enumerate(signatures))


def trees(names: str) -> tuple[Footprint, ...]:
    return tuple(busy(name, digest=f"d{number}") for number, name in enumerate(names))


def digests(names: str) -> tuple[Footprint, ...]:
    return tuple(busy(f"t{number}", digest=name) for number, name in enumerate(names))


IDLE_3 = Track("stalled", "3 iterations in a row changed nothing")
SAME_3 = Track("redirect", "the same error 3 times in a row: try a different approach")
SAME_4 = Track("redirect", "the same error 4 times in a row: try a different approach")
SAME_5 = Track("stalled", "the same error 5 times in a row")
STOP = "stop undoing and redoing, try a different approach"
TREES_4 = Track("redirect", f"the same two versions alternate: {STOP}")
TREES_6 = Track("stalled", "the same two versions alternate (6 iterations)")
REDS_4 = Track("redirect", f"the same two sets of failures alternate: {STOP}")
REDS_6 = Track("stalled", "the same two sets of failures alternate (6 iterations)")
WON = b.footprint(tree="t1", before="t1", progress=True)
LOOKS: list[tuple[str, tuple[Footprint, ...], Track]] = [
    ("nothing yet", (), GOING),
    ("one idle", (idle(),), GOING),
    ("two idle", (idle(), idle()), GOING),
    ("three idle", (idle(), idle(), idle()), IDLE_3),
    ("four idle", (idle(),) * 4, Track("stalled", "4 iterations in a row changed nothing")),
    ("three idle, then a change", (idle(), idle(), idle(), busy("t2")), GOING),
    ("idle, a change, two idle", (idle(), busy("t2"), idle(), idle()), GOING),
    ("a change, three idle", (busy("t2"), idle(), idle(), idle()), IDLE_3),
    ("without a change, but with progress", (idle(), WON, idle()), GOING),
    ("two errors", errors("e", "e"), GOING),
    ("three errors", errors("e", "e", "e"), SAME_3),
    ("four errors", errors("e", "e", "e", "e"), SAME_4),
    ("five errors", errors("e", "e", "e", "e", "e"), SAME_5),
    ("three after another", errors("f", "e", "e", "e"), SAME_3),
    ("another after three", errors("e", "e", "e", "f"), GOING),
    ("interrupted by another", errors("e", "e", "f", "e"), GOING),
    ("no error is not an error", errors("", "", "", "", ""), GOING),
    ("progress in the newest", (*errors("e", "e", "e", "e"), busy("t9", "e", progress=True)), GOING),
    ("progress before", (busy("t9", "e", progress=True), *errors("e", "e")), GOING),
    ("three turns", trees("ABA"), GOING),
    ("four turns", trees("ABAB"), TREES_4),
    ("five turns", trees("ABABA"), TREES_4),
    ("six turns", trees("ABABAB"), TREES_6),
    ("four turns after others", trees("CDABAB"), TREES_4),
    ("turns that ended", trees("ABABB"), GOING),
    ("turns that were left", trees("ABABC"), GOING),
    ("three that alternate", trees("ABCABC"), GOING),
    ("sets of failures, three turns", digests("ABA"), GOING),
    ("sets of failures, four turns", digests("ABAB"), REDS_4),
    ("sets of failures, six turns", digests("ABABAB"), REDS_6),
    ("one tree is no turn", trees("A"), GOING),
    ("one tree again and again is no turn", trees("AAAAAA"), GOING),
    ("one set of failures again and again is no turn", digests("AAAAAA"), GOING),
    ("turns that begin with the same", trees("AABAB"), TREES_4),
]


@pytest.mark.parametrize(("history", "track"), [row[1:] for row in LOOKS], ids=[row[0] for row in LOOKS])
def test_look(history: tuple[Footprint, ...], track: Track) -> None:
    """The rules see what goes nowhere, and nothing else."""
    assert diagnose(history)[0] == track


def test_the_strictest_answer_wins() -> None:
    """A rule that ends the loop comes before one that only redirects, whatever their order."""
    both = tuple(busy(tree, "e", digest=f"d{number}") for number, tree in enumerate("ABABA"))
    assert diagnose(both)[0] == SAME_5
    assert diagnose(both[:4])[0] == TREES_4


SIGNS = [
    ("one idle", (idle(),), None),
    ("two idle", (idle(), idle()), ("no-progress", "2 iterations in a row changed nothing")),
    ("two errors", errors("e", "e"), ("same-error", "the same error twice in a row")),
    ("two errors, not alike", errors("e", "f"), None),
    ("nothing yet", (), None),
]


@pytest.mark.parametrize(("history", "sign"), [row[1:] for row in SIGNS], ids=[row[0] for row in SIGNS])
def test_first_signs(history: tuple[Footprint, ...], sign: tuple[str, str] | None) -> None:
    """Twice in a row is enough to ask for another approach, and for nothing more."""
    assert first_signs(history) == sign
    assert diagnose(history)[0] == GOING


@pytest.mark.parametrize(
    ("history", "trouble"),
    [
        ((idle(), idle(), idle()), "no-progress"),
        (errors("e", "e", "e"), "same-error"),
        (trees("ABAB"), "circular"),
        (digests("ABABAB"), "circular"),
        (errors("e", "e"), None),
    ],
)
def test_trouble(history: tuple[Footprint, ...], trouble: str | None) -> None:
    """Each rule tells of its own kind of trouble."""
    assert diagnose(history)[1] == trouble


def test_an_item_an_undoing_and_a_great_many_at_once() -> None:
    """An item is worth five, going back costs one, and no number of tests counts for more than ten."""
    current = busy("t1", "f", red=5)
    assert score(BEFORE, current, items=1) == 1 + 2 + 5
    assert score(BEFORE, current, undone=True) == 1 + 2 - 1
    assert score(busy("t0", "", red=500), busy("t1", "", red=0)) == 1 + 30
    assert score(busy("t0", "", red=0), busy("t1", "", red=500)) == 1 - 30


BEFORE = busy("t0", "e", red=5)
SCORES = [
    ("a change", None, busy("t1", "e", red=9), 1),
    ("nothing", None, idle(signature="e", red=9), -3),
    ("two fixed, another error", BEFORE, busy("t1", "f", red=3), 1 + 6 + 2),
    ("two fixed, the same error", BEFORE, busy("t1", "e", red=3), 1 + 6 - 2),
    ("one broken, another error", BEFORE, busy("t1", "f", red=6), 1 - 3 + 2),
    ("one broken, the same error", BEFORE, busy("t1", "e", red=6), 1 - 3 - 2),
    ("an error resolved", BEFORE, busy("t1", "", red=5), 1 + 2),
    ("no error before or after", busy("t0", "", red=5), busy("t1", "", red=5), 1),
    ("a first error", busy("t0", "", red=5), busy("t1", "e", red=5), 1),
    ("nothing again", BEFORE, idle(signature="e", red=5), -3 - 2),
    ("tests load that did not", replace(BEFORE, unloaded=2, red=1), busy("t1", "f", red=9), 1 + 6 + 2),
    ("tests load no more", BEFORE, replace(busy("t1", "f", red=9), unloaded=1), 1 - 12 + 2),
]


@pytest.mark.parametrize(
    ("previous", "current", "points"), [row[1:] for row in SCORES], ids=[row[0] for row in SCORES]
)
def test_score(previous: Footprint | None, current: Footprint, points: int) -> None:
    """An iteration is worth what it fixed and changed, less what it broke or repeated."""
    assert score(previous, current) == points
