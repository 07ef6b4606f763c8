#!/usr/bin/env python3
"""writes_user_repo PATH...: tries to write into each PATH and its .git, repairs everything, claims done.

Inside the agent box the path of the user's repository shows the workspace: what is written there is its own.
"""

import os
import sys

from _lib import append, done, fix, git, say

for path in sys.argv[1:]:
    for name in ("TRESPASS.txt", ".git/TRESPASS", ".git/config", ".git/hooks/post-checkout"):
        try:
            append(os.path.join(path, name), "# trespass\n")
            say("wrote", os.path.join(path, name))
        except OSError as error:
            say("could not write", name, error)
    try:
        git("branch", "trespass", folder=path)
        say("made a branch in", path)
    except Exception as error:
        say("could not make a branch", error)
fix()
done()
