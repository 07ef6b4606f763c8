#!/usr/bin/env python3
"""Writes to seen.json which paths it could read, or open to write ("w:"); repairs everything, claims done."""

import json
import os
import sys

from _lib import done, fix, write


def attempt(word):
    try:
        if word.startswith("w:"):
            os.close(os.open(word[2:], os.O_WRONLY))  # opened, never written
            return "opened"
        if os.path.isdir(word):
            return sorted(os.listdir(word))
        with open(word, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return None


write("seen.json", json.dumps({word: attempt(word) for word in sys.argv[1:]}))
fix()
done()
