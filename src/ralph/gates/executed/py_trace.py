"""Which watched lines do Python processes execute: a `sitecustomize` of Ralph's own, and what it noted.

It is found by PYTHONPATH, so that workers, forks and child processes have it too. From Python 3.12 on
`sys.monitoring` tells, beside whatever else measures; before, a trace function does, which another one (that
of coverage.py) may take the place of: then that one's data is asked. Each line is noted at once, in one file
for all processes, so that nothing is lost however they end. It also runs in older Pythons than Ralph does.
"""

from __future__ import annotations

from ralph.gates.executed.py_start import start_module
from ralph.gates.executed.watched import PYTHON, LineHits, Watch

MAX_NOTES = 16 << 20
_TEXT = '''
def _watch(watched, out, root):
    import os

    begin, here = os.path.dirname(os.path.abspath(__file__)), os.getcwd()
    opened, write, close, flags = os.open, os.write, os.close, os.O_WRONLY | os.O_APPEND | os.O_CREAT
    known, noted, monitoring = {}, set(), getattr(sys, "monitoring", None)

    def note(text):
        if text in noted:
            return
        noted.add(text)
        try:
            fd = opened(out, flags, 0o600)
            try:
                write(fd, text.encode() + b"\\n")
            finally:
                close(fd)
        except OSError:
            pass

    def lines_of(name):
        path = os.path.normpath(os.path.join(here, name))
        if path.startswith(root) and not name.startswith("<"):
            note("seen")
        known[name] = found = watched.get(path) or watched.get(os.path.realpath(path))
        return found

    def hit(name, number):
        found = known[name]
        if number in found[1]:
            note("%d:%d" % (found[0], number))

    def borrow():
        """The lines that coverage.py saw in our place."""
        os.chdir(here)
        measure = sys.modules["coverage"].Coverage()
        measure.load()
        data = measure.get_data()
        for path, (index, lines) in watched.items():
            seen = data.lines(path)
            if seen is None:
                seen = data.lines(os.path.relpath(path, here))
            if seen is not None:
                note("whole %d" % index)
                for number in lines.intersection(seen):
                    note("%d:%d" % (index, number))

    def children(event, args):
        if event == "sys.settrace" and not monitoring:
            note("lost %d" % os.getpid())
        elif event == "subprocess.Popen":
            env = os.environ if args[3] is None else args[3]
            given = env.get("PYTHONPATH") or env.get(b"PYTHONPATH") or ""
            words = args[1] if isinstance(args[1], (list, tuple)) else ()
            if begin not in os.fsdecode(given) or any(str(word) in ("-I", "-E", "-S") for word in words[:4]):
                note("child")

    if monitoring:
        free = [number for number in (4, 3) if monitoring.get_tool(number) is None]
        if not free:
            return note("lost %d" % os.getpid())

        def line(code, number):
            name = code.co_filename
            if known[name] if name in known else lines_of(name):
                hit(name, number)
            return monitoring.DISABLE

        monitoring.use_tool_id(free[0], "lines")
        monitoring.register_callback(free[0], monitoring.events.LINE, line)
        monitoring.set_events(free[0], monitoring.events.LINE)
    else:
        import atexit
        import threading

        def inside(frame, event, arg):
            if event == "line":
                hit(frame.f_code.co_filename, frame.f_lineno)
            return inside

        def trace(frame, event, arg):
            name = frame.f_code.co_filename
            return inside if (known[name] if name in known else lines_of(name)) else None

        def check():
            if sys.gettrace() is trace:
                note("kept %d" % os.getpid())
            elif "coverage" in sys.modules:
                try:
                    borrow()
                except Exception:
                    pass

        threading.settrace(trace)
        sys.settrace(trace)
        atexit.register(check)
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(children)
    else:
        note("child")
'''


def tracer_text(watch: Watch, root: str, out: str) -> str:
    """The module. `root`: where the judged tree stands for the gate; `out`: where its notes go."""
    rows = []
    for index, path in enumerate(watch.of(*PYTHON)):
        lines = {n for row in watch.files[path] for n in range(row.first, row.last + 1)}
        rows.append(f"{root + '/' + path!r}: ({index}, frozenset({sorted(lines)}))")
    return start_module(_TEXT, f"_watch({{{', '.join(rows)}}}, {out!r}, {root + '/'!r})")


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
