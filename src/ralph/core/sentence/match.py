"""A sentence held against the rows of a phrase table: which row it is, and what its parts are.

What a part means (is this criterion a command, is that task a question) is `route`'s matter.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from ralph.core.sentence.flags_in_text import Peeled, begins, fold, modifiers
from ralph.core.sentence.phrases import LOOP_NAME, LOOSE, Form, PhraseTable, any_of, pattern_text
from ralph.core.toolchains.classify_command import SHELL_SIGNS, plain_command, why_dangerous


class Match(Struct, frozen=True):
    row: Form
    task: str  # "" = not said
    criterion: str
    peeled: tuple[Peeled, ...] = ()


class Ordered(Struct, frozen=True):
    """A control: what to do, with which loop, and what was said after it."""

    verb: str
    loop: str = ""  # as it was said; "" = none
    pointed: bool = False  # "that", "the loop": one that must be known
    rest: str = ""
    count: str = ""  # how many at once
    paths: str = ""  # of specs


@lru_cache(maxsize=8)
def _rows(language: PhraseTable) -> tuple[tuple[Form, str], ...]:
    values = {
        "{task}": rf"(?P<task>{LOOSE})",
        "{criterion}": rf"(?P<criterion>{LOOSE})",
        "{work}": r"(?P<work>\w.*?)",  # whether it begins with a verb of work is looked at afterwards
        "{command}": r"(?P<command>\S.{0,200}?)",
        "{kind}": r"(?P<kind>(?:[\w-]+\s){0,4}?)",
        "{list}": rf"(?P<list>(?:{any_of(language.lists)})(?:\s\S.*?)?)",
        "{keep}": rf"(?:{any_of(language.keep)})(?!\w)",
        "{perhaps}": rf"(?:{any_of(language.perhaps)})(?!\w)",
        "{how}": r"(?P<how>(?:\s|,\s?)[^:]{1,160}?)??",
    }
    return tuple((row, pattern_text(row.say, values)) for row in language.rows)


def matches(text: str, language: PhraseTable, *, external: bool, build: bool = True) -> Match | None:
    """The first row that fits; `external` says that external wording was taken off before."""
    for row, pattern in _rows(language):
        # Compiled when it is reached, and kept by `re`: a sentence that matches early needs few of them.
        found = re.fullmatch(pattern, text, re.IGNORECASE)
        if found is None:
            continue
        parts = found.groupdict("")
        if "{work}" in row.say and not begins(parts["work"], language.work):
            continue
        if row.build and not build:
            continue
        how = modifiers(parts.get("how", ""), language)
        kind = modifiers(parts.get("kind", ""), language)
        if how is None or kind is None:
            continue
        outside = external or any(one.about == "outside" for one in (*how, *kind))
        if row.only_external and not outside:
            continue
        parts["command"] = parts.get("command", "").strip("`")
        if "{command}" in row.say and not plain_command(parts["command"]):
            continue
        criterion = _filled(row.criterion, parts)
        if row.measured and not measurable(parts.get("criterion", criterion), language):
            continue
        task = fold(_filled(row.task, parts))
        if re.search(r"(?:that|which)\s$", text[: max(0, found.start("task"))] if "task" in parts else ""):
            task = _as_order(task, language)
        return Match(row, task, fold(criterion), (*how, *kind))
    return None


def _as_order(task: str, language: PhraseTable) -> str:
    """What a loop does, as what it is told to do: "fixes all warnings" is "fix all warnings"."""
    first, space, rest = task.partition(" ")
    stems = (first.removesuffix("s"), first.removesuffix("es"))
    return next((one + space + rest for one in stems if one in language.work), task)


def _filled(template: str, parts: dict[str, str]) -> str:
    return re.sub(r"\{([a-z]+)\}", lambda found: parts.get(found[1], ""), template)


@lru_cache(maxsize=8)
def _controls(language: PhraseTable) -> tuple[tuple[str, re.Pattern[str]], ...]:
    values = {
        "{loop}": r"(?P<loop>[^\s,;]{1,80}|(?:[^\s,;]{1,20}\s){1,3}[^\s,;]{1,20})",
        "{count}": r"(?P<count>1[0-6]|[1-9])",
        "{folder}": r"(?P<paths>[\w.~][\w.-]*)",
        "{paths}": r"(?P<paths>[\w.~][\w.-]*[./][\w./-]*(?:\s[\w.~][\w.-]*[./][\w./-]*){0,9}|/[\w./-]+)",
    }
    then = rf"(?:(?:{any_of(language.then)})\s?(?P<rest>\S.*))?"
    return tuple(
        (verb, re.compile(pattern_text(say, values) + then, re.IGNORECASE)) for verb, say in language.controls
    )


def controls(text: str, language: PhraseTable, names: tuple[str, ...]) -> Ordered | None:
    """The control that is asked for; a loop's name counts when it is known or has the shape of one."""
    for verb, pattern in _controls(language):
        found = pattern.fullmatch(text)
        if found is None:
            continue
        parts = found.groupdict("")
        loop, rest = parts.get("loop", ""), parts.get("rest", "")
        if not loop:
            if text.lower() in _LONELY and not names:
                continue
            return Ordered(verb, rest=rest, count=parts.get("count", ""), paths=parts.get("paths", ""))
        if re.fullmatch(any_of(language.meanwhile), loop, re.IGNORECASE):
            return Ordered(verb, pointed=True, rest=rest)
        loop = _loop_words(loop)
        if LOOP_NAME.fullmatch(loop) or loops_by_name(loop, names):
            return Ordered(verb, loop=loop, rest=rest)
    return None


_LONELY = frozenset({"output", "changes", "log", "state", "progress"})


def _loop_words(text: str) -> str:
    """The name in "the fix-auth loop" or "loop fix-auth"."""
    return re.sub(r"^(?:the\s)?(?:loop\s)?|\sloop$", "", text.strip("`'\"")).strip("`'\"")


def loops_by_name(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Loops whose name or id begins like this."""
    short = text.lower().removeprefix("ralph-")
    exact = tuple(name for name in names if name == short)
    return exact or tuple(name for name in names if len(short) > 2 and name.startswith(short))


# What a criterion can be measured by, in every language: numbers with a comparison or a unit.
_NUMBERS = re.compile(
    r"[<>=]\s?[0-9]|[0-9]\s?(?:%|percent|ms|s\b)|\b(?:0|zero|no|nothing)\s\w", re.IGNORECASE
)


def measurable(criterion: str, language: PhraseTable) -> bool:
    text = criterion.lower()
    return (
        says_done(text, language)
        or bool(_NUMBERS.search(text) or "`" in text)
        or task_for_criterion(text, language) != ""
        or _passes(text, language)
    )


def ending(task: str, language: PhraseTable) -> str:
    """The criterion that a task ends with ("… until lint is clean"), where a check could decide it.

    The task keeps it: "wait until the tests pass" may be what the code is to do.
    """
    found = re.search(rf"\s(?:{any_of(language.until)})\s(\S.*)$", task[-300:], re.IGNORECASE)
    if found is None or not (_NUMBERS.search(found[1]) or "`" in found[1] or _passes(found[1], language)):
        return ""
    return found[1]


def _passes(text: str, language: PhraseTable) -> bool:
    return re.search(rf"(?:^|\s)(?:{any_of(language.criteria.passes)})$", text, re.IGNORECASE) is not None


def says_done(criterion: str, language: PhraseTable) -> bool:
    """Words such as "done" and "it works": they only say that the criterion is to be found."""
    return re.fullmatch(any_of(language.criteria.done), criterion.strip(" .!"), re.IGNORECASE) is not None


def task_for_criterion(criterion: str, language: PhraseTable) -> str:
    """The task that a criterion speaks of: coverage means adding tests."""
    for words, task in language.criteria.subjects:
        if re.search(rf"(?<![\w-])(?:{words})(?![\w-])", criterion, re.IGNORECASE):
            return task
    return ""


def is_vague(criterion: str, language: PhraseTable) -> bool:
    """It rests on a word that no check can decide, and names nothing that one could."""
    if _NUMBERS.search(criterion) or "`" in criterion or task_for_criterion(criterion, language):
        return False
    return (
        re.search(rf"(?<!\w)(?:{any_of(language.criteria.vague)})$", criterion.strip(" .!"), re.IGNORECASE)
        is not None
    )


_QUOTED = re.compile(r"`([^`]{1,300})`")


def command_in(criterion: str, language: PhraseTable) -> tuple[str, str]:
    """(command, why not): a command that the criterion names, or why one that it names is not taken."""
    quoted = _QUOTED.search(criterion)
    if quoted is not None:
        command = " ".join(quoted[1].split())
        if SHELL_SIGNS.search(command):
            return "", "it holds shell syntax"
        why = why_dangerous(command)
        return ("", why) if why else (command, "")
    tail = re.search(rf"\s(?:{any_of(language.criteria.passes)})$", criterion, re.IGNORECASE)
    command = criterion[: tail.start()] if tail else criterion
    command = command.strip("'\"")
    if plain_command(command):
        return command, ""
    return "", ""
