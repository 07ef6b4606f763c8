"""`min_grade`: one grade for all tasks, and others for some classes, as in "B, regression=C, docs=C"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from ralph.core.model.gate import GRADES, Grade, TaskClass

_CLASSES: tuple[TaskClass, ...] = get_args(TaskClass)
_EXPECTED = f'a grade ({", ".join(reversed(GRADES))}), then others by class, such as "B, regression=C"'


def grades_text(raw: object) -> str:
    """A value as it is kept: classes in their usual order, none that says what holds for all."""
    if not isinstance(raw, str):
        raise ValueError(_EXPECTED)  # noqa: TRY004
    first, *others = (part.strip() for part in raw.split(","))
    if first not in GRADES:
        raise ValueError(_EXPECTED)
    by_class: dict[str, str] = {}
    for part in others:
        name, equals, grade = (word.strip() for word in part.partition("="))
        if not equals or grade not in GRADES:
            raise ValueError(_EXPECTED)
        if name not in _CLASSES:
            raise ValueError(f"classes among {', '.join(_CLASSES)}")
        if name in by_class:
            raise ValueError(f"one grade for {name}, not two")
        by_class[name] = grade
    return _text(first, by_class)


def grade_for(text: str, task_class: TaskClass) -> Grade:
    """The weakest proof that is enough for a task of this class."""
    first, *others = text.split(", ")
    return cast(Grade, dict(part.split("=") for part in others).get(task_class, first))


def stricter_grades(text: str, other: str) -> str:
    """Of two values the stricter one, class by class: "A" sorts before "B"."""
    by_class: dict[str, str] = {name: min(grade_for(text, name), grade_for(other, name)) for name in _CLASSES}
    return _text(min(text[0], other[0]), by_class)


def _text(first: str, by_class: Mapping[str, str]) -> str:
    named = (f"{name}={by_class[name]}" for name in _CLASSES if by_class.get(name, first) != first)
    return ", ".join((first, *named))
