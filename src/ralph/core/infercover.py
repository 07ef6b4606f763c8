"""How each test runner is made to write a coverage report that can be read. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from ralph.core.inferred import Candidate, Check, Found
from ralph.core.predicate import Predicate, minimum

_TAKEN = " && cat cov/lcov.info > {report}"
# tool -> (what is added to its command, or a whole shell text around it; what must be installed)
_COMMANDS: dict[str, tuple[str, str]] = {
    "pytest": ("{run} --cov --cov-report=json:{report}", "dep:pytest-cov"),
    "jest": ("{run} --coverage --coverageReporters=lcovonly --coverageDirectory=cov" + _TAKEN, ""),
    "vitest": (
        "{run} --coverage.enabled --coverage.reporter=lcovonly --coverage.reportsDirectory=cov" + _TAKEN,
        "",
    ),
    "node": (
        "{run} --experimental-test-coverage --test-reporter=lcov --test-reporter-destination={report}",
        "",
    ),
    "go test": ("{run} -coverprofile={report}", ""),
    "cargo test": ("cargo llvm-cov --lcov --output-path {report}", ""),
    "unittest": (
        "python3 -m coverage run -m unittest && python3 -m coverage json -o {report}",
        "",
    ),
}
_PLAIN_PYTEST = "python3 -m coverage run -m pytest && python3 -m coverage json -o {report}"


def coverage_check(tests: Candidate, predicate: Predicate, found: Found) -> Check | None:
    """The check that measures coverage with this test command; None when nobody knows how."""
    row = _COMMANDS.get(tests.tool)
    if row is None:
        return None
    text, needs = row
    signs = {sign for manifest in found.manifests for sign in manifest.signs}
    if needs and needs not in signs:
        text = _PLAIN_PYTEST
    run = tests.run
    if tests.tool == "go test":  # the profile's option must stand before the packages
        run = run.replace("go test", "go test -coverprofile={report}", 1)
        text = "{run}"
    check = Check(
        name="coverage",
        run=text.replace("{run}", run),
        kind="coverage",
        cwd=tests.cwd,
        read="coverage",
        layer=tests.layer,
        where=tests.where,
        executes=tests.executes,
        resolved=tests.resolved,
        hint=tests.hint,
        tool=tests.tool,
    )
    return replace(check, minimum=minimum(predicate))
