"""Ralph's private git directory: the only one it uses to read or write files an agent can reach.

A store lives in the state directory, holds a configuration that Ralph wrote (so no filter, hook, driver or
monitor exists in it), and writes its objects straight into the user's object store. Here: making and
calling it, and writing the plain git directory of a workspace. Not here: what is done with it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import msgspec

from ralph.errors import SetupError, machine_error
from ralph.shell.git.child import GitResult
from ralph.shell.git.command import git_error, refuse_dead_folder, run_git, scrubbed_env
from ralph.shell.git.leftovers import sole_user
from ralph.shell.git.project import Project

# Settings that decide how bytes on disk become bytes in a blob: without them a clean tree looks changed.
CARRIED = (
    *("core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks"),
    *("core.precomposeunicode", "core.protecthfs", "core.protectntfs", "core.sharedrepository"),
    "core.bigfilethreshold",
)
_OWN = (
    ("core.bare", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.safecrlf", "false"),
    ("core.logAllRefUpdates", "false"),
    ("core.commentChar", "#"),
    ("index.version", "2"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.addEmbeddedRepo", "false"),
    ("advice.ignoredHook", "false"),
    ("commit.gpgSign", "false"),
)
_LAYOUT = 1  # of the private git directory; a higher one makes it anew


class Store(msgspec.Struct, frozen=True):
    """A private git directory over one object store: the user's, or a submodule's (`objects`)."""

    project: Project
    dir: str
    objects: str


def open_store(project: Project, path: str) -> Store:
    """The private git directory at `path`, made if it is not there; the user's rules are copied once.

    Copied and not linked: what the user edits in the middle of a loop must not change how it is judged.
    """
    project = msgspec.structs.replace(project, notes=path)
    store = Store(project=project, dir=path, objects=project.object_dirs[0])
    stamp = os.path.join(path, "ralph-layout")
    if _read(stamp) == str(_LAYOUT).encode():
        return store
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        _write(os.path.join(path, "user-ignore"), _read(_user_file(project, "core.excludesfile", "ignore")))
        attributes = _read(_user_file(project, "core.attributesfile", "attributes"))
        _write(os.path.join(path, "user-attributes"), attributes)
        own = [
            *_OWN,
            ("core.excludesFile", os.path.join(path, "user-ignore")),
            ("core.attributesFile", os.path.join(path, "user-attributes")),
        ]
        write_git_dir(project, path, own, ref="refs/heads/none", commit=None)
        _write(stamp, str(_LAYOUT).encode())
    except OSError as broken:
        raise disk_error(broken, path) from broken
    return store


def write_git_dir(
    project: Project, path: str, settings: Sequence[tuple[str, str]], *, ref: str, commit: str | None
) -> None:
    """A plain git directory made of files alone: no template, no process, nothing of the user's but rules."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        os.makedirs(os.path.join(path, folder), exist_ok=True)
    carried = [(key, project.config[key]) for key in CARRIED if key in project.config]
    version = "0"
    if project.object_format != "sha1":
        version = "1"
        carried.append(("extensions.objectFormat", project.object_format))
    _write(
        os.path.join(path, "config"),
        config_text([("core.repositoryFormatVersion", version), *carried, *settings]),
    )
    for name in ("exclude", "attributes"):
        _write(os.path.join(path, "info", name), _read(os.path.join(project.common_dir, "info", name)))
    shallow = _read(os.path.join(project.common_dir, "shallow"))
    if shallow:
        _write(os.path.join(path, "shallow"), shallow)
    if commit is not None:
        target = os.path.join(path, ref)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _write(target, commit.encode() + b"\n")
    _write(os.path.join(path, "HEAD"), b"ref: " + os.fsencode(ref) + b"\n")


def config_text(settings: Sequence[tuple[str, str]]) -> bytes:
    """Settings as a git configuration file."""
    lines: list[str] = []
    for key, value in settings:
        section, _, name = key.rpartition(".")
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'[{section}]\n\t{name} = "{quoted}"\n')
    return os.fsencode("".join(lines))


def write_pack(store: Store, objects: str, args: Sequence[str], stdin: bytes) -> None:
    """A pack of the store's objects in another folder of objects.

    Git makes a pack beside its own objects and renames it to where it belongs. Here these are one place: the
    user's repository and the state directory may be on different disks.
    """
    places = {
        "GIT_OBJECT_DIRECTORY": objects,
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quote_place(store.objects),
    }
    pack = os.path.join(objects, "pack", "pack")
    private_call(store, ["pack-objects", "-q", *args, pack], stdin=stdin, extra=places)


def _quote_place(path: str) -> str:
    """As git reads a list of paths between colons."""
    if ":" not in path and not path.startswith('"'):
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def private_call(
    store: Store,
    args: Sequence[str | bytes],
    *,
    work_tree: str | None = None,
    index: str | None = None,
    stdin: bytes = b"",
    ok: Sequence[int] | None = (0,),
    extra: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> GitResult:
    """Git in the private directory; `work_tree` may be a place an agent wrote to.

    `index` is a file of the state directory; one git at a time has it.
    """
    env = scrubbed_env(private=True)
    env["GIT_DIR"] = store.dir
    env["GIT_OBJECT_DIRECTORY"] = store.objects
    env["GIT_WORK_TREE"] = work_tree or store.dir
    env["GIT_INDEX_FILE"] = index or os.path.join(store.dir, "no-index")
    if extra:
        env.update(extra)
    with ExitStack() as held:
        try:
            hold = (held.enter_context(sole_user(index)),) if index else ()
        except OSError as broken:
            raise disk_error(broken, index or store.dir) from broken
        cwd, git = work_tree or store.dir, store.project.git
        done = run_git(git, args, env=env, cwd=cwd, stdin=stdin, ok=None, limit=limit, hold=hold)
    if done.code:
        refuse_dead_folder(store.project.common_dir, store.project.top)
    if ok is not None and done.code not in ok:
        raise git_error(done, args, cwd)
    return done


def disk_error(broken: OSError, at: str) -> SetupError:
    """An operating-system error as an error of the set-up, disk full by its own code."""
    lacks = machine_error(broken, at)
    if lacks is not None:
        return lacks
    return SetupError(f"cannot write '{at}'", code="E-STATE", at=at, why=str(broken), next="ralph doctor")


def _user_file(project: Project, key: str, fallback: str) -> str:
    """The user's own file behind a setting, else the place git would look."""
    named = project.config.get(key)
    if named:
        return os.path.join(project.top, os.path.expanduser(named))
    home = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(home, "git", fallback)


def _read(path: str) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(4 << 20)
    except OSError:
        return b""


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
