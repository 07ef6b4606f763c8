"""The user's repository as Ralph found it: where it is, what it stands on, and why it may be refused.

Here: finding, refusing, warning, and the one way to run git against the user's own git directory without
running anything the repository configured. Not here: anything that writes (gitrefs, snapshot, landing).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence

import msgspec

from ralph.errors import RalphError, SetupError, UserError
from ralph.shell.git.child import GitResult
from ralph.shell.git.command import (
    HARMLESS,
    Git,
    clean_text,
    find_git,
    git_error,
    no_filters,
    run_git,
    scrubbed_env,
)

LARGE_BYTES = 50 * 1024 * 1024
MAKER = "RALPH_STORE"  # tells a git of ours that outlived its Ralph from one of the user's
_MAX_SHOWN = 5

_UNFINISHED: tuple[tuple[str, str, str, str], ...] = (
    ("MERGE_HEAD", "merge", "E-GIT-MERGING", "git merge --abort"),
    ("rebase-merge", "rebase", "E-GIT-REBASING", "git rebase --abort"),
    ("rebase-apply", "rebase", "E-GIT-REBASING", "git rebase --abort"),
    ("CHERRY_PICK_HEAD", "cherry-pick", "E-GIT-PICKING", "git cherry-pick --abort"),
    ("REVERT_HEAD", "revert", "E-GIT-REVERTING", "git revert --abort"),
    ("BISECT_LOG", "bisect", "E-GIT-BISECTING", "git bisect reset"),
)


class Project(msgspec.Struct, frozen=True):
    git: Git
    top: str
    git_dir: str
    common_dir: str
    object_dirs: tuple[str, ...]  # the store itself first, then its chain of alternates
    object_format: str
    branch: str | None  # full ref name; None when HEAD is detached
    head: str
    prefix: str  # of the folder Ralph was called in, inside `top`; "" or "a/b/"
    config: dict[str, str]  # the user's effective configuration, last value wins
    filters: tuple[str, ...]
    notes: str = ""  # a folder of the state directory, where it is noted what is being moved here


def find_project(cwd: str, git: Git | None = None) -> Project:
    """The repository around `cwd`, or a refusal that says what to do about it."""
    git = git or find_git()
    where = os.path.realpath(cwd)
    asked = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir"]
    asked += ["--git-common-dir", "--show-object-format", "--show-prefix", "--show-toplevel"]
    asked += ["HEAD^{commit}", "--symbolic-full-name", "HEAD"]
    done = run_git(git, asked, env=scrubbed_env(HARMLESS), cwd=where, ok=None)
    lines = os.fsdecode(done.out).split("\n")[:-1]
    if done.code != 0 or len(lines) != 9:
        raise _not_usable(done, lines, where)
    git_dir, common, form, prefix, top, head, symbol = lines[2:]
    common = os.path.realpath(os.path.join(where, common))
    refuse_unfinished(git_dir)
    config = _read_config(git, where)
    return Project(
        git=git,
        top=top,
        git_dir=git_dir,
        common_dir=common,
        object_dirs=_object_dirs(os.path.join(common, "objects")),
        object_format=form,
        branch=symbol if symbol.startswith("refs/heads/") else None,
        head=head,
        prefix=prefix,
        config=config,
        filters=_filters(config),
    )


def _not_usable(done: GitResult, lines: list[str], where: str) -> RalphError:
    text = clean_text(done.err)
    if "not a git repository" in text:
        return UserError(
            f"'{where}' is not inside a git repository",
            code="E-GIT-NONE",
            at=where,
            why="a loop works on a copy of a commit",
            next="git init && git add -A && git commit -m start",
        )
    if lines[:1] == ["true"]:
        return UserError(
            f"'{where}' is a bare repository",
            code="E-GIT-BARE",
            at=where,
            why="there is no work tree to copy",
            next=f"git clone '{where}'",
        )
    if lines[1:2] == ["false"]:
        return UserError(
            f"'{where}' is inside a git directory, not a work tree",
            code="E-GIT-INSIDE",
            at=where,
            next="cd ..",
        )
    if "HEAD" in text and len(lines) >= 7:
        return UserError(
            "the repository has no commits yet",
            code="E-GIT-EMPTY",
            at=lines[6],
            why="a loop starts from a commit",
            next="git add -A && git commit -m start",
        )
    if done.code == 0:
        return UserError("the repository's path holds a line break", code="E-GIT-PATH", at=where, next="pwd")
    return git_error(done, ["rev-parse"], where)


def refuse_unfinished(git_dir: str) -> None:
    """Stops when a merge, rebase, cherry-pick, revert or bisect is under way."""
    for name, what, code, abort in _UNFINISHED:
        if os.path.lexists(os.path.join(git_dir, name)):
            raise UserError(
                f"a {what} is in progress",
                code=code,
                at=os.path.join(git_dir, name),
                why="the work tree is between two commits; finish or abort it first",
                next=abort,
            )


def _read_config(git: Git, where: str) -> dict[str, str]:
    out = run_git(git, ["config", "--list", "-z"], env=scrubbed_env(), cwd=where).out
    config: dict[str, str] = {}
    for entry in os.fsdecode(out).split("\0")[:-1]:
        key, newline, value = entry.partition("\n")
        config[key] = value if newline else "true"
    return config


def _filters(config: Mapping[str, str]) -> tuple[str, ...]:
    names = {key[7:].rpartition(".")[0] for key in config if key.startswith("filter.") and key.count(".") > 1}
    return tuple(sorted(names))


def _object_dirs(first: str) -> tuple[str, ...]:
    """The object store and every store it borrows from, each once (a loop of alternates ends)."""
    found: list[str] = []
    todo = [first]
    while todo:
        here = os.path.realpath(todo.pop(0))
        if here in found or not os.path.isdir(here):
            continue
        found.append(here)
        try:
            with open(os.path.join(here, "info", "alternates"), "rb") as file:
                listed = file.read(1 << 20)
        except OSError:
            continue
        lines = os.fsdecode(listed).splitlines()
        todo += [os.path.join(here, line) for line in lines if line and not line.startswith("#")]
    if not found:
        raise SetupError(
            "the repository's object store is missing", code="E-GIT-OBJECTS", at=first, next="git fsck"
        )
    return tuple(found)


def user_call(
    project: Project,
    args: Sequence[str | bytes],
    *,
    stdin: bytes = b"",
    ok: Sequence[int] | None = (0,),
    index: str | None = None,
) -> GitResult:
    """Git against the user's own repository, with every program its configuration names switched off."""
    env = scrubbed_env((*HARMLESS, *no_filters(project.filters)))
    env["GIT_DIR"] = project.git_dir
    env["GIT_WORK_TREE"] = project.top
    if index is not None:
        env["GIT_INDEX_FILE"] = index
    if project.notes:
        env[MAKER] = project.notes
    return run_git(project.git, args, env=env, cwd=project.top, stdin=stdin, ok=ok)


def find_object(project: Project, rev: str) -> str:
    """The id of what a user's words mean here; "" = nothing."""
    asked = ["rev-parse", "-q", "--verify", "--end-of-options", rev]
    done = user_call(project, asked, ok=None)
    return "" if done.code else done.out.decode("ascii", "replace").strip()


def committed_file(project: Project, commit: str, path: str) -> bytes | None:
    """What a file holds in a commit; None where it has none of that name."""
    done = user_call(project, ["cat-file", "blob", f"{commit}:{path}"], ok=None)
    return None if done.code else done.out


def is_ancestor(project: Project, old: str, new: str) -> bool:
    return user_call(project, ["merge-base", "--is-ancestor", old, new], ok=None).code == 0


def uncommitted_paths(project: Project) -> list[str]:
    """Files whose content differs from HEAD, and new ones that nothing ignores, without what is nested."""
    asked = ["status", "--porcelain", "-z", "--no-renames", "-uall", "--ignore-submodules=all"]
    listed = user_call(project, asked).out.split(b"\0")[:-1]
    return [os.fsdecode(entry[3:]) for entry in listed if not entry.endswith(b"/")]


def name_some(paths: Sequence[str]) -> str:
    """The first of them in words, and how many more."""
    shown = ", ".join(f"'{path}'" for path in paths[:_MAX_SHOWN])
    return shown if len(paths) <= _MAX_SHOWN else f"{shown} and {len(paths) - _MAX_SHOWN} more"


def start_warnings(project: Project) -> list[str]:
    """What a careful person would mention before starting here; sentences, none of them a refusal."""
    said: list[str] = []
    config = project.config
    if config.get("core.sparsecheckout", "").lower() == "true":
        said.append(
            "this is a sparse checkout: the loop sees the whole tree, also what is not checked out here"
        )
    if os.path.exists(os.path.join(project.common_dir, "shallow")):
        said.append("this is a shallow clone: the agent sees only the history that is here")
    if any(key.endswith(".promisor") or key == "extensions.partialclone" for key in config):
        said.append("this is a partial clone: objects that are not here yet are not fetched by Ralph")
    active = [name for name in project.filters if name != "lfs"]
    if active:
        said.append(f"filters are configured and not applied in the loop: {', '.join(active)}")
    if user_call(project, ["show-ref", "--verify", "-q", "refs/heads/ralph"], ok=None).code == 0:
        said.append("a branch called 'ralph' is in the way of result branches 'ralph/<name>': use --branch")
    tracked, links = _tracked_files(project)
    untracked = user_call(project, ["ls-files", "-o", "--exclude-standard", "-z"]).out.split(b"\0")[:-1]
    nested = [os.fsdecode(path) for path in untracked if path.endswith(b"/")]
    if nested:
        said.append(f"repositories inside this one are not part of the loop: {name_some(nested)}")
    large = [
        os.fsdecode(path) for path in (*tracked, *untracked) if regular_size(project.top, path) > LARGE_BYTES
    ]
    if large:
        said.append(f"files over 50 MB: {name_some(large)}")
    dirty = [path for path, commit in links if _submodule_moved(project, path, commit)]
    if dirty:
        said.append(f"submodules with changes of their own, which the loop does not see: {name_some(dirty)}")
    return said


def _tracked_files(project: Project) -> tuple[list[bytes], list[tuple[str, str]]]:
    files: list[bytes] = []
    links: list[tuple[str, str]] = []
    for entry in user_call(project, ["ls-files", "-s", "-z"]).out.split(b"\0")[:-1]:
        meta, _, path = entry.partition(b"\t")
        mode, oid, _stage = meta.split(b" ")
        if mode == b"160000":
            links.append((os.fsdecode(path), oid.decode()))
        else:
            files.append(path)
    return files, links


def regular_size(top: str, path: bytes) -> int:
    try:
        found = os.lstat(os.path.join(os.fsencode(top), path))
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def submodule_git_dir(project: Project, path: str, name: str | None = None) -> str | None:
    """Where the user's local copy of a submodule keeps its objects, or None when it is not here."""
    mark = os.path.join(project.top, path, ".git")
    places: list[str] = []
    if os.path.isdir(mark):
        places.append(mark)
    elif os.path.isfile(mark):
        with open(mark, "rb") as file:
            line = os.fsdecode(file.read(65536)).strip()
        if line.startswith("gitdir:"):
            places.append(os.path.join(project.top, path, line[7:].strip()))
    for stem in {name or path, path}:
        places += [os.path.join(base, "modules", stem) for base in (project.git_dir, project.common_dir)]
    for place in places:
        if os.path.isdir(os.path.join(place, "objects")) and os.path.isfile(os.path.join(place, "HEAD")):
            return os.path.realpath(place)
    return None


def _submodule_moved(project: Project, path: str, commit: str) -> bool:
    folder = os.path.join(project.top, path)
    git_dir = submodule_git_dir(project, path)
    if git_dir is None or not os.path.lexists(os.path.join(folder, ".git")):
        return False
    env = scrubbed_env(HARMLESS)
    env["GIT_DIR"] = git_dir
    env["GIT_WORK_TREE"] = folder
    head = run_git(project.git, ["rev-parse", "-q", "--verify", "HEAD"], env=env, cwd=folder, ok=None).out
    if head.decode().strip() != commit:
        return True
    # Its own configuration may name filters; they are read first and switched off.
    listed = run_git(
        project.git, ["config", "--name-only", "--get-regexp", r"^filter\."], env=env, cwd=folder, ok=None
    )
    names = _filters(dict.fromkeys(os.fsdecode(listed.out).split("\n")[:-1], ""))
    env |= scrubbed_env((*HARMLESS, *no_filters(names)))
    asked = ["ls-files", "-m", "-o", "--exclude-standard", "-z"]
    return bool(run_git(project.git, asked, env=env, cwd=folder, ok=None).out)


def object_mounts(project: Project, inside: str | None) -> list[tuple[str, str]]:
    """Each object store of the user and the path at which a workspace names it.

    `inside` is where the sandbox binds the first one; the chain of alternates follows at `inside.1`, ….
    Without a sandbox (None) each stands at its own path.
    """
    if inside is None:
        return [(path, path) for path in project.object_dirs]
    names = (inside if number == 0 else f"{inside}.{number}" for number in range(len(project.object_dirs)))
    return list(zip(project.object_dirs, names, strict=True))
