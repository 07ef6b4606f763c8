"""What the sandbox really blocks: twelve probes in the very boxes a loop would use, and the words for it.

One probe must work, the others must fail. The level is what was seen, never what was hoped for: S3 is
bubblewrap and a writable cgroup, S2 bubblewrap, S0 nothing; S1 is not used. `bubblewrap` builds the boxes.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from ralph.core.model.order import Order
from ralph.core.proof.grade import BOXED
from ralph.errors import SetupError
from ralph.gates.command import simple_commands
from ralph.shell.files.write_whole import write_whole
from ralph.shell.process import cgroup, tree
from ralph.shell.process.client import CallSpec, Ended, read_output, start_call, wait
from ralph.shell.process.other_user import unmappable
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.attempts import box_program
from ralph.shell.sandbox.bubblewrap import Box, Boxed, SharedMount, box_command
from ralph.shell.sandbox.hidden_files import paths_to_show
from ralph.shell.sandbox.own_env import clean_path
from ralph.shell.state.directory import config_dir

Level = Literal["S0", "S2", "S3"]
VERSION = 3  # of the probes: a new one makes old answers worthless

OPEN_WORDS: dict[str, str] = {
    "write-outside": "could write outside the workspace",
    "write-etc": "could write system files",
    "read-secret": "could read your private files",
    "tcp": "could reach services on this machine (localhost)",
    "signal": "could signal your other processes",
    "unix-socket": "could talk to local sockets (docker, ssh-agent, D-Bus)",
    "abstract-socket": "could talk to abstract sockets of other programs",
    "environ": "could read the environment of your other processes",
    "root": "is root to the kernel, and could read what only root may read in /etc and /opt",
    "kernel": "could change settings of the kernel",
    "kernel-again": "could change settings of the kernel through namespaces of its own",
}
OTHER_USER = "to the kernel, agents and gates are another user, not root"
STAYS_ROOT = "to the kernel, agents and gates are root: another user could not work with"
NETWORK_PROBES = frozenset({"tcp", "abstract-socket"})


class Protection(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen. `words` are sentences for people; `reasons` say why the level is not higher."""

    level: Level
    method: Literal["pidns", "sweep"]
    words: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    agent_open: tuple[str, ...] = ()  # probes that should have failed and did not
    gate_open: tuple[str, ...] = ()
    other_user: bool = False  # of root's: calls are somebody else to the kernel

    @property
    def boxed(self) -> bool:
        return self.level in BOXED


class _Targets(msgspec.Struct, frozen=True):
    folder: str
    port: int
    name: str


def probe_levels(state_dir: str, *, home: str, bwrap: str | None, network: bool = True) -> Protection:
    """Run all probes now, for the agent box (`network` as the loop would have it) and the gate box."""
    with _targets(state_dir) as targets:
        if bwrap is None:
            return _no_protection(
                _open_probes(targets, home, None, "gate", network=False), ("bubblewrap is not installed",)
            )
        # Root's calls become somebody else where tools were seen to work that way.
        gate = _open_probes(targets, home, bwrap, "gate", network=False, other_user=os.getuid() == 0)
        other = os.getuid() == 0 and isinstance(gate, frozenset) and "root" not in gate
        if os.getuid() == 0 and not other:
            gate = _open_probes(targets, home, bwrap, "gate", network=False)
        agent = _open_probes(targets, home, bwrap, "agent", network=network, other_user=other)
        for which, answer in (("gate", gate), ("agent", agent)):
            if isinstance(answer, str):
                plain = _open_probes(targets, home, None, "gate", network=False)
                return _no_protection(plain, (f"the {which} box does not start: {answer}",))
    assert isinstance(gate, frozenset)
    assert isinstance(agent, frozenset)
    expected = {*(NETWORK_PROBES if network else ()), *(() if other else ("root",))}
    leaks = sorted((gate | agent) - expected | gate & NETWORK_PROBES)
    if leaks:
        return _no_protection(agent | gate, tuple(f"the box does not hold: {name}" for name in leaks))
    group, why = _cgroup_works()
    return Protection(
        level="S3" if group else "S2",
        method="pidns",
        words=_words(agent, gate - {"root"}, network=network, other_user=other),
        reasons=() if group else (why,),
        other_user=other,
        agent_open=tuple(sorted(agent)),
        gate_open=tuple(sorted(gate)),
    )


def cached_protection(state_dir: str, *, home: str, bwrap: str | None, network: bool = True) -> Protection:
    """The same, remembered per boot, kernel, user and bwrap file once a box holds: for a loop's start."""
    key = _cache_key(home, bwrap, network=network)
    path = os.path.join(state_dir, "protection.json")
    try:
        with open(path, "rb") as file:
            kept = msgspec.json.decode(file.read(), type=dict[str, Protection])
    except (OSError, msgspec.MsgspecError):
        kept = {}
    if key in kept:
        return kept[key]
    found = probe_levels(state_dir, home=home, bwrap=bwrap, network=network)
    if bwrap is not None and not found.boxed:
        return found  # that may pass, as a machine without memory does: the next start looks again
    same_boot = {k: v for k, v in kept.items() if k.startswith(tree.boot_id())}
    with contextlib.suppress(OSError):  # a state directory that cannot be written is others' error to raise
        write_whole(path, msgspec.json.encode({**same_boot, key: found}))
    return found


def _cache_key(home: str, bwrap: str | None, *, network: bool) -> str:
    program = "none"
    if bwrap:
        stat = os.stat(bwrap)
        program = f"{bwrap}:{stat.st_mtime_ns}:{stat.st_size}:{stat.st_ino}"
    return "|".join(
        (tree.boot_id(), os.uname().release, str(os.getuid()), program, home, str(network), str(VERSION))
    )


@contextlib.contextmanager
def _targets(state_dir: str) -> Iterator[_Targets]:
    """Things that a boxed call must not reach: a folder, a secret, three listeners, and this process."""
    folder = tempfile.mkdtemp(prefix="probe-", dir=state_dir)
    name = os.path.basename(folder)
    # A socket's path may be too short a field for a deep state directory.
    sockets = tempfile.mkdtemp(prefix="p-")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, sockets, ignore_errors=True)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        os.mkdir(os.path.join(folder, "outside"))
        with open(os.path.join(folder, "secret"), "w", encoding="ascii") as file:
            file.write("secret")
        os.symlink(sockets, os.path.join(folder, "sockets"))
        tcp = stack.enter_context(socket.socket(socket.AF_INET))
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(8)
        for address in (os.path.join(sockets, "s"), "\0" + name):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen(8)
        yield _Targets(folder, tcp.getsockname()[1], name)


def _open_probes(
    targets: _Targets,
    home: str,
    bwrap: str | None,
    kind: Literal["agent", "gate"],
    *,
    network: bool,
    other_user: bool = False,
) -> frozenset[str] | str:
    """The forbidden probes that were open; or why the box did not work at all."""
    folder = targets.folder
    python = os.path.realpath(sys.executable)
    sockets = os.path.realpath(os.path.join(folder, "sockets"))
    call_folder = os.path.join(folder, f"{kind}-{'other' if other_user else 'box' if bwrap else 'plain'}")
    work, stage = f"{call_folder}-work", f"{call_folder}-stage"
    os.mkdir(work)
    os.mkdir(stage)
    unshare = shutil.which("unshare") if other_user else None
    share = folder + "/shared"
    box = Box(
        kind=kind,
        workspace=work,
        mount_at=work,
        home=home,
        read=tools.prefixes(python, path=os.defpath, home=home, repo=work),
        network=network,
        other_user=other_user,
        shares=(SharedMount(folder + "/outside", share),) if unshare else (),
        stage=stage,
    )
    words = (work, folder + "/outside", folder + "/secret", str(targets.port), str(os.getpid()))
    argv = (python, "-I", "-S", "-c", box_program("probe"), *words, sockets + "/s", targets.name)
    built = box_command(box, (*argv, share if unshare else "-"), bwrap=bwrap, unshare=unshare)
    ended, text, answers = run_box_program(call_folder, built, {}, seconds=20)
    if ended.exit_code != 0 or answers.get("works") != "open":
        return ended.error or text.strip()[-300:] or "the box could not write its own workspace"
    return frozenset(name for name in OPEN_WORDS if answers.get(name) != "blocked")


def run_box_program(
    folder: str, built: Boxed, env: Mapping[str, str], *, seconds: float, stdin: str = "/dev/null"
) -> tuple[Ended, str, dict[str, str]]:
    """How a program of `attempts` ended in its box, what it printed, and its answers by name."""
    spec = CallSpec(
        argv=built.argv,
        env={"PATH": os.defpath, **env},
        cwd=built.cwd,
        stdin=stdin,
        wall_seconds=seconds,
        method=built.method,
        box_args=built.box_args,
        other_user=built.other_user,
    )
    ended = wait(start_call(folder, spec))
    text = read_output(folder, 1 << 16)[0].decode("utf-8", "replace")
    return ended, text, dict(line.split(" ", 1) for line in text.splitlines() if line.count(" ") == 1)


def can_group() -> bool:
    """Can a call be held in a control group of its own here?"""
    return _cgroup_works()[0]


def _cgroup_works() -> tuple[bool, str]:
    path = cgroup.make(f"ralph-probe-{os.getpid()}")
    if path is None:
        return False, "no control group can be made here (needs root, or delegation by systemd)"
    cgroup.remove(path)
    return True, ""


def _no_protection(seen: frozenset[str] | str, reasons: tuple[str, ...]) -> Protection:
    reached = frozenset(OPEN_WORDS) if isinstance(seen, str) else seen
    broken = reasons[0].startswith("the ")
    words = [f"no sandbox: agents and gates have your own rights{'; bubblewrap does not work' * broken}"]
    words += [f"agents and gates {OPEN_WORDS[name]}" for name in OPEN_WORDS if name in reached]
    opened = tuple(sorted(reached))
    return Protection(
        level="S0", method="sweep", words=tuple(words), reasons=reasons, agent_open=opened, gate_open=opened
    )


def _words(
    agent: frozenset[str], gate: frozenset[str], *, network: bool, other_user: bool
) -> tuple[str, ...]:
    words = ["the agent can write only its workspace, a private home and /tmp"]
    words.append("the agent cannot see your home, sockets or other processes")
    words += [f"the agent {OPEN_WORDS[name]}" for name in OPEN_WORDS if name in agent]
    words += [OTHER_USER] if other_user else []
    words.append("the agent has the network of this machine" if network else "the agent has no network")
    if not gate:
        words.append("gates have no network, no credentials and a clean checkout")
    return tuple(words)


def for_order(
    shield: Protection, order: Order, objects: Iterable[str], root: str, env: Mapping[str, str]
) -> Protection:
    """Root stays root, and the words say so, where another user could not work with what the loop needs."""
    if not shield.other_user:
        return shield
    repo, write, path = order.repo, order.box.allow_write, clean_path(env.get("PATH", os.defpath))
    home, gates = os.path.normpath(env.get("HOME") or "/"), order.criterion.gates
    hidden = [one for gate in gates if gate.hidden for one in paths_to_show(gate, repo, env)]
    words = {word for gate in gates for command in simple_commands(gate.run) for word in command}
    for agent in filter(None, (order.agent, *order.spares, order.judge)):
        words |= {agent.name, *agent.argv}
    found = {
        word if os.path.isabs(word) else tools.find_executable(word, path=path, cwd=repo) for word in words
    }
    files = [one for one in found if one]
    points = (repo, home, root, config_dir(env), *write, *hidden)
    stuck = tools.closed_way(points, (*path.split(os.pathsep), *files, *hidden), path)
    if not stuck:
        seen = {one for file in files for one in tools.prefixes(file, path=path, home=home, repo=repo)}
        seen |= {*tools.path_prefixes(path, home=home, repo=repo), *hidden, *write, *objects, repo, root}
        seen |= {os.path.join(repo, one) for one in order.box.share}
        stuck = unmappable(sorted(filter(os.path.exists, seen)))
    if not stuck:
        return shield
    told = (*(one for one in shield.words if one != OTHER_USER), f"{STAYS_ROOT} {stuck}")
    return msgspec.structs.replace(shield, other_user=False, words=told)


def find_protection(
    wanted: str, network: bool, root: str, env: Mapping[str, str]
) -> tuple[str | None, Protection]:
    """The bubblewrap to use, if its box was seen to hold, and what was seen; never a silent downgrade."""
    bwrap = None if wanted == "none" else shutil.which("bwrap", path=env.get("PATH"))
    shield = cached_protection(root, home=env.get("HOME") or "/", bwrap=bwrap, network=network)
    if wanted == "require" and not shield.boxed:
        raise SetupError(
            f"a sandbox is required and only level {shield.level} holds here",
            code="E-SANDBOX",
            why="; ".join(shield.reasons) or "see ralph doctor",
            next="ralph doctor",
        )
    return (bwrap if shield.boxed else None), shield
