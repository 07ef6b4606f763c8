"""The activity log that a user asked for: one line for each start, end, approval and merge of a loop."""

from __future__ import annotations

import os
import stat

from ralph.core.model.events import AnyEvent
from ralph.core.model.loop import Loop
from ralph.core.views.notices import activity_line


def log_activity(event: AnyEvent, loop: Loop) -> str:
    """Append the line, if this fact has one; why not, where that was not possible. No loop stops for it."""
    path = loop.sealed.people.activity_log
    line = activity_line(event, loop) if path else ""
    if not line:
        return ""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        log = os.open(path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(log).st_mode):
                return f"the activity log '{path}' is no file"
            os.write(
                log, f"{line}\n".encode("utf-8", "replace")
            )  # one call: lines of several loops stay whole
        finally:
            os.close(log)
    except OSError as error:
        return f"the activity log '{path}' cannot be written: {error.strerror}"
    return ""
