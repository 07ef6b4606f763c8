"""The state diagram and the transition table of docs/concepts.md, made from `machine.TABLE`.

tools/diagram.py          rewrites the parts between the marks in docs/concepts.md
tools/diagram.py --check  says whether they are as they should be (exit 1 if not)
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from ralph.core.decide.machine import TABLE
from ralph.core.model.outcome import PHASES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts.md"
# Drawn apart or not at all: these happen nearly everywhere and would hide the picture.
EVERYWHERE = ("StintStarted", "Steered", "AbortAsked")


def arrows() -> dict[tuple[str, str], list[str]]:
    """(from, to) -> the events that lead there."""
    found: dict[tuple[str, str], list[str]] = {}
    for (phase, kind), rule in TABLE.items():
        for to in rule.to:
            found.setdefault((phase, to), []).append(kind.__name__)
    return found


def diagram() -> str:
    """The phases and what leads from one to another, as a Mermaid state diagram."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> new"]
    for (phase, to), kinds in sorted(arrows().items(), key=_in_order):
        shown = [kind for kind in kinds if kind not in EVERYWHERE]
        if phase != to and shown:
            lines.append(f"    {phase} --> {to}: {', '.join(shown)}")
    return "\n".join([*lines, "    ended --> [*]", "```"])


def table() -> str:
    """Every legal pair of phase and event, and where it can lead."""
    lines = ["| in phase | this fact | leads to |", "|---|---|---|"]
    for (phase, kind), rule in sorted(TABLE.items(), key=lambda row: PHASES.index(row[0][0])):
        lines.append(f"| {phase} | {kind.__name__} | {', '.join(rule.to)} |")
    return "\n".join(lines)


def _in_order(row: tuple[tuple[str, str], list[str]]) -> tuple[int, int]:
    places = {str(phase): place for place, phase in enumerate(PHASES)}
    return places[row[0][0]], places[row[0][1]]


PARTS: dict[str, Callable[[], str]] = {"diagram": diagram, "table": table}


def rewritten(page: str) -> str:
    """The page with each generated part made anew between its marks."""
    for name, part in PARTS.items():
        begin, end = f"<!-- {name}: made by tools/diagram.py -->", f"<!-- {name} ends -->"
        head, found, rest = page.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            raise SystemExit(f"docs/concepts.md lacks the marks of the {name}")
        page = f"{head}{begin}\n{part()}\n{end}{tail}"
    return page


def main(argv: list[str]) -> int:
    page = PAGE.read_text(encoding="utf-8")
    fresh = rewritten(page)
    if "--check" in argv:
        return int(page != fresh)
    PAGE.write_text(fresh, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
