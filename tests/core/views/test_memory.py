"""What is remembered across loops, and what of it a new one is told."""

from ralph.core.views.memory import (
    MAX_OFFERED,
    MemoryEntry,
    choose_notes,
    ended_entry,
    join_repeated,
    matches,
)


def entry(lesson, loop="a-00000001", created=1.0, **more):
    words = {"type": "lesson_learned", "context": "fix the parser", "iteration": 1, **more}
    return MemoryEntry(id=f"{loop}/1.1", loop=loop, created=created, lesson=lesson, **words)


def test_what_two_loops_noted_is_one_entry_of_high_confidence():
    """The same words in other signs and cases are the same; the newest stands, the same loop counts once."""
    first, again = entry("Use `make db` first."), entry("use make db first", "b-00000002", 5.0)
    joined = join_repeated([first, again, entry("other", created=3.0)])
    assert [(one.lesson, one.confidence) for one in joined] == [
        ("use make db first", "high"),
        ("other", "low"),
    ]
    assert join_repeated([first, entry("use make db first")])[0].confidence == "low"
    kept = [entry("run on port 80"), entry("run on port 81"), entry("no tests in CI"), entry("tests in CI")]
    assert len(join_repeated(kept)) == 4  # one short word can turn a note round


def test_a_new_loop_is_told_a_few_that_fit():
    """Bounded; first what shares words with the task, then what several loops noted, then the newest."""
    many = [entry(f"note number {number}", created=float(number)) for number in range(50)]
    fits = entry("the parser needs tables", created=0.5)
    sure = entry("ports are taken", created=0.1, confidence="high", context="x")
    chosen = choose_notes([*many, fits, sure], "mend the parser and its tables")
    assert len(chosen) == MAX_OFFERED
    assert chosen[0] == "the parser needs tables"
    assert choose_notes([*many, sure], "unrelated")[0] == "ports are taken"
    assert choose_notes([entry("secret way", offered=False)], "x") == ()


def test_how_a_loop_ended_is_remembered_by_ralph_itself():
    """A failure is offered, a success only listed; an aborted or blocked loop says nothing of its own."""
    body = {"outcome": "stalled", "reason": "the same error 5 times", "task": "fix it", "iteration": 5}
    failed = ended_entry(body, "a-00000001", 2.0)
    assert failed is not None
    assert (failed.type, failed.offered, failed.confidence) == ("failure_pattern", True, "high")
    assert failed.lesson == "stalled: the same error 5 times (fix it)"
    good = ended_entry({**body, "outcome": "verified"}, "a-00000001", 2.0)
    assert good is not None
    assert (good.type, good.offered) == ("success_pattern", False)
    assert ended_entry({**body, "outcome": "aborted"}, "a", 2.0) is None
    assert ended_entry({**body, "outcome": "blocked"}, "a", 2.0) is None


def test_a_query_wants_every_word():
    """Words in the note, its task, its tags or its type; in any case."""
    one = entry("Use MAKE db", tags=("claude",))
    assert matches(one, "make parser")
    assert matches(one, "CLAUDE lesson")
    assert matches(one, "")
    assert not matches(one, "make water")
