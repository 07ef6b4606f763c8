#!/usr/bin/env python3
"""reviews.py [FILE]: objects while the result has no FILE; without one it has no objection."""

import json
import os
import sys

from _verdict import prompt, spent

assert "Try to refute this work" in prompt()
assert os.environ["RALPH_PURPOSE"] == "review"
wanted = sys.argv[1] if len(sys.argv) > 1 else ""
found = []
if wanted and not os.path.exists(wanted):
    found = [{"problem": f"{wanted} is missing", "where": "calc.py:1", "how": f"ls {wanted}"}]
spent(30, 0.5)
print(json.dumps({"objections": found, "summary": "looked at everything"}), flush=True)
