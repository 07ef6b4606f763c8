"""The tests of one report as they are read, and the Reading that they come to in the end."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Counts, Finding, Reading, Status, TestState
from ralph.core.proof.compare import COLLECT
from ralph.core.proof.flaky import count_states
from ralph.gates.readers._kit.observation import (
    SUCCESS,
    Observation,
    error_reading,
    in_words,
    last_lines,
    message,
    reason_in,
)

MAX_SHOWN_TESTS = 200  # failing tests that get a text of their own; their ids are all kept
_RANK: dict[TestState, int] = {"pass": 0, "skipped": 1, "fail": 2}


class TestLog:
    def __init__(self, obs: Observation, gate: Gate) -> None:
        self.obs, self.gate = obs, gate
        self.tests: dict[str, TestState] = {}
        self.files: dict[str, str] = {}
        self.findings: list[Finding] = []

    def add(self, name: str, state: TestState, text: str = "", *, path: str = "", line: int = 0) -> None:
        """One test; `text` says why it failed."""
        self.enter(name, state)
        if path:
            self.files[name] = path
        if state == "fail":
            self.findings.append(Finding(name, message(text) or "failed", path=path, line=line))

    def enter(self, name: str, state: TestState) -> None:
        """Only its state; of two entries with one id the worse one counts."""
        self.tests[name] = max(self.tests.get(name, state), state, key=_RANK.__getitem__)

    def add_broken(self, where: str, text: str, *, path: str = "", line: int = 0) -> None:
        """A file, module or package whose tests could not be loaded."""
        self.findings.append(Finding(f"{COLLECT}{where}", message(text), path=path, line=line))

    def settle(self, *, red: str = "", counts: Counts | None = None, known: bool = True) -> Reading:
        """Pass only when something passed, nothing failed and the exit code agrees.

        `red` says in words what else in the report speaks of failure. Where ids are not `known` for certain,
        nothing is said of single tests; `counts` are those of the report itself.
        """
        obs, findings = self.obs, self.findings
        tests, files = (self.tests, self.files) if known else (None, {})
        counts = counts or count_states(self.tests)
        broken = [finding for finding in findings if finding.key.startswith(COLLECT)]
        findings = [*broken, *(one for one in findings if one not in broken)][:MAX_SHOWN_TESTS]
        words, failed = in_words(counts), bool(counts.failed or broken or red)
        if broken:
            reason = reason_in(broken[0].message) or reason_in(last_lines(obs))
            words += f", {len(broken)} could not be loaded" + (f" ({reason})" if reason else "")
        if failed:
            if red and not counts.failed and not broken:
                findings.append(Finding("exit", f"{red}\n{last_lines(obs)}".strip()))
                words += f", {red}"
            words += f", {SUCCESS}" if obs.exit_code == 0 else ""
        elif not counts.passed and not counts.skipped:
            return error_reading("no-tests", "no tests were found", obs)
        elif not counts.passed:
            skipped = error_reading("all-skipped", f"all {counts.skipped} tests were skipped", obs)
            return replace(skipped, counts=counts, tests=tests, files=files)
        elif obs.exit_code != 0:
            words, failed = f"{words}, but the exit code is {obs.exit_code}", True
            findings.append(Finding("exit", f"{words}\n{last_lines(obs)}".strip()))
        status: Status = "fail" if failed else "pass"
        return Reading(status, words, counts=counts, tests=tests, findings=tuple(findings), files=files)


def add_number(name: str, seen: dict[str, int]) -> str:
    """Equal names get a number each, so that a missing one is noticed."""
    seen[name] = seen.get(name, 0) + 1
    return name if seen[name] == 1 else f"{name} ({seen[name]})"
