"""Which watched lines do Python processes execute: a `sitecustomize` of Ralph's own, and what it noted.

It is found by PYTHONPATH, so that workers, forks and child processes have it too. From Python 3.12 on
`sys.monitoring` tells, beside whatever else measures; before, a trace function does, which another one (that
of coverage.py) may take the place of: then that one's data is asked. Each line is noted at once, in one file
for all processes, so that nothing is lost however they end. It also runs in older Pythons than Ralph does.
"""

from __future__ import annotations

from ralph.gates.executed.py_start import start_module
from ralph.gates.executed.watched import PYTHON, LineHits, Watch
from ralph.gates.programs import program_text

MAX_NOTES = 16 << 20


def tracer_text(watch: Watch, root: str, out: str) -> str:
    """The module. `root`: where the judged tree stands for the gate; `out`: where its notes go."""
    rows = []
    for index, path in enumerate(watch.of(*PYTHON)):
        lines = {n for row in watch.files[path] for n in range(row.first, row.last + 1)}
        rows.append(f"{root + '/' + path!r}: ({index}, frozenset({sorted(lines)}))")
    return start_module(
        program_text("py_trace.py"), f"_watch({{{', '.join(rows)}}}, {out!r}, {root + '/'!r})"
    )


def read_notes(watch: Watch, notes: bytes) -> LineHits:
    paths = list(watch.of(*PYTHON))
    said = set(notes.decode("ascii", "replace").split("\n"))
    lines: dict[str, set[int]] = {path: set() for path in paths}
    whole = set()
    for note in said:
        number, colon, line = note.partition(":")
        if colon and number.isdigit() and line.isdigit() and int(number) < len(paths):
            lines[paths[int(number)]].add(int(line))
        elif note.startswith("whole ") and note[6:].isdigit() and int(note[6:]) < len(paths):
            whole.add(paths[int(note[6:])])
    lost = {note[5:] for note in said if note.startswith("lost ")}
    lost -= {note[5:] for note in said if note.startswith("kept ")}
    why = ""
    if "seen" not in said:
        why = "no Python process that executes this project's files could be watched"
    elif lost:
        why = "another tool traced the tests in our place, and its data does not tell"
    executed = {
        path: frozenset(
            number
            for number, row in enumerate(watch.files[path])
            if any(row.first <= line <= row.last for line in lines[path])
        )
        for path in paths
    }
    known = frozenset(paths) if not why else frozenset(whole) if "seen" in said else frozenset()
    return LineHits(
        executed=executed,
        measured=known,
        unknown={path: why for path in paths if path not in known},
        partial="child" in said,
    )
