"""Starts ralph and kills it with SIGKILL at the n-th call or return of one of its functions.

    dying.py ralph.shell.journal.writer.SqliteJournal.append:call:3 loop "make the tests pass" …

The interpreter's own profile hook looks on; nothing of ralph is changed. `call` is right before it
begins, `return` right after it has done its work.
"""

import importlib
import os
import signal
import sys


def die_at(place):
    """Install the hook: the whole process is gone at that instant, as by kill -9 from outside."""
    path, event, count = place.split(":")
    name = path.rpartition(".")[2]
    left = int(count)
    pid = os.getpid()

    def look(frame, seen, _argument):
        nonlocal left
        if seen != event or frame.f_code.co_name != name:  # asked a million times
            return
        if path == f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}" and os.getpid() == pid:
            left -= 1
            if left == 0:
                os.kill(pid, signal.SIGKILL)

    sys.setprofile(look)


def prepare(command):
    """Import now what a loop imports late: looking on while modules are made would double the time."""
    from ralph.ui.cli.tree import module_of

    names = [module_of(command), "ralph.shell.journal.writer"]
    if command in ("loop", "resume"):
        names += ["ralph.shell.run.open", "ralph.shell.attestation.envelope", "jinja2"]
    for name in names:
        importlib.import_module(name)


if __name__ == "__main__":
    place = sys.argv.pop(1)
    from ralph.ui.cli.main import main

    prepare(sys.argv[1])
    sys.argv[0] = "ralph"
    die_at(place)
    sys.exit(main())
