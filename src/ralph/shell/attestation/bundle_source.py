"""The source in a bundle: base and result as a git bundle that needs no other history, and back.

Everything below the base is cut off (a shallow border), so the file holds two commits with all their
files and nothing older. Unpacking is hostile input: it happens in a repository of its own, with no hooks,
filters or templates, and the paths and sizes of the trees are looked at before anything is checked out.
"""

from __future__ import annotations

import os
import tempfile

from ralph.errors import RalphError, UserError
from ralph.shell.git.command import HARMLESS, clean_text, find_git, run_git, scrubbed_env
from ralph.shell.git.project import Project, find_object, find_project, user_call
from ralph.shell.git.store import Store, private_call, write_git_dir

MAX_TREE_BYTES = 4 << 30  # bytes of all files of a tree
MAX_FILES = 500_000
BASE, RESULT = "refs/ralph/base", "refs/ralph/result"


class BadSource(ValueError):  # noqa: N818
    """It does not hold what it should; the message says why."""


def pack(project: Project, base: str, result: str, out: str) -> None:
    """Write the git bundle of these two commits to the file `out`."""
    with tempfile.TemporaryDirectory(prefix="ralph-bundle-") as scratch:
        place = os.path.join(scratch, "git")
        settings = [("gc.auto", "0"), ("pack.threads", "1")]  # one thread: the same pack each time
        write_git_dir(project, place, settings, ref="refs/heads/none", commit=None)
        for name, text in ((BASE, base), (RESULT, result), ("shallow", base)):
            target = os.path.join(place, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="ascii") as file:
                file.write(text + "\n")
        store = Store(project, place, project.object_dirs[0])
        for commit in (base, result):
            if private_call(store, ["cat-file", "-e", f"{commit}^{{tree}}"], ok=None).code:
                raise UserError(
                    f"commit {commit[:12]} is gone from '{project.top}'",
                    code="E-COMMIT-GONE",
                    why="the loop was dropped, or git removed what no ref held",
                    next="ralph status --all",
                )
        private_call(store, ["bundle", "create", "-q", out, BASE, RESULT])


def unpack(source: str, into: str, base: str, result: str, tree: str) -> Project:
    """A repository at `into` that holds exactly these commits; BadSource when the file does not."""
    git = find_git()
    env = scrubbed_env(HARMLESS, private=True)
    form = "sha256" if len(result) == 64 else "sha1"
    os.makedirs(into, mode=0o700)
    args = ["init", "-q", "--template=", "-b", "none", f"--object-format={form}", "."]
    run_git(git, args, env=env, cwd=into)
    with open(os.path.join(into, ".git", "shallow"), "w", encoding="ascii") as file:
        file.write(base + "\n")
    asked = [f"{BASE}:{BASE}", f"{RESULT}:refs/heads/result"]
    words = ["fetch", "-q", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", source, *asked]
    done = run_git(git, words, env=env, cwd=into, ok=None)
    if done.code:
        raise BadSource(f"git cannot read it: {clean_text(done.err, 300)}")
    run_git(git, ["symbolic-ref", "HEAD", "refs/heads/result"], env=env, cwd=into)
    project = find_project(into, git)
    for rev, wanted, what in (
        ("refs/heads/result", result, "result"),
        (BASE, base, "base"),
        ("refs/heads/result^{tree}", tree, "tree of the result"),
    ):
        seen = find_object(project, rev)
        if seen != wanted:
            raise BadSource(f"its {what} is {seen[:12] or 'missing'}, the statement says {wanted[:12]}")
    for rev in ("refs/heads/result", BASE):
        check_tree(project, rev)
    return project


def check_tree(project: Project, rev: str) -> None:
    """Refuse a tree whose paths lead out of it, or that would fill the disk."""
    try:
        listed = user_call(project, ["ls-tree", "-r", "-l", "-z", "--full-tree", rev]).out
    except RalphError as error:
        raise BadSource(f"its tree cannot be listed: {error.why or error.what}") from error
    total = 0
    rows = listed.split(b"\0")[:-1]
    if len(rows) > MAX_FILES:
        raise BadSource(f"its tree has {len(rows)} files, at most {MAX_FILES} are read")
    for row in rows:
        meta, _, path = row.partition(b"\t")
        size = meta.split()[-1]
        total += int(size) if size.isdigit() else 0
        parts = path.split(b"/")
        if path.startswith(b"/") or any(part.lower() in (b"", b".", b"..", b".git") for part in parts):
            raise BadSource(f"a path in its tree leads out of it: {clean_text(path, 100)!r}")
    if total > MAX_TREE_BYTES:
        raise BadSource(f"its tree has {total} bytes, at most {MAX_TREE_BYTES} are checked out")
