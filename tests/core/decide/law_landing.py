"""The law of what follows an end: land, undo, drop."""

from __future__ import annotations

import builders as b
from builders import Row

from ralph.core.decide.machine import decide
from ralph.core.model import events as e
from ralph.core.model.loop import Loop

EXHAUSTED = b.outcome("exhausted")
VERIFIED = b.outcome("verified")
LANDING = decide(VERIFIED, e.LandingStarted(direction="land", branch="main", old="a", new="b"))
LANDED = decide(LANDING, e.LandingEnded(direction="land", done=True))
UNDOING = decide(LANDED, e.LandingStarted(direction="undo", branch="main", old="b", new="a"))


def landing(direction: str, old: str = "x", new: str = "y") -> e.LandingStarted:
    return e.LandingStarted(direction=direction, branch="main", old=old, new=new)  # type: ignore[arg-type]


def landed(direction: str, done: bool) -> e.LandingEnded:
    return e.LandingEnded(direction=direction, done=done)  # type: ignore[arg-type]


MOVED = {"landing.old": "x", "landing.new": "y"}
ROWS = [
    Row(
        "a landing is meant before it is done",
        VERIFIED,
        landing("land"),
        {"landing.state": "landing", **MOVED},
    ),
    Row("a landing that crashed is begun again", LANDING, landing("land"), MOVED),
    Row("landed", LANDING, landed("land", done=True), {"landing.state": "landed"}),
    Row("not landed after all", LANDING, landed("land", done=False), {"landing.state": ""}),
    Row("a landing is undone", LANDED, landing("undo"), {"landing.state": "undoing", **MOVED}),
    Row("an undo that crashed is begun again", UNDOING, landing("undo"), MOVED),
    Row("undone", UNDOING, landed("undo", done=True), {"landing.state": ""}),
    Row("not undone after all", UNDOING, landed("undo", done=False), {"landing.state": "landed"}),
    Row("dropped", VERIFIED, e.LoopDropped(), {"landing.was_dropped": True}),
    Row("dropped after landing", LANDED, e.LoopDropped(), {"landing.was_dropped": True}),
]
DROPPED = decide(VERIFIED, e.LoopDropped())
REFUSED: list[tuple[str, Loop, e.AnyEvent, str]] = [
    ("landed", decide(EXHAUSTED, landing("land")), e.ResumeAsked(), "it was dropped or landed"),
    ("dropped", decide(EXHAUSTED, e.LoopDropped()), e.ResumeAsked(), "it was dropped or landed"),
    ("undo before land", VERIFIED, landing("undo"), "landing state is none"),
    ("undo while landing", LANDING, landing("undo"), "landing state is landing"),
    ("land twice", LANDED, landing("land"), "landing state is landed"),
    ("land after drop", DROPPED, landing("land"), "landing state is none"),
    ("undo after drop", decide(LANDED, e.LoopDropped()), landing("undo"), "landing state is landed"),
    ("end of no landing", VERIFIED, landed("land", done=True), "landing state is none"),
    ("end of the other way", LANDING, landed("undo", done=True), "landing state is landing"),
    ("drop while landing", LANDING, e.LoopDropped(), "a landing is under way"),
    ("drop while undoing", UNDOING, e.LoopDropped(), "a landing is under way"),
]
