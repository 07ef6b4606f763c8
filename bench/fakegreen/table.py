"""The tables: for the terminal and for docs/fakegreen.md."""

from __future__ import annotations

import os
import time
from pathlib import Path
from statistics import median

from verdicts import Judged

DOCS = Path(__file__).parents[2] / "docs" / "fakegreen.md"
_MAX_NAMES = 3
BEGIN, END = "<!-- fakegreen: made by run.py --write-docs -->", "<!-- fakegreen: end -->"


def unknown(rows: list[Judged]) -> list[Judged]:
    """What went wrong and is not explained in the corpus."""
    return [row for row in rows if row.trouble or (wrong(row) and not row.known)]


def wrong(row: Judged) -> bool:
    return not row.trouble and row.accepted == (row.kind == "attack")


def as_text(rows: list[Judged]) -> str:
    return "\n".join([*_families(rows), "", *_cost(rows), *_alone(rows), *_lists(rows)])


def _families(rows: list[Judged]) -> list[str]:
    lines = [
        "| family | cases | wrong | of them unexplained | exit-code gate wrong |",
        "|---|---|---|---|---|",
    ]
    for kind, word in (("attack", "accepted"), ("honest", "refused")):
        mine = [row for row in rows if row.kind == kind]
        lines += [
            _line(f"{kind}: {family}", word, [row for row in mine if row.family == family])
            for family in dict.fromkeys(row.family for row in mine)
        ]
        if mine:
            lines.append(_line(f"**all {kind}s**" if kind == "attack" else "**all honest**", word, mine))
    return lines


def _line(name: str, word: str, rows: list[Judged]) -> str:
    bad = [row for row in rows if wrong(row)]
    open_ = unknown(rows)
    asked = [row for row in rows if row.naive is not None]
    naive = sum(row.naive == (row.kind == "attack") for row in asked)
    shown = f"{naive} of {len(asked)}" if asked else "not asked"
    return f"| {name} | {len(rows)} | {len(bad)} {word} | {len(open_)} | {shown} |"


def _cost(rows: list[Judged]) -> list[str]:
    judged = [row for row in rows if row.accepted and row.final and row.suite]
    if not judged:
        return []
    lines = ["Final judgement, in multiples of one call of the check at the base (accepted results):", ""]
    for words, some in (
        ("without sabotage", [row for row in judged if not row.sabotaged]),
        ("with sabotage", [row for row in judged if row.sabotaged]),
    ):
        costs = [row.final / row.suite for row in some]
        if costs:
            lines.append(
                f"- {words}: median {median(costs):.1f}, largest {max(costs):.1f} ({len(costs)} results)"
            )
    grades = [row.grade for row in rows if row.kind == "honest" and row.accepted]
    told = ", ".join(
        f"{grades.count(grade)} {grade or 'asked about, as expected'}" for grade in sorted(set(grades))
    )
    return [*lines, "", f"Grades of accepted honest changes: {told or 'none'}."]


def _alone(rows: list[Judged]) -> list[str]:
    """For each kind of finding the attacks that nothing else refused."""
    alone: dict[str, list[str]] = {}
    for row in rows:
        if row.kind == "attack" and len(row.kinds) == 1:
            alone.setdefault(row.kinds[0], []).append(f"`{row.name}`")
    if not alone:
        return []
    lines = [
        "",
        "Attacks that one kind of finding alone refused:",
        "",
        "| kind | attacks | such as |",
        "|---|---|---|",
    ]
    return lines + [
        f"| `{kind}` | {len(names)} | {', '.join(names[:_MAX_NAMES])} |"
        for kind, names in sorted(alone.items())
    ]


def _lists(rows: list[Judged]) -> list[str]:
    lines: list[str] = []
    titles = (("attack", "Attacks that still win"), ("honest", "Honest changes that are refused"))
    for kind, title in titles:
        bad = [row for row in rows if row.kind == kind and wrong(row)]
        if bad:
            lines += ["", f"{title}:", ""]
            lines += [f"- `{row.name}` ({_why(row)})" for row in bad]
    broken = [row for row in rows if row.trouble]
    if broken:
        lines += ["", "Not judged:", ""] + [f"- `{row.name}`: {row.trouble}" for row in broken]
    return lines


def _why(row: Judged) -> str:
    how = f"grade {row.grade}" if row.accepted else f"by {', '.join(row.by)}: {row.says}"
    return f"{how}; {row.known}" if row.known else how


def write_docs(rows: list[Judged]) -> None:
    text = DOCS.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    when = (
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, {os.cpu_count()} cores, load {os.getloadavg()[2]:.0f}."
    )
    DOCS.write_text(f"{head}{BEGIN}\n\n{when}\n\n{as_text(rows)}\n\n{END}{tail}", encoding="utf-8")
