"""The form of a judge's dimensions in [judge], and the rubric that Ralph brings along (`rubric.toml`).

What a rubric must be is in `core.model.rubric`; which agent judges is chosen in `shell.start.agents`.
"""

from __future__ import annotations

import os

import msgspec

from ralph.core.model.rubric import LOWEST_THRESHOLD, MOST, Dimension, Rubric, objections
from ralph.errors import UserError
from ralph.shell.config.settings import Settings

LOWEST, HIGHEST = LOWEST_THRESHOLD, MOST
MAX_CHARS = 2000  # characters of one text in a dimension


class _Anchors(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"low": "1", "middle": "5", "high": "10"}
):
    low: str = ""
    middle: str = ""
    high: str = ""


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    weight: float
    what: str
    anchors: _Anchors = _Anchors()


def dimensions_text(raw: object) -> tuple[str, ...]:
    """Each dimension as one line of JSON. Raises ValueError with everything that was expected."""
    return tuple(msgspec.json.encode(one).decode() for one in _dimensions(raw))


def _dimensions(raw: object) -> tuple[Dimension, ...]:
    try:
        tables = msgspec.convert(raw, list[_Table])
    except msgspec.ValidationError as wrong:
        form = "tables with name, weight, what and anchors = {1 = …, 5 = …, 10 = …}"
        raise ValueError(f"{form} ({str(wrong)[:200]})") from None
    found = tuple(
        Dimension(
            one.name.strip(),
            one.weight,
            one.what.strip(),
            {"1": one.anchors.low, "5": one.anchors.middle, "10": one.anchors.high},
        )
        for one in tables
    )
    for one in found:
        texts = (one.name, one.what, *one.anchors.values())
        if not one.name or not one.name.isprintable() or len(one.name) > 60:
            raise ValueError("names of 1 to 60 printable characters")
        if any(len(text) > MAX_CHARS or "\0" in text for text in texts):
            raise ValueError(f"texts of at most {MAX_CHARS} characters")
    expected = objections(found)
    if expected:
        raise ValueError("; ".join(expected))
    return found


def default_dimensions() -> tuple[Dimension, ...]:
    import tomllib  # takes a while to load, and is seldom asked

    with open(os.path.join(os.path.dirname(__file__), "rubric.toml"), "rb") as table:
        return _dimensions(tomllib.load(table)["dimensions"])


def rubric_of(settings: Settings) -> Rubric | None:
    """The rubric that these settings ask for; None: nobody judges."""
    given = tuple(msgspec.json.decode(text, type=Dimension) for text in settings.judge.dimensions)
    if settings.judge.rubric == "none":
        return None
    if settings.judge.rubric == "auto" and not given:
        said = [
            (key, origin)
            for key, origin in settings.origins.items()
            if key.startswith("judge.") and origin.layer != "defaults" and key != "judge.rubric"
        ]
        if not said:
            return None
        raise UserError(
            f"[judge] names no rubric, only '{said[0][0]}'",
            code="E-JUDGE",
            at=said[0][1].where,
            why='expected rubric = "default", or three to five tables [[judge.dimensions]]',
            next="ralph config show --origin",
        )
    return Rubric(
        dimensions=default_dimensions() if settings.judge.rubric == "default" else given,
        threshold=settings.judge.threshold,
        required=settings.judge.required,
        after=settings.judge.after,
        timeout=settings.judge.timeout,
    )
