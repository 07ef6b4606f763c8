"""The rubric: what may be asked, which answers can be used, and what they amount to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rubrics import DIMENSIONS, NAMES, RUBRIC

from ralph.core.model.rubric import (
    Answer,
    Dimension,
    Opinion,
    Rubric,
    Score,
    advice,
    for_prompt,
    objections,
    opinion_line,
    opinion_of,
    read_answer,
    retries_used_up,
    weigh,
)


def said(*scores: float, names: tuple[str, ...] = NAMES, **more: Any) -> str:
    given = [
        {"dimension": name, "score": score, "reasoning": "seen"}
        for name, score in zip(names, scores, strict=True)
    ]
    body = {"scores": given, "weighted_score": 1, "pass": True, "summary": "fine", "suggestions": ["more"]}
    return json.dumps({**body, **more})


def heard(text: str, rubric: Rubric = RUBRIC) -> Opinion:
    return opinion_of(rubric, read_answer(text, rubric), "t1")


def test_a_sound_rubric_has_no_objections() -> None:
    """Three to five dimensions with anchors whose weights sum to 1.0 are what is asked for."""
    assert objections(DIMENSIONS) == []


@pytest.mark.parametrize(
    ("dimensions", "says"),
    [
        (DIMENSIONS[:2], "3 to 5 dimensions, not 2"),
        (DIMENSIONS * 2, "3 to 5 dimensions, not 6"),
        ((*DIMENSIONS[:2], replace(DIMENSIONS[2], weight=0.3)), "weights that sum to 1.0, not 1.1"),
        ((*DIMENSIONS[:2], replace(DIMENSIONS[2], weight=-0.2)), 'a weight above 0 for "small", not -0.2'),
        ((*DIMENSIONS[:2], replace(DIMENSIONS[2], weight=float("nan"))), "weights that sum to 1.0, not nan"),
        ((*DIMENSIONS[:2], replace(DIMENSIONS[2], name="Clear")), "each name once, not twice: clear"),
        (
            (*DIMENSIONS[:2], replace(DIMENSIONS[2], anchors={"1": "bad", "5": " "})),
            'anchors at 1, 5 and 10 for "small": missing at 5, 10',
        ),
    ],
)
def test_a_rubric_that_cannot_be_used_is_told_why(dimensions: tuple[Dimension, ...], says: str) -> None:
    """Each slip is named with what was expected and what was there."""
    assert says in objections(dimensions)


def test_weights_in_tenths_sum_to_one() -> None:
    """0.1 + 0.2 + 0.7 is 1.0 to a person, whatever a machine makes of it."""
    parts = (0.1, 0.2, 0.7)
    assert (
        objections(tuple(replace(one, weight=part) for one, part in zip(DIMENSIONS, parts, strict=True)))
        == []
    )


def test_ralph_does_the_sum_itself() -> None:
    """Weighted score and pass are computed from the scores; the judge's own, where they differ, are shown."""
    opinion = heard(said(6, 8, 7, weighted_score=9.9))
    assert (opinion.weighted, opinion.status, opinion.claimed) == (6.8, "fail", 9.9)
    assert opinion_line(opinion) == (
        "6.80 of 10, 7.00 asked for (its own sum was 9.9): correct 6, clear 8, small 7"
    )
    honest = heard(said(7, 7, 7, weighted_score=7))
    assert (honest.weighted, honest.status, honest.claimed) == (7.0, "pass", None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I like it", "holds no complete JSON object"),
        ("", "holds no complete JSON object"),
        (said(7, 7, 7)[:-1], "does not have the asked form"),
        (said(7, 7, names=("correct", "clear")), 'no score for "small"'),
        (said(7, 7, 7, 7, names=(*NAMES, "charm")), 'scores "charm", which is no dimension'),
        (said(7, 7, 7, 9, names=(*NAMES, "Small")), 'scores "small" twice'),
        (said(7, 7, 11), "does not have the asked form"),
        (said(7, 7, 0.9), "does not have the asked form"),
        (said(7, 7, float("nan")), "does not have the asked form"),
        (said(7, 7, float("inf")), "does not have the asked form"),
        (said(7, 7, 7).replace("7", '"7"', 1), "does not have the asked form"),
        (said(7, 7, 7).replace("7", "1e999", 1), "does not have the asked form"),
        (said(7, 7, 7, summary=3), "does not have the asked form"),
        ('{"pass": true}', "does not have the asked form"),
        (f"{said(7, 7, 7)} {{}}", "does not have the asked form"),
    ],
)
def test_an_answer_that_cannot_be_used_is_an_error(text: str, says: str) -> None:
    """A dimension too few or too many, a score out of range, no number, no object: never a verdict."""
    opinion = heard(text)
    assert (opinion.status, opinion.weighted, opinion.scores) == ("error", None, ())
    assert says in opinion.why


@pytest.mark.parametrize(
    "text",
    [
        f"Here it is:\n```json\n{said(8, 8, 8)}\n```\nThat was it {{really",
        f"{said(1, 1, 1)}\nNo, wait:\n{said(8, 8, 8)}",
        f"a set {{1, 2}} of things {said(8, 8, 8)}",
        said(8, 8, 8, names=("Correct ", "CLEAR", "small")),
        said(8, 8, 8, charm="unasked"),
    ],
)
def test_the_last_object_counts_whatever_stands_around_it(text: str) -> None:
    """Prose, fences and earlier objects do not matter; names are taken as people write them."""
    assert heard(text).weighted == 8.0


@pytest.mark.parametrize("part", ['{"a":', "{", '{"a":[', '{"a":"'])
def test_text_made_to_be_searched_for_ever_is_given_up_on(part: str) -> None:
    """After some effort there is no answer, even where one stands at the end; braces in prose are fine."""
    assert isinstance(read_answer(part * 13_000 + "\n" + said(8, 8, 8), RUBRIC), str)
    assert isinstance(read_answer("if (x) { y } " * 1_000 + said(8, 8, 8), RUBRIC), Answer)


def test_what_is_kept_is_bounded() -> None:
    """A flood of words becomes an opinion that a journal can hold."""
    text = said(7, 7, 7, summary="s" * 9_000, suggestions=["x" * 9_000] * 50)
    opinion = heard(text)
    assert len(opinion.summary) == 1000
    assert [len(one) for one in opinion.suggestions] == [1000] * 10


@given(st.lists(st.floats(1, 10), min_size=3, max_size=3))
def test_a_weighted_score_lies_between_the_scores(scores: list[float]) -> None:
    """Whatever the scores, the sum is none that a scale from 1 to 10 does not have."""
    answer = read_answer(said(*scores), RUBRIC)
    assert isinstance(answer, Answer)
    assert min(scores) - 1e-6 <= weigh(RUBRIC, answer) <= max(scores) + 1e-6


@pytest.mark.parametrize(
    ("gaps", "over"),
    [
        ((), False),
        ((0.5,), False),
        ((0.5, 0.2), True),
        ((1.0, 1.0), True),
        ((3.0,), False),
        ((3.0, 0.5), False),
        ((3.0, 2.0, 0.1), True),
        ((0.5, 3.0), False),
    ],
)
def test_how_often_the_work_is_tried_again(gaps: tuple[float, ...], over: bool) -> None:
    """A near miss gives one more try, a wide one two, and three refusals are always enough."""
    assert retries_used_up(gaps) is over


def test_a_refusal_is_quoted_until_it_is_heard_anew_and_advice_once() -> None:
    """Advice joins the next prompt only; a required refusal stays until it is answered."""
    opinion = replace(heard(said(5, 5, 5)), iteration=2)
    assert for_prompt(None, 3) == ""
    assert for_prompt(opinion, 3) == advice(opinion)
    assert for_prompt(opinion, 4) == ""
    refusal = replace(opinion, required=True)
    assert for_prompt(refusal, 9) == advice(refusal)
    assert for_prompt(replace(opinion, weighted=None), 3) == ""
    assert advice(opinion).split("\n") == [
        opinion_line(opinion),
        "correct 5: seen",
        "clear 5: seen",
        "small 5: seen",
        "fine",
        "suggestion: more",
    ]


def test_an_opinion_without_scores_says_why() -> None:
    """Where nothing was scored, the line tells what kept the judge from it."""
    assert opinion_line(Opinion(tree="t", status="skipped", why="limit: busy")) == "limit: busy"
    assert opinion_line(Opinion(tree="t", status="skipped")) == "skipped"
    assert advice(Opinion(tree="t", status="pass", weighted=8.0, scores=(Score("a", 8.0),))) == (
        "8.00 of 10, 7.00 asked for: a 8"
    )
