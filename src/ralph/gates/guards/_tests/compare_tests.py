"""One Python test at the base against its successor: what does it no longer ask?

Equal assertions are paired first, then the most similar ones. What is left over at the base may have moved
(into another test, a helper, a case of a parametrised test); only then is it gone.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from ralph.gates.guards._tests.py_asserts import NOTHING, Assertion
from ralph.gates.guards._tests.py_tests import Test

_LOOSER = {("Gt", "GtE"), ("Lt", "LtE")}
_NAMES = {
    "Eq": "==",
    "NotEq": "!=",
    "In": "in",
    "NotIn": "not in",
    "Gt": ">",
    "GtE": ">=",
    "Lt": "<",
    "LtE": "<=",
    "Is": "is",
    "IsNot": "is not",
    "Truth": "mere truth",
    "Not": "not",
    "Or": "or",
}


class Pool(Struct, frozen=True):
    """The change as a whole."""

    asserts: Counter[tuple[str, str, str]]  # how much more often than at the base
    cases: Counter[tuple[str, ...]]  # in changed and new tests of the result
    asserting: frozenset[str]  # helpers that assert something


class Weakening(Struct, frozen=True):
    kind: str
    says: str
    line: int


def compare(before: Test, after: Test, pool: Pool, *, passes: bool, ran: bool) -> list[Weakening]:
    """`passes`: the base's version is green over the new source. `ran`: the new version was green."""
    found = [*_skips(before, after, fine=passes and ran, ran=ran)]
    missing, spare = _pair_assertions(before, after)
    found += _dead(missing, after)
    if passes:
        return found
    found += _conditional(before, after)
    found += _cases(before, after, pool)
    blamed = {problem.line for problem in found if problem.kind == "dead"}
    missing = [item for item in missing if not _lies_dead(item, after)]
    found += _partners(missing, [item for item in spare if item.line not in blamed], after, pool)
    return found


def _pair_assertions(before: Test, after: Test) -> tuple[list[Assertion], list[Assertion]]:
    """Live assertions of the base without an equal one, and what the result has beside the equal ones."""
    have = Counter(item.same for item in after.asserts if not item.dead)
    missing = []
    for item in before.asserts:
        if item.dead:
            continue
        if have[item.same] > 0:
            have[item.same] -= 1
        elif item.strength:
            missing.append(item)
    spare = []
    for item in reversed(after.asserts):
        if not item.dead and have[item.same] > 0:
            have[item.same] -= 1
            spare.append(item)
    return missing, spare[::-1]


def _skips(before: Test, after: Test, *, fine: bool, ran: bool) -> list[Weakening]:
    if len(after.skips) <= len(before.skips) or not before.is_test:
        return []
    had = Counter(skip.kind for skip in before.skips)
    for skip in after.skips:
        if had[skip.kind] > 0:
            had[skip.kind] -= 1
        elif not ((skip.depends and fine) or (skip.machine and ran)):
            return [Weakening("skip", f"{skip.kind} was added", skip.line)]
    return []


def _lies_dead(item: Assertion, after: Test) -> bool:
    return any(other.dead and other.same == item.same for other in after.asserts)


def _dead(missing: list[Assertion], after: Test) -> list[Weakening]:
    for item in missing:
        for other in after.asserts:
            if other.dead and other.same == item.same:
                return [
                    Weakening("dead", f"an assertion is still written there, but {other.dead}", other.line)
                ]
    return []


def _conditional(before: Test, after: Test) -> list[Weakening]:
    """An assertion that always was made, and now only sometimes."""
    free = Counter(item.same for item in after.asserts if not item.dead and not item.when)
    when = Counter(item.same for item in after.asserts if not item.dead and item.when)
    for item in before.asserts:
        if item.dead or item.when or not item.strength:
            continue
        if free[item.same] > 0:
            free[item.same] -= 1
        elif when[item.same] > 0:
            line = next(other.line for other in after.asserts if other.same == item.same and other.when)
            return [Weakening("weakened", "an assertion is now made only under a condition", line)]
    return []


def _cases(before: Test, after: Test, pool: Pool) -> list[Weakening]:
    if not before.loops or not after.loops:
        return []
    gone = Counter(before.cases) - Counter(after.cases)
    gone = Counter({case: number for case, number in gone.items() if not pool.cases[case]})
    if not gone:
        return []
    if len(after.cases) < len(before.cases):
        text = f"{len(before.cases)} cases at the base, {len(after.cases)} now"
        return [Weakening("cases", text, after.line)]
    added = Counter(after.cases) - Counter(before.cases)
    for case in gone:
        # The same inputs with another answer.
        if len(case) > 1 and any(case[:-1] == other[:-1] for other in added):
            return [Weakening("expected", "a case expects another value than at the base", after.line)]
    return []


def _partners(missing: list[Assertion], spare: list[Assertion], after: Test, pool: Pool) -> list[Weakening]:
    found: list[Weakening] = []
    lost: list[Assertion] = []
    room = list(spare)
    for item in sorted(missing, key=lambda one: -one.strength):
        partner = _partner(item, room)
        if partner is None:
            lost.append(item)
            continue
        if not after.loops:  # under several cases one assertion stands for many
            room.remove(partner)
        problem = _judge(item, partner)
        if problem is not None and not _elsewhere(item, after, pool):
            found.append(problem)
    gone = [item for item in lost if not _elsewhere(item, after, pool)]
    if gone:
        line = after.line
        more = (
            f"{len(gone)} assertions of the base are gone"
            if len(gone) > 1
            else "an assertion of the base is gone"
        )
        found.append(Weakening("removed", f"{more} (line {gone[0].line} at the base)", line))
    return found


def _partner(item: Assertion, room: list[Assertion]) -> Assertion | None:
    if not room:
        return None

    def likeness(other: Assertion) -> tuple[int, int, int, int, int]:
        return (
            other.left == item.left,
            other.right == item.right and bool(item.right),
            bool(other.called & item.called),
            other.op == item.op,
            other.strength,
        )

    return max(room, key=likeness)


def _elsewhere(item: Assertion, after: Test, pool: Pool) -> bool:
    """Moved into another test, or into a helper that this test calls."""
    if pool.asserts[item.same] >= 0:
        return True
    return bool(after.calls & pool.asserting)


def _judge(item: Assertion, partner: Assertion) -> Weakening | None:
    line = partner.line
    if partner.strength == NOTHING:
        return Weakening("tautology", "an assertion was replaced by one that cannot fail", line)
    if item.op in ("raises", "warns"):
        if partner.op == item.op and partner.strength < item.strength:
            text = f"it expects {partner.left or 'any exception'} now, {item.left} at the base"
            if partner.left == item.left:
                text = f"it no longer looks at the message of {item.left}"
            return Weakening("widened", text, line)
        return (
            Weakening("removed", f"it no longer expects {item.left}", line) if partner.op != item.op else None
        )
    if partner.strength < item.strength or (item.op, partner.op) in _LOOSER:
        was, now = (_NAMES.get(op, op) for op in (item.op, partner.op))
        return Weakening("weakened", f"an assertion was loosened from {was} to {now}", line)
    subject = partner.left == item.left or bool(partner.called & item.called)
    if subject and partner.op == item.op and partner.values != item.values and partner.values:
        # A value that only moved into a name has no literal here, and is no change.
        return Weakening("expected", "it expects another value than at the base", line)
    return None
