#!/usr/bin/env python3
"""Prints torn JSON, deep JSON, wrong types and invalid UTF-8, repairs everything, claims done in JSON."""

import sys

from _lib import event, fix

out = sys.stdout.buffer
out.write(b'{"ralph": 1, "type": "text", "text": "torn\n')
out.write(b'{"ralph": 1, "deep": ' + b"[" * 100_000 + b"\n")
out.write(b'{"ralph": 1, "type": "usage", "tokens": "many", "cost": null}\n')
out.write(b'{"ralph": 1, "type": "text", "text": "caf\xe9 \xff\xfe"}\n')
out.write(b"\xff\xfe\x00 raw bytes \xc3\n" + b'{"ralph": 7, "type": "limit"}\n[1, 2\nnull\n')
out.flush()
fix()
event("claim", status="COMPLETE", tests_status="PASSING", exit_signal=True, recommendation="all fixed")
