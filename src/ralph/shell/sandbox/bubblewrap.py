"""The two boxes: from what a call may see and write to the words that bubblewrap understands.

A box is a positive list: what is not named here does not exist inside. The workspace (agent) or the judged
checkout (gate) stands at the user's own repository path, so the user's real files cannot be read in its
stead. Without bubblewrap the same call gives plain argv at the lower level. Whether a box really holds is
`probe`; which tools must be seen inside is `tools`; who kills what is `keeper`.
"""

from __future__ import annotations

import glob
import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

import msgspec

from ralph.errors import UserError
from ralph.shell.files.paths import covers
from ralph.shell.process import cgroup
from ralph.shell.process.client import CallSpec
from ralph.shell.process.keeper_start import ARGS_FD, BLOCK_FD, STATUS_FD
from ralph.shell.process.other_user import staged_path
from ralph.shell.sandbox.tools import closed_way, refuse_system_paths

# Top-level folders of the system itself. Homes, /run, /mnt, /srv, /var and the rest are not among them.
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu", "snap")
PROGRAMS = "/usr"  # usable as root would, also by another user: some are installed for root alone
SYS_PARTS = ("/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/devices")
# Readable for root only; a box of root would see them. Masked where they exist.
SECRETS = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/krb5.keytab")
# What container runtimes mask. To the kernel, root in a box is root: it owns these files, and dropped rights
# do not keep it from writing them. Read-only, or empty where nobody has business there.
KERNEL_FIXED = (
    *("/proc/bus", "/proc/driver", "/proc/fs", "/proc/irq", "/proc/mtrr", "/proc/pressure", "/proc/sys"),
    *("/proc/sysrq-trigger", "/proc/tty"),
)
KERNEL_EMPTY = (
    *("/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/kmsg"),
    *("/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list"),
    *("/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware"),
)
# Address space is not limited: node, Go and sanitizers reserve far more than they use. Memory is held by a
# cgroup, else watched by the keeper. `nproc` counts per box; without a box it would count the user, so it
# is not set there.
LIMITS: dict[str, dict[str, int]] = {
    "agent": {"core": 0, "nproc": 8192},
    "gate": {"core": 0, "fsize": 4 << 30, "nproc": 4096},
}

# Overlays are mounted in a user namespace of our own, before bwrap makes the box's. Relative names, so that
# no letter of a path can be taken for a mount option.
OVERLAY_SCRIPT = """
cd "$1" || exit 125; shift
n=$1; shift
while [ "$n" -gt 0 ]; do
  mkdir -p "$2/lower" "$2/upper" "$2/work" "$2/merged" && mount --bind "$1" "$2/lower" &&
  cd "$2" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr merged &&
  cd .. || exit 125
  shift 2; n=$((n - 1))
done
exec "$@"
"""


class SharedMount(msgspec.Struct, frozen=True):
    """A folder of the user (.venv) seen inside; writes stay private or are refused. A file is only read."""

    source: str
    at: str
    keeps: bool = False  # what is written, for later calls


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """What one call may see, write and reach."""

    kind: Literal["agent", "gate"]
    workspace: str  # host folder
    mount_at: str  # where it stands inside: the user's repository path
    fixed: bool = False  # it can be read only
    object_dirs: tuple[tuple[str, str], ...] = ()  # (host, inside), read-only
    home: str  # the user's home; inside it is private and empty
    home_dir: str | None = None  # host folder to use as the private home; None: in memory
    tmp_dir: str | None = None  # the same for /tmp
    # One mount that holds workspace and /tmp, (host, inside): a file can be renamed from one to the other.
    around: tuple[str, str] | None = None
    write: tuple[str, ...] = ()  # further writable host paths, at their own place
    own: tuple[tuple[str, str], ...] = ()  # private folders in place of the user's, (host, inside), writable
    read: tuple[str, ...] = ()  # tool prefixes, at their own place
    shares: tuple[SharedMount, ...] = ()
    stage: str | None = None  # empty host folder for overlays of the shares; None: shares are read-only
    hide: tuple[str, ...] = ()  # masked even where a visible folder contains them
    network: bool = False
    other_user: bool = False  # of root's: to the kernel the call is somebody else, who owns what it sees
    hostname: str = "localhost"
    chdir: str = ""  # inside; empty: `mount_at`


class Boxed(msgspec.Struct, frozen=True):
    """Words for a `CallSpec`: argv, box_args, method, cwd, other_user."""

    argv: tuple[str, ...]
    box_args: tuple[str, ...]
    method: Literal["pidns", "sweep"]
    cwd: str
    other_user: tuple[str, ...] = ()


Access = Literal["read", "write", "private", "hidden"]  # private: writable, and nobody else sees it


class _Mount(msgspec.Struct, frozen=True):
    """One row of the table that decides what a box sees; `ralph doctor --box` prints it."""

    at: str
    words: tuple[str, ...]
    why: str
    access: Access = "read"


class BoxRow(msgspec.Struct, frozen=True):
    path: str
    access: Access
    who: Literal["agent", "gate"]
    why: str


def box_rows(box: Box) -> list[BoxRow]:
    """What a call in this box sees and may write, in the order of its mounts; all else does not exist."""
    return [BoxRow(mount.at, mount.access, box.kind, mount.why) for mount in _mounts(box, overlay=False)]


def _mounts(box: Box, *, overlay: bool, staged: list[str] | None = None) -> list[_Mount]:
    system, given = _system(), _private(box) + _visible(box) + _share_mounts(box, overlay=overlay)
    if staged is not None:
        given = [_stage_mount(mount, staged) for mount in given]
        system = [_stage_mount(mount, staged) if mount.at == PROGRAMS else mount for mount in system]
    # Parents before children, whatever list they came from: a later mount would cover an earlier one.
    mounts = system + given + _masks(box)
    return sorted(mounts, key=lambda m: 0 if m.at == "/" else m.at.count("/"))


def _stage_mount(mount: _Mount, staged: list[str]) -> _Mount:
    """The same from where another user finds it: to them, the ways of root's own folders are closed."""
    word, source = mount.words[:2]
    if word not in {"--bind", "--ro-bind"}:
        return mount
    first = staged[0] if staged and covers(staged[0], source) else source
    staged += [] if first in staged else [first]
    found = staged_path(staged.index(first)) + source[len(first) :]
    return msgspec.structs.replace(mount, words=(word, found, *mount.words[2:]))


def box_command(box: Box, argv: tuple[str, ...], *, bwrap: str | None, unshare: str | None = None) -> Boxed:
    """Put argv inside the box; `bwrap` None gives the lower level: plain argv, workspace at its own path."""
    _check(box)
    if bwrap is None:
        cwd = path_outside(box, box.chdir or box.mount_at)
        return Boxed(tuple(path_outside(box, word) for word in argv), (), "sweep", cwd)
    folders = _layered(box)
    overlay = bool(folders and box.stage and unshare)
    points = (mount.at for mount in _mounts(box, overlay=overlay))
    other_user = box.other_user and not closed_way(points, (*argv, *box.read), os.defpath)
    words = _namespaces(box, bwrap)
    overlaid = [box.stage or "", *(os.path.realpath(share.source) for share in folders)] if overlay else []
    staged = list(overlaid)
    for mount in _mounts(box, overlay=overlay, staged=staged if other_user else None):
        words += mount.words
    words += ["--remount-ro", "/", "--chdir", box.chdir or box.mount_at]
    command: tuple[str, ...] = (bwrap, "--args", str(ARGS_FD), "--", *argv)
    if overlay and unshare:
        stage, *sources = map(staged_path, range(len(overlaid))) if other_user else overlaid
        pairs = [word for n, source in enumerate(sources) for word in (source, f"s{n}")]
        prefix = (unshare, "--user", "--map-root-user", "--mount", "--propagation", "private", "--")
        script = ("/bin/sh", "-c", OVERLAY_SCRIPT, "sh", stage, str(len(folders)), *pairs)
        command = (*prefix, *script, *command)
    return Boxed(command, tuple(words), "pidns", "/", tuple(staged) if other_user else ())


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one call, whatever its box: clocks, memory, what it reads, which group it joins."""

    wall_seconds: float
    idle_seconds: float | None = None
    grace_seconds: float = 2.0
    memory_bytes: int | None = None
    stdin: str = "/dev/null"
    group: str | None = None  # from `cgroup.make`; removed when the call has ended
    outlive: bool = False


def call_spec(built: Boxed, kind: Literal["agent", "gate"], env: Mapping[str, str], frame: Frame) -> CallSpec:
    """Everything the keeper needs: the box's words, the kind's limits, the frame's bounds."""
    limits = LIMITS[kind]
    held: tuple[str, ...] = ()
    if frame.group:
        held = cgroup.limit(frame.group, memory_bytes=frame.memory_bytes, processes=limits["nproc"])
    return CallSpec(
        argv=built.argv,
        env=dict(env),
        cwd=built.cwd,
        stdin=frame.stdin,
        wall_seconds=frame.wall_seconds,
        idle_seconds=frame.idle_seconds,
        grace_seconds=frame.grace_seconds,
        method="cgroup" if frame.group and built.method == "sweep" else built.method,
        box_args=built.box_args,
        other_user=built.other_user,
        cgroup=frame.group,
        rlimits=limits,
        watch_memory_bytes=None if "memory" in held else frame.memory_bytes,
        outlive=frame.outlive,
    )


def path_outside(box: Box, word: str) -> str:
    """A path inside the box as it is called outside; other words as they are."""
    if word == box.mount_at or word.startswith(box.mount_at + "/"):
        return box.workspace + word[len(box.mount_at) :]
    return word


def _check(box: Box) -> None:
    for path in (box.workspace, box.mount_at, box.home, *box.write):
        if not os.path.isabs(path) or os.path.normpath(path) != path:
            raise UserError(f'"{path}" must be an absolute path', code="E-BOX-PATH", next="ralph doctor")
    refuse_system_paths((box.mount_at, *box.write))


def _namespaces(box: Box, bwrap: str) -> list[str]:
    words = ["--json-status-fd", str(STATUS_FD), "--block-fd", str(BLOCK_FD)]
    words += ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if box.network else ["--unshare-net"]
    # Root could mount control groups anew in a namespace of its own, and lift its own limits.
    words += ["--disable-userns"] if os.getuid() == 0 and _can_disable(bwrap) else []
    # Explicit ids: below an overlay's namespace we are root, and must not look so inside.
    words += ["--uid", str(os.getuid()), "--gid", str(os.getgid())]
    return [*words, "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", box.hostname]


@lru_cache(maxsize=4)
def _can_disable(bwrap: str) -> bool:
    """Does this bubblewrap know `--disable-userns` (since 0.8)? One that gives no answer fails its probe."""
    try:
        said = subprocess.run([bwrap, "--help"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b"--disable-userns" in said.stdout + said.stderr


def _system() -> list[_Mount]:
    mounts, why = [], "the system's programs and settings"
    for name in SYSTEM:
        path = "/" + name
        if os.path.islink(path):
            mounts.append(_Mount(path, ("--symlink", os.readlink(path), path), why))
        elif os.path.isdir(path):
            mounts.append(_bind(path, path, why))
    mounts += [_bind(path, path, "which hardware there is") for path in SYS_PARTS if os.path.isdir(path)]
    mounts.append(_Mount("/proc", ("--proc", "/proc"), "the call's own processes"))
    mounts += [_bind(path, path, "the kernel's settings") for path in KERNEL_FIXED if os.path.exists(path)]
    mounts += [_empty_mount(path) for path in KERNEL_EMPTY if os.path.exists(path) and _shown(path)]
    mounts.append(_Mount("/dev", ("--dev", "/dev"), "null, zero, random, a terminal of its own", "private"))
    mounts.append(_Mount("/run", ("--perms", "0755", "--tmpfs", "/run"), "empty: no sockets", "private"))
    memory = ("--perms", "1777", "--tmpfs", "/var/tmp")  # noqa: S108
    mounts.append(_Mount("/var/tmp", memory, "in memory", "private"))  # noqa: S108
    mounts.append(_Mount("/var/run", ("--symlink", "/run", "/var/run"), "another name of /run", "private"))
    return mounts


def _shown(path: str) -> bool:
    """In the box's own /proc, or below a part of /sys that it sees."""
    return covers("/proc", path) or any(covers(part, path) for part in SYS_PARTS)


def _empty_mount(path: str) -> _Mount:
    why = "the kernel's own matters"
    if os.path.isdir(path):
        return _Mount(path, ("--tmpfs", path, "--remount-ro", path), why, "hidden")
    return _Mount(path, ("--ro-bind", "/dev/null", path), why, "hidden")


def _bind(source: str, at: str, why: str, *, access: Access = "read") -> _Mount:
    return _Mount(at, ("--ro-bind" if access == "read" else "--bind", source, at), why, access)


def box_home(box: Box) -> str:
    return home_inside(box.mount_at, box.home)


def home_inside(mount_at: str, home: str) -> str:
    """HOME inside: the user's own path, unless the repository stands there."""
    return "/tmp/home" if covers(mount_at, home) or home == "/" else home  # noqa: S108


def _private(box: Box) -> list[_Mount]:
    mounts = []
    places = (("/tmp", box.tmp_dir, "1777"), (box_home(box), box.home_dir, "0700"))  # noqa: S108
    for at, source, mode in places:
        why = "temporary files of this call" if at == "/tmp" else "a home of its own"  # noqa: S108
        if box.around and at == "/tmp" and source and source != box.around[0]:  # noqa: S108
            inside = os.path.join(box.around[1], os.path.relpath(source, box.around[0]))
            mounts.append(_Mount(at, ("--symlink", inside, at), why, "private"))
            continue
        if source:
            mounts.append(_bind(source, at, why, access="private"))
        else:
            mounts.append(_Mount(at, ("--perms", mode, "--tmpfs", at), why, "private"))
    return mounts


def _visible(box: Box) -> list[_Mount]:
    """Tools, objects, what may be written, the workspace. Nothing may show the user's real repository."""
    read = [p for p in _outermost(box.read) if not covers(box.mount_at, p) and not in_system(p)]
    mounts = [_bind(path, path, "programs on your PATH, or named by the command") for path in read]
    resolv = os.path.realpath("/etc/resolv.conf")
    if box.network and covers("/run", resolv) and os.path.isfile(resolv):
        mounts.append(_bind(resolv, resolv, "how names on the network are found"))
    mounts += [
        _bind(source, at, "git objects of your repository, or the agent") for source, at in box.object_dirs
    ]
    asked = [path for path in box.write if not covers(box.mount_at, path)]
    allowed = "you allowed it (--allow-write, agents.*.write)"
    mounts += [_bind(path, path, allowed, access="write") for path in asked]
    own = "a copy of the CLI's own folder"
    mounts += [_bind(source, at, own, access="private") for source, at in box.own]  # after all at its depth
    work = "the workspace of the loop" if box.kind == "agent" else "a clean checkout of what is judged"
    if box.around and box.around[0] != box.tmp_dir:
        mounts.append(_bind(*box.around, work, access="write"))
    elif not box.around:
        mounts.append(_bind(box.workspace, box.mount_at, work, access="read" if box.fixed else "write"))
    return mounts


def mount_around(repo: str, home: str, read: Iterable[str]) -> str:
    """The folder at which one mount can hold the repository and /tmp; "" where that would hide something."""
    tmp, read = "/tmp", tuple(read)  # noqa: S108
    if any(covers(path, repo) and covers(tmp, path) and path != tmp for path in read):
        return ""  # a tool's folder with the repository in it would be mounted over the checkout
    if covers(tmp, repo):
        return "" if covers(home_inside(repo, home), repo) else tmp  # a home there would cover the checkout
    parent = os.path.dirname(repo)
    if parent.split("/")[1] in ("", *SYSTEM, "proc", "dev", "sys", "run", "var"):
        return ""
    # Elsewhere /tmp becomes a link, and nothing can be mounted behind one.
    inside = (*read, home_inside(repo, home))
    taken = any((covers(path, repo) and path != home) or covers(tmp, path) for path in inside)
    return "" if taken else parent


def _outermost(paths: Iterable[str]) -> list[str]:
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda p: (p.count("/"), p)):
        if os.path.exists(path) and not any(covers(outer, path) for outer in kept):
            kept.append(path)
    return kept


def in_system(path: str) -> bool:
    return path.split("/")[1] in SYSTEM


def _layered(box: Box) -> list[SharedMount]:
    """What gets a layer of its own above it, where the machine can make one."""
    return [share for share in box.shares if os.path.isdir(share.source) and not share.keeps]


def _share_mounts(box: Box, *, overlay: bool) -> list[_Mount]:
    mounts = []
    folders = _layered(box)
    for share in box.shares:
        why = f"shared from {share.source}"
        if share.keeps:
            mounts.append(_bind(share.source, share.at, why, access="private"))
        elif overlay and box.stage and share in folders:
            n = folders.index(share)
            merged = os.path.join(box.stage, f"s{n}", "merged")
            mounts.append(_bind(merged, share.at, why, access="private"))
        else:
            mounts.append(_bind(os.path.realpath(share.source), share.at, why))
    return mounts


def _masks(box: Box) -> list[_Mount]:
    """Cover what must not be read."""
    mounts = []
    seen = (*("/" + name for name in SYSTEM), *box.read, *box.write)
    for path in (*box.hide, *SECRETS, *glob.glob("/etc/ssh/*_key"), "/etc/ssl/private"):
        visible = any(covers(top, path) for top in seen) and not covers(path, box.mount_at)
        if visible and os.path.lexists(path):
            why = "Ralph's own files, or a hidden check" if path in box.hide else "keys and passwords"
            words = ("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)
            mounts.append(_Mount(path, words, why, "hidden"))
    return mounts
