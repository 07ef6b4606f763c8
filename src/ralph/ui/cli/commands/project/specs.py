"""`ralph specs`: start a spec, and check the ones that are there."""

from __future__ import annotations

import json
import os
from typing import Any

import click


@click.group(short_help="Create a spec, or check existing ones.")
def command() -> None:
    """Create and check specs: what must be true, one topic per file, as criteria that tests can name."""


@command.command("new", short_help="Create a spec from the template.")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(name: str, as_json: bool) -> int:
    """Create `specs/NN-name.md` for you to fill in. Never replaces a file.

    \b
    Example:
      ralph specs new "log in"
    """
    from ralph.app.specs import new_spec
    from ralph.app.words.format import safe

    cwd = os.getcwd()
    top, path = new_spec(cwd, name)
    if as_json:
        print(json.dumps({"v": 1, "path": path}, ensure_ascii=False))
        return 0
    seen = safe(_from_here(top, path, cwd))
    print(f"wrote {seen}")
    print(f"  fill it in, then  ralph specs check {seen}")
    return 0


@command.command("check", short_help="Check specs for problems.")
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def check(paths: tuple[str, ...], as_json: bool) -> int:
    """Check all of `specs/`, or the files and folders given.

    A spec needs a topic in one sentence, a job statement, criteria with unique ids and with Given, When and
    Then, at least two edge cases, numbers in non-functional requirements, and no words that no test can
    decide. Exit code 0: ready (advice does not count). 1: not yet. 6: there are no specs.

    \b
    Examples:
      ralph specs check
      ralph specs check specs/01-log-in.md --json
    """
    from ralph.app.specs import check_files
    from ralph.app.words.format import plural, safe

    cwd = os.getcwd()
    checked = check_files(cwd, paths)
    files, specs, findings, wrong = checked.files, checked.specs, checked.findings, checked.wrong
    if as_json:
        print(json.dumps(_plain(specs, findings, files.skipped, passed=not wrong), ensure_ascii=False))
        return 1 if wrong else 0
    for what in files.skipped.values():
        print(safe(what))
    for one in findings:
        place = f"{_from_here(files.top, one.path, cwd)}:{one.line}"
        kind = "advice: " if one.severity == "P2" else ""
        print(f"{safe(f'{place}: {kind}{one.message}', 300)}  [{one.key.partition(':')[0]}]")
    criteria = sum(len(spec.criteria) for spec in specs)
    told = f"{plural(len(specs), 'spec')}, {criteria} {'criterion' if criteria == 1 else 'criteria'}"
    advice = len(findings) + len(files.skipped) - wrong
    state = f"{wrong} to fix" if wrong else "ready"
    print(f"{told}: {state}{f', {advice} of advice' if advice else ''}")
    return 1 if wrong else 0


def _from_here(top: str, path: str, cwd: str) -> str:
    """A path of the project as one would type it here."""
    return os.path.relpath(os.path.join(top, path), os.path.realpath(cwd))


def _plain(specs: Any, findings: Any, skipped: dict[str, str], *, passed: bool) -> dict[str, Any]:
    return {
        "v": 1,
        "passed": passed,
        "specs": [
            {
                "path": spec.path,
                "topic": spec.topic.text if spec.topic else "",
                "criteria": [{"id": one.id, "line": one.line, "title": one.title} for one in spec.criteria],
                "edge_cases": len(spec.edge_cases),
            }
            for spec in specs
        ],
        "findings": [
            {
                "path": one.path,
                "line": one.line,
                "rule": one.key.partition(":")[0],
                "severity": one.severity,
                "message": one.message,
            }
            for one in findings
        ],
        "skipped": [{"path": path, "why": why} for path, why in skipped.items()],
    }
