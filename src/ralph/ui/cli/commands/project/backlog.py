"""`ralph backlog`: the project's durable queue of items."""

from __future__ import annotations

from ralph.ui.cli.backlog import files, items, s3, work
from ralph.ui.cli.backlog.group import backlog

__all__ = ["files", "items", "s3", "work"]
command = backlog
