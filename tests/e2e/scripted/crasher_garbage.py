#!/usr/bin/env python3
"""crasher_garbage [N]: prints binary garbage and dies in its first N calls (default: always).

Later calls repair everything.
"""

import os
import sys

from _lib import argument, call, done, fix

if call() <= int(argument(1, "1000000")):
    sys.stdout.buffer.write(b'{"ralph": 1, "type": "te\n' + bytes(range(256)) * 8 + b"\x1b]0;never ended")
    sys.stdout.flush()
    os._exit(3)
fix()
done()
