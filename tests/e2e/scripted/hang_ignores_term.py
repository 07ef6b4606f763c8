#!/usr/bin/env python3
"""Says a word and never ends; ignores SIGTERM, SIGINT and SIGHUP."""

import signal
import time

from _lib import say

for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(ignored, signal.SIG_IGN)
say("nobody tells me what to do")
while True:
    time.sleep(60)
