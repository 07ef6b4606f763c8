"""What people say when they want a loop: the shape of a phrase table, and how a phrase becomes a pattern.

A language is one TOML file beside this module, made of phrases that somebody who speaks it can read and
correct. In a phrase, `(a|b)` is a choice, `[a]` may be left out, `<name>` is one of the file's `[parts]`, and
these stand for what varies:

    {task} {criterion}   any words            {work}   a task that begins with a verb of work
    {n} {unit}           a number, its unit   {loop}   which loop is meant
    {how}                nothing, or words about how to work: a bound, "in the background"
    {kind}               nothing, or adjectives of a loop       {list}   one of the phrases in `lists`
    {keep}               a verb of going on: "keep trying"      {command}   words that may be a command
    {perhaps}            one that means that only sometimes     {word}   one word, or the beginning of one
    {agent}              one of the names in `agents`           {count} {paths}   how many, which files

Nothing here knows routes; `route` does.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

import msgspec
from msgspec import Struct
from msgspec.structs import replace


class Form(Struct, frozen=True):
    """One way to ask for a loop. Without a task the one before is meant; without a criterion it is found."""

    say: str
    task: str = "{task}"
    criterion: str = ""
    external: bool = False
    only_external: bool = False  # matches only together with external wording
    measured: bool = False  # matches only when the criterion is something that can be measured
    sure: bool = True  # False: the words before the request may be no task
    bare: bool = False  # nothing but the summons: what is to be built here, else the task before
    build: bool = False  # what specs and plan say is to be built
    team: bool = False  # planned, built and reviewed


class BoundPhrases(Struct, frozen=True, kw_only=True):
    """How a loop is bounded."""

    tries: tuple[str, ...]  # phrases with {n}
    hours: tuple[str, ...]  # with {n} {unit}
    money: tuple[str, ...]  # with {n}
    within: tuple[str, ...] = ()  # with {n}, only where nothing but the loop can be meant: "loop 5 times"
    firm: tuple[str, ...]  # words that only a bound of a loop has
    endless: tuple[str, ...]
    numbers: tuple[tuple[str, float], ...]
    units: tuple[tuple[str, int], ...]  # seconds


class CriterionPhrases(Struct, frozen=True, kw_only=True):
    """What is said of being done."""

    done: tuple[str, ...]  # "until done": says nothing, the criterion is found
    vague: tuple[str, ...]  # words that no check can decide
    passes: tuple[str, ...]  # what follows a command in a criterion
    subjects: tuple[tuple[str, str], ...]  # words in a criterion -> the task they mean
    attain: str  # the task of any other criterion, with {criterion}
    completion: tuple[str, ...]  # "; completion: X"


class AgentPhrases(Struct, frozen=True, kw_only=True):
    """Who is to work."""

    names: tuple[tuple[str, str], ...]  # (what people call it, agent or profile:NAME)
    words: tuple[str, ...]  # at an edge of a sentence
    leads: tuple[str, ...]  # in front of a request
    objects: tuple[str, ...]  # verbs whose "with NAME" is part of the task


class PhraseTable(Struct, frozen=True, kw_only=True):
    name: str
    opening: tuple[str, ...]  # courtesies in front, taken away
    closing: tuple[str, ...]  # and at the end
    work: tuple[str, ...]  # verbs that begin a task
    keep: tuple[str, ...]
    perhaps: tuple[str, ...]  # verbs of going on only where something measurable follows
    until: tuple[str, ...]
    lists: tuple[str, ...]  # a list of things to do is a task by itself
    rows: tuple[Form, ...]
    controls: tuple[tuple[str, str], ...]  # (verb, phrase)
    meanwhile: tuple[str, ...]  # what stands for "the loop we talk about"
    then: tuple[str, ...]  # joins a control and a new task
    questions: tuple[str, ...]  # beginnings that ask something
    polite: tuple[str, ...]  # beginnings that look like a question and are a request
    negations: tuple[str, ...]  # beginnings that ask not to
    opinions: tuple[str, ...]  # beginnings of tasks that no check can prove
    bounds: BoundPhrases
    agents: AgentPhrases
    beyond: tuple[str, ...]  # what follows a request and is nothing that a loop does
    actions: tuple[str, ...]  # verbs that begin something to do, not a state that can be checked
    outside: tuple[str, ...]  # adverbials of external work
    outside_names: tuple[str, ...]  # adjectives of an external loop
    criteria: CriterionPhrases


@cache
def languages() -> tuple[PhraseTable, ...]:
    """The one whose words every project has first: what follows a command is said in it everywhere."""
    first, *others = map(_table, ("en", "es"))
    return (first, *(_with_passes(one, first.criteria.passes) for one in others))


def _with_passes(table: PhraseTable, passes: tuple[str, ...]) -> PhraseTable:
    return replace(table, criteria=replace(table.criteria, passes=table.criteria.passes + passes))


def _table(name: str) -> PhraseTable:
    said = tomllib.loads(files(__package__).joinpath(f"phrases_{name}.toml").read_text("utf-8"))
    text = msgspec.json.encode({"name": name, **said}).decode()
    for part, phrase in said["parts"].items():
        text = text.replace(f"<{part}>", phrase)
    return msgspec.json.decode(text, type=PhraseTable)


LOOSE = r"\S.*?"
_PIECE = re.compile(r"\{[a-z]+\}|[()|\[\]]| +|[^{}()|\[\] ]+")
_WORD = r"[\w'-]{1,30}"
_MAYBE = r"(?:\s|(?<!\w)|(?!\w))"  # a space, or nothing where no word would be cut
_SIGNS = {"(": "(?:", ")": ")", "|": "|", "[": "(?:", "]": ")?"}
NUMBER = r"[0-9][0-9.,]{0,14}"
# Names as `ralph` makes them; a shorter one counts only where a loop of that name is known.
LOOP_NAME = re.compile(r"(?:ralph-)?[a-z0-9][a-z0-9-]{0,60}-[0-9a-f]{8}", re.IGNORECASE)


@lru_cache(maxsize=128)
def any_of(phrases: tuple[str, ...]) -> str:
    """One pattern for all of them, the longest first."""
    return "|".join(pattern_text(phrase) for phrase in sorted(phrases, key=len, reverse=True))


def pattern_text(phrase: str, values: Mapping[str, str] | None = None) -> str:
    """The pattern of a phrase, without anchors. Optional parts take the space after them along."""
    text, depth = "", 0
    pieces = _PIECE.findall(phrase)
    for at, piece in enumerate(pieces):
        if piece in _SIGNS:
            depth += {"[": 1, "]": -1}.get(piece, 0)
            text += _SIGNS[piece]
        elif piece.startswith("{"):
            text += _WORD if piece == "{word}" else (values or {})[piece]
        elif piece.isspace():
            text += _MAYBE if _beside_option(pieces, at) else r"\s"
        elif piece == ":":
            text += r"\s?[:\u2014\uff1a]\s?"
        else:
            text += re.escape(piece)
    if depth:
        raise ValueError(f"a bracket is open in the phrase {phrase!r}")
    return text


def _beside_option(pieces: list[str], at: int) -> bool:
    """A space next to something that may be left out may be missing too; patterns see folded space only."""
    after = pieces[at + 1] if at + 1 < len(pieces) else ""
    before = pieces[at - 1] if at else ""
    return before in ("]", ":") or after in (":", "[")
