"""Words about how to work, taken off a sentence: flags, bounds, "in the background", courtesies.

Only what stands at the edge of a sentence is taken: the same words inside it belong to the task ("make
the client retry up to 3 times"). Words at the end that are not set off by punctuation may be either; they
come back as not `firm`, and `route` decides by what stands before them or asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from ralph.core.sentence.phrases import NUMBER, PhraseTable, any_of, pattern_text

About = Literal["tries", "within", "hours", "money", "endless", "outside", "agent", "beyond"]
MAX_TRIES = 10_000
MAX_SECONDS = 30 * 86400
SHORTEST = 60  # seconds: no loop is meant to last less, that is what the code is to do
MAX_MONEY = 100_000.0
MAX_PHRASES = 12  # things about how to work in one sentence; more is noise
_WINDOW = 240  # characters at an edge that are looked at; no phrase about how to work is longer
_EDGES = " \t,;.!\u2013\u2014"
_SEPARATOR = r"(?P<sep>^|\s?[,;.(\u2013\u2014]\s?|\s-\s|\s)"


# "…until the page loads within 2 seconds": what is measured is not the loop.
_MEASURED = re.compile(
    r"\b(?:takes?|responds?|answers?|finishes|completes?|loads?|renders?|starts?)$", re.IGNORECASE
)


class Peeled(Struct, frozen=True):
    """One thing said about how to work. `value` is None where a number was said that cannot be one."""

    about: About
    text: str
    value: float | None = None
    firm: bool = True


class Flags(Struct, frozen=True):
    """What was written as flags at the end of a text. Others than these stay words of the task."""

    rest: str
    criterion: str = ""
    loop_id: str = ""
    peeled: tuple[Peeled, ...] = ()


def fold(text: str) -> str:
    """One space where there was white space, no quotes around the whole."""
    text = " ".join(text.split())
    while len(text) > 1 and (text[0], text[-1]) in _QUOTES and text[-1] not in text[1:-1]:
        text = text[1:-1].strip()
    return text


_QUOTES = (('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ("\u00ab", "\u00bb"))
_FLAG = re.compile(
    r"(?:^|\s)--(iterations|max-iterations|timeout|max-time|max-cost|completion|until|check|loop-id)(?:=|\s)",
    re.IGNORECASE,
)
# Behind the name of the loop, where a command has its flags: "agent-loop --iterations 5 fix the tests".
_FRONT = re.compile(
    r"^(/?[\w-]+\s)((?:--(?:iterations|max-iterations|timeout|max-time|max-cost|loop-id)(?:=|\s)\S+(?:\s(?=--)|(?=\s)))+)\s(\S.*)$",
    re.IGNORECASE,
)
_LOOP_ID = re.compile(r"(?:ralph-)?[a-z0-9][a-z0-9-]{0,60}")
_SPAN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(s|m|h|d|min|)")
_SPANS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "": 60}  # a bare number: minutes, as S2 has it


def flags_of(text: str) -> Flags:
    """Flags at the end, from the last to the first, as long as each has a value that it may have."""
    text = _FRONT.sub(r"\1\3 \2", text)
    found = Flags(rest=text)
    for match in reversed(list(_FLAG.finditer(text))):
        value = fold(found.rest[match.end() :])
        taken = _flag(found, match[1].lower(), value)
        if taken is None:
            break
        found = Flags(text[: match.start()].rstrip(), taken.criterion, taken.loop_id, taken.peeled)
    return found


def _flag(found: Flags, name: str, value: str) -> Flags | None:
    said = f"--{name} {value}"
    if name in ("completion", "until", "check"):
        text = f"`{value}`" if name == "check" and "`" not in value else value
        return Flags("", found.criterion or text, found.loop_id, found.peeled) if value else None
    if name == "loop-id":
        known = _LOOP_ID.fullmatch(value)
        return Flags("", found.criterion, found.loop_id or value, found.peeled) if known else None
    if name in ("iterations", "max-iterations"):
        if not re.fullmatch(r"-?[0-9]{1,30}", value):
            return None
        peeled = Peeled("tries", said, value_in_bounds("tries", float(value)))
    elif name == "max-cost":
        if not re.fullmatch(r"\$?[0-9]{1,9}(?:\.[0-9]{1,2})?", value):
            return None
        peeled = Peeled("money", said, value_in_bounds("money", float(value.removeprefix("$"))))
    else:
        span = _SPAN.fullmatch(value.lower())
        if span is None:
            return None
        peeled = Peeled("hours", said, value_in_bounds("hours", float(span[1]) * _SPANS[span[2]]))
    return Flags("", found.criterion, found.loop_id, (*found.peeled, peeled))


def value_in_bounds(about: About, value: float) -> float | None:
    """The value, if a loop can be bound by it."""
    least, most = {"tries": (1, MAX_TRIES), "hours": (1, MAX_SECONDS), "money": (0.01, MAX_MONEY)}[about]
    if not least <= value <= most or (about == "tries" and value != int(value)):
        return None
    return value


def number_in_digits(text: str) -> float | None:
    """A comma only parts thousands: "5,50" is five and a half to many people, and 550 to nobody."""
    digits = text.rstrip(".,")
    if "," in digits and not re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", digits):
        return None
    try:
        return float(digits.replace(",", ""))
    except ValueError:
        return None


class _Phrase(Struct, frozen=True):
    """Patterns are compiled when they are first needed (`re` keeps them): most sentences need few."""

    about: About
    text: str

    def alone(self) -> re.Pattern[str]:
        return re.compile(rf"(?:{self.text})(?!\w)", re.IGNORECASE)

    def at_end(self) -> re.Pattern[str]:
        """With what sets it off, at the end of a sentence."""
        return re.compile(rf"{_SEPARATOR}(?P<all>{self.text})(?P<close>\)?)$", re.IGNORECASE)


@lru_cache(maxsize=8)
def _phrases(language: PhraseTable) -> tuple[_Phrase, ...]:
    """Every phrase about how to work, as patterns; those without a number share one."""
    words = "|".join(re.escape(word) for word, _ in sorted(language.bounds.numbers, key=_longest))
    units = "|".join(re.escape(word) for word, _ in sorted(language.bounds.units, key=_longest))
    values = {"{n}": rf"(?P<n>{NUMBER}|{words})", "{unit}": rf"(?P<unit>{units})"}
    table: list[tuple[About, str]] = [
        ("endless", f"(?:{any_of(language.bounds.endless)})"),
        ("outside", f"(?:{any_of(language.outside)})"),
        *(("agent", _agent_pattern(phrase, language)) for phrase in language.agents.words),
        *(("beyond", pattern_text(phrase)) for phrase in language.beyond),
    ]
    counted: tuple[tuple[About, tuple[str, ...]], ...] = (
        ("tries", language.bounds.tries),
        ("hours", language.bounds.hours),
        ("money", language.bounds.money),
        ("within", language.bounds.within),
    )
    for about, phrases in counted:
        for phrase in phrases:
            text = pattern_text(phrase, values)
            table.append((about, text.replace(r"\s(?P<unit>", r"\s?(?P<unit>")))  # "2h" is "2 hours"
    return tuple(_Phrase(about, text) for about, text in table)


def _fitting(text: str, language: PhraseTable) -> tuple[_Phrase, ...]:
    """The phrases that may be in `text`: without a number in it, those without one."""
    words = text.lower().split()
    numbers = {word for word, _ in (*language.bounds.numbers, *language.bounds.units) if len(word) > 2}
    counted = any(char.isdigit() for char in text) or not numbers.isdisjoint(words)
    every = _phrases(language)
    return every if counted else tuple(one for one in every if one.about in _UNCOUNTED)


_UNCOUNTED = ("endless", "outside", "agent", "beyond")


def _agent_pattern(phrase: str, language: PhraseTable) -> str:
    """Without a group of its own: one pattern may hold it twice."""
    names = "|".join(re.escape(said) for said, _ in sorted(language.agents.names, key=_longest)) or r"\0"
    return pattern_text(phrase, {"{agent}": f"(?:{names})"})


def agent_in(text: str, language: PhraseTable) -> str:
    """The agent that a phrase names: one by its usual name, or the last word."""
    for said, name in sorted(language.agents.names, key=_longest):
        if re.search(rf"(?<![\w-]){re.escape(said)}(?![\w-])", text, re.IGNORECASE):
            return name
    return text.rsplit(maxsplit=1)[-1].strip(".,:;").lower()


def peel_agent(text: str, language: PhraseTable) -> tuple[str, tuple[Peeled, ...]]:
    """Who is to work, said in front of what is to be done: "use codex to fix …"."""
    for phrase in language.agents.leads:
        found = re.match(rf"(?:{_agent_pattern(phrase, language)})\s(?=\S)", text, re.IGNORECASE)
        if found and begins(text[found.end() :], (*language.work, *language.keep, "keep")):
            return text[found.end() :], (Peeled("agent", found[0].strip()),)
    return text, ()


def _longest(pair: tuple[str, object]) -> int:
    return -len(pair[0])


def peel_end(text: str, language: PhraseTable) -> tuple[str, tuple[Peeled, ...]]:
    """What is said about how to work at the end, last first; what stands left of something set off is set
    off itself, and then so is everything right of it."""
    found: list[Peeled] = []
    while len(found) < MAX_PHRASES:
        text = drop_closing(text, language)
        start = max(0, len(text) - _WINDOW)
        best: tuple[int, Peeled] | None = None
        for phrase in _fitting(text[start:], language):
            if phrase.about == "within":
                continue
            match = phrase.at_end().search(text, start)
            if match is None or (start and match.start() == start) or (not match["sep"] and match.start()):
                continue
            if match["sep"] == " " and _MEASURED.search(text, 0, match.start()):
                continue
            if best is None or match.start() < best[0]:
                best = (match.start(), _peel_phrase(phrase, match, language))
        if best is None:
            break
        text = text[: best[0]].rstrip(_EDGES + "(")
        found.append(best[1])
    return text, tuple(_spread_firmness(found))


def _spread_firmness(found: list[Peeled]) -> Iterator[Peeled]:
    for at, one in enumerate(found):
        firm = any(other.firm for other in found[at:])
        yield one if one.firm else Peeled(one.about, one.text, one.value, firm)


def _peel_phrase(phrase: _Phrase, match: re.Match[str], language: PhraseTable) -> Peeled:
    phrase = _Phrase("tries", phrase.text) if phrase.about == "within" else phrase
    groups = match.groupdict()
    all_text = groups.get("all") or match[0]
    off = "sep" not in groups or groups["sep"].strip() != "" or groups["sep"] == ""
    off = off or re.match(r"(?:and|then)\s", all_text, re.IGNORECASE) is not None
    if phrase.about == "agent":
        return Peeled(phrase.about, all_text.strip(), None, off or not _takes_object(match, language))
    firm = off or (
        phrase.about == "tries" and any(word in all_text.lower().split() for word in language.bounds.firm)
    )
    if "n" not in groups:
        return Peeled(phrase.about, all_text.strip(), None, firm)
    value = _value(phrase.about, groups, language)
    hurried = phrase.about == "hours" and value is not None and value < SHORTEST
    return Peeled(phrase.about, all_text.strip(), value, firm and not hurried)


def _takes_object(match: re.Match[str], language: PhraseTable) -> bool:
    """In "replace X with claude" the name is part of the task."""
    verbs = any_of(language.agents.objects)
    return re.search(rf"(?<!\w)(?:{verbs})(?!\w)", match.string[: match.start()], re.IGNORECASE) is not None


def _value(about: About, groups: dict[str, str], language: PhraseTable) -> float | None:
    said = groups["n"].lower()
    number = dict(language.bounds.numbers).get(said)
    if number is None:
        number = number_in_digits(said)
    if number is None:
        return None
    if about == "hours":
        number *= dict(language.bounds.units)[groups["unit"].lower()]
    return value_in_bounds(about, number)


def peel_start(text: str, language: PhraseTable) -> tuple[str, tuple[Peeled, ...]]:
    """What is said about how to work in front, up to a comma or a colon."""
    found: list[Peeled] = []
    while len(found) < MAX_PHRASES:
        head = re.match(r"[^,:;]{1,120}[,:;]\s", text)
        taken = modifiers(head[0].rstrip(" ,:;"), language) if head else None
        if not head or not taken:
            break
        found += taken
        text = text[head.end() :]
    return text, tuple(found)


def modifiers(text: str, language: PhraseTable) -> tuple[Peeled, ...] | None:
    """A text that says only how to work, as what it says; None when anything else is in it."""
    found: list[Peeled] = []
    names = re.compile(rf"(?:{any_of(language.outside_names)})(?!\w)", re.IGNORECASE)
    rest = text.strip(_EDGES + "()")
    while rest:
        best: tuple[int, Peeled] | None = None
        for phrase in _fitting(rest, language):
            match = phrase.alone().match(rest)
            if match and (best is None or match.end() > best[0]):
                best = (match.end(), _peel_phrase(phrase, match, language))
        name = names.match(rest)
        if best is None and name:
            best = (name.end(), Peeled("outside", name[0]))
        if best is None:
            return None
        found.append(best[1])
        rest = re.sub(r"^(?:[\s,;()]|(?:and|y)\s)+", "", rest[best[0] :])
    return tuple(found)


def drop_opening(text: str, language: PhraseTable) -> tuple[str, tuple[str, ...]]:
    """The text without courtesies in front, and those."""
    pattern = re.compile(rf"({any_of(language.opening)})(?:\s?[,!.:]+\s?|\s)(?=\S)", re.IGNORECASE)
    dropped: list[str] = []
    for _ in range(8):
        match = pattern.match(text)
        if match is None:
            break
        dropped.append(match[1].lower())
        text = text[match.end() :]
    return text, tuple(dropped)


def drop_closing(text: str, language: PhraseTable) -> str:
    """Without courtesies and full stops at the end; in "fewer than now" the last word is none."""
    pattern = re.compile(
        rf"(?<!\sthan)(?<!\sis)(?<!\sare)(?:\s?[,.;]\s?|\s)(?:{any_of(language.closing)})$", re.IGNORECASE
    )
    for _ in range(8):
        text = text.rstrip(_EDGES)
        match = pattern.search(text, max(0, len(text) - 40))
        if match is None:
            break
        text = text[: match.start()]
    return text


def begins(text: str, phrases: tuple[str, ...]) -> bool:
    return re.match(rf"(?:{any_of(phrases)})(?![\w-])", text, re.IGNORECASE) is not None
