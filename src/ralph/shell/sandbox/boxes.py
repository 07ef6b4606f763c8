"""From an order to the boxes of its calls: what an agent and what a gate may see, and at which path.

What stays the same for all calls of one stint is a `Site`. How a box becomes bubblewrap's words is in
`bubblewrap`, who owns the processes in `client`. At the lower level (no bubblewrap) the same functions
give plain calls that work at the workspace's own path.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from ralph.core.model.gate import Gate
from ralph.errors import Bug
from ralph.gates.command import simple_commands
from ralph.gates.seal import SHELL
from ralph.shell.files.paths import covers
from ralph.shell.files.safe_tree import ensure_directory, open_way, remove_except, remove_tree
from ralph.shell.git.store import Store, private_call, write_git_dir, write_pack
from ralph.shell.process import cgroup
from ralph.shell.process.client import CallSpec
from ralph.shell.sandbox import bubblewrap, hidden_files, tools
from ralph.shell.sandbox.bubblewrap import Box, Frame, SharedMount
from ralph.shell.sandbox.own_copy import CopyPlace, Places
from ralph.shell.sandbox.own_env import HOME_FILES, gate_env, package_folders, toolchain_folders
from ralph.shell.sandbox.site import Site

AGENT_AT = "/run/agent"  # where an agent that lives in the user's repository stands
GATE_MEMORY = 8 << 30
AGENT_MEMORY = 16 << 30
# Of a CLI that is installed in its own folder: what programs consist of.
PROGRAMS = ("bin", "lib", "libexec", "local", "node_modules", "packages", "share")
# A box in the user's likeness has the same walls and other looks (`dress_place`).
MAX_WHOLE_CLONE = 5000  # files; of larger trees the clone has no contents, as one that was filtered
FIRST_PIDS = 300
LIKE_PROCESSES = 6000
# An interface of its own, as machines have one, that leads nowhere.
_LINK = (
    'ip=$1; shift; "$ip" link set lo up || exit 125; "$ip" link add eth0 type bridge && '
    '"$ip" link set eth0 up && "$ip" addr add 192.168.178.23/24 dev eth0; exec "$@"'
)
_NEW_NET = ("--user", "--map-root-user", "--net", "--", "/bin/sh", "-c", _LINK, "sh")
# Processes that end at once use numbers up, others stay; two shells stand above the command, as on a terminal
_AFTER_OTHERS = (
    'n=$1; shift; while [ "$n" -gt 0 ]; do ( : ); n=$((n - 1)); done; others=; '
    "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 99999 </dev/null >/dev/null 2>&1 & "
    'others="$others $!"; done; '
    '/bin/sh -c \'"$@"; exit $?\' sh "$@"; n=$?; kill $others; exit $n'
)


def own_places(site: Site, agent: str, seen: tuple[str, ...]) -> CopyPlace:
    """What decides where those copies stand; `seen` are paths that its call shows or may write."""
    order = site.order
    return CopyPlace(
        folder=site.own_folder(agent),
        home_dir=_make_folder(site.folder, site.home_name),
        home=bubblewrap.home_inside(order.repo, site.home),
        repo=order.repo,
        boxed=site.boxed,
        seen=(*_on_path(site, site.path), *order.box.allow_write, *seen),
    )


def agent_spec(
    site: Site,
    argv: tuple[str, ...],
    env: dict[str, str],
    *,
    folder: str,
    stdin: str,
    write: tuple[str, ...],
    read: tuple[str, ...],
    wall: float,
    idle: float | None,
    shares: tuple[SharedMount, ...],
    own: Places = Places(),  # noqa: B008 (frozen)
) -> CallSpec:
    """The call of an agent. `own` are its CLI's folders."""
    order = site.order
    home_dir = _make_folder(site.folder, site.home_name)
    binds = [*(() if site.look else site.object_dirs()), *own.shown] if site.boxed else []
    if site.boxed and covers(order.repo, argv[0]) and os.path.isfile(argv[0]):
        # The user's own file, not the workspace's: an agent must not be able to rewrite itself.
        inside = os.path.join(AGENT_AT, os.path.basename(argv[0]))
        binds.append((argv[0], inside))
        argv = (inside, *argv[1:])
    box = Box(
        kind="agent",
        workspace=site.workspace,
        fixed=bool(site.look) and not site.writes,
        mount_at=order.repo,
        object_dirs=tuple(binds),
        home=site.home,
        home_dir=home_dir,
        tmp_dir=_make_folder(folder, "tmp"),
        write=tuple(os.path.realpath(path) for path in (*order.box.allow_write, *write)),
        own=own.own,
        read=_programs((*_on_path(site, site.path), *toolchain_folders(site.env, site.home), *read), own),
        shares=shares,
        stage=_make_folder(folder, "overlay") if shares else None,
        hide=(site.state.root, site.config_dir, *_hidden_paths(site, (argv[0], *read))),
        network=order.box.network,
        other_user=site.other_user,
        chdir=os.path.normpath(os.path.join(order.repo, order.prefix)),
    )
    if site.boxed:
        _open_ways(box, home_dir)
    made = bubblewrap.box_command(box, argv, bwrap=site.bwrap, unshare=site.unshare)
    env = {**env, **own.env, "HOME": bubblewrap.box_home(box) if site.boxed else site.home}
    if not site.boxed:
        # Without a box the agent is the user's own program in the user's own home.
        env["TMPDIR"] = box.tmp_dir or ""
    frame = Frame(
        wall_seconds=wall,
        idle_seconds=idle,
        memory_bytes=AGENT_MEMORY,
        stdin=stdin,
        group=_group(site, folder),
        outlive=site.hosted and not (site.look or site.aside),
    )
    return bubblewrap.call_spec(made, "agent", env, frame)


def _programs(read: tuple[str, ...], own: Places) -> tuple[str, ...]:
    """A program that is installed in its CLI's own folder is seen without what lies beside it there."""
    taken = {inside for _, inside in own.own}
    parts = [os.path.join(path, name) for path in read if path in taken for name in PROGRAMS]
    return (*(path for path in read if path not in taken), *parts)


def _open_ways(box: Box, home_dir: str) -> None:
    """Mount points in folders that an agent can write are real, whatever an earlier call made of them."""
    tops = sorted(((bubblewrap.box_home(box), home_dir), *((at, host) for host, at in box.own)), reverse=True)
    inside = ((host, at) for host, at in (*box.own, *box.object_dirs))
    read = ((path, path) for path in (*box.write, *box.read) if os.path.exists(path))
    for source, path in ((box.workspace, box.mount_at), *inside, *read):
        found = next(((at, host) for at, host in tops if at != path and covers(at, path)), None)
        if found is None:
            continue
        below, top = os.path.relpath(path, found[0]), found[1]
        if os.path.isdir(source):
            open_way(top, below)
            continue
        if os.path.dirname(below):
            open_way(top, os.path.dirname(below))
        if os.path.islink(os.path.join(top, below)):
            remove_tree(os.path.join(top, below))


class GatePlace(msgspec.Struct, frozen=True):
    """Where a gate's checkout and its temporary files are on this machine."""

    top: str  # the slot's own folder
    checkout: str
    tmp: str
    at: str = ""  # where `top` stands in the box, with both of them in it; "": they are mounted one by one

    def clean(self) -> None:
        """Removes what is there beside the checkout, and whatever stands in the way to it."""
        if not self.at:
            remove_tree(self.tmp)
            return
        ensure_directory(self.top)
        kept = os.path.relpath(self.checkout, self.top)
        for name in os.listdir(self.top):
            remove_except(self.top, name, (kept,))
        open_way(self.top, kept)


def gate_place(site: Site, gate: Gate, program: str, top: str, folder: str) -> GatePlace:
    """One mount for both where that hides nothing: a check may rename a file from one to the other."""
    repo = site.order.repo
    reads = _gate_reads(site, gate, (program, *gate.argv[1:]))
    at = bubblewrap.mount_around(repo, site.home, reads) if site.boxed else ""
    if not at:
        return GatePlace(top, top, os.path.join(folder, "tmp"))
    tmp = top
    if at != "/tmp":  # noqa: S108
        tmp = os.path.join(top, "tmp" if os.path.basename(repo) != "tmp" else "temp")
    return GatePlace(top, os.path.join(top, os.path.relpath(repo, at)), tmp, at)


def dress_place(site: Site, place: GatePlace, tree: str, files: int) -> str:
    """Makes the checkout look like a clone of the user's; where in its temporary folder the report goes."""
    write_clone(site.store, place.checkout, f"{place.top}.index", tree, files)
    return os.path.join(report_folder(), "results")


def _gate_reads(site: Site, gate: Gate, argv: tuple[str, ...]) -> tuple[str, ...]:
    return (
        *_on_path(site, site.gate_path(gate)),
        *package_folders(site.env, site.home),
        *_named_files(site, gate, argv),
        *(hidden_files.paths_to_show(gate, site.order.repo, site.env) if gate.hidden else ()),
    )


def gate_spec(
    site: Site,
    gate: Gate,
    argv: tuple[str, ...],
    *,
    place: GatePlace,
    folder: str,
    env: dict[str, str],
    shares: tuple[SharedMount, ...],
    cache: SharedMount | None = None,
    like_user: bool = False,
) -> CallSpec:
    """The call of a gate over one checkout. `env` is what the gate's own table adds."""
    order = site.order
    shares = (*shares, cache) if cache else shares
    like_user = like_user and site.boxed
    os.makedirs(place.tmp, mode=0o700, exist_ok=True)
    read = _gate_reads(site, gate, argv)
    link = link_command(site) if like_user and not gate.network else ()
    home = make_home(_make_folder(folder, "home"), site.env)
    if place.at and not bubblewrap.mount_around(order.repo, site.home, read):
        raise Bug(f"the checkout would be hidden behind one of {', '.join(read)}")
    box = Box(
        kind="gate",
        workspace=place.checkout,
        mount_at=order.repo,
        home=site.home,
        home_dir=home if site.boxed else None,
        tmp_dir=place.tmp,
        around=(place.top, place.at) if place.at else None,
        read=read,
        shares=shares,
        stage=_make_folder(folder, "overlay") if shares else None,
        hide=(site.state.root, site.config_dir, *_hidden_paths(site, argv[:1], gate)),
        network=gate.network or bool(link),
        other_user=site.other_user,
        hostname=host_name() if like_user else "localhost",
        chdir=os.path.normpath(os.path.join(order.repo, gate.cwd)),
    )
    argv = after_others(argv) if like_user else argv
    made = bubblewrap.box_command(box, argv, bwrap=site.bwrap, unshare=site.unshare)
    made = msgspec.structs.replace(made, argv=(*link, *made.argv))
    words = gate_env(site.env, bubblewrap.box_home(box) if site.boxed else home, env)
    words["PATH"] = site.gate_path(gate)
    if place.at:
        words["TMPDIR"] = os.path.normpath(os.path.join(place.at, os.path.relpath(place.tmp, place.top)))
    if not site.boxed:
        words["TMPDIR"] = box.tmp_dir or ""
        words.setdefault("PYTHONDONTWRITEBYTECODE", "1")  # an editable install leads to the user's own files
        words["PATH"] = os.pathsep.join(
            bubblewrap.path_outside(box, part) for part in words["PATH"].split(os.pathsep)
        )
    frame = Frame(wall_seconds=gate.timeout, memory_bytes=GATE_MEMORY, group=_group(site, folder))
    if not like_user:
        return bubblewrap.call_spec(made, "gate", words, frame)
    words = shell_env(words, site.env, box.chdir)
    spec = bubblewrap.call_spec(made, "gate", words, msgspec.structs.replace(frame, stdin=_no_input(folder)))
    # The bounds that a login has; how many processes there may be is still bounded.
    return msgspec.structs.replace(spec, rlimits={"nproc": LIKE_PROCESSES + secrets.randbelow(4000)})


def _hidden_paths(site: Site, needed: tuple[str, ...], own: Gate | None = None) -> tuple[str, ...]:
    """The files of every hidden check but `own`, as far as nothing that is needed stands among them."""
    hidden = [one for one in site.order.criterion.gates if one.hidden and not (own and one.name == own.name)]
    if not hidden:
        return ()
    own_files = hidden_files.paths_to_show(own, site.order.repo, site.env) if own and own.hidden else ()
    needed = (*needed, *own_files, *site.path.split(os.pathsep))
    visible = [gate for gate in site.order.criterion.gates if not gate.hidden]
    return hidden_files.paths_to_hide(hidden, site.order.repo, site.env, needed, visible)


def _needs(site: Site, program: str) -> tuple[str, ...]:
    return tools.prefixes(program, path=site.path, home=site.home, repo=site.order.repo, known=site.known)


def _on_path(site: Site, path: str) -> tuple[str, ...]:
    """What PATH needs, and what shared environments link to, whoever starts them (`make`, a shell)."""
    found = tools.path_prefixes(path, home=site.home, repo=site.order.repo, known=site.known)
    inside = (os.path.join(site.order.repo, one, "bin", "python") for one in site.order.box.share)
    return (*found, *(one for program in inside if os.path.isfile(program) for one in _needs(site, program)))


def _named_files(site: Site, gate: Gate, argv: tuple[str, ...]) -> tuple[str, ...]:
    """What a gate's command names by its whole path: programs with all they need, other files alone."""
    commands = simple_commands(gate.run) if gate.argv[:2] == SHELL else [list(argv)]
    found: list[str] = []
    for word in (argv[0], *(word for words in commands for word in words)):
        if os.path.isabs(word) and os.path.isfile(word):
            found += _needs(site, word) if os.access(word, os.X_OK) else (os.path.normpath(word),)
    return tuple(dict.fromkeys(found))


def _group(site: Site, folder: str) -> str | None:
    if site.level != "S3":
        return None
    # By its whole path: a group of the same name may belong to a loop of another state directory.
    place = hashlib.sha256(os.fsencode(folder)).hexdigest()[:12]
    return cgroup.make(f"ralph-{os.path.basename(folder)}-{place}")


def _make_folder(folder: str, name: str) -> str:
    path = os.path.join(folder, name)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


@lru_cache(maxsize=4)
def _link_words(unshare: str, ip: str) -> tuple[str, ...]:
    """What puts an interface into a network of its own; () where this machine cannot."""
    words = (unshare, *_NEW_NET, ip)
    try:
        done = subprocess.run([*words, ip, "-br", "link"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return words if b"eth0" in done.stdout else ()


def link_command(site: Site) -> tuple[str, ...]:
    """What stands before the box in the user's likeness; () where it has no interface but its own."""
    ip = shutil.which("ip", path=os.pathsep.join((site.path, "/usr/sbin", "/sbin")))
    return _link_words(site.unshare, ip) if site.boxed and site.unshare and ip else ()


def _no_input(folder: str) -> str:
    """An empty file: who asks for the name of its standard input is told of no device."""
    path = os.path.join(folder, "input")
    with open(path, "wb"):
        return path


def user_name(env: Mapping[str, str]) -> str:
    try:
        return env.get("USER") or env.get("LOGNAME") or getpass.getuser()
    except (KeyError, OSError):
        return "user"


def host_name() -> str:
    return socket.gethostname() or "workstation"


def after_others(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command as one of many processes of its machine."""
    return ("/bin/sh", "-c", _AFTER_OTHERS, "sh", str(FIRST_PIDS + secrets.randbelow(500)), *argv)


def report_folder() -> str:
    """Another name each time, as temporary folders of builds have."""
    return f"build-{secrets.token_hex(4)}"


def make_home(folder: str, env: Mapping[str, str]) -> str:
    for path, text in HOME_FILES.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), mode=0o700, exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text.format(user=user_name(env)))
    return folder


def shell_env(words: Mapping[str, str], user: Mapping[str, str], cwd: str) -> dict[str, str]:
    """The gate's environment as a login shell would have it."""
    name = user_name(user)
    env = {"USER": name, "LOGNAME": name, "SHELL": "/bin/sh", "TERM": "xterm-256color", **words}
    if "TMPDIR" not in user:
        env.pop("TMPDIR", None)
    return {**env, "PWD": cwd, "SHLVL": "1", "HOSTNAME": host_name(), "_": "/usr/bin/env"}


def write_clone(store: Store, checkout: str, index: str, tree: str, files: int) -> None:
    """A `.git` beside the files: one commit that holds this tree, on a branch, with a clean index."""
    who = "Sam Miller <sam@example.com> 1700000000 +0000"
    text = f"tree {tree}\nauthor {who}\ncommitter {who}\n\nWork on it\n".encode()
    made = private_call(store, ["hash-object", "-t", "commit", "-w", "--stdin"], stdin=text).out
    commit = made.decode().strip()
    git = os.path.join(checkout, ".git")
    settings = [("core.bare", "false"), ("core.logAllRefUpdates", "true")]
    write_git_dir(store.project, git, settings, ref="refs/heads/main", commit=commit)
    asked = ["rev-list", "--objects", "--no-object-names", commit]
    if files > MAX_WHOLE_CLONE:
        asked.insert(2, "--filter=blob:none")
    objects = private_call(store, asked).out
    write_pack(store, os.path.join(git, "objects"), [], objects)
    with open(index, "rb") as source, open(os.path.join(git, "index"), "wb") as target:
        target.write(source.read())
