"""The rubric of the judge: dimensions, what an answer of the judge must look like, and what it amounts to.

The judge is an agent that reads a tree which every check has passed. Its answer is an opinion: Ralph weighs
the scores itself, and an opinion can hold a result back but never make one. Who asks, and what follows, is
in `opinion`; how the question is put is the shell's matter.
"""

from __future__ import annotations

import json
import math
from typing import Annotated, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ralph.core.text.clean import one_line

OpinionStatus = Literal["pass", "fail", "error", "skipped"]
THRESHOLD = 7.0
LEAST, MOST = 1.0, 10.0
FEWEST, MANY = 3, 5  # dimensions
LOWEST_THRESHOLD = 5.0
ANCHORS = ("1", "5", "10")
NEAR = 1.0  # a miss by at most this much gets one more try of the work, a wider one two
CLOSE_ENOUGH = 1e-6  # 0.1 + 0.2 is not 0.3
MAX_TRIES = 2  # answers that cannot be used before that is the opinion
JUDGE = "the judge"  # no gate can have this name
_WORDS, _SUGGESTIONS = 1000, 10
_EFFORT = 4_000_000  # characters looked at in search of the answer
_LEAST_EFFORT = 1_000  # what a brace that begins no object counts for
_Form = TypeVar("_Form")


class Dimension(Struct, frozen=True):
    name: str
    weight: float
    what: str  # what is looked at
    anchors: dict[str, str]  # what a 1, a 5 and a 10 are


class Rubric(Struct, frozen=True, omit_defaults=True):
    """What the judge is asked, agreed before the first agent call."""

    dimensions: tuple[Dimension, ...]
    threshold: float = THRESHOLD
    required: bool = False
    after: Literal["loop", "item"] = "loop"
    timeout: float = 600.0
    same_agent: bool = False  # the judge is the very agent and model that does the work


class Score(Struct, frozen=True, omit_defaults=True):
    dimension: str
    score: float
    reasoning: str = ""


class Opinion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the judge made of one tree."""

    tree: str
    status: OpinionStatus
    threshold: float = THRESHOLD
    weighted: float | None = None  # computed by Ralph from the scores
    scores: tuple[Score, ...] = ()
    summary: str = ""
    suggestions: tuple[str, ...] = ()
    claimed: float | None = None  # the judge's own sum, where it is another one
    why: str = ""  # why there are no scores: error, skipped
    agent: str = ""
    model: str = ""
    required: bool = False
    iteration: int = 0
    call: int = 0
    evidence: str = ""  # blob: everything the judge said


class Jury(Struct, frozen=True, omit_defaults=True):
    """What a loop knows of its judge."""

    opinion: Opinion | None = None  # the newest
    open: bool = False  # a call was started and has not been accounted for
    prompt: str = ""  # blob of its prompt
    tries: int = 0  # answers about this tree that could not be used
    trouble: str = ""  # what was wrong with the last one
    faults: int = 0  # in a row
    limits_hit: int = 0  # in a row: of those, what only time can heal
    gaps: tuple[float, ...] = ()  # by how much each tree that it refused missed the threshold


class _Score(Struct, frozen=True):
    dimension: str
    score: Annotated[float, Meta(ge=LEAST, le=MOST)]
    reasoning: str


class Answer(Struct, frozen=True, rename={"passed": "pass"}):
    """The judge's answer by its schema. `weighted_score` and `pass` are asked for and not believed."""

    scores: tuple[_Score, ...]
    weighted_score: float
    passed: bool
    summary: str
    suggestions: tuple[str, ...] = ()


def objections(dimensions: tuple[Dimension, ...]) -> list[str]:
    """Everything that is wrong with these dimensions, as what was expected."""
    wrong = []
    if not FEWEST <= len(dimensions) <= MANY:
        wrong.append(f"{FEWEST} to {MANY} dimensions, not {len(dimensions)}")
    names = [key(dimension.name) for dimension in dimensions]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        wrong.append(f"each name once, not twice: {', '.join(twice)}")
    for dimension in dimensions:
        if not dimension.weight > 0 or not math.isfinite(dimension.weight):
            wrong.append(f'a weight above 0 for "{dimension.name}", not {dimension.weight:g}')
        missing = [at for at in ANCHORS if not dimension.anchors.get(at, "").strip()]
        if missing:
            wrong.append(f'anchors at 1, 5 and 10 for "{dimension.name}": missing at {", ".join(missing)}')
    total = sum(dimension.weight for dimension in dimensions)
    if not abs(total - 1.0) <= CLOSE_ENOUGH:
        wrong.append(f"weights that sum to 1.0, not {round(total, 6):g}")
    return wrong


def key(name: str) -> str:
    return " ".join(name.split()).casefold()


def read_object(text: str, form: type[_Form]) -> _Form | str:
    """The last complete JSON object in a last message, in this form; or what is wrong with it."""
    found = last_object(text)
    if not found:
        return "it holds no complete JSON object"
    try:
        return msgspec.json.decode(found, type=form)
    except (msgspec.DecodeError, UnicodeEncodeError) as wrong:
        return f"its JSON object does not have the asked form: {one_line(str(wrong), 200)}"


def read_answer(text: str, rubric: Rubric) -> Answer | str:
    """The answer in the judge's last message, or what is wrong with it."""
    answer = read_object(text, Answer)
    if isinstance(answer, str):
        return answer
    wanted = {key(dimension.name) for dimension in rubric.dimensions}
    scored = [key(score.dimension) for score in answer.scores]
    for name in sorted(wanted.difference(scored)):
        return f'it gives no score for "{name}"'
    for name in scored:
        if name not in wanted:
            return f'it scores "{one_line(name, 60)}", which is no dimension of the rubric'
        if scored.count(name) > 1:
            return f'it scores "{name}" twice'
    return answer


def last_object(text: str) -> str:
    """Objects side by side are read from left to right; what stands inside one is not another."""
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found, at, effort = "", 0, _EFFORT
    while effort > 0 and (start := text.find("{", at)) >= 0:
        try:
            _, at = decoder.raw_decode(text, start)
            found = text[start:at]
        except json.JSONDecodeError as wrong:
            at, effort = start + 1, effort - max(_LEAST_EFFORT, wrong.pos - start)
        except (ValueError, RecursionError):  # NaN, an endless number, nested too deeply
            at, effort = start + 1, effort - (len(text) - start)
    return found


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def weigh(rubric: Rubric, answer: Answer) -> float:
    """The weighted score, whatever the judge itself came to."""
    by_name = {key(score.dimension): score.score for score in answer.scores}
    return round(sum(part.weight * by_name[key(part.name)] for part in rubric.dimensions), 6)


def opinion_of(rubric: Rubric, answer: Answer | str, tree: str) -> Opinion:
    """What this answer amounts to, cut to what a journal and a prompt can hold."""
    if isinstance(answer, str):
        return Opinion(
            tree=tree,
            status="error",
            threshold=rubric.threshold,
            required=rubric.required,
            why=f"the judge's answer cannot be used: {answer}",
        )
    weighted = weigh(rubric, answer)
    said = {key(score.dimension): score for score in answer.scores}
    scores = [(part.name, said[key(part.name)]) for part in rubric.dimensions]
    passed = weighted >= rubric.threshold - CLOSE_ENOUGH
    agrees = abs(answer.weighted_score - weighted) < 0.05 and answer.passed == passed
    return Opinion(
        tree=tree,
        status="pass" if passed else "fail",
        threshold=rubric.threshold,
        required=rubric.required,
        weighted=weighted,
        scores=tuple(Score(name, one.score, one_line(one.reasoning, _WORDS)) for name, one in scores),
        summary=one_line(answer.summary, _WORDS),
        suggestions=tuple(one_line(text, _WORDS) for text in answer.suggestions[:_SUGGESTIONS]),
        claimed=None if agrees else answer.weighted_score,
    )


def skipped_opinion(rubric: Rubric, tree: str, why: str) -> Opinion:
    return Opinion(tree=tree, status="skipped", threshold=rubric.threshold, required=rubric.required, why=why)


def retries_used_up(gaps: tuple[float, ...]) -> bool:
    """Has the work been tried again as often as its misses allow?"""
    return len(gaps) > (1 if max(gaps, default=0.0) <= NEAR + CLOSE_ENOUGH else 2)


def opinion_line(opinion: Opinion) -> str:
    """One line: 6.50 of 10, 7.00 asked for; correctness 6, readability 8."""
    if opinion.weighted is None:
        return opinion.why or opinion.status
    each = ", ".join(f"{score.dimension} {score.score:g}" for score in opinion.scores)
    own = "" if opinion.claimed is None else f" (its own sum was {opinion.claimed:g})"
    return f"{opinion.weighted:.2f} of 10, {opinion.threshold:.2f} asked for{own}: {each}"


def advice(opinion: Opinion) -> str:
    """What the next prompt quotes of it."""
    lines = [opinion_line(opinion)]
    lines += [f"{one.dimension} {one.score:g}: {one.reasoning}" for one in opinion.scores if one.reasoning]
    lines += [opinion.summary] if opinion.summary else []
    lines += [f"suggestion: {text}" for text in opinion.suggestions]
    return "\n".join(lines)


def for_prompt(opinion: Opinion | None, iteration: int) -> str:
    """What the prompt of this iteration quotes: a refusal until it is heard anew, advice once."""
    objects = opinion is not None and not opinion.scores and opinion.suggestions  # a reviewer, without scores
    if opinion is None or (opinion.weighted is None and not objects):
        return ""
    refused = opinion.status == "fail" and opinion.required
    return advice(opinion) if refused or opinion.iteration == iteration - 1 else ""


def reset_counts(jury: Jury) -> Jury:
    """A human has looked: what was said stays for the next prompt, every count starts anew."""
    said = replace(jury.opinion, tree="") if jury.opinion is not None else None
    return Jury(opinion=said)
