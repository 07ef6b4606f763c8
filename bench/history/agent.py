"""A scripted agent: puts a release in place of what is there, and says that it is done.

`place.make_agent` writes it out as an executable of its own, with the files of the release as its order.
"""

import base64
import os
import sys

ORDER = {}
CLAIM = """I did what the task asks for; the tests pass.
---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: {files}
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: done
---END_RALPH_STATUS---"""

sys.stdin.read()
for path in ORDER["delete"]:
    if os.path.lexists(path):
        os.unlink(path)
for path, (content, executable) in ORDER["write"].items():
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(base64.b64decode(content))
    os.chmod(path, 0o755 if executable else 0o644)
print(CLAIM.format(files=len(ORDER["write"]) + len(ORDER["delete"])), flush=True)
