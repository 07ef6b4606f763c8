#!/usr/bin/env python3
"""Deletes the .git of its workspace, repairs everything, claims done."""

from _lib import done, fix, remove

remove(".git")
fix()
done()
