#!/usr/bin/env python3
"""flood_200mb [MB]: prints MB megabytes (default 200) of plain lines, repairs everything, claims done."""

import os

from _lib import argument, done, fix

BLOCK = b"compiling module after module, eighty characters wide, on and on and on and on\n" * 13_000
left = int(argument(1, "200")) * 1_000_000
while left > 0:
    left -= os.write(1, BLOCK[:left])
fix()
done()
