#!/usr/bin/env python3
"""attacks_spec.py MODE: proposes an edit and a question for a spec, or misbehaves as MODE says."""

import json
import os
import sys
import time

from _verdict import prompt, spent

mode, asked = sys.argv[1], prompt()
assert "Attack this spec" in asked
assert os.environ["RALPH_PURPOSE"] == "review"
for name in ("specs/01-open.md", "planted.md"):  # a proposal is all that it may make
    try:
        with open(name, "a", encoding="utf-8") as file:
            file.write("planted")
        print("WROTE", name)
    except OSError:
        pass
if (mode, "opens fast" in asked) == ("hangs-later", False):
    mode = "hangs"
edit = {"find": "opens fast", "replace": "opens within 200 ms", "why": "no test could decide it"}
answer = {"edits": [edit] if "opens fast" in asked else [], "questions": ["For how long does it stay open?"]}
if mode == "hangs":
    print("hanging", flush=True)
    time.sleep(600)
if mode == "learns" and "# Again" not in asked:
    answer = {"edits": [{**edit, "path": "../../etc/passwd"}], "questions": []}
if mode == "floods":
    print("x" * 3_000_000, flush=True)
spent(100, 0.4)
if mode == "leaks":  # as JSON may write a "t"
    print('{"edits": [], "questions": ["\\u0074oken-of-the-user"]}', flush=True)
    sys.exit()
print("no JSON today" if mode == "talks" else json.dumps(answer), flush=True)
