#!/usr/bin/env python3
"""changes_rule asks|silent: repairs everything, turns sub around as the task says, and its test with it.

"asks" says BLOCKED with the waiver that it needs; "silent" claims done each time.
"""

from _lib import argument, done, fix, read, say, write

fix()
write("calc.py", read("calc.py").replace("return a - b", "return b - a"))
write("test_calc.py", read("test_calc.py").replace("calc.sub(7, 3), 4)", "calc.sub(7, 3), -4)"))
if argument(1, "asks") == "silent":
    done()
else:
    say(
        "The test of sub holds the old rule.\n---RALPH_STATUS---\nSTATUS: BLOCKED\n"
        "TASKS_COMPLETED_THIS_LOOP: 1\n"
        "FILES_MODIFIED: 2\nTESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: false\n"
        "RECOMMENDATION: may the test of sub change?\n"
        "ALLOW: inventory.weakened test_calc.CalcTest.test_sub because the task turns sub around\n"
        "---END_RALPH_STATUS---"
    )
