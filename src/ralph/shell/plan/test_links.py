"""Which tests of a tree name which criterion of the specs: the facts for `core.specs.find_tests`, read from
git.

Test ids come from the verdicts of that tree, names of criteria from the text of the files that declare tests.
A file is read once: the same content has the same id in the next tree.
"""

from __future__ import annotations

import os
import re

from ralph.core.model.loop import Loop
from ralph.core.model.plan.test_link import CriterionTest
from ralph.core.model.verdict import Reading, TestState
from ralph.core.specs.find_tests import link_tests
from ralph.core.specs.parse import Spec, parse_spec
from ralph.shell.gate_run.verdicts import Judge
from ralph.shell.git.diff_facts import contents
from ralph.shell.git.trees import GITLINK, SYMLINK, tree_entries
from ralph.shell.state import blobs

MAX_FILES = 4000  # files looked at
_NAMED = re.compile(r"test|spec", re.IGNORECASE)
# Languages whose tests stand beside the code; elsewhere a test's file says so in its path.
_INLINE = (".rs",)
_SOURCE = frozenset(
    f".{end}"
    for end in (
        *("py", "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "go", "rs", "java", "kt", "kts", "scala"),
        *(
            *("rb", "php", "cs", "fs", "swift", "c", "cc", "cpp", "h", "hpp", "ex", "exs", "dart"),
            *("sol", "groovy"),
        ),
    )
)


class CriterionTests:
    """Remembers the specs and the files it has read; one for a stint."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._specs: tuple[Spec, ...] | None = None
        self._texts: dict[str, str] = {}

    def ties(self, loop: Loop, tree: str) -> tuple[CriterionTest, ...]:
        brief = loop.sealed.plan_brief
        if self._specs is None:
            store = self._judge.site.state.blobs
            self._specs = tuple(
                parse_spec(path, blobs.get(store, blob).decode())
                for path, blob in sorted(brief.texts.items())
            )
        verdicts = loop.proof.baseline if loop.phase == "baseline" else loop.proof.verdicts
        readings = [
            self._judge.reading(verdict)
            for gate in loop.sealed.criterion.gates
            if (verdict := verdicts.get(gate.name)) is not None and verdict.reading
        ]
        return link_tests(self._specs, _join_readings(readings), self._files(tree, readings))

    def _files(self, tree: str, readings: list[Reading]) -> dict[str, str]:
        told = {path for reading in readings for path in reading.files.values()}
        wanted: dict[str, str] = {}
        for path, entry in tree_entries(self._judge.site.store, tree).items():
            if entry.mode in (GITLINK, SYMLINK):
                continue
            end = os.path.splitext(path)[1]
            if path in told or (end in _SOURCE and (end in _INLINE or _NAMED.search(path))):
                wanted[path] = entry.oid
        chosen = dict(sorted(wanted.items())[:MAX_FILES])
        unread = {oid for oid in chosen.values() if oid not in self._texts}
        for oid, data in contents(self._judge.site.store, unread).items():
            self._texts[oid] = data.decode("utf-8", "replace")
        return {path: self._texts[oid] for path, oid in chosen.items() if oid in self._texts}


def _join_readings(readings: list[Reading]) -> Reading | None:
    """All gates that know their tests, as one reading; red wins where two know the same test."""
    known = [reading for reading in readings if reading.tests is not None]
    if not known:
        return None
    tests: dict[str, TestState] = {}
    for reading in known:
        for name, state in (reading.tests or {}).items():
            tests[name] = "fail" if "fail" in (state, tests.get(name)) else state
    return Reading(
        status="pass",
        summary="",
        tests=tests,
        files={name: path for reading in known for name, path in reading.files.items()},
        flaky=tuple(name for reading in known for name in reading.flaky),
    )
