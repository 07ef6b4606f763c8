#!/usr/bin/env python3
"""Repairs everything and commits it itself, with a branch, a tag, a stash and a moved HEAD; claims done."""

from _lib import append, done, fix, git, iteration

append("scratch.txt", "left over\n")
git("add", "scratch.txt")
git("stash")
fix()
git("checkout", "--quiet", "-b", f"own-{iteration()}")
git("add", "--all")
git("commit", "--quiet", "--allow-empty", "-m", "fix calc")
git("tag", f"own-tag-{iteration()}")
done()
