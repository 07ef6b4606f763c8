"""Hash of everything that promise 4 protects: a user's whole repository but for what Ralph may add.

Allowed to differ: objects, `refs/ralph/*`, branches below `ralph/`, `refs/notes/ralph`. Everything else,
down to file modes and modification times of the work tree, the bytes of the index, the stash with its
reflog, configuration and hooks, counts.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess


def git(cwd, *args, stdin=None, check=True, env=None):
    """The user's own git, with an identity and without the machine's configuration."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    clean |= {"GIT_CONFIG_NOSYSTEM": "1", "HOME": os.environ["HOME"], "LC_ALL": "C"}
    for role in ("AUTHOR", "COMMITTER"):
        clean |= {f"GIT_{role}_NAME": "user", f"GIT_{role}_EMAIL": "user@localhost"}
        clean |= {f"GIT_{role}_DATE": "1700000000 +0000"}
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "gc.auto=0", *args],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        check=False,
        env=clean | (env or {}),
    )
    if check and done.returncode:
        raise AssertionError(f"git {args}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def user_state(top) -> dict[str, str]:
    """Each protected thing and its fingerprint; compare two of these to see what was touched."""
    top = os.fsdecode(top)
    state = dict(_files(top, ".", skip_git=True))
    git_dir = git(top, "rev-parse", "--absolute-git-dir")
    common = os.path.realpath(os.path.join(top, git(top, "rev-parse", "--git-common-dir")))
    for root in {git_dir, common}:
        for name, print_ in _files(root, ".", skip_git=False):
            if not _allowed(name):
                state[f"{root}:{name}"] = print_
    refs = git(top, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    kept = (
        line for line in refs if not line.startswith(("refs/ralph/", "refs/heads/ralph/", "refs/notes/ralph"))
    )
    state["refs"] = "\n".join(kept)
    return state


def same_user(before: dict[str, str], after: dict[str, str]) -> None:
    """Fails with the names of what changed."""
    changed = sorted(k for k in before.keys() | after.keys() if before.get(k) != after.get(k))
    assert not changed, f"the user's repository was touched: {changed}"


def _allowed(name: str) -> bool:
    return name in ("refs", "refs/heads", "packed-refs") or name.startswith(
        ("refs/ralph", "refs/heads/ralph", "refs/notes/ralph")
    )


def _files(top: str, here: str, *, skip_git: bool):
    full = os.path.join(top, here)
    for entry in sorted(os.scandir(full), key=lambda e: e.name):
        if (skip_git and entry.name == ".git" and here == ".") or (not skip_git and entry.name == "objects"):
            continue
        name = os.path.normpath(os.path.join(here, entry.name))
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            yield name, f"dir {found.st_mode:o}"
            yield from _files(top, name, skip_git=skip_git)
        elif stat.S_ISLNK(found.st_mode):
            yield name, f"link {os.readlink(entry.path)}"
        elif stat.S_ISREG(found.st_mode):
            with open(entry.path, "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
            yield name, f"{found.st_mode:o} {found.st_mtime_ns} {digest}"
        else:
            yield name, f"special {found.st_mode:o}"
