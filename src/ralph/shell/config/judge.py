"""The keys of [judge], the form of its dimensions, and the rubric that Ralph brings along.

What a rubric must be is in `core.model.rubric`; which agent judges is chosen in `shell.start.agents`.
"""

from __future__ import annotations

import msgspec

from ralph.core.model.rubric import LOWEST_THRESHOLD, MOST, THRESHOLD, Dimension, Rubric, objections
from ralph.errors import UserError
from ralph.shell.config.settings import Option, Settings

LOWEST, HIGHEST = LOWEST_THRESHOLD, MOST
MAX_CHARS = 2000  # characters of one text in a dimension
JUDGE = (
    Option(
        "judge.rubric",
        "choice",
        "Let an agent judge the result: auto = if there are dimensions, default = by Ralph's dimensions.",
        "auto",
        choices=("auto", "default", "none"),
        project="approve",
    ),
    Option(
        "judge.dimensions",
        "dimensions",
        "Three to five tables with name, weight, what, and anchors at 1, 5 and 10; weights add up to 1.0.",
        (),
        project="approve",
    ),
    Option(
        "judge.threshold", "score", "Lowest passing score, from 5 to 10.", THRESHOLD, project="approve"
    ),
    Option(
        "judge.required",
        "switch",
        "true = a score below the threshold blocks; false = advice only.",
        False,
        project="approve",
    ),
    Option(
        "judge.after",
        "choice",
        "Judge when the loop is verified, or also after each verified plan item.",
        "loop",
        choices=("loop", "item"),
        project="approve",
    ),
    Option("judge.agent", "word", "Agent that judges (default: the loop's agent).", "", project="approve"),
    Option("judge.model", "word", "Model that judges.", "", project="approve"),
    Option("judge.profile", "word", "Profile of the agent that judges.", "", project="approve"),
    Option("judge.timeout", "duration", "Time limit of one judge call.", 600.0, project="approve"),
)  # fmt: skip


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
    return tuple(msgspec.json.encode(one).decode() for one in found)


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
        dimensions=DEFAULT if settings.judge.rubric == "default" else given,
        threshold=settings.judge.threshold,
        required=settings.judge.required,
        after=settings.judge.after,
        timeout=settings.judge.timeout,
    )


DEFAULT = (
    Dimension(
        "correctness",
        0.35,
        "Does the change do what the task asks for, at its edges too, and nothing that it should not?",
        {
            "1": "It misses the task, or works for the tested values only.",
            "5": "The ordinary case works; edges, errors or odd input were not thought of.",
            "10": "Everything that the task asks for works, edges and failures included.",
        },
    ),
    Dimension(
        "clarity",
        0.25,
        "Can somebody who did not write it understand and change the code?",
        {
            "1": "Names mislead, logic is tangled or copied, dead code is left.",
            "5": "It can be followed with effort; some names or functions hide what they do.",
            "10": "Each part does one thing, is named for it, and needs no explanation.",
        },
    ),
    Dimension(
        "fit",
        0.2,
        "Does it belong here: the design, helpers and style of the code around it, and no more than needed?",
        {
            "1": "It goes around the design, repeats what exists, or changes what it need not.",
            "5": "It works beside the design; some of it is foreign or larger than the task.",
            "10": "It looks as if the code's own authors had written it, and is as small as the task allows.",
        },
    ),
    Dimension(
        "tests",
        0.2,
        "Would the tests notice if what was asked for stopped working?",
        {
            "1": "No test would notice, or tests were bent to the code.",
            "5": "The ordinary case is tested; edges and failures are not.",
            "10": "Each promise of the task has a test that fails without it, edges included.",
        },
    ),
)
