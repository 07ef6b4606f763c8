"""Notes for later calls: few, short, each once, and only what an agent really says."""

from __future__ import annotations

import builders as b
import pytest

from ralph.core.prompt.learnings import (
    HEADING,
    INSTRUCTIONS,
    MAX_KEPT,
    MAX_WIDTH,
    TAIL_LINES,
    add_notes,
    notes_in_message,
    section,
)

BLOCK = "---RALPH_STATUS---\nSTATUS: COMPLETE\n---END_RALPH_STATUS---"


@pytest.mark.parametrize(
    ("message", "notes"),
    [
        ("", ()),
        ("Done.\nLEARNED: use make", ("use make",)),
        (f"LEARNED: use make\nLEARNED: needs a database\n\n{BLOCK}", ("use make", "needs a database")),
        ("LEARNED: a\nLEARNED: b\nLEARNED: c\nLEARNED: d", ("b", "c", "d")),
        ("LEARNED: Use make.\nLEARNED: use  MAKE", ("Use make.",)),
        (f"{BLOCK}\nLEARNED: after the block", ()),
        ("  LEARNED: indented\n> LEARNED: quoted", ()),
        ("```\nLEARNED: in code\n```\nLEARNED: outside", ("outside",)),
        ("I LEARNED: a lot", ()),
        ("LEARNED:\nLEARNED:   ", ()),
        ("learned: small", ()),
        ("LEARNED: \x1b[31mred\x1b[0m \u202etext", ("red text",)),
        ("LEARNED: too early" + "\nline" * TAIL_LINES, ()),
        (INSTRUCTIONS, ()),
    ],
)
def test_what_is_taken_from_a_message(message: str, notes: tuple[str, ...]) -> None:
    """Lines of their own at the end of what the agent says itself, at most three, the newest."""
    assert notes_in_message(message) == notes


def test_a_note_is_one_short_line() -> None:
    """A long note is cut."""
    (note,) = notes_in_message("LEARNED: " + "word " * 200)
    assert len(note) <= MAX_WIDTH


def test_the_list_is_bounded_and_each_note_stands_once() -> None:
    """The newest thirty stay; a note that comes again does not become a new one."""
    known: tuple[str, ...] = ()
    for number in range(100):
        known = add_notes(known, (f"note {number}", f"Note {number}!", "x" * 500))
        assert len(known) <= MAX_KEPT
        assert all(len(note) <= MAX_WIDTH for note in known)
    assert known[-1] == "note 99"
    assert sum("note" in note.lower() for note in known) >= MAX_KEPT - 1
    assert add_notes(("a",), ("", "  ", "A")) == ("a",)


def test_what_is_appended_to_the_guide() -> None:
    """A section with one line a note, without what stands there; nothing when all of it does."""
    assert section(("use make", "no sleep")) == f"{HEADING}\n\n- use make\n- no sleep\n"
    assert section(("use make", "no sleep"), "# Style\n- Use make.\n") == f"\n{HEADING}\n\n- no sleep\n"
    assert section(("a",), "no end of line") == f"\n\n{HEADING}\n\n- a\n"
    assert section(("use make",), f"x\n{section(('use make',))}") == ""
    assert section(()) == ""


def test_a_loop_remembers_what_its_calls_learned() -> None:
    """Each call's notes join the state, and the next call starts with all of them."""
    first = b.answer(b.call(b.based()), learned=("use make",))
    assert first.agents.learnings == ("use make",)
    again = b.iterate(b.based(), "t1", b.red())
    assert again.agents.learnings == ()
    second = b.answer(b.call(again), learned=("needs a database",))
    assert second.agents.learnings == ("needs a database",)
