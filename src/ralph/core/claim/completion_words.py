"""Words of completion in an agent's final message, and the dual condition that they are one half of.

An indicator is a claim in plain words: STATUS COMPLETE, or a phrase of the shipped table that the agent says
itself and without reserve. What it quotes, denies, expects, asks or repeats from its prompt does not count.
An iteration counts once, however often it says so. Nothing here verifies anything: the dual condition stands
beside the proof and never in its place (`exit_gate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ralph.core.claim.status_block import CLOSE, OPEN
from ralph.core.model.agent import Claim
from ralph.core.model.plan.completion import Indication
from ralph.core.text.clean import one_line
from ralph.core.text.markdown import rows

MAX_CHARS = 200_000  # characters of a message that are looked at, from its end
MAX_SHOWN_CHARS = 120


class Words(NamedTuple):
    """One language: what says that all is done, and what takes it back."""

    language: str
    phrases: tuple[str, ...]
    reserves: str


_THING = r"(?:task|project|work|implementation|plan|feature set|job)"
_ENDED = r"(?:complete|completed|done|finished|implemented)"
_ES_THING = r"(?:la tarea|el trabajo|el proyecto|la implementaci[oó]n|el plan)"
_ES_ENDED = r"(?:complet[oa]s?|completad[oa]s?|terminad[oa]s?|finalizad[oa]s?|hech[oa]s?|list[oa]s?)"
ENGLISH = Words(
    "en",
    (
        (
            r"all (?:of )?(?:the )?(?:plan(?:ned)? )?(?:tasks|items|work|requirements|stories|features)"
            rf"(?: (?:is|are|has been|have been))?(?: now)?(?: all)?(?: fully)? {_ENDED}"
        ),
        rf"everything (?:is|has been)(?: now)?(?: fully)? {_ENDED}",
        rf"(?:the|our|my) (?:whole |entire )?{_THING} (?:is|has been)(?: now)?(?: fully)? {_ENDED}",
        rf"(?<![\w ]){_THING} (?:complete|completed|finished)",  # "First task complete" is only one of them
        r"nothing (?:is |remains )?(?:else )?(?:left )?to (?:do|implement)",
        (
            r"(?:there is |there are )?no (?:more |remaining |further |open |outstanding )+"
            r"(?:tasks|work|items)(?: (?:left|remain|remaining|to do))?"
        ),
        r"all done",
        r"ready for (?:review|release|merging|merge|production)",
    ),
    r"not|n['\u2019]t|never|cannot|without|almost|nearly|partly|partially|mostly|half|once|when|whenever|if"
    r"|unless|until|after|before|as soon as|will|would|should|could|may|might|must|going to|expect|except"
    r"|apart from|but|however|although|though|yet|still|remains?|remaining|left|todo|to be|far from"
    r"|claim(?:s|ed)?|said|says|pretend|whether|unsure|fail(?:s|ed|ing|ure|ures)?|blocked|first (?:part|half)"
    r"|phase|current (?:task|item)",
)
SPANISH = Words(
    "es",
    (
        rf"todas las tareas (?:ya )?(?:est[aá]n|han sido|han quedado|quedaron) {_ES_ENDED}",
        rf"todo (?:ya )?(?:est[aá]|ha sido|ha quedado|qued[oó]) {_ES_ENDED}",
        rf"{_ES_THING} (?:ya )?(?:est[aá]|ha sido|ha quedado|qued[oó]) (?:ya )?{_ES_ENDED}",
        r"no quedan? (?:nada|ninguna tarea|m[aá]s trabajo|tareas)(?: m[aá]s)?(?: por hacer| pendientes?)?",
        r"no hay (?:m[aá]s )?tareas pendientes",
        r"(?<![\w ])(?:proyecto|trabajo|tarea) (?:completad[oa]|terminad[oa]|finalizad[oa])",
    ),
    r"no|a[uú]n|todav[ií]a|casi|nunca|sin|cuando|una vez|si|hasta|despu[eé]s|antes|ser[aá]n?|estar[aá]n?"
    r"|quedar[aá]n?|deber[ií]an?|deben?|podr[ií]an?|pero|excepto|salvo|faltan?|aunque|fall(?:a|an|[oó]|os)"
    r"|bloquead[oa]s?|fase|quiz[aá]s?",
)
CHINESE = Words(
    "zh",
    (
        (
            r"(?:所有|全部)(?:的)?(?:任务|任務|工作|项目|項目|需求|功能)"
            r"(?:都|均)?(?:已经|已經|已)?(?:全部)?(?:完成|实现|實現)"
        ),
        r"(?:已经|已經|已)?全部(?:完成|实现|實現)",
        r"(?:任务|任務|工作|项目|項目|专案|專案|计划|計劃)(?:都)?(?:已经|已經|已)(?:全部)?完成",
        r"(?:没有|沒有|无|無)(?:任何)?(?:剩余|剩餘|其他|未完成)(?:的)?(?:任务|任務|工作|事项|事項)",
        r"大功告成",
    ),
    r"未|没|沒|不|尚|还|還|几乎|幾乎|差不多|快要|即将|即將|将|將|一旦|如果|若|当|當|等|直到|之后|之後|以后"
    r"|以後|后再|後再|才|除了|但|应该|應該|可能|必须|必須|需要|失败|失敗|阶段|階段|是否|吗|嗎",
)
LANGUAGES = (ENGLISH, SPANISH, CHINESE)


class _Compiled(NamedTuple):
    phrases: re.Pattern[str]
    reserves: re.Pattern[str]


def _compile_words(words: Words) -> _Compiled:
    spaced = words.language != "zh"
    phrases = "|".join(f"(?:{one})" for one in words.phrases)
    reserves = words.reserves
    if spaced:  # whole words; "n't" is the end of one
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
