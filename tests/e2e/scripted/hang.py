#!/usr/bin/env python3
"""Says a word and never ends; goes quietly on SIGTERM."""

import time

from _lib import say

say("waiting for an answer")
while True:
    time.sleep(60)
