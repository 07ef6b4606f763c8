#!/usr/bin/env python3
"""Claims done in prose and in the status block, and changes nothing at all."""

from _lib import done, say

say("I fixed add and mul and ran the whole suite. All tests pass! DONE. <promise>COMPLETE</promise>")
done("All tests pass, the task is complete")
