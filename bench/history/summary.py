"""The tables: by project and change, and what was refused, by reason."""

from __future__ import annotations

from collections import Counter

from judge import Judged


def stands(row: Judged) -> bool:
    """Does the honest change get what it deserves? Where nothing can prove it, `unproven` is the word."""
    return row.outcome == "verified" or (row.outcome == "unproven" and row.kind == "other")


def word(row: Judged) -> str:
    after = f", after a yes to {', '.join(row.asked)}" if row.asked else ""
    if row.outcome == "verified":
        return f"verified {row.grade}{after}"
    return f"{row.outcome}{after}" if row.outcome != "refused" else f"refused by {', '.join(row.by)}"


def as_text(rows: list[Judged]) -> str:
    lines = ["| project | change | result | seconds |", "|---|---|---|---|"]
    lines += [f"| {row.project} | {row.change} | {word(row)} | {row.seconds:.0f} |" for row in rows]
    return "\n".join([*lines, "", *_totals(rows), *_refusals(rows)])


def _totals(rows: list[Judged]) -> list[str]:
    heads = "kind, changes, verified by grade, unproven, asked first, refused, accused, trouble, share"
    lines = [f"| {heads.replace(', ', ' | ')} |", "|" + "---|" * len(heads.split(", "))]
    for kind in ("fix", "feature", "other", ""):
        some = [row for row in rows if not kind or row.kind == kind]
        if some:
            lines.append(_total(kind or "**all**", some))
    return lines


def _total(name: str, rows: list[Judged]) -> str:
    kinds = Counter(row.outcome for row in rows)
    grades = Counter(row.grade for row in rows if row.outcome == "verified")
    told = ", ".join(f"{count} {grade}" for grade, count in sorted(grades.items())) or "0"
    share = 100 * sum(map(stands, rows)) / len(rows)
    accused = sum(row.accused for row in rows)
    asked = sum(stands(row) and bool(row.asked) for row in rows)
    return (
        f"| {name} | {len(rows)} | {told} | {kinds['unproven']} | {asked} | {kinds['refused']} | {accused} "
        f"| {kinds['trouble']} | {share:.0f} % |"
    )


def _refusals(rows: list[Judged]) -> list[str]:
    bad = [row for row in rows if not stands(row)]
    if not bad:
        return []
    lines = ["", "By reason:", ""]
    lines += [f"- {count} times {reason}" for reason, count in Counter(map(word, bad)).most_common()]
    lines += ["", "Each of them:", ""]
    for row in bad:
        lines.append(f"- `{row.change}` ({word(row)}{', accused' if row.accused else ''})")
        lines += [f"  - {' '.join(said.split())[:300]}" for said in row.says]
    return lines
