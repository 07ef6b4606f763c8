"""Several readings of one gate on one tree made into one: what changed between them is flaky, never green.

Also what a quarantine does to a reading: the tests it names count as skipped, so they are neither red
nor a witness. Pure; who calls a gate again, and how often, is the shell's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec.structs import replace

from ralph.core.model.gate import Severity
from ralph.core.model.verdict import Counts, Reading, TestState
from ralph.core.proof.causes import is_missing
from ralph.core.proof.compare import red_keys

_WORSE: tuple[TestState, ...] = ("pass", "skipped", "fail")
MAX_SHOWN = 3


def changed_keys(first: Reading, second: Reading, fail_on: Severity = "P1") -> tuple[str, ...]:
    """What is red in one of two readings of the same tree and not in the other."""
    return tuple(sorted(red_keys(first, fail_on) ^ red_keys(second, fail_on)))


def merge_readings(first: Reading, second: Reading, fail_on: Severity = "P1") -> Reading:
    """Two readings of the same tree as one. Green only when both are; what they disagree on is flaky.

    What the machine made is no reading: the other one stands for itself.
    """
    if is_missing(first, settled=True) or is_missing(second, settled=True):
        return second if is_missing(first, settled=True) else first
    changed = changed_keys(first, second, fail_on)
    written = tuple(sorted({*first.written, *second.written}))
    if first.status == second.status and not changed:
        reads = second.reads or first.reads
        return replace(first, canary=second.canary or first.canary, written=written, reads=reads)
    tests = None
    if first.tests is not None and second.tests is not None:
        tests = {**first.tests}
        for name, state in second.tests.items():
            tests[name] = max(tests.get(name, state), state, key=_WORSE.index)
    elif first.tests is not None or second.tests is not None:
        tests = first.tests or second.tests
    known = {finding.key: finding for finding in (*second.findings, *first.findings)}
    status = first.status if first.status == second.status else "flaky"
    said = first.summary if second.status == "pass" else second.summary
    return replace(
        first,
        status=status,
        summary=f"{flaky_words(changed)} on the same tree; {said}",
        cause=first.cause if first.cause == second.cause else "",
        counts=count_states(tests) if tests is not None else first.counts,
        tests=tests,
        findings=tuple(known.values()),
        files={**second.files, **first.files},
        flaky=tuple(sorted({*first.flaky, *changed})),
        canary=second.canary or first.canary,
        written=written,
        reads=second.reads or first.reads,
    )


def flaky_words(keys: Collection[str]) -> str:
    named = [key for key in keys if key != "exit"]
    if not named:
        return "passed once and failed once"
    more = f" and {len(named) - MAX_SHOWN} more" if len(named) > MAX_SHOWN else ""
    return f"{', '.join(sorted(named)[:MAX_SHOWN])}{more} passed once and failed once"


def count_states(tests: Mapping[str, TestState]) -> Counts:
    values = list(tests.values())
    return Counts(values.count("pass"), values.count("fail"), values.count("skipped"))


def forgive_flakes(reading: Reading, names: Collection[str], fail_on: Severity = "P1") -> Reading:
    """The reading with these red tests as they are at other times; green when nothing else was red, and
    something else was green: a gate in which only forgiven tests passed has judged nothing.

    For tests that fail now and then on the base too: who asks has measured that.
    """
    hit = sorted(name for name in names if (reading.tests or {}).get(name) == "fail")
    if not hit or reading.tests is None:
        return reading
    tests: dict[str, TestState] = {**reading.tests, **dict.fromkeys(hit, "pass")}
    findings = tuple(finding for finding in reading.findings if finding.key not in hit)
    left = replace(
        reading,
        tests=tests,
        counts=count_states(tests),
        findings=findings,
        flaky=tuple(sorted({*reading.flaky, *hit})),
    )
    others = (state for name, state in reading.tests.items() if name not in left.flaky)
    if reading.cause or red_keys(left, fail_on) - {"exit"} or "pass" not in others:
        return left
    named = ", ".join(hit[:MAX_SHOWN]) + (f" and {len(hit) - MAX_SHOWN} more" if len(hit) > MAX_SHOWN else "")
    words = f"{count_states(tests).passed} passed, of these only at times, as on the base: {named}"
    return replace(left, status="pass", summary=words, findings=tuple(f for f in findings if f.key != "exit"))


def skip_tests(reading: Reading, ids: Collection[str], fail_on: Severity = "P1") -> Reading:
    """The reading with these tests counted as skipped; green when nothing else was red, and something was
    green: a gate in which only quarantined tests passed has judged nothing."""
    if not reading.tests or not ids:
        return reading
    hit = [name for name in reading.tests if name in ids]
    if not hit:
        return reading
    failed = [name for name in hit if reading.tests[name] == "fail"]
    tests: dict[str, TestState] = {**reading.tests, **dict.fromkeys(hit, "skipped")}
    words = f"{reading.summary}, {len(hit)} in quarantine" + (f" ({len(failed)} red)" if failed else "")
    findings = tuple(finding for finding in reading.findings if finding.key not in ids)
    left = replace(reading, tests=tests, counts=count_states(tests), findings=findings, summary=words)
    if reading.status == "pass" and "pass" not in tests.values():
        return replace(left, status="error", cause="all-skipped")
    if reading.status != "fail" or not failed or not _only_these(reading, left, fail_on):
        return left
    return replace(left, status="pass", findings=tuple(f for f in findings if f.key != "exit"))


def _only_these(before: Reading, left: Reading, fail_on: Severity) -> bool:
    """Was the quarantine all that made it red? Then something else must still have passed."""
    red = red_keys(left, fail_on)
    assert left.tests is not None
    return red == {"exit"} and "pass" in left.tests.values() and not before.cause
