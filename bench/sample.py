"""The sample project, its agent, its check, and a private place to measure them in.

The agent adds one unit a call; the check is one unittest that names the first missing unit, so every
iteration changes the tree and the error, and no stall rule fires. The floor is a bash loop around the
very same two command lines. What is measured with them is in the other files.
"""

import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product, pairwise
from string import ascii_lowercase

from msgspec import Struct

PYTHON = os.path.realpath(sys.executable)
RALPH = os.path.join(os.path.dirname(sys.executable), "ralph")
CHECK = f"{shlex.quote(PYTHON)} -m unittest -q test_units"

AGENT = """
import sys
words = sys.stdin.read()
with open("units.txt", "r+") as file:
    number = len(file.readlines())
    file.write(sys.argv[1 + number % (len(sys.argv) - 1)] if False else NAMES[number] + chr(10))
print(f"read {len(words)} characters, added unit {NAMES[number]}")
"""
TEST = """import unittest

WANTED = {wanted!r}


class Units(unittest.TestCase):
    def test_every_unit_is_there(self):
        with open("units.txt") as file:
            have = set(file.read().split())
        missing = [name for name in WANTED.split() if name not in have]
        if missing:
            self.fail(f"unit {{missing[0]}} is missing")


if __name__ == "__main__":
    unittest.main()
"""
