#!/usr/bin/env python3
"""Goes back and forth between two wrong versions of calc.py: A, B, A, B."""

from _lib import more, read, set_body, write

source = read("calc.py")
turn = "a - b - 1" if "return a - b - 1" not in source else "a - b - 2"
write("calc.py", set_body(source, "add", turn))
more("perhaps this way")
