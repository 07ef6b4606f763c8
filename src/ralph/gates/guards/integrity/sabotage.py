"""Guard "sabotage": the change broken on purpose, one function at a time; the new tests must notice.

A test that stays green whatever the code does shows nothing. `sabotage_request` makes the broken files;
the shell runs the witness tests over each, within a bound of time. How many were noticed is reported, and
none noticed means that there is no witness (`core.proof.grade`).
"""

from __future__ import annotations

from msgspec import Struct

from ralph.core.model.verdict import GuardResult
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._tests.break_function import broken_versions
from ralph.gates.guards.integrity.witness import deleted_source, source_changes, witnesses

NAME = "sabotage"
CALLED = True
MAX_BREAKS = 8
_MAX_SHOWN = 3


class Sabotage(Struct, frozen=True):
    name: str
    path: str
    content: bytes | None  # None: the file as it was at the base, or gone where the base has none
    other: bool = False  # it returns something foreign instead of nothing


def sabotage_request(facts: GuardFacts) -> tuple[Sabotage, ...]:
    """What to break. Where no function is found (another language, a table), whole files are taken back."""
    if facts.witness is None or not witnesses(facts)[0]:
        return ()
    found: list[Sabotage] = []
    files: list[Sabotage] = []
    for change in source_changes(facts):
        new = facts.read_result(change.path)
        old = facts.read_base(change.before) if change.status != "A" else None
        if new is None or new == old:
            continue
        broken = broken_versions(change.path, old, new)
        foreign = dict(broken_versions(change.path, old, new, other=True))
        for name, content in broken:
            found.append(Sabotage(f"{change.path}: {name}", change.path, content))
            if name in foreign:
                label = f"{change.path}: {name} (foreign value)"
                found.append(Sabotage(label, change.path, foreign[name], other=True))
        if not broken:
            files.append(Sabotage(f"{change.path}: taken back", change.path, None))
    files += [Sabotage(f"{change.path}: brought back", change.path, None) for change in deleted_source(facts)]
    return tuple([*_spread(found), *files][:MAX_BREAKS])


def _spread(found: list[Sabotage]) -> list[Sabotage]:
    """One of each file first, so that a bound of time does not spend itself on one file."""
    turns: dict[str, int] = {}
    ranked = []
    for order, item in enumerate(found):
        turns[item.path] = turns.get(item.path, -1) + 1
        ranked.append((turns[item.path], order, item))
    return [item for _, _, item in sorted(ranked, key=lambda row: row[:2])]


def _why_none(facts: GuardFacts) -> str:
    if not witnesses(facts)[0]:
        return "not tried: there is no witness that could notice it"
    moved = [change.path for change in source_changes(facts)]
    if not moved:
        return "nothing of the change could be broken: no source file differs"
    more = f" and {len(moved) - _MAX_SHOWN} more" if len(moved) > _MAX_SHOWN else ""
    names = ", ".join(moved[:_MAX_SHOWN]) + more
    return f"nothing of the change could be broken: only the name or the mode differs of {names}"


def check(facts: GuardFacts) -> GuardResult:
    if facts.sabotage is None:
        text = "not needed: no test of the agent's own is the witness"
        return GuardResult(NAME, facts.tree, applied=True, summary=text)
    tried = [item for item in facts.sabotage if item.noticed is not None]
    noticed = [item for item in tried if item.noticed]
    # A test may notice one way of breaking by asking only whether something came back, or whether it is true.
    blind = {item.other for item in tried} - {item.other for item in noticed}
    missed = [item.name for item in tried if not item.noticed]
    words = f"{len(noticed)} of {len(tried)} sabotages were noticed by the new tests"
    if missed:
        more = f" and {len(missed) - _MAX_SHOWN} more" if len(missed) > _MAX_SHOWN else ""
        words += f"; not noticed: {', '.join(missed[:_MAX_SHOWN])}{more}"
    if blind and noticed:
        words += "; they only ask whether something comes back" if True in blind else "; they see no value"
    left = len(facts.sabotage) - len(tried)
    if left:
        words += f"; {left} not tried, the time was up"
    if not facts.sabotage:
        words = _why_none(facts)
    return GuardResult(
        NAME,
        facts.tree,
        applied=True,
        summary=words,
        counted={"sabotaged": len(tried), "noticed": 0 if blind else len(noticed)},
    )
