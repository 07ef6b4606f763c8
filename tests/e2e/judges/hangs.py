#!/usr/bin/env python3
"""hangs CALL: reads without end until this call of the loop, then gives 9 for everything."""

import os
import sys
import time

from _verdict import answer

if int(os.environ["RALPH_CALL"]) < int(sys.argv[1]):
    print("reading", flush=True)
    time.sleep(3600)
answer(9)
