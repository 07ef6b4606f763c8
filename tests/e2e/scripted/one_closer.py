#!/usr/bin/env python3
"""Comes one closer in each call: the number in steps.py grows by one, and nothing else changes."""

import re

from _lib import more, read, write

write("steps.py", re.sub(r"\d+", lambda found: str(int(found[0]) + 1), read("steps.py")))
more("one closer")
