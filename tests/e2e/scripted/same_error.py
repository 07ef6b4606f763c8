#!/usr/bin/env python3
"""Changes the tree in every call, and the failure stays exactly the same."""

from _lib import append, iteration, more

append("calc.py", f"\n# thought {iteration()}\n")
more("I added a thought")
