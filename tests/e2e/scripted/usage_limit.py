#!/usr/bin/env python3
"""usage_limit [SECONDS [CALLS]]: reports a usage limit in its first CALLS calls (default 1).

The limit is lifted after SECONDS (default 2). Later calls repair everything.
"""

import sys
import time

from _lib import argument, call, done, event, fix

if call() <= int(argument(2, "1")):
    event("limit", message="usage limit reached", reset_at=time.time() + float(argument(1, "2")))
    sys.exit(1)
fix()
done()
