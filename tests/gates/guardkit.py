"""Facts from two sets of files, as the shell would fill them in."""

import re

from ralph.core.model.gate import Gate
from ralph.core.model.verdict import Reading
from ralph.gates.guards import KINDS, REGISTRY, Change, GuardFacts, Tried

PYTEST = Gate(name="tests", run="pytest -q", argv=("pytest", "-q"), read="pytest", proof=True)


def changes_of(before, after, moved=None, modes=None):
    modes = modes or {}
    moved = moved or {}  # new path -> old path
    found = []
    for path in sorted(before.keys() | after.keys()):
        mode = modes.get(path, "100644")
        if path in moved:
            found.append(Change("R", path, moved[path], mode=mode))
        elif path in moved.values() and path not in after:
            continue
        elif path not in before:
            found.append(Change("A", path, mode=mode, old_mode="000000"))
        elif path not in after:
            found.append(Change("D", path, mode="000000"))
        elif before[path] != after[path] or path in modes:
            found.append(Change("M", path, mode=mode, old_mode=modes.get(f"old {path}", "100644")))
    return tuple(found)


def as_bytes(files):
    return {path: text if isinstance(text, bytes) else text.encode() for path, text in files.items()}


def nest_tried(fields):
    """Fields of GuardFacts, with what was tried where it belongs."""
    tried = {name: fields[name] for name in Tried.__struct_fields__ if name in fields}
    rest = {name: value for name, value in fields.items() if name not in tried}
    return {**rest, "tried": Tried(**tried)} if tried else rest


def facts_of(before, after, *, moved=None, modes=None, gates=(PYTEST,), known=(), **fields):
    """`known`: further paths of the base that did not change."""
    old, new = as_bytes(before), as_bytes(after)
    return GuardFacts(
        tree="t",
        gates=gates,
        base=fields.pop("base", {}),
        final=fields.pop("final", {}),
        changes=changes_of(old, new, moved, modes),
        read_base=old.get,
        read_result=new.get,
        base_paths=frozenset(old) | frozenset(known),
        **nest_tried(fields),
    )


def result_of(guard, before, after, **fields):
    result = REGISTRY[guard](facts_of(before, after, **fields))
    for finding in result.findings:
        assert finding.key.split(":")[0] in KINDS, finding.key
        assert finding.message.strip()
        assert finding.path
        assert re.fullmatch(r"[\w.:/~\n -]+", finding.key), "a waiver could not hold it"
    return result


def kinds_of(guard, before, after, **fields):
    """The kinds found, without the guard's name."""
    result = result_of(guard, before, after, **fields)
    return sorted({finding.key.split(":")[0].removeprefix(f"{guard}.") for finding in result.findings})


def read_as(**tests):
    """A reading of pytest: name of a test in tests/test_a.py -> state; dots for classes."""
    ids = {f"tests/test_a.py::{name.replace('.', '::')}": state for name, state in tests.items()}
    status = "pass" if set(ids.values()) <= {"pass", "skipped"} else "fail"
    return {"tests": Reading(status, "", tests=ids, files=dict.fromkeys(ids, "tests/test_a.py"))}
