"""The pictures of docs/concepts.md and docs/architecture.md, from `machine.TABLE` and the import contracts.

`make docs` writes those of docs/architecture.md; those of docs/concepts.md:

tools/diagram.py          rewrites the parts between the marks in docs/concepts.md
tools/diagram.py --check  says whether they are as they should be (exit 1 if not)
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

from ralph.core.decide.machine import TABLE
from ralph.core.model.actions import ACTIONS
from ralph.core.model.outcome import PHASES

TOP = Path(__file__).resolve().parent.parent
PAGE, PROJECT, SOURCE = TOP / "docs" / "concepts.md", TOP / "pyproject.toml", TOP / "src" / "ralph"
# Drawn apart or not at all: these happen nearly everywhere and would hide the picture.
EVERYWHERE = ("StintStarted", "Steered", "AbortAsked")


def arrows() -> dict[tuple[str, str], list[str]]:
    """(from, to) -> the events that lead there."""
    found: dict[tuple[str, str], list[str]] = {}
    for (phase, kind), rule in TABLE.items():
        for to in rule.to:
            found.setdefault((phase, to), []).append(kind.__name__)
    return found


# Phases that are drawn as one: a reader first asks whether the loop is active, then what it does.
ACTIVE = ("baseline", "working", "judging", "waiting")


def group_of(phase: str) -> str:
    return "active" if phase in ACTIVE else phase


def moves() -> dict[tuple[str, str], list[str]]:
    """The arrows of the picture: inside the active phases each one, outside by group."""
    found: dict[tuple[str, str], list[str]] = {}
    for (phase, to), kinds in sorted(arrows().items(), key=_in_order):
        shown = [kind for kind in kinds if kind not in EVERYWHERE]
        if phase == "queued" and not shown:  # here a stint is what moves it
            shown = ["StintStarted"]
        both = (phase, to) if {phase, to} <= set(ACTIVE) else (group_of(phase), group_of(to))
        if phase != to and shown:
            found[both] = list(dict.fromkeys([*found.get(both, []), *shown]))
    return found


def diagram() -> str:
    """The phases and what leads from one to another, as a Mermaid state diagram."""
    inside, outside = [], ["    [*] --> new"]
    for (phase, to), kinds in moves().items():
        label = kinds[0] if len(kinds) == 1 else f"{kinds[0]} + {len(kinds) - 1}"
        (inside if phase in ACTIVE else outside).append(f"    {phase} --> {to}: {label}")
    active = ["    state active {", *("    " + line for line in inside), "    }"]
    return "\n".join(["```mermaid", "stateDiagram-v2", *active, *outside, "    ended --> [*]", "```"])


def table() -> str:
    """Every legal pair of phase and event, and where it can lead."""
    lines = ["| in phase | this fact | leads to |", "|---|---|---|"]
    for (phase, kind), rule in sorted(TABLE.items(), key=lambda row: PHASES.index(row[0][0])):
        lines.append(f"| {phase} | {kind.__name__} | {', '.join(rule.to)} |")
    return "\n".join(lines)


def _in_order(row: tuple[tuple[str, str], list[str]]) -> tuple[int, int]:
    places = {str(phase): place for place, phase in enumerate(PHASES)}
    return places[row[0][0]], places[row[0][1]]


def layers(name: str) -> list[list[str]]:
    """The layers of an import contract, top first."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    found = next(one for one in contracts if one["name"].startswith(name))
    return [[part.strip() for part in re.split("[|:]", line)] for line in found["layers"]]


def house() -> str:
    """Who may import whom, from the first import contract."""
    lines = ["```mermaid", "flowchart TD"]
    rows = [[name.removeprefix("ralph.") for name in row] for row in layers("the arrow")]
    for upper, lower in itertools.pairwise(rows):
        lines += [f"    {one} --> {other}" for one in upper for other in lower]
    return "\n".join([*lines, "```"])


def rooms(package: str) -> str:
    """The folders of a layer, highest first, each with the question that it answers."""
    lines = ["| folder | question |", "|---|---|"]
    for row in layers(f"rooms of the {package}"):
        for name in row:
            place = SOURCE / package / name
            module = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            words = (ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or "").split("\n")[0]
            lines.append(f"| `{package}/{module.relative_to(SOURCE / package)}` | {words} |")
    return "\n".join(lines).replace("/__init__.py`", "/`")


# One iteration: what the core asks for, and the fact that answers it; looked up in ACTIONS and TABLE.
ITERATION: tuple[tuple[str, str, str], ...] = (
    ("working", "RunAgent", "AgentEnded"),
    ("working", "TakeSnapshot", "CheckpointMade"),
    ("judging", "RunGates", "GateEnded"),
    ("judging", "RunGuards", "GuardsEnded"),
    ("judging", "AskJudge", "JudgeEnded"),
    ("judging", "PublishResult", "ResultPublished"),
    ("judging", "Finish", "LoopEnded"),
)


def iteration() -> str:
    """One iteration as a sequence of actions and facts, with who performs each."""
    performed = {action.__name__: row.by for action, row in ACTIONS.items()}
    legal = {(phase, kind.__name__) for phase, kind in TABLE}
    lines = ["```mermaid", "sequenceDiagram", "    participant core as core/decide"]
    lines += ["    participant shell as shell/run/performer.py", "    participant journal"]
    for phase, action, fact in ITERATION:
        if (phase, fact) not in legal:
            raise SystemExit(f"{fact} is not legal in phase {phase}")
        lines.append(f"    core->>shell: {action} ({performed[action]})")
        lines += [f"    shell->>journal: {fact}", f"    journal->>core: decide(loop, {fact})"]
    return "\n".join([*lines, "```"])


PARTS: dict[str, Callable[[], str]] = {"diagram": diagram, "table": table}


def rewritten(page: str) -> str:
    """The page with each generated part written between its marks."""
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
