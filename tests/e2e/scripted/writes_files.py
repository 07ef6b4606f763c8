#!/usr/bin/env python3
"""writes_files BASE64 [silent|COMPLETE|IN_PROGRESS]: writes the files of a JSON table."""

import base64
import json
import os

from _lib import argument, status, write

for path, text in json.loads(base64.b64decode(argument(1, "e30="))).items():
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, text)
word = argument(2, "silent")
if word != "silent":
    status(word)
