"""Words that bound money, time and tries: found in any position, with what they mean, and never dropped."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.core.sentence.bounds import find_bounds, strictest, without
from ralph.core.sentence.intent import OPEN, KnownHere, KnownLoop
from ralph.core.sentence.route import route

# sentence -> (iterations, seconds, dollars); the criterion is what is left
USED = {
    "keep going until the tests pass, at most 2 hours and $5": (None, 7200, 5),
    "keep going until the tests pass, at most $5 and 2 hours": (None, 7200, 5),
    "keep going, at most 2 hours and $5, until the tests pass": (None, 7200, 5),
    "at most 2 hours and $5: keep going until the tests pass": (None, 7200, 5),
    "spend at most $5 and keep going until the tests pass": (None, None, 5),
    "spend no more than 5 dollars, keep going until the tests pass": (None, None, 5),
    "keep going until the tests pass, spend no more than 5 dollars": (None, None, 5),
    "keep going until the tests pass; don't spend more than $5": (None, None, 5),
    "keep trying for two hours max until the tests pass": (None, 7200, None),
    "keep trying until the tests pass, for two hours max": (None, 7200, None),
    "within 30 minutes, keep fixing until the tests pass": (None, 1800, None),
    "keep fixing until the tests pass, within 30 minutes": (None, 1800, None),
    "keep fixing until the tests pass, up to 20 tries and 3 USD": (20, None, 3),
    "keep fixing until the tests pass, up to 20 tries, 1h 30m and 2.50 usd": (20, 5400, 2.5),
    "keep trying until the tests pass or 2 hours have passed": (None, 7200, None),
    "keep trying until the tests pass ($5 max)": (None, None, 5),
    "keep trying until the tests pass, $5 max": (None, None, 5),
    "keep trying until the tests pass, $5": (None, None, 5),
    "keep trying until the tests pass with a $5 budget": (None, None, 5),
    "keep trying until the tests pass, budget: $5": (None, None, 5),
    "keep trying until the tests pass. Budget: $5, time: 2h": (None, 7200, 5),
    "keep trying until the tests pass, no longer than an hour": (None, 3600, None),
    "keep trying until the tests pass, for an hour and a half": (None, 5400, None),
    "keep trying until the tests pass, half an hour tops": (None, 1800, None),
    "keep trying until the tests pass, at most $1,500": (None, None, 1500),
    "keep trying until the tests pass, stop after $5": (None, None, 5),
    "keep trying until the tests pass, max 2h, max $3, max 7 iterations": (7, 7200, 3),
    "sigue intentando hasta que los tests pasen, como máximo 2 horas y 5 dólares": (None, 7200, 5),
    "sigue hasta que los tests pasen, no gastes más de 5 dólares": (None, None, 5),
}


@pytest.mark.parametrize("sentence", USED)
def test_a_bound_in_a_sentence_is_used(sentence):
    """Wherever in the sentence it stands, and whatever it is joined to."""
    found = route(sentence)
    assert (found.max_iterations, found.timeout, found.max_cost) == USED[sentence]
    assert found.criterion in ("the tests pass", "los tests pasen"), found.criterion
    assert not [one for one in found.ask if one.about in OPEN and one.about != "check"]


ASKED = {
    "keep trying until the tests pass, but stay under budget": "--max-cost",
    "keep trying until the tests pass and keep costs low": "--max-cost",
    "keep trying until the tests pass, spend little": "--max-cost",
    "keep trying until the tests pass, not more than 5 bucks": "--max-cost",
    "keep trying until the tests pass, at most €5": "--max-cost",
    "keep trying until the tests pass, 5 euros max": "--max-cost",
    "keep trying until the tests pass, £5": "--max-cost",
    "keep trying until the tests pass, at most $5,50": "--max-cost",
    "keep trying until the tests pass, $5,50": "--max-cost",
    "keep trying until the tests pass, until 6pm": "--max-time",
    "keep trying until the tests pass, by midnight": "--max-time",
    "keep trying until the tests pass, 10k tokens max": "--max-tokens",
    "keep trying until the tests pass, at most 0 tries": "--max-iterations",
    "keep trying until the tests pass, at most 90 days and $5": "--max-time",
}


@pytest.mark.parametrize("sentence", ASKED)
def test_a_bound_that_is_not_understood_is_asked_about(sentence):
    """The question names the words, and the flag that says it; without an answer nothing starts."""
    [asked] = [one for one in route(sentence).ask if one.about == "bound"]
    assert asked.question.endswith(ASKED[sentence]) or "is no limit; expected" in asked.question
    assert route(sentence).confidence != "high"


TASKS = (
    "add a timeout of 30 seconds to the client",
    "retry at most 3 times on HTTP 500",
    "limit uploads to 5 MB",
    "the client waits at most 30 seconds, then it fails",
    "show a warning when users stay under budget",
    "limit the prompt to 10k tokens before it is sent",
    "the shop is open until 6pm on Sundays",
    "round prices to 2 decimals",
    "reject orders of $5 and less",
    'print "at most 2 hours and $5" on the ticket',
    "each query should take less than 2 seconds",
    "the batch should quit after 10 seconds",
    "implement rate limiting: at most 500 attempts, then lock",
    "fix price formatting, e.g. €5",
    "fix price formatting, e.g., $5",
)


@pytest.mark.parametrize("task", TASKS)
def test_a_task_keeps_its_own_numbers(task):
    """What the code is to do is no bound of the loop."""
    found = route(f"ralph this: {task}")
    assert found.task == task
    assert (found.max_iterations, found.timeout, found.max_cost) == (None, None, None)
    assert not any(one.firm for one in find_bounds(task))


def test_what_is_measured_is_not_the_loop():
    """A time in a criterion stays in it; a bound beside it is the loop's."""
    found = route("keep trying until the page loads within 2 seconds, at most $5")
    assert (found.criterion, found.timeout, found.max_cost) == ("the page loads within 2 seconds", None, 5)


def test_a_loop_is_resumed_with_bounds():
    """The bounds of a control are not dropped either."""
    known = KnownHere((KnownLoop("fix-a-12345678", "fix", unfinished=True, resumable=True),))
    for words in ("resume it, at most 2 hours and $5", "resume it with at most $5 and 2 hours"):
        found = route(words, known)
        assert (found.verb, found.timeout, found.max_cost, found.ask) == ("resume", 7200, 5, ())


def test_what_may_be_either_is_asked():
    """A bound that is not set off may be what the code is to do."""
    for task in ("cache results for at most 2 hours", "the price must be at most $5"):
        assert [one.about for one in route(f"ralph this: {task}").ask if one.about == "place"] == ["place"]


@given(st.text(max_size=200), st.sampled_from(sorted(USED)))
def test_any_text_can_be_read(noise, sentence):
    """No text makes it fail, and what is cut out lies inside the text."""
    for text in (noise, noise + sentence, sentence + noise):
        clauses = find_bounds(text)
        assert all(0 <= one.start < one.end <= len(text) for one in clauses)
        without(text, clauses)
        assert all(value > 0 for value in strictest(clauses).values())


def test_a_huge_text_is_cheap():
    """Thousands of numbers take no time worth naming."""
    began = time.process_time()
    for text in ("at most 2 hours and $5, " * 2000, "1" * 8000, "a " * 4000):
        find_bounds(text)
    assert time.process_time() - began < 20
