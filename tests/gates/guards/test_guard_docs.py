"""docs/guards.md tells of every guard and every kind of finding, and of no other."""

import re
from pathlib import Path

from ralph.gates.guards import KINDS, REGISTRY

TEXT = (Path(__file__).parents[3] / "docs" / "guards.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `([\w.]+)` \| (accuses(?: or asks)?|asks|not yet) \| (.+?) \| (.+?) \|$", re.MULTILINE)


def test_every_kind_is_told():
    """The tables hold each kind once, with its weight, its words and an example."""
    rows = {kind: (weight, says) for kind, weight, says, _ in ROW.findall(TEXT)}
    assert rows == {name: (kind.weight, kind.says) for name, kind in KINDS.items()}
    assert len(ROW.findall(TEXT)) == len(rows)


def test_every_guard_is_told():
    """Each guard has its heading, in the order of the table, and each kind belongs to a guard."""
    headings = re.findall(r"^## `(\w+)`$", TEXT, re.MULTILINE)
    assert headings == list(REGISTRY)
    assert {kind.split(".")[0] for kind in KINDS} <= REGISTRY.keys()


def test_kinds_stand_under_their_guard():
    """A kind is looked for under the heading of its guard, and found there."""
    sections = re.split(r"^## `(\w+)`$", TEXT, flags=re.MULTILINE)
    for guard, text in zip(sections[1::2], sections[2::2], strict=True):
        assert {kind.split(".")[0] for kind, *_ in ROW.findall(text)} <= {guard}
