#!/usr/bin/env python3
"""honest_steps N: repairs the project in exactly N calls (default 2) and claims done only then."""

from _lib import append, argument, broken, done, fix, iteration, more, read

steps = int(argument(1, "2"))
bugs = len(broken(read("calc.py")))
left = max(0, steps - iteration())
keep = -(-bugs * left // (left + 1)) if left else 0
if bugs > keep:
    fix(bugs - keep)
else:
    append("NOTES.md", f"call {iteration()}: read the code\n")
if left:
    more(f"{left} more to go")
else:
    done()
