"""What the task's own words ask for, as far as a guard may go by them: they settle no more than a doubt."""

from __future__ import annotations

import re

_ENDS = r"(?:e|es|ed|ing)"
_REMOVE = (
    rf"(?:remov{_ENDS}|removal\s+of|delet{_ENDS}|deletion\s+of|drop(?:s|ped|ping)?|retir{_ENDS}|eliminat{_ENDS}"
    rf"|purg{_ENDS}|discard(?:s|ed|ing)?|discontinu{_ENDS}|rip(?:ping)?\s+out|get(?:ting)?\s+rid\s+of"
    r"|strip(?:s|ped|ping)?(?:\s+out)?)"
)
_CHANGE = (
    rf"(?:updat{_ENDS}|adapt(?:s|ed|ing)?|adjust(?:s|ed|ing)?|rewrit{_ENDS}|chang{_ENDS}|correct(?:s|ed|ing)?"
    rf"|replac{_ENDS}|regenerat{_ENDS}|refresh(?:es|ed|ing)?|{_REMOVE})"
)
_THE = r"(?:(?:the|an?|all|any|both|each|every|our|its|their|this|that|these|those|of)\s+)*"
_JOINS = r"(?:\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or)\s+)"
# A word of the verb's object; none that begins something else: "the output from x", "code breaking the x".
_WORD = (
    r"(?:(?!(?:from|in|of|out|for|to|on|at|by|with|so|that|which|who|whose|when|where|while|until|if|inside|within"
    r"|into|then|but|as|because|using|via|and|or|the|an?|all|any|our|its|their|is|are|was|were|make|fix|let)\b"
    r"|(?!failing|existing)\w+ing\b)[\w./()-]+)"
)
_OLD = (
    r"(?:(?:old|unused|dead|deprecated|obsolete|legacy|whole|entire|public|private|internal|function|class|module)"
    r"\s+)*"
)
# What may stand behind the object itself: "the load_config logging" is about the logging.
_BEHIND = (
    r"(?=\s*(?:\Z|[.,;:!?)(\n\u2013\u2014]|-\s|(?:and|or|but|from|in|of|for|to|on|at|by|with|so|that|which|whose|when"
    r"|where|if|as|since|because|it|they|nobody|completely|entirely|altogether|accordingly|too|again|now|instead"
    r"|also|under|functions?|methods?|class(?:es)?|modules?|files?|helpers?|commands?|options?|api|endpoints?|features?"
    r"|expecting|cases?|suites?|data|values?|outputs?|results?|accompanying|there|here)\b))"
    r"(?!(?:\s+\w+){0,3}\s+(?:pass|passes|green|succeed|succeeds)\b)"
)
# What goes from documents, or from a list, stays in the code.
_NOT_FROM_WORDS = (
    r"(?!(?:\s+\w+){0,2}\s+(?:from|in|out\s+of)\s+(?:[\w./-]+\s+){0,3}?(?:docs?|documentation|readme|changelog|manual|guides?"
    r"|tutorials?|examples?|comments?|docstrings?|help|__all__|exports?|logs?|output|menus?|README)\b)"
)
_NEGATED = re.compile(
    r"(?:\b(?:not|never|without|nor|no|avoid|cannot|instead\s+of|rather\s+than)|n['\u2019]t)\b"
    r"(?:(?!\b(?:so|but|instead|then|please)\b)[^.;:!?\n]){0,60}\Z",
    re.IGNORECASE,
)
_TESTS = r"(?:tests?|specs?|snapshots?|expectations?|fixtures?|expected(?:\s+\w+)?)(?:[/.][\w./-]*\w)?"


_CI = (
    r"(?:(?:(?:CI|release|publish|test|lint|build)\s+)?workflows?(?:\s+files?)?|(?:GitHub|CI)\s+(?:CI\s+)?actions?"
    r"|(?:CI|continuous\s+integration|travis|circle-?ci|appveyor|azure|pipelines?|\.github/workflows"
    r"|(?:test|build|CI)\s+matrix)(?:\s+(?:config\w*|settings|pipelines?"
    r"|matrix|jobs?|scripts?|set-?up|versions?|builds?|ymls?|yamls?))?)"
)


def wants_other_ci(task: str) -> bool:
    """Is continuous integration itself to be changed? To "fix" it may mean to weaken it."""
    other = (
        r"(?:add|bump|upgrad|migrat|switch|pin|simplif|clean|mov|renam|extend|enabl|moderni[sz]|harden|configur"
        r"|consolidat|tweak)\w*"
    )
    verb = rf"(?:{_CHANGE}|{other})"
    named = re.match(
        r"\s*(?!fix|debug)(?:\w+\()?(?:ci|gha|actions?|workflows?|travis|circleci)\)?(?:\([^)]*\))?!?:\s",
        task,
        re.IGNORECASE,
    )
    word = rf"(?:(?:testing|building|linting|typing|formatting)|[<>=]+|{_WORD})"
    what = rf"{_THE}(?:{word}\s+){{0,3}}(?:(?:to|from|in|on)\s+{_THE}(?:{word}\s+)?)?{_CI}"
    there = rf"{_THE}(?:(?:against|with)\s+)?(?:{word}\s+){{1,4}}(?:in|on)\s+{_THE}{_CI}"
    begins = (
        r"(?<![\s\S])(?:us(?:e|es|ed|ing)|(?:run|test)(?:s|ning|ing)?)"  # as a verb: where the task begins
    )
    return bool(named) or _has_object(task, verb, what) or _has_object(task, begins, there)


def wants_other_tests(task: str) -> bool:
    """Does it speak of changing tests or what they expect? To "fix" them may mean either: that counts not."""
    return _has_object(task, _CHANGE, rf"{_THE}(?:{_WORD}\s+){{0,3}}{_TESTS}")


def wants_changed(task: str, path: str) -> bool:
    """Is this very file to be changed ("update expected/labels.txt")? To name it as a reference is not it."""
    name = path.rsplit("/", 1)[-1]
    places = "|".join(re.escape(one) for one in sorted({path, name}, key=len, reverse=True))
    verb = rf"(?:{_CHANGE}|(?:add|edit|extend)(?:s|ed|ing)?|(?:mov|renam){_ENDS})"
    named = _has_object(task, verb, rf"{_THE}(?:{_WORD}\s+){{0,3}}(?:\./)?(?:{places})(?![\w/-])")
    return named or (names_path(task, path) and wants_other_tests(task))


def wants_removal(task: str, name: str) -> bool:
    """Is this to be taken away (`legacy_export`: "the legacy export")? Something in it is not enough."""
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    words = r"[\s_-]*".join(parts)
    marked = len(parts) > 1 or re.search(rf"`{words}\b|\b{words}\(", task, re.IGNORECASE)
    before = rf"(?:{_WORD}\s+){{0,3}}" if marked else _OLD  # a plain word may be the end of any other name
    whole = rf"(?:[\w-]+[./])*_*{words}_*(?:\(\)|\.\w+)?(?![\w-]|\.\w)"
    return bool(parts) and _has_object(task, _REMOVE, rf"{_THE}{before}{whole}{_NOT_FROM_WORDS}")


def _has_object(task: str, verb: str, wanted: str) -> bool:
    """Is it what the verb is about, alone or in a list, and without a "not" before it?"""
    plain = re.sub(r"[`\"*\u201c\u201d]|(?<!\w)'|'(?!\w)", "", task)
    others = rf"(?:{_THE}{_WORD}(?:\s+{_WORD}){{0,4}}{_JOINS}){{0,6}}"
    found = re.finditer(rf"\b{verb}\s+{others}{wanted}{_BEHIND}", plain, re.IGNORECASE)
    return any(not _NEGATED.search(plain[: match.start()]) for match in found)


def names_path(task: str, path: str) -> bool:
    """Does it name this file, by its path or by its own name?"""
    name = path.rsplit("/", 1)[-1]
    wanted = "|".join(map(re.escape, {path, name} if "." in name.strip(".") else {path}))
    return bool(re.search(rf"(?<![\w./-])(?:\./)?(?:{wanted})(?![\w/-])", task))
