"""In which file a test stands, also where its runner does not tell."""

from __future__ import annotations

import re

from ralph.core.model.gate import Gate
from ralph.gates.guards._base.facts import GuardFacts
from ralph.gates.guards._base.texts import decode
from ralph.gates.guards._parts.script_language import language
from ralph.gates.judging_paths import is_test


def files_of_tests(facts: GuardFacts, gate: Gate, *, at_base: bool = False) -> dict[str, str]:
    """By id. Node before 22 tells no files: then it is the one whose text has the name."""
    reading = (facts.base if at_base else facts.final).get(gate.name)
    if reading is None:
        return {}
    found = dict(reading.files)
    lost = [name for name in reading.tests or () if name not in found]
    if not lost or gate.read != "node":
        return found
    read = facts.read_base if at_base else facts.read_result
    paths = {*facts.base_paths, *(change.path for change in facts.changes)}
    texts = {path: decode(read(path)) for path in sorted(paths) if language(path) and is_test(path)}
    for name in lost:
        last = re.sub(r" \(\d+\)\Z", "", name.rsplit(" > ", 1)[-1])
        written = re.compile(rf"([\"'`]){re.escape(last)}\1")
        stands = [path for path, text in texts.items() if written.search(text)]
        if len(stands) == 1:
            found[name] = stands[0]
    return found
