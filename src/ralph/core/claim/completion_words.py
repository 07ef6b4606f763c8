"""Words of completion in an agent's final message, and the dual condition that they are one half of.

An indicator is a claim in plain words: STATUS COMPLETE, or a phrase of the shipped table that the agent says
itself and without reserve. What it quotes, denies, expects, asks or repeats from its prompt does not count.
An iteration counts once, however often it says so. Nothing here verifies anything: the dual condition stands
beside the proof and never in its place (`exit_gate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ralph.core.claim.status_block import CLOSE, OPEN
from ralph.core.model.agent import Claim
from ralph.core.model.plan.completion import Indication
from ralph.core.text.clean import one_line
from ralph.core.text.markdown import rows

MAX_CHARS = 200_000  # characters of a message that are looked at, from its end
MAX_SHOWN_CHARS = 120


class Words(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One language: what says that all is done, and what takes it back. <thing> and <ended> are filled in."""

    language: str
    spaced: bool = True
    thing: str = ""
    ended: str = ""
    phrases: tuple[str, ...]
    reserves: tuple[str, ...]


class _Languages(Struct, frozen=True):
    language: tuple[Words, ...]


_TEXT = files(__package__).joinpath("completion_words.toml").read_bytes()
LANGUAGES = msgspec.toml.decode(_TEXT, type=_Languages).language


class _Compiled(NamedTuple):
    phrases: re.Pattern[str]
    reserves: re.Pattern[str]


def _compile_words(words: Words) -> _Compiled:
    phrases = "|".join(f"(?:{one})" for one in words.phrases)
    phrases = phrases.replace("<thing>", words.thing).replace("<ended>", words.ended)
    reserves = "".join(words.reserves)
    if words.spaced:  # whole words; "n't" is the end of one
        phrases = rf"(?<!\w)(?:{phrases})(?!\w)"
        reserves = rf"(?:(?<!\w)|(?=n['\u2019]t))(?:{reserves})(?!\w)"
    return _Compiled(re.compile(phrases, re.IGNORECASE), re.compile(reserves, re.IGNORECASE))


_TABLES = {words.language: _compile_words(words) for words in LANGUAGES}
# What is shown rather than said. An opening quote that is never closed quotes the rest of its paragraph.
_SHOWN = re.compile(
    r"`[^`]*(?:`|$)|\"[^\"]*(?:\"|$)|\u201c[^\u201d]*(?:\u201d|$)|\u00ab[^\u00bb]*(?:\u00bb|$)"
    r"|\u300c[^\u300d]*(?:\u300d|$)|\u300e[^\u300f]*(?:\u300f|$)|(?<![\w])['\u2018][^'\u2019]*['\u2019](?!\w)"
)
_SENTENCE = re.compile(r"[^.!?;\u3002\uff01\uff1f\uff1b\u2026]+[.!?;\u3002\uff01\uff1f\uff1b\u2026]*")
_QUESTION = ("?", "\uff1f")


def indication(iteration: int, message: str, claim: Claim | None, prompt: str = "") -> Indication:
    """One iteration's word. A claim that work is left, or that it is blocked, beats every phrase."""
    if claim is not None and claim.status != "COMPLETE":
        return Indication(iteration)
    return Indication(
        iteration,
        complete=claim is not None,
        phrases=phrases_in(message, prompt),
        signal=claim is not None and claim.exit_signal,
    )


def phrases_in(message: str, prompt: str = "") -> tuple[str, ...]:
    """The sentences that say without reserve that everything is done."""
    told = {_folded(sentence) for sentence in _sentences(prompt)}
    found: dict[str, None] = {}
    for sentence in _sentences(message[-MAX_CHARS:]):
        if _says_done(sentence) and _folded(sentence) not in told:
            found[one_line(sentence, MAX_SHOWN_CHARS)] = None
    return tuple(found)


def _sentences(text: str) -> Iterator[str]:
    for part in _paragraphs(text):
        yield from _SENTENCE.findall(_SHOWN.sub(" \ufffc ", part))


def _says_done(sentence: str) -> bool:
    if sentence.endswith(_QUESTION):
        return False
    for table in _TABLES.values():
        rest, times = table.phrases.subn(" ", sentence)
        if times and not table.reserves.search(rest):
            return True
    return False


def _folded(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).strip(" .!;:*_#-\u3002\uff01")


def _paragraphs(text: str) -> Iterator[str]:
    """The agent's own words: without status blocks, code, comments and quoted lines; wrapped lines joined."""
    joined: list[str] = []
    in_block = after_heading = False
    for row in rows(text):
        bare = row.text.strip()
        if bare in (OPEN, CLOSE):
            in_block = bare == OPEN
        speaks = (
            row.kind in ("text", "bullet", "box", "heading") and not in_block and bare not in (OPEN, CLOSE)
        )
        if row.kind != "text" or not speaks or after_heading:
            if joined:
                yield " ".join(joined)
            joined = []
        if speaks:
            joined.append(_EMPHASIS.sub("", row.text))
        after_heading = row.kind == "heading"
    if joined:
        yield " ".join(joined)


_EMPHASIS = re.compile(r"\*\*|__|(?<!\w)\*|\*(?!\w)")
