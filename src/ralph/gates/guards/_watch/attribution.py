"""Is it the judge that made a red check green? The base with only the judge's changed files must stay red.

Asked for where watching found files that judge, or files of which it cannot be told, where the files that a
gate is made of changed, and where tests that were red are green as changed only. Without it a check that was
bent and a behaviour that changed with its expected values look the same.
"""

from __future__ import annotations

from ralph.core.model.verdict import FileReads, Finding
from ralph.core.proof.compare import red_keys
from ralph.gates.guards._base.facts import GuardFacts, Overlay
from ralph.gates.guards._base.texts import name_some
from ralph.gates.guards._files.behind_command import files_behind_gates, gate_it_overrides
from ralph.gates.guards._files.overlay import changed_settings, leads_of_base, overlay_request
from ralph.gates.guards._watch.judge_files import looked_up_judges, unread_judges, watched_judges


def attribution_request(facts: GuardFacts) -> Overlay | None:
    """Paths that the base gets as they are in the result, or loses; None = there is nothing to ask."""
    seen = watched_judges(facts)
    of_gates = {path for path, _ in changed_gate_files(facts)}
    wanted = seen.known | seen.unclear | seen.added | of_gates | bent_files(facts)
    take = {change.path for change in facts.changes if change.status != "D" and change.path in wanted}
    drop = {change.before for change in facts.changes if change.status in "DR" and change.before in wanted}
    return Overlay(tuple(sorted(take)), tuple(sorted(drop - take))) if take or drop else None


def bent_files(facts: GuardFacts) -> frozenset[str]:
    """What the overlay puts back, where a test that was red is green with it and red without it."""
    over, told = overlay_request(facts), facts.tried.overlay or {}
    if over is None or over.edit:  # tests inside the source cannot be put over the base as files
        return frozenset()
    for name, then in told.items():
        base, final = facts.base.get(name), facts.final.get(name)
        red = {key for key, state in ((base and base.tests) or {}).items() if state == "fail"}
        green = {key for key in red if ((final and final.tests) or {}).get(key) == "pass"}
        if any((then.tests or {}).get(key) == "fail" for key in green):
            return frozenset({*over.restore, *over.drop})
    return frozenset()


def changed_gate_files(facts: GuardFacts) -> list[tuple[str, str]]:
    """Changed files that a gate is made of, or would read in place of its own, and that gate."""
    own = files_behind_gates(facts)
    return [
        (path, gate)
        for change in facts.changes
        for path in dict.fromkeys((change.before, change.path))
        if (gate := own.get(path) or gate_it_overrides(path, facts)) and changed_settings(facts, change)
    ]


def find_softened(facts: GuardFacts) -> list[Finding]:
    """Files of a gate that turn it green over the base, where nothing else changed."""
    found = []
    for path, gate in changed_gate_files(facts):
        base, alone = facts.base.get(gate), facts.tried.attributed.get(gate)
        red = base is not None and base.status != "pass" and not base.flaky
        if red and alone is not None and alone.status == "pass":
            text = f"{gate} passes on the base source too, with {path} as it is now"
            found.append(Finding(f"base_tests.softened:{path}", text, path=path))
    return found


def judge_alone_turns(facts: GuardFacts, gate: str, key: str) -> bool:
    """Is what was red green by the changed files of the judge alone?

    Where names and contents have said what judges, only a test that is still red there is a question.
    """
    over, seen = overlay_request(facts), watched_judges(facts)
    touched = {*over.restore, *over.drop, *over.edit} if over is not None else set()
    if over is not None and over.edit.keys() & leads_of_base(facts).keys():
        return False  # names that lead elsewhere may be a move
    reading = facts.tried.attributed.get(gate)
    if not touched or touched - seen.known - seen.added:
        tests = reading.tests or {} if reading is not None and touched <= bent_files(facts) else {}
        return tests.get(key) != "fail"
    if reading is None:
        return False
    return reading.status == "pass" if reading.tests is None else reading.tests.get(key) == "pass"


def not_told(facts: GuardFacts) -> str:
    """What may judge and could not be told from the product, in words."""
    files = _unclear_files(facts)
    said = f"unclear whether {name_some(files)} belongs to the product or to its tests" if files else ""
    lost = watched_judges(facts).lost
    return "; ".join(filter(None, (said, lost and f"files that judge are known by their names only: {lost}")))


def _unclear_files(facts: GuardFacts) -> list[str]:
    """Files that alone turn a red check green, and may be the product or judge it."""
    seen = watched_judges(facts)
    if not seen.unclear:
        return []
    for gate in facts.gates:
        base, reading = facts.base.get(gate.name), facts.tried.attributed.get(gate.name)
        if base is None or reading is None:
            continue
        red = red_keys(base, gate.fail_on)
        tests = reading.tests
        if reading.status == "pass" or (tests is not None and any(tests.get(key) == "pass" for key in red)):
            return sorted(seen.unclear & {change.path for change in facts.changes})
    return []


def find_misread(facts: GuardFacts) -> list[Finding]:
    """Expected values that are what they were, and that nobody looked at this time, or the product does."""
    watched = [name for name, reading in facts.base.items() if reading.reads is not None]
    seen = [one.reads for name in watched for one in facts.tried.repeats.get(name, ()) if one.reads]
    if not seen or len(seen) < len(watched):
        return []
    lost = next((one.lost for one in seen if one.lost), "")
    now = FileReads(opened=tuple({path for one in seen for path in one.opened}), lost=lost)
    return [
        Finding(f"base_tests.unread:{path}", f"{path} was read at the base, and no longer is", path=path)
        for path in unread_judges(facts, now)
    ] + [
        Finding(f"base_tests.looked_up:{path}", f"{one} now names {path}, which only checks used", path=one)
        for one, path in looked_up_judges(facts, now).items()
    ]
