"""The reviewer's answer: objections to a result that passed every check, or none.

It looks for what is wrong and gives no scores. An objection holds the result back; what it says is data for
the next prompt. The last complete JSON object of its last message counts (`rubric.read_object`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ralph.core.model.rubric import Opinion, Rubric, opinion_of, read_answer, read_object
from ralph.core.model.team.terms import Seat
from ralph.core.text.clean import one_line, redact

MAX_OBJECTIONS = 10
MAX_WORDS = 800


class Objection(Struct, frozen=True):
    problem: str  # what is wrong
    where: str = ""  # file and line
    how: str = ""  # how to see it


class Review(Struct, frozen=True):
    objections: tuple[Objection, ...]
    summary: str = ""


def opinion_in(text: str, seat: Seat, rubric: Rubric, tree: str, secrets: Sequence[str] = ()) -> Opinion:
    """What the judge or the reviewer says of this tree in its last message, without the secrets."""
    if seat == "judge":
        opinion = opinion_of(rubric, read_answer(text, rubric), tree)
    else:
        opinion = review_opinion(read_review(text), tree)
    return replace(
        opinion,
        summary=redact(opinion.summary, secrets),
        why=redact(opinion.why, secrets),
        suggestions=tuple(redact(words, secrets) for words in opinion.suggestions),
        scores=tuple(replace(one, reasoning=redact(one.reasoning, secrets)) for one in opinion.scores),
    )


def read_review(text: str) -> Review | str:
    """The review in a reviewer's last message, or what is wrong with it."""
    review = read_object(text, Review)
    if isinstance(review, Review) and any(not one.problem.strip() for one in review.objections):
        return "an objection does not say what the problem is"
    return review


def review_opinion(review: Review | str, tree: str) -> Opinion:
    """What this review amounts to, cut to what a journal and a prompt can hold."""
    if isinstance(review, str):
        why = f"the reviewer's answer cannot be used: {review}"
        return Opinion(tree=tree, status="error", required=True, why=why)
    said = tuple(_words(one) for one in review.objections[:MAX_OBJECTIONS])
    count = len(review.objections)
    return Opinion(
        tree=tree,
        status="fail" if count else "pass",
        required=True,
        why=f"{count} objection{'s'[: count != 1]}: {said[0]}" if count else "no objection",
        summary=one_line(review.summary, MAX_WORDS),
        suggestions=said,
    )


def _words(one: Objection) -> str:
    where = f"{one_line(one.where, 200)}: " if one.where.strip() else ""
    how = f" (to see it: {one_line(one.how, MAX_WORDS // 2)})" if one.how.strip() else ""
    return f"{where}{one_line(one.problem, MAX_WORDS)}{how}"
