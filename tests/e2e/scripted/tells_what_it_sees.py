#!/usr/bin/env python3
"""Writes its environment, prompt, folder and arguments to seen.json, repairs everything, claims done."""

import json
import os
import sys

from _lib import done, fix, write

seen = {"env": dict(os.environ), "prompt": sys.stdin.read(), "cwd": os.getcwd(), "argv": sys.argv[1:]}
write("seen.json", json.dumps(seen, indent=1))
fix()
done()
