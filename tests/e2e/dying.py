"""Starts ralph and kills it with SIGKILL at the n-th call or return of one of its functions.

    dying.py ralph.shell.journal.Journal.append:call:3 loop "make the tests pass" …

The interpreter's own profile hook looks on; nothing of ralph is changed. `call` is right before it
begins, `return` right after it has done its work.
"""

import os
import signal
import sys


def die_at(place):
    """Install the hook: the whole process is gone at that instant, as by kill -9 from outside."""
    path, event, count = place.split(":")
    left = int(count)
    pid = os.getpid()

    def look(frame, seen, _argument):
        nonlocal left
        code = frame.f_code
        if (
            seen == event
            and path.endswith(code.co_qualname)
            and path == f"{frame.f_globals.get('__name__')}.{code.co_qualname}"
            and os.getpid() == pid
        ):
            left -= 1
            if left == 0:
                os.kill(pid, signal.SIGKILL)

    sys.setprofile(look)


if __name__ == "__main__":
    place = sys.argv.pop(1)
    from ralph.ui.main import main

    sys.argv[0] = "ralph"
    die_at(place)
    sys.exit(main())
