"""Paths as text: what lies below what. Nothing here looks at the disk."""

from __future__ import annotations


def covers(folder: str, path: str) -> bool:
    """True when `path` is `folder` or below it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
