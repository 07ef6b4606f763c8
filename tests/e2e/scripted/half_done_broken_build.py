#!/usr/bin/env python3
"""half_done_broken_build [recover]: repairs add, leaves calc.py with a syntax error and claims done.

With `recover` a later call that finds the error repairs everything.
"""

from _lib import append, argument, done, fix, read, write

JUNK = "\n\ndef unfinished(:\n"
source = read("calc.py")
if JUNK not in source:
    fix(1)
    append("calc.py", JUNK)
elif argument(1, "") == "recover":
    write("calc.py", source.replace(JUNK, ""))
    fix()
done()
