#!/usr/bin/env python3
"""team_coder FIRST SECOND: writes the files of the first JSON table, of the second when a reviewer spoke."""

import base64
import json
import sys

from _lib import argument, status, write

told = sys.stdin.read()
table = argument(2 if "output of the reviewer" in told else 1, "e30=")
for path, text in json.loads(base64.b64decode(table)).items():
    write(path, text)
status("COMPLETE")
