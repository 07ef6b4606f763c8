"""The words by which a task's class is known beyond making checks green. They are in `task_verbs.toml`, which
also says what each of them is for.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files as files_of
from typing import Any

from msgspec import Struct

from ralph.core.model.gate import TaskClass


class TaskWords(Struct, frozen=True, kw_only=True):
    adds: frozenset[str]
    calculates: frozenset[str]
    mends: frozenset[str]
    keeps: frozenset[str]
    explains: frozenset[str]
    new: frozenset[str]
    wrong: frozenset[str]
    behaves: frozenset[str]
    documents: frozenset[str]
    of_documents: frozenset[str]
    of_comments: frozenset[str]
    slips: frozenset[str]
    links: frozenset[str]
    chores: frozenset[str]
    articles: frozenset[str]
    places: frozenset[str]
    qualities: frozenset[str]
    performance: frozenset[str]
    words_of_users: frozenset[str]


class TaskPatterns(Struct, frozen=True, kw_only=True):
    of_tests: re.Pattern[str]
    files: re.Pattern[str]
    edges: re.Pattern[str]
    adjectives: re.Pattern[str]
    trouble: re.Pattern[str]
    code: re.Pattern[str]
    before: re.Pattern[str]
    first: re.Pattern[str]
    hidden: re.Pattern[str]
    not_that: re.Pattern[str]


_TABLE: dict[str, Any] = tomllib.loads(files_of(__package__).joinpath("task_verbs.toml").read_text("utf-8"))
_SETS = {name: frozenset(text.split()) for name, text in _TABLE["words"].items()}
WORDS = TaskWords(**_SETS | {"behaves": _SETS["behaves"] | _SETS["adds"] | _SETS["mends"]})
PATTERNS = TaskPatterns(**{name: re.compile("".join(pieces)) for name, pieces in _TABLE["patterns"].items()})
PREFIXES: dict[str, TaskClass] = {
    word: task_class for task_class, words in _TABLE["prefixes"].items() for word in words.split()
}
JOINED = tuple((re.compile(one["pattern"]), one["becomes"]) for one in _TABLE["joined"])
