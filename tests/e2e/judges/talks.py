#!/usr/bin/env python3
"""talks CALL: speaks without a verdict until this call of the loop, then gives 9 for everything."""

import os
import sys

from _verdict import answer

if int(os.environ["RALPH_CALL"]) < int(sys.argv[1]):
    print('The work is fine, I would say {"scores": 10')
else:
    answer(9)
