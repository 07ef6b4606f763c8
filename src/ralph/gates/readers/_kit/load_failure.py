"""Test files that broke off, by what Node prints about them.

Runners that load every file into one process die with the first that does not load, and report nothing.
"""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Finding, Reading
from ralph.core.proof.compare import COLLECT
from ralph.core.text.clean import clean
from ralph.gates.judging_paths import is_test
from ralph.gates.readers._kit.observation import Observation, lost_report, message, repo_path

# A thrown error as Node writes it, with the code in brackets that some have.
_ERROR = re.compile(
    r"^[ \t]*(?:Uncaught )?\[?(?:\w+: )?\w*(?:Error|Exception)(?: \[\w+\])?: [^\n]*", re.MULTILINE
)
_PLACE = re.compile(r"(?:file://)?(?P<path>(?:/|\.{0,2}/)?[\w@.+/-]+\.[cm]?[jt]sx?)\b(?::(?P<line>\d{1,7}))?")
_MAX_PLACES = 200


def places(text: str, obs: Observation, gate: Gate) -> list[tuple[str, int]]:
    """(path in the repository, line) of every file of the project that a text names, in its order."""
    found = []
    for hit in list(_PLACE.finditer(text))[:_MAX_PLACES]:
        path = repo_path(hit["path"], obs, gate)
        if path and not path.startswith(("/", "../")) and "node_modules/" not in path:
            found.append((path, int(hit["line"] or 0)))
    return found


def first_place(text: str, obs: Observation, gate: Gate) -> tuple[str, int]:
    """The first of them with a line, else the first; ("", 0) for none."""
    found = places(text, obs, gate)
    return next((place for place in found if place[1]), found[0] if found else ("", 0))


def error_about(path: str, obs: Observation) -> str:
    """What Node printed about an error that this file is named in; "" = nothing."""
    text = clean(obs.output[-64_000:])
    for hit in _ERROR.finditer(text):
        around = text[max(0, hit.start() - 160) : hit.end() + 1200]
        if path in around:
            return around
    return ""


def unloaded_reading(obs: Observation, gate: Gate, problem: str) -> Reading:
    """The reading of a runner that ended without a report: which file it broke off in, where Node tells."""
    text = clean(obs.output[-64_000:])
    errors = list(_ERROR.finditer(text))
    if not obs.exit_code or not errors:
        return lost_report(obs, problem)
    named = places(text, obs, gate)
    # A stack leads from what is missing to who wants it.
    path, line = next(((path, line) for path, line in named if is_test(path)), ("", 0))
    if not path and named:
        path, line = named[-1]
    if not path:
        return lost_report(obs, problem)
    first = errors[0]
    said = message(f"{path} broke off\n{text[max(0, first.start() - 400) : first.end() + 2000]}")
    why = first.group(0).strip()
    return Reading(
        "fail",
        f"{path} broke off: {why[:200]}",
        tests={},
        findings=(Finding(f"{COLLECT}{path}", said, path=path, line=line),),
    )
