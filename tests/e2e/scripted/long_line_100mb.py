#!/usr/bin/env python3
"""long_line_100mb [MB]: prints one line of MB megabytes (default 100), repairs everything, claims done."""

import os

from _lib import argument, done, fix, say

left = int(argument(1, "100")) * 1_000_000
while left > 0:
    left -= os.write(1, (b"{" + b"x" * 999_999)[:left])
say()
fix()
done()
