#!/usr/bin/env python3
"""Breaks what was green in its first two calls, then repairs everything from wherever it stands."""

from _lib import append, done, fix, iteration, more, read, set_body, write

if iteration() <= 2:
    write("calc.py", set_body(read("calc.py"), "sub", "a * 1000"))
    append("calc.py", f"\n# idea {iteration()}\n")
    more("sub is next")
else:
    fix()
    done()
