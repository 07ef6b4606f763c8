#!/usr/bin/env python3
"""Makes a repository with a commit inside a sub-folder, repairs everything, claims done."""

import os

from _lib import done, fix, git, write

os.makedirs("sub", exist_ok=True)
write("sub/inner.py", "INNER = 1\n")
if not os.path.exists("sub/.git"):
    git("init", "--quiet", folder="sub")
    git("add", "inner.py", folder="sub")
    git("commit", "--quiet", "-m", "inner", folder="sub")
fix()
done()
