"""Further calls of a gate: with canaries beside its tests, and on the base, for tests that fail now and then.

A red test that the change did not touch is called again on the same tree. Where it is green then, its own
file is called on the base, several times at once, until it fails there too, within a bound of time. Only what
did is forgiven: what the base never shows may be the change's doing.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection, Iterator

from msgspec.structs import replace

from ralph.core.model.gate import MAKE_IT_GREEN, Gate
from ralph.core.model.verdict import Reading
from ralph.core.proof.compare import red_keys
from ralph.core.proof.flaky import forgive_flakes
from ralph.gates.judging_paths import is_test
from ralph.gates.narrow import module_file, narrow_to_files
from ralph.gates.plant_canary import Planted, plant
from ralph.shell.gate_run.answers import GateCall, Heard
from ralph.shell.git import trees
from ralph.shell.ports import Attention
from ralph.shell.sandbox.site import Site

_FLAKES_ASKED = re.compile(
    r"flak|intermittent|now and then|sometimes|random|unstable|race|deadlock|\bhang|concurren|timing"
    r"|\bthread",
    re.IGNORECASE,
)
MAX_TESTS = 5  # a suite that falls apart is no flake
MAX_WAVES, AT_ONCE = 3, 4  # at once as the last calls are: a test that minds the load is quiet by itself
MAX_SECONDS = 60.0

Hear = Callable[[list[GateCall], str, Attention], Iterator[Heard]]


def with_canary(
    site: Site,
    gate: Gate,
    tree: str,
    reading: Reading,
    slot: str,
    otherwise: str,
    prefer: Collection[str] = (),
    known: str = "",
) -> tuple[GateCall, Planted | None]:
    """The gate once more on this tree, with canaries where some can be put; else as it is."""
    bird = plant(
        gate,
        reading,
        lambda: trees.list_tree(site.store, tree),
        lambda path: trees.read_blob(site.store, tree, path),
        "".join(secrets.choice("abcdef") + secrets.choice("0123456789") for _ in range(4)),
        prefer,
        known,
    )
    if bird is None:
        return GateCall(gate, tree, otherwise, slot), None
    changed = trees.edited_tree(site.store, tree, {bird.path: bird.content})
    return GateCall(bird.gate, changed, "canary", slot), bird


class BaseFlakes:
    """What is known about flaky tests of the base of one site."""

    def __init__(self, site: Site, hear: Hear, slot: Callable[[Gate, str], str]) -> None:
        self._site = site
        self._hear = hear
        self._slot = slot
        self._shown: dict[str, set[str]] = {}
        self._tried: dict[str, set[str]] = {}

    def may_be_old(self, gate: Gate, now: Reading, tree: str, base: Reading | None) -> bool:
        return bool(self._untouched_reds(gate, now, tree, base))

    def settle(
        self, gate: Gate, heard: list[Heard], tree: str, base: Reading | None, attend: Attention
    ) -> list[Heard]:
        """Two readings of one tree: the first without what is flaky at the base too, else as they are."""
        if len(heard) < 2 or base is None:
            return heard
        first, second = heard[0].reading, heard[1].reading
        red = self._untouched_reds(gate, first, tree, base)
        if not red or any((second.tests or {}).get(name) != "pass" for name in red):
            return heard
        forgiven = forgive_flakes(first, self._on_base(gate, red, base, attend), gate.fail_on)
        return [replace(heard[0], reading=forgiven), *heard[1:]]

    def forgive(
        self, gate: Gate, now: Reading, tree: str, base: Reading | None, attend: Attention
    ) -> Reading:
        """A further reading of a tree whose final one was green, without what is flaky at the base too."""
        red = self._untouched_reds(gate, now, tree, base)
        if not red or base is None:
            return now
        return forgive_flakes(now, self._on_base(gate, red, base, attend), gate.fail_on)

    def _untouched_reds(self, gate: Gate, now: Reading, tree: str, base: Reading | None) -> frozenset[str]:
        """The red tests of a reading, when all that is red may be old flakes: green or flaky at the base, and
        in files that are the same there; else nothing."""
        red = red_keys(now, gate.fail_on) - {"exit"}
        if not red or len(red) > MAX_TESTS or now.status not in ("fail", "flaky"):
            return frozenset()
        if now.tests is None or base is None or not base.tests:
            return frozenset()
        if any(now.tests.get(name) != "fail" for name in red):
            return frozenset()  # a file that cannot be loaded, or a report that contradicts itself
        if _FLAKES_ASKED.search(self._site.order.task) or any(self._is_named(name) for name in red):
            return frozenset()  # they are what the task is about
        wants_green = gate.proof and self._site.order.criterion.task_class in MAKE_IT_GREEN
        if wants_green and base.status != "pass" and not red_keys(base, gate.fail_on) - {*base.flaky, "exit"}:
            return frozenset()  # flaky tests are all that was red: they may be what the task is about
        if any(base.tests.get(name) != "pass" and name not in base.flaky for name in red):
            return frozenset()
        changed = trees.changed_paths(self._site.store, self._site.order.base.tree, tree)
        touched = {path for change in changed for path in (change.path, change.old_path) if path}
        places = [self._file(gate, name, base) for name in red]
        if any(path in touched if path else any(map(is_test, touched)) for path in places):
            return frozenset()
        return red

    def _on_base(
        self, gate: Gate, names: Collection[str], base: Reading, attend: Attention
    ) -> frozenset[str]:
        """Those of these tests that fail on the base as well, now and then: red and green by one command.

        One that is always red by itself only depends on others, which tells nothing of the change.
        """
        shown = self._shown.setdefault(gate.name, set(base.flaky))
        tried = self._tried.setdefault(gate.name, set())
        left = set(names) - shown - tried
        tried |= left
        files = {path for name in left if (path := self._file(gate, name, base))}
        known = (
            frozenset(trees.list_tree(self._site.store, self._site.order.base.tree)) if files else frozenset()
        )
        narrow = narrow_to_files(gate, files, known.__contains__) if files else gate
        until = self._site.clock.monotonic() + MAX_SECONDS
        tree = self._site.order.base.tree
        failed: set[str] = set()
        passed: set[str] = set()
        slots = [self._slot(gate, f"flaky{number}") for number in range(AT_ONCE)]
        for _ in range(MAX_WAVES):
            if not left or self._site.clock.monotonic() > until:
                break
            answers = list(
                self._hear([GateCall(narrow, tree, "flaky", slot) for slot in slots], tree, attend)
            )
            if not answers:
                break  # asked to stop
            for tests in (one.reading.tests or {} for one in answers):
                failed |= {name for name in left if tests.get(name) == "fail"}
                passed |= {name for name in left if tests.get(name) == "pass"}
            shown |= failed & passed
            left -= failed & passed
        return frozenset(shown & set(names))

    def _is_named(self, name: str) -> bool:
        """Does the task speak of this test?"""
        short = re.split(r"[.:/ ]", name.partition("[")[0])[-1]
        return bool(short) and short in self._site.order.task

    def _file(self, gate: Gate, name: str, base: Reading) -> str:
        if name in base.files or gate.read != "unittest":
            return base.files.get(name, "")
        return module_file(name, gate.cwd, trees.list_tree(self._site.store, self._site.order.base.tree))
