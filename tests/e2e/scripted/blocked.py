#!/usr/bin/env python3
"""blocked [WORD]: says BLOCKED with a reason and changes nothing.

If WORD stands in the prompt (an answer of the user), it repairs everything instead.
"""

import sys

from _lib import argument, done, fix, say, status

word = argument(1, "")
if word and word in sys.stdin.read():
    fix()
    done("with your answer I could finish")
else:
    say("I cannot know what mul is meant to do.")
    status("BLOCKED", "NOT_RUN", "Blocked: is mul a product or a sum?")
