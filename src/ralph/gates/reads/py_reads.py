"""Who reads what in Python processes: a `sitecustomize` of Ralph's own, at the base only.

An audit hook sees every file that is opened; the innermost frame of the tree's own code is who asked for it.
Imports are seen by `__import__`, because a module that is loaded already is opened by nobody. Each row is
noted at once, in one file for all processes, so that nothing is lost however they end.
"""

from __future__ import annotations

from ralph.gates.executed.py_start import start_module

_TEXT = '''
def _watch(out, root):
    import builtins
    import os

    opened, write, close, flags = os.open, os.write, os.close, os.O_WRONLY | os.O_APPEND | os.O_CREAT
    here, exists, noted, frame_of = os.getcwd(), os.path.lexists, set(), sys._getframe
    known, busy, real = {}, [], builtins.__import__

    def note(*row):
        if row in noted or len(noted) > 100000:
            return
        noted.add(row)
        try:
            fd = opened(out, flags, 0o600)
            try:
                write(fd, ("\\t".join(row) + "\\n").encode("utf-8", "surrogateescape"))
            finally:
                close(fd)
        except OSError:
            pass

    def inside(name):
        """The path in the tree; "" = it is none of its files."""
        if name not in known:
            path = os.path.normpath(os.path.join(here, name)) if not name.startswith("<") else ""
            if not path.startswith(root):
                path = os.path.realpath(path) if path else ""
            own = path.startswith(root) and "/site-packages/" not in path and "\\n" not in path
            known[name] = path[len(root):].replace("\\t", " ") if own else ""
        return known[name]

    def asker():
        frame = frame_of(2)
        while frame is not None:
            found = inside(frame.f_code.co_filename)
            if found:
                return found
            frame = frame.f_back
        return ""

    def audit(event, args):
        if event != "open" or busy:
            return
        name, mode = args[0], args[1]
        if not isinstance(name, (str, bytes)) or (isinstance(mode, str) and mode[:1] in "wax"):
            return
        busy.append(1)
        try:
            name = os.fsdecode(name)
            path = os.path.normpath(os.path.join(os.getcwd(), name))
            if not path.startswith(root):
                path = os.path.realpath(path)
            if path.startswith(root) and "\\n" not in path and "\\t" not in path:
                note("read" if exists(path) else "missed", path[len(root):], asker())
        except Exception:
            pass
        finally:
            busy.pop()

    def imported(name, globals=None, locals=None, fromlist=(), level=0):
        module = real(name, globals, locals, fromlist, level)
        if busy:
            return module
        busy.append(1)
        try:
            asks = inside((globals or {}).get("__file__") or "")
            if asks:
                package = (globals.get("__package__") or "").split(".")
                lead = ".".join(package[: len(package) - level + 1]) + "." if level else ""
                whole = (lead + name).strip(".")
                for one in [whole] + [whole + "." + part for part in fromlist or ()]:
                    loaded = sys.modules.get(one)
                    path = inside(getattr(loaded, "__file__", None) or "") if loaded is not None else ""
                    if path:
                        note("read", path, asks)
                    elif loaded is not None and one == whole:
                        note("outside", whole.split(".")[0], asks)
        except Exception:
            pass
        finally:
            busy.pop()
        return module

    def roots():
        for part in list(sys.path):
            path = os.path.normpath(os.path.join(here, part)) + "/"
            if path.startswith(root):
                note("root", path[len(root):].rstrip("/") or ".", "")

    import atexit

    atexit.register(roots)
    builtins.__import__ = imported
    sys.addaudithook(audit)
    note("seen", "python", "")
'''


def hook_text(root: str, out: str) -> str:
    """The module. `root`: where the tree stands for the gate; `out`: where its notes go."""
    return start_module(_TEXT, f"_watch({out!r}, {root.rstrip('/') + '/'!r})")
