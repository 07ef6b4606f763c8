"""Tests as the text of their files names them, before a runner has said which there are.

Good enough to choose a file for canaries while the first call of a gate still goes on: whether the runner
found them there is seen by that call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.canary_text import canary_of
from ralph.gates.judging_paths import is_test

_MAX_FILES = 40


def guess_reading(gate: Gate, paths: Collection[str], read: Callable[[str], bytes | None]) -> Reading | None:
    """A reading in which every test passes that stands in test files of this gate; None: none is known."""
    row = canary_of(gate.read)
    if row is None or not row.tests:
        return None
    pattern, files = re.compile(row.tests, re.MULTILINE), dict[str, str]()
    for path in _files_of(gate, paths)[:_MAX_FILES]:
        text = (read(path) or b"").decode("utf-8", "replace")
        files |= {name: path for found in pattern.finditer(text) if (name := _name(gate, path, found))}
    return Reading("pass", "", tests=dict.fromkeys(files, "pass"), files=files) if files else None


def _files_of(gate: Gate, paths: Collection[str]) -> list[str]:
    """Test files below what the command names, else below its folder."""
    lead = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
    tests = [path for path in paths if is_test(path) and path.startswith(lead)]
    words = {lead + word.partition("::")[0].removeprefix("./").rstrip("/") for word in gate.argv}
    named = [path for path in tests if any(path == word or path.startswith(f"{word}/") for word in words)]
    return sorted(named or tests)


def _name(gate: Gate, path: str, found: re.Match[str]) -> str:
    """As the runner would report it."""
    parts = [part for part in found.groups() if part]
    if gate.read == "unittest":
        lead = "" if gate.cwd in (".", "") else gate.cwd.rstrip("/") + "/"
        return ".".join([*path.removeprefix(lead).removesuffix(".py").split("/"), *parts])
    return f"{path}::{parts[-1]}" if gate.read == "pytest" else parts[-1]
