"""Every number by which a loop decides that it is stuck, warns of it, or takes work back.

What the numbers are compared with is measured once for each iteration, in `measure`.
"""

from __future__ import annotations

# The score of one iteration.
CHANGED, UNCHANGED = 1, -3
ITEM_DONE = 5
PER_CHECK, CHECKS_CAP = 3, 10  # checks newly passing or failing, and how many of them count
OTHER_ERROR, SAME_ERROR_AGAIN = 2, -2
UNDONE = -1  # back to a tree that was there before

# In a row, each without progress: stalled.
IDLE_STALL = 3  # nothing changed
ERROR_STALL = 5  # the same error
OUTLINE_STALL = 10  # the same error but for its numbers: they may come closer, or be noise
TURNS_STALL = 6  # two versions, or two sets of failures, in turns
AIMLESS_STALL = 20  # whatever was said, never fewer red

# In a row: the next prompt asks for something else.
EARLY_SIGN = 2
ERROR_REDIRECT = 3
TURNS_REDIRECT = 4
TREND = 3  # iterations that a trend needs
TESTING_WINDOW, TESTING_SHARE = 5, 0.8

# A human must look.
MAX_APPROACHES = 3  # distinct ones that end in one error (rule 12)
TWEAK_LINES, TWEAK_SHARE = 3, 0.1  # a change this much alike, in the same files, is the same approach
INTEGRITY_CAP = 2  # iterations with integrity findings
DENIAL_CAP = 2  # calls in a row that were refused a permission

# Work goes back after so many in a row that are worse than the best checkpoint.
WORSE_IN_ROW = 2

# After a resume.
PROBE_ABOVE = 0  # score that a probe must exceed
WATCH = 3  # iterations in which the same trouble opens the breaker at once

# Warnings, which end nothing.
ON_ONE_ITEM = 20
CALLS_USED_PERCENT = 80
SILENCE_PERCENT = 70

# What a loop remembers. Every rule looks at fewer.
MAX_FOOTPRINTS = 24
MAX_SCORES_SHOWN = 12
MAX_TURNS = 20
MAX_DEMANDS = 24
MAX_ATTEMPTS = 60
