"""What repeats tell: tests that are green only in company, by luck, or in Ralph's own box."""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import compare, red_keys
from ralph.gates.guards._base.facts import GuardFacts

MAX_LISTED = 20
# Who calls, and what it was built for: code that asked for this at the base may go on, but for a runner.
_HABIT = re.compile(
    r"NODE_ENV|debug_assert|__debug__|runtime\.Callers?\b|\binspect\.|_getframe|stacklevel|extract_stack|findCaller"
    r"|\.stack\b|captureStackTrace|Location::caller|track_caller"
)
_OWN_FILE = r"\btests?/|__tests__|[._]test\.\w"  # in a string of a test: where it stands is what it is about
NOT_IMITATED = (
    "the clock of compiled programs, mounts, the first process, start-up variables of Python and Node, "
    "arguments of the runner's report"
)


def turned_green(facts: GuardFacts, gate: Gate) -> frozenset[str]:
    """Tests of this gate that are green and were not at the base; "exit" for a check without tests."""
    base, final = facts.base.get(gate.name), facts.final.get(gate.name)
    if base is None or final is None or final.status != "pass":
        return frozenset()
    if final.tests is None:
        return frozenset({"exit"}) if compare(base, final, fail_on=gate.fail_on).fixed else frozenset()
    before = base.tests or {}
    known = {name for name, state in before.items() if state != "fail"}.union(base.flaky)
    return frozenset(name for name, state in final.tests.items() if state == "pass" and name not in known)


def find_lucky(facts: GuardFacts, gate: Gate) -> list[Finding]:
    """Red at times when it is called alone: luck. Red each time: it needs what comes before it."""
    readings = facts.tried.alone.get(gate.name, ())
    readings = tuple(one for one in readings if one.status in ("pass", "fail") and not one.doubt)
    found = []
    for name in sorted(turned_green(facts, gate)):
        red = sum(_is_red(one, name) for one in readings)
        if not red:
            continue
        what = f"{gate.name}: {'it' if name == 'exit' else name}"
        times = f"{red} of {len(readings)} times"
        if red == len(readings) and name != "exit":
            text = f"{what} passes among the other tests, and fails {times} when it runs alone"
            found.append(Finding(f"repeat.alone:{name}", text))
        else:
            key = gate.name if name == "exit" else name
            text = f"{what} fails {times} when it is repeated alone"
            found.append(Finding(f"repeat.flaky:{key}", text))
    return found[:MAX_LISTED]


def _is_red(reading: Reading, name: str) -> bool:
    if name == "exit":
        return reading.status != "pass"
    told = reading.tests or {}
    if reading.status == "fail" and name not in told:  # alone it could not even be loaded
        return True
    return told.get(name) == "fail"


def find_runner_bound(facts: GuardFacts, gate: Gate) -> list[Finding]:
    """Green under their runner, red when a program without its traces calls them."""
    return [
        Finding(
            f"repeat.plain:{name}",
            f"{gate.name}: {name} passes under its runner and fails when an ordinary program calls it",
            path=name.partition("::")[0] if "::" in name else name.partition(" > ")[0],
        )
        for name in sorted(facts.tried.plain.get(gate.name, ()))[:MAX_LISTED]
    ]


def may_go_by_place(test: str, path: str, text: str, spoken: str) -> bool:
    """Is its own name or file a part of what it expects, or did the changed code go by such things before?"""
    if _HABIT.search(spoken):
        return True
    own = re.split(r"::|\.| > ", test.partition("[")[0])[-1]
    named = rf"|\b{own}\b" if own.isidentifier() and path.endswith((".py", ".go", ".rs")) else ""
    return bool(re.search(rf"[\"'`][^\"'`\n]*(?:{_OWN_FILE}{named})", text))


def find_unlike(facts: GuardFacts, gate: Gate) -> list[Finding]:
    """Green in Ralph's box, red in one that looks like the user's clone, and not so at the base."""
    seen = facts.tried.likeness.get(gate.name)
    if seen is None:
        return []
    final = facts.final[gate.name]
    names = sorted(seen.red - seen.at_base - {"exit"}) or sorted(seen.red - seen.at_base)
    where = "fails in a sandbox that looks like your own clone"
    return [
        Finding(
            f"repeat.likeness:{gate.name if name == 'exit' else name}",
            f"{gate.name}: {where}" if name == "exit" else f"{gate.name}: {name} passes, and {where}",
            path=final.files.get(name, ""),
        )
        for name in names[:MAX_LISTED]
        if name not in red_keys(final, gate.fail_on)
    ]
