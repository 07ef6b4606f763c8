#!/usr/bin/env python3
"""scores N [FILE M]: gives N for everything, or M where the result has that file."""

import os
import sys

from _verdict import answer, spent

given, better = sys.argv[1:2], sys.argv[2:4]
spent(100, 0.25)
score = float(better[1] if better and os.path.exists(better[0]) else given[0])
answer(score, "a note is missing", ["write down in NOTES.md what was done"])
