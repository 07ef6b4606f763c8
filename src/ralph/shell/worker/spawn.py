"""Starting a `ralph` that needs nobody: no terminal, no starter, no folder; what it says goes to a log.

It is a session of its own, so that neither a closed terminal nor the end of a session reaches it. Its
environment is handed over in memory alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

MAX_LOG_BYTES = 4 << 20  # an older log of this size is begun anew


def ralph_argv(*words: str) -> list[str]:
    """This very Ralph, whatever PATH says: isolated, so that no folder or variable changes what it loads."""
    flags = ["-P"] if "PYTHONPATH" in os.environ else ["-I"]
    return [sys.executable, *flags, "-X", "utf8", "-m", "ralph", *words]


def spawn_detached(argv: list[str], env: Mapping[str, str], log: str) -> subprocess.Popen[bytes]:
    """The process, at work; whoever lives on may wait for it, whoever does not need not."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    out = os.open(log, flags, 0o600)
    try:
        if os.fstat(out).st_size > MAX_LOG_BYTES:
            os.ftruncate(out, 0)
        return subprocess.Popen(
            argv,
            env=dict(env),
            cwd=os.sep,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    finally:
        os.close(out)


def runner_log(root: str, loop: str) -> str:
    """What a detached runner prints besides the loop's own log: trouble, mostly."""
    return os.path.join(root, "logs", f"{loop}.runner.log")
