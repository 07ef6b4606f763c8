"""What was red before a loop and still is: when may a judgement be made without it?

A user's word leaves it out, with a reason (`--allow base_tests.still_red`). Without one it is left out where
an agent insists that it is done: so everything else there is to say about the tree is said, and the result is
no more than unproven. Only what has a name of its own can be left out, and never what an unknown part of a
command may be red for. It stays red in the readings of the base, and what turns green counts as ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ralph.core.model.gate import Criterion, Gate
from ralph.core.model.verdict import Reading, TestState
from ralph.core.proof.compare import red_keys
from ralph.core.proof.flaky import count_states
from ralph.core.proof.grade import may_stay_red

MAX_NAMED = 100  # in a verdict; more than that are not left out
MAX_KEY = 300  # of a name in a verdict
_JUDGED_RED = ("fail", "flaky")


def shown_keys(keys: Iterable[str]) -> frozenset[str]:
    """As verdicts and statements name them."""
    return frozenset(key[:MAX_KEY] for key in keys)


def find_old_red(criterion: Criterion, gate: Gate, base: Reading, *, insisted: bool) -> frozenset[str]:
    """What this gate may be red for, of what it was red for at the base."""
    if gate.exit_parts or base.status not in _JUDGED_RED or base.cause:
        return frozenset()
    old = red_keys(base, gate.fail_on) - {"exit", *base.flaky}
    if insisted and gate.proof and not gate.hidden:
        return old
    return frozenset(key for key in old if may_stay_red(criterion, key))


def leave_out(reading: Reading, keys: frozenset[str], gate: Gate) -> Reading:
    """The reading without these; green when nothing else was red, and something else was looked at."""
    if not keys or reading.status not in _JUDGED_RED or reading.cause:
        return reading
    shown = shown_keys(keys)
    red = {key for key in red_keys(reading, gate.fail_on) if key[:MAX_KEY] in shown}
    if not red or len(red) > MAX_NAMED:
        return reading
    findings = tuple(one for one in reading.findings if one.key not in red)
    words = f"{reading.summary}, {len(red)} of these red before the loop"
    left = replace(reading, findings=findings, left_out=tuple(sorted(red)), summary=words)
    if reading.tests is not None:
        tests: dict[str, TestState] = {
            name: "skipped" if name in red else state for name, state in reading.tests.items()
        }
        left = replace(left, tests=tests, counts=count_states(tests))
    looked = left.tests is None or "pass" in left.tests.values()
    if reading.status != "fail" or not looked or red_keys(left, gate.fail_on) != {"exit"}:
        return left
    return replace(left, status="pass", findings=tuple(one for one in findings if one.key != "exit"))
