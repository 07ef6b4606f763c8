"""The workspace of a loop: a clone in spirit, made of files, that shares the user's objects.

Here: making it, putting it back to a tree, removing everything of a loop. Its `.git` is written for the
agent's use only; Ralph itself never reads it again. Not here: snapshots, checkouts for gates, the sandbox.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence

import msgspec

from ralph.core.model.verdict import Checkpoint
from ralph.errors import Bug, UserError
from ralph.shell.files.safe_tree import open_way, remove_tree
from ralph.shell.files.write_whole import write_whole
from ralph.shell.git.checkout import Submodule, find_modules, hash_files, update_checkout
from ralph.shell.git.project import Project, object_mounts, user_call
from ralph.shell.git.refs import RefChange, loop_ref, move_refs, read_refs
from ralph.shell.git.snapshot import refuse_unknown_objects
from ralph.shell.git.store import Store, disk_error, open_store, write_git_dir, write_pack
from ralph.shell.git.trees import changed_paths, refuse_lfs, tree_of

_AGENT_SETTINGS = (
    ("core.bare", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.logAllRefUpdates", "true"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("user.name", "Ralph workspace"),
    ("user.email", "workspace@localhost"),
)
_BRANCH = "refs/heads/work"


class Workspace(msgspec.Struct, frozen=True):
    store: Store
    path: str
    index: str  # private: of the last snapshot
    base_commit: str
    base_tree: str
    alternates: tuple[str, ...]  # empty: the workspace holds the base's history itself
    modules: tuple[Submodule, ...] = ()

    @property
    def links(self) -> tuple[str, ...]:
        return tuple(module.path for module in self.modules)


def make_workspace(
    store: Store,
    path: str,
    home: str,
    base_commit: str,
    *,
    alternates: str | None = None,
    history: str = "shared",
    newest: Checkpoint | None = None,
) -> Workspace:
    """The workspace at `path` on the base commit. A complete one is left alone, half of one made anew.

    `home` is a folder of the state directory that the agent cannot reach; `newest` what one that was lost
    holds when it is made anew. In another sandbox the same work goes on: only the paths of the user's object
    stores are others.
    """
    project = store.project
    base_tree = tree_of(store, base_commit)
    named = [inside for _, inside in object_mounts(project, alternates)] if history == "shared" else []
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        workspace = Workspace(
            store=store,
            path=path,
            index=os.path.join(home, "workspace.index"),
            base_commit=base_commit,
            base_tree=base_tree,
            alternates=tuple(named),
            modules=find_modules(store, base_tree, home),
        )
        made = os.path.join(home, "workspace.made")
        mark = os.fsencode("\n".join([base_commit, path, *named, ""]))
        found = _read(made).rstrip(b"\n") + b"\n"
        if found.startswith(os.fsencode(f"{base_commit}\n{path}\n")) and os.path.isdir(path):
            if found != mark:
                _name_objects(workspace)
                write_whole(made, mark)
            return workspace
        refuse_unknown_objects(store, base_commit)
        refuse_lfs(store, base_tree)
        for old in (made, path, workspace.index):  # the mark first: half of a new one is none
            remove_tree(old)
        os.makedirs(path, mode=0o700)
        update_checkout(store, path, workspace.index, base_tree, modules=workspace.modules)
        _settle_line_ends(workspace)
        write_workspace_git(workspace, base_commit)
        if newest is not None and newest.tree != base_tree:
            restore_workspace(workspace, newest.tree, newest.commit)
        write_whole(made, mark)
    except OSError as broken:
        raise disk_error(broken, path) from broken
    return workspace


def refuse_base(project: Project, commit: str) -> None:
    """What no workspace can be made of, found before a loop is recorded, and without writing anything."""
    with tempfile.TemporaryDirectory(prefix="ralph-base-") as home:
        store = open_store(project, os.path.join(home, "git"))
        find_modules(store, tree_of(store, commit), home)
        refuse_unknown_objects(store, commit)
        refuse_lfs(store, tree_of(store, commit))


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _name_objects(workspace: Workspace) -> None:
    """Of the agent's `.git` only this file changes; a link of its making is replaced, never followed."""
    open_way(workspace.path, ".git/objects/info")
    path = os.path.join(workspace.path, ".git", "objects", "info", "alternates")
    remove_tree(path + ".new")
    with open(path + ".new", "xb") as file:
        file.write(_alternates(workspace))
    os.replace(path + ".new", path)


def _alternates(workspace: Workspace) -> bytes:
    return os.fsencode("".join(f"{_quote_path(path)}\n" for path in workspace.alternates))


def _settle_line_ends(workspace: Workspace) -> None:
    """Files whose committed bytes break the repository's own line-end rules look changed for ever.

    For those, and only those, the private rules say "bytes as they are": an untouched workspace then
    gives the base tree back.
    """
    store = workspace.store
    seen = hash_files(store, workspace.path, workspace.base_tree)
    if seen == workspace.base_tree:
        return
    lines: list[str] = []
    for change in changed_paths(store, workspace.base_tree, seen, renames=False):
        # Two layers: the pattern's own backslashes, then those of the quotes around it.
        pattern = "".join("\\" + char if char in "*?[\\" else char for char in change.path)
        quoted = pattern.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'"/{quoted}" -text -working-tree-encoding -ident\n')
    with open(os.path.join(store.dir, "info", "attributes"), "ab") as file:
        file.write(b"\n" + os.fsencode("".join(lines)))
    update_checkout(store, workspace.path, workspace.index, workspace.base_tree, modules=workspace.modules)
    if hash_files(store, workspace.path, workspace.base_tree) != workspace.base_tree:
        raise Bug("a checkout of the base does not hash to the base's tree", at=workspace.path)


def write_workspace_git(workspace: Workspace, commit: str) -> None:
    """Gives the workspace a new `.git` at `commit`; whatever was there is removed."""
    project = workspace.store.project
    git_dir = os.path.join(workspace.path, ".git")
    remove_tree(git_dir)
    os.mkdir(git_dir)
    write_git_dir(project, git_dir, _AGENT_SETTINGS, ref=_BRANCH, commit=commit)
    if workspace.alternates:
        with open(os.path.join(git_dir, "objects", "info", "alternates"), "wb") as file:
            file.write(_alternates(workspace))
    else:
        objects = os.path.join(git_dir, "objects")
        write_pack(workspace.store, objects, ["--revs", "--delta-base-offset"], commit.encode() + b"\n")
    shutil.copy2(workspace.index, os.path.join(git_dir, "index"))  # with its time: git goes by it


def _quote_path(path: str) -> str:
    if not path.startswith('"') and "\n" not in path:
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def restore_workspace(workspace: Workspace, tree: str, commit: str) -> None:
    """Makes the workspace exactly `tree` again, with a new `.git` at `commit`; ignored files go too."""
    update_checkout(workspace.store, workspace.path, workspace.index, tree, workspace.modules)
    try:
        write_workspace_git(workspace, commit)
    except OSError as broken:
        raise disk_error(broken, workspace.path) from broken


def remove_loop(
    project: Project,
    name: str,
    *,
    paths: Sequence[str] = (),
    branch: str | None = None,
    result: str | None = None,
) -> None:
    """Removes a loop's refs, its folders, and its result branch if that is still where Ralph put it."""
    changes = [RefChange(ref, None, oid) for ref, oid in read_refs(project, loop_ref(name, "")).items()]
    if branch is not None and result is not None:
        ref = f"refs/heads/{branch}"
        asked = ["for-each-ref", "--format=%(objectname)%00%(worktreepath)", ref]
        now, _, place = os.fsdecode(user_call(project, asked).out).strip("\n").partition("\0")
        if place:
            raise UserError(
                f"branch '{branch}' is checked out at '{place}'",
                code="E-BRANCH-CHECKED-OUT",
                next="git worktree list",
            )
        if now and now != result:
            raise UserError(
                f"branch '{branch}' has moved since Ralph wrote it",
                code="E-BRANCH-TAKEN",
                why=f"it is at {now[:12]}, Ralph left it at {result[:12]}",
                next=f"git log {branch}",
            )
        if now:
            changes.append(RefChange(ref, None, now))
    if changes:
        move_refs(project, changes)
    for path in paths:
        try:
            remove_tree(path)
        except OSError as broken:
            raise disk_error(broken, path) from broken
