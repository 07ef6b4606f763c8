"""Which files of the product a check reaches, by what it read at the base: changed or not."""

from __future__ import annotations

from ralph.core.proof.compare import red_keys
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._files.known_tests import changed_tests
from ralph.gates.guards._files.test_marks import defines_tests
from ralph.gates.guards._watch.judge_files import base_reads, helper_files, is_code, watched_judges
from ralph.gates.judging_paths import is_config, is_test


def exercised_files(facts: GuardFacts, *, apart: frozenset[str] = frozenset()) -> list[str]:
    """Source files of the result that gates opened at the base, those first that failing tests import.

    Of `apart` none: files of which it cannot be told whether they are the product.
    """
    reads = base_reads(facts)
    if reads is None:
        return []
    failing = {one.files[key] for one in facts.base.values() for key in red_keys(one) if key in one.files}
    tests = changed_tests(facts)
    away = {change.before: change.path for change in facts.changes if change.status == "R"}
    gone = {change.path for change in facts.changes if change.status == "D"}
    found = []
    for path in reads.opened:
        now = away.get(path, path)
        if not is_code(path) or path in gone or {path, now} & (apart | tests.whole | tests.mixed):
            continue
        if is_test(path) or is_config(path) or defines_tests(path, decode(facts.read_base(path))):
            continue
        near = bool(failing.intersection(reads.by.get(path, ())))
        found.append((not near, now))
    return [path for _, path in sorted(found)]


def other_product(facts: GuardFacts) -> list[str]:
    """What is to give foreign values, where a changed file may be a helper of the tests; [] = none."""
    unclear = watched_judges(facts).unclear
    if not any(is_code(path) for path in unclear):
        return []
    return exercised_files(facts, apart=unclear | helper_files(facts))
