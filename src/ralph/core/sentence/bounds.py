# ruff: noqa: E501 (patterns of a table are as long as they are)
"""Words that bound money, time or tries anywhere in a text: "…, at most 2 hours and $5". Pure.

`said` finds them with what they mean: a bound of the loop when they are set off from the rest or speak of
spending, else perhaps a part of the task ("a price of at most $5"). What bounds something and cannot be
understood ("stay under budget", "€5", "until 6pm") is found too, with the flag that says it: nobody's limit
is dropped in silence. Phrases that begin or end a sentence are also known to `flags_in_text`.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal

from msgspec import Struct

from ralph.core.sentence.flags_in_text import SHORTEST, number_in_digits, value_in_bounds
from ralph.core.sentence.phrases import languages

About = Literal["tries", "hours", "money", "unclear"]
FLAGS: dict[str, str] = {"tries": "--max-iterations", "hours": "--max-time", "money": "--max-cost"}
_LONGEST = 8000


class Bound(Struct, frozen=True):
    """One quantity. `value` is None where it is said and is none that a loop can have."""

    about: About
    text: str
    value: float | None = None
    flag: str = ""


class Clause(Struct, frozen=True):
    """Words that bound something, and where they stand. `firm`: it is this loop that they bound."""

    text: str
    start: int
    end: int
    bounds: tuple[Bound, ...]
    firm: bool


_MOST = (
    r"(?:up to|at (?:the )?(?:very )?most|no more than|not more than|no longer than|not longer than"
    r"|(?:a |the )?max(?:imum|\.)?(?: of)?|limit(?:ed)?(?: of| to)?|less than|under|below"
    r"|hasta|como m[aá]ximo|m[aá]ximo|no m[aá]s de|menos de)"
)
_SPEND = (
    r"(?:(?:do not|don't|dont|never) (?:spend|use|take|burn) (?:any )?(?:more|longer) than"
    r"|without spending more than|(?:spend|spending|burn) (?:only |at least )?(?:" + _MOST + r" )?"
    r"|(?:cap|limit|keep|restrict) (?:it|this|yourself|(?:the )?(?:total )?(?:costs?|spend|spending|budget|time)) "
    r"(?:at|to|under|below|within)"
    r"|no gastes m[aá]s de|gasta(?: " + _MOST + r")?"
    r"|(?:with |within |on |con )?(?:an? |the |my |un )?(?:total )?"
    r"(?:budget|cost limit|cost cap|spending limit|time limit|time budget|presupuesto)(?: of| is| de)?\s?[:=]?)"
)
# What the code may have to do as well: it speaks of the loop only where it is set off.
_ENDS = (
    r"(?:(?:(?:it|this|that) )?(?:may|must|should|can)(?: not)? (?:cost|take)(?: you)?(?: (?:more|longer) than| only)?"
    rf"(?: {_MOST})?"
    r"|(?:stop|give up|quit|abort|end)(?: it)? (?:after|at))"
)
_LEAD = (
    rf"(?:{_SPEND}\s?|{_ENDS}\s?|(?:(?:for|within|in|using|with|costing|taking|durante|por|con|en)\s)?{_MOST}\s"
    r"|(?:the )?(?:total )?costs? (?:stays?|staying|remains?|is|are|(?:must|should) (?:be|stay)) "
    + _MOST
    + r"\s"
    r"|(?:within|for the next|for|durante)\s(?:the next\s)?|(?:time|cost)\s?[:=]\s?|max(?:imum)?\s(?:time|cost)(?: of| is)?\s?[:=]?\s?)"
)
_TRAIL = (
    r"(?:\s(?:max(?:imum)?|at (?:the )?most|tops|or (?:less|fewer)|(?:budget|limit|cap)"
    r"|como m[aá]ximo|m[aá]ximo|(?:have|has) (?:passed|gone by)))"
)
_JOINT = r"(?:\s?[,;&+/]\s?(?:and\s|or\s|y\s|o\s)?|\s(?:and|or|y|o)\s)"
_COUNT = (
    r"(?:iterations?|tries|try|attempts?|rounds?|times|loops|turns"
    r"|intentos?|iteraciones|iteraci[oó]n|veces|vueltas|rondas)"
)


def _words(pairs: dict[str, float]) -> str:
    return "|".join(re.escape(word) for word in sorted(pairs, key=len, reverse=True))


@cache
def _numbers() -> dict[str, float]:
    return {word: number for one in reversed(languages()) for word, number in one.bounds.numbers}


@cache
def _units() -> dict[str, float]:
    known = {word: float(seconds) for one in reversed(languages()) for word, seconds in one.bounds.units}
    return known | {"weeks": 604800.0, "week": 604800.0}


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    number = rf"(?:[0-9][0-9.,]{{0,14}}(?<![.,])|(?:{_words(_numbers())})(?=\s))"
    span = rf"{number}\s?(?:{_words(_units())})(?!\w)"
    time = rf"{span}(?:(?:\s|\sand\s|\sy\s)?(?:{span}|a half|media))?"
    money = (
        rf"(?:us)?\$\s?{number}(?![\w%])|{number}\s?(?:\$|dollars?|usd|d[oó]lares)(?!\w)"
        rf"|usd\s?{number}(?!\w)"
    )
    tries = rf"{number}\s(?:more\s)?{_COUNT}(?!\w)"
    quantity = rf"(?:(?:{tries})|(?:{time})|(?:{money}))"
    named = rf"an?\s{quantity}\s(?:time\s)?(?:budget|limit|cap)"
    counted = rf"(?:for|with|in|using)\s{number}\s(?:more\s)?iterations?(?!\w)"
    one = rf"(?:{counted}|(?:with\s|within\s|on\s)?{named}|{_LEAD}{quantity}{_TRAIL}?|{quantity}{_TRAIL})"
    more = rf"(?:{_JOINT}(?:{_LEAD})?{quantity}{_TRAIL}?)*"
    clause = re.compile(rf"(?<![\w$.-]){one}{more}(?![\w%-])", re.IGNORECASE)
    parts = re.compile(rf"(?P<tries>{tries})|(?P<money>{money})|(?P<hours>{time})", re.IGNORECASE)
    return clause, parts


@lru_cache(maxsize=1)
def _alone() -> re.Pattern[str]:
    """An amount by itself at the end: "…, $5"."""
    return re.compile(
        r"(?<!\be\.g\.)(?<!\bi\.e\.)[,;(]\s*(?P<all>\$\s?(?P<n>[0-9](?:[0-9.,]{0,13}[0-9])?))\s*[).!]*\s*$"
    )


# What bounds and is not understood: (pattern, the flag that would say it).
_CHEAP = (
    r"(?:stay|staying|keep(?: it)?|remain|be|finish)(?: well)? (?:under|within|in|below|on) "
    r"(?:the |my |our |a )?budget"
    r"|(?:spend|spending|cost|use|costing) (?:as )?(?:little|less|next to nothing|not much)"
    r"(?: money)?(?: as possible)?"
    r"|(?:keep|keeping) (?:the )?costs? (?:low|down|small|minimal|reasonable)|(?:do it )?(?:on the cheap|cheaply)"
    r"|(?:do not|don't|dont|never) (?:spend|waste|burn) (?:too )?(?:much|a lot|money|any money)(?: money)?"
    r"|gasta poco|(?:with )?(?:an? |the )?budget(?: of| is)?\s?[:=]?\s?[0-9][0-9.,]*(?![\w.,$])"
)
_FOREIGN = (
    r"(?:[€£¥]\s?[0-9][0-9.,]*|[0-9][0-9.,]*\s?(?:[€£¥]|euros?\b|eur\b|gbp\b|pounds?\b|quid\b|bucks?\b|cents?\b"
    r"|yen\b|chf\b|francs?\b)|(?:a few|a couple of|some|few|five|ten|twenty|a) "
    r"(?:bucks?|euros?|pounds?|quid|dollars)\b|\$\s?[0-9][0-9.,]*\s?(?:k|m|million)\b)"
)
_TOKENS = r"[0-9][0-9.,]*\s?(?:k|m|million|thousand)?\s?tokens?\b"


def _bounding(quantity: str) -> str:
    """A quantity that something says to be a bound, or that ends the text by itself."""
    return rf"(?:{_LEAD}{quantity}{_TRAIL}?|{quantity}{_TRAIL}|{quantity}(?=\s*[).!]*\s*$))"


_CLOCK = (
    r"(?:until|till|by|before|not later than|no later than|hasta las?)\s(?:about\s)?"
    r"(?:[0-9]{1,2}(?::[0-9]{2})?\s?(?:am|pm|a\.m\.|p\.m\.|o'clock|h)(?!\w)|[0-9]{1,2}:[0-9]{2}|midnight|noon"
    r"|tonight|tomorrow(?: morning| evening| night)?|(?:this|the) evening|lunch(?:time)?|dinner"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
)
_SHORT = (
    r"(?:for|within|in)\s(?:a (?:short|little) (?:while|time)|a few (?:minutes|hours)|some (?:time|hours|minutes)"
    r"|a while|a reasonable time)|(?:do not|don't|dont) (?:take|run|work) (?:too|very) long|not too long"
    r"|be quick(?: about it)?"
)
# (pattern, the flag that would say it, words of which one is in every text that fits)
_UNCLEAR: tuple[tuple[str, str, str], ...] = (
    (_CHEAP, "--max-cost", "budget spend cost use cheap waste burn gasta"),
    (_bounding(_FOREIGN), "--max-cost", "€ £ ¥ eur gbp pound quid buck cent yen chf franc dollars $"),
    (_bounding(_TOKENS), "--max-tokens", "token"),
    (_CLOCK, "--max-time", "until till by before later hasta"),
    (_SHORT, "--max-time", "while time few some long quick"),
    (r"(?:only |at most |up to )?a few (?:tries|attempts|iterations|rounds)", "--max-iterations", "few"),
)


@lru_cache(maxsize=8)
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$.-])(?:{text})(?![\w%-])", re.IGNORECASE)


_OWN = _SPEND + r"|^(?:with|within|on) an?\b.*\b(?:budget|limit|cap)|\b(?:iterations?|iteraciones)\b"
_OPENS = r"(?:^|(?<!\be\.g)(?<!\bi\.e)[.]|(?<!\be\.g\.)(?<!\bi\.e\.)[,;(!?\u2013\u2014]|\s-|\b(?:but|and|pero|or))\s*(?:(?:but|and|or|pero|y)\s)?$"
_CLOSES = r"\s*(?:$|[,;:.)!?\u2013\u2014]|-\s|(?:and|but|until|till|please|thanks|then|hasta|y)\b)"
_QUOTED = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"")


def find_bounds(text: str) -> tuple[Clause, ...]:
    """Everything in `text` that bounds money, time or tries, in its order."""
    told = _QUOTED.sub(lambda hit: "\0" * len(hit[0]), text[:_LONGEST])
    found = [_clause(hit, told) for hit in _patterns()[0].finditer(told)] if _worth(told) else []
    alone = _alone().search(told) if "$" in told else None
    if alone and not any(one.end > alone.start("all") for one in found):
        bound = Bound(
            "money", alone["all"], value_in_bounds("money", _number(alone["n"]) or 0.0), FLAGS["money"]
        )
        found.append(Clause(alone["all"], alone.start("all"), alone.end("all"), (bound,), firm=True))
    low = told.lower()
    for pattern, flag, near in _UNCLEAR:
        if not any(word in low for word in near.split()):
            continue
        for hit in _compiled(pattern).finditer(told):
            if any(one.start < hit.end() and hit.start() < one.end for one in found):
                continue
            words = Bound("unclear", hit[0].strip(), None, flag)
            found.append(Clause(hit[0].strip(), hit.start(), hit.end(), (words,), _set_off(told, hit)))
    return tuple(sorted(found, key=lambda one: one.start))


def _worth(text: str) -> bool:
    """Could there be a quantity in it? Most tasks have none, and the patterns are not small."""
    return any(char.isdigit() for char in text) or not set(re.findall(r"\w+", text.lower())).isdisjoint(
        word for word in (*_units(), "dollars", "tries", "iterations", "attempts") if len(word) > 2
    )


def _clause(hit: re.Match[str], text: str) -> Clause:
    _, parts = _patterns()
    bounds = tuple(_read_bound(part) for part in parts.finditer(hit[0]))
    own = re.search(_OWN, hit[0], re.IGNORECASE) is not None
    firm = not is_hurried(bounds) and (own or _set_off(text, hit))
    return Clause(hit[0].strip(), hit.start(), hit.end(), bounds, firm)


def is_hurried(bounds: tuple[Bound, ...]) -> bool:
    """No loop is meant to last some seconds: what is that short is what the code is to do."""
    return any(one.about == "hours" and one.value is not None and one.value < SHORTEST for one in bounds)


def _set_off(text: str, hit: re.Match[str]) -> bool:
    before, after = text[max(0, hit.start() - 20) : hit.start()], text[hit.end() :]
    return bool(re.search(_OPENS, before, re.IGNORECASE) and re.match(_CLOSES, after, re.IGNORECASE))


def _read_bound(part: re.Match[str]) -> Bound:
    about: Literal["tries", "hours", "money"] = (
        "tries" if part["tries"] else "money" if part["money"] else "hours"
    )
    text = part[0].lower()
    if about == "hours":
        value: float | None = _seconds(text)
    else:
        hit = re.search(rf"[0-9][0-9.,]*|(?:{_words(_numbers())})(?=\s)", text)
        value = _number(hit[0]) if hit else None
    known = None if value is None else value_in_bounds(about, value)
    return Bound(about, part[0].strip(), known, FLAGS[about])


def _seconds(text: str) -> float | None:
    total = 0.0
    pattern = re.compile(
        rf"(?P<n>[0-9][0-9.,]*|(?:{_words(_numbers())})(?=\s))\s?(?P<unit>{_words(_units())})(?!\w)"
    )
    last = 0.0
    for hit in pattern.finditer(text):
        number = _number(hit["n"])
        if number is None:
            return None
        last = _units()[hit["unit"]]
        total += number * last
    if re.search(r"(?:and a half|y media)$", text):
        total += last / 2
    return total


def _number(text: str) -> float | None:
    word = _numbers().get(text.strip().lower())
    return number_in_digits(text) if word is None else word


def without(text: str, clauses: tuple[Clause, ...]) -> str:
    """The text without these clauses, and without what joined them to it."""
    for one in sorted(clauses, key=lambda clause: -clause.start):
        before = re.sub(
            r"(?:\s*[,;(\u2013\u2014]|\s-)?\s*(?:\b(?:but|and|or|pero|y))?\s*$", "", text[: one.start]
        )
        after = re.sub(r"^\s*\)?", "", text[one.end :])
        if not before:
            after = re.sub(r"^\s*(?:[,;:.]|and\b|then\b|y\b)?\s*(?:then\s)?", "", after)
        elif re.match(r"[,;]\s*(?:until|till|hasta)\b", after):
            after = after[1:]
        text = f"{before} {after.strip()}" if after[:1] not in ",;.!?" else f"{before}{after}"
    return re.sub(r"([.!?])[.,;!?]+", r"\1", " ".join(text.split())).strip(" ,;")


def strictest(clauses: tuple[Clause, ...]) -> dict[str, float]:
    """The smallest bound of each kind."""
    values: dict[str, float] = {}
    for one in (bound for clause in clauses for bound in clause.bounds):
        if one.value is not None and one.about != "unclear":
            values[one.about] = min(one.value, values.get(one.about, one.value))
    return values
