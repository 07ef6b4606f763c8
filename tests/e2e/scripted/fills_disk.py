#!/usr/bin/env python3
"""fills_disk [MB]: writes junk.bin of MB megabytes (default 100) or until the disk is full, claims done."""

from _lib import argument, done, fix, say

fix()
try:
    with open("junk.bin", "wb", buffering=0) as junk:
        left = int(argument(1, "100")) * 1_000_000
        while left > 0:
            left -= junk.write(b"\0" * min(left, 1_000_000))
except OSError as error:
    say("disk:", error)
done()
