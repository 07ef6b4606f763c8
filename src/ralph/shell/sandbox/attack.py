"""`ralph doctor --attack`: every attempt of `attempts`, made for real in the two boxes that a loop uses.

Around the box stands what an attacker looks for: a home with keys, a state directory, a hidden check, a
socket, a process. What a box says of itself is not believed where it could lie: files that must stay are
compared, and processes that must end are looked for, from outside. The level shown is the one that held.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Literal

import msgspec

from ralph.shell.process import tree
from ralph.shell.sandbox import tools
from ralph.shell.sandbox.attempts import DANGEROUS, NETWORK, ROOT, BoxAttempt, all_attempts, box_program
from ralph.shell.sandbox.bubblewrap import Box, box_command
from ralph.shell.sandbox.probe import cached_protection, can_group, run_box_program

Who = Literal["agent", "gate"]
_HOME_FILES = (
    *(".ssh/id_ed25519", ".aws/credentials", ".netrc", ".bash_history", ".gnupg/secret", ".bashrc"),
    *(".codex/auth.json", ".claude/settings.json", ".config/gh/hosts.yml"),
)
# Rows whose success shows outside: the file that must have stayed as it was.
_KEPT = {
    "change-profile": "home/.bashrc",
    "change-cli": "home/.claude/settings.json",
    "write-state": "state/journal.db",
    "write-config": "config/config.toml",
    "write-hidden": "hidden.py",
}


class AttackRow(msgspec.Struct, frozen=True):
    """What came of one attempt in one box."""

    attempt: str
    group: str
    words: str
    who: Who
    held: bool
    expected: bool  # False: it is known to be open there, by the level or the network that was chosen


class Attack(msgspec.Struct, frozen=True):
    outcomes: tuple[AttackRow, ...]
    reason: str = ""  # why a box could not even be begun
    level: str = "S0"

    @property
    def open(self) -> tuple[AttackRow, ...]:
        return tuple(one for one in self.outcomes if not one.held)

    @property
    def leaks(self) -> tuple[AttackRow, ...]:
        return tuple(one for one in self.open if one.expected)


def attack_boxes(state_dir: str, *, bwrap: str | None, network: bool = True) -> Attack:
    """All attempts against the agent's box (`network` as a loop would have it) and the gate's.

    Without bubblewrap only those that change nothing of the machine: they show what a box is for.
    """
    outcomes: list[AttackRow] = []
    other = bool(bwrap) and cached_protection(state_dir, home="/", bwrap=bwrap, network=network).other_user
    root = frozenset() if other or os.getuid() else ROOT
    for who, net in (("agent", network), ("gate", False)):
        with _targets(state_dir) as place:
            answers = _attempt_all(place, who, bwrap, network=net, other_user=other)  # type: ignore[arg-type]
            if isinstance(answers, str):
                return Attack(tuple(outcomes), f"the {who} box does not start: {answers}")
            for row in _rows(bwrap):
                held = answers.get(row.name) == "blocked" and _held_outside(row, place)
                expected = row.name not in root and not (net and row.name in NETWORK)
                outcomes.append(AttackRow(row.name, row.group, row.words, who, held, expected))  # type: ignore[arg-type]
    done = Attack(tuple(outcomes))
    if bwrap is None or done.leaks:
        return done
    return msgspec.structs.replace(done, level="S3" if can_group() else "S2")


def _rows(bwrap: str | None) -> list[BoxAttempt]:
    return [row for row in all_attempts() if bwrap or row.name not in DANGEROUS]


class _Prey(msgspec.Struct, frozen=True):
    folder: str
    tmp: str
    port: int
    abstract: str
    pid: int
    sums: dict[str, str]

    def at(self, part: str) -> str:
        return os.path.join(self.folder, part)


@contextlib.contextmanager
def _targets(state_dir: str) -> Iterator[_Prey]:
    folder = tempfile.mkdtemp(prefix="attack-", dir=state_dir)
    tmp = tempfile.mkdtemp(prefix="a-", dir="/tmp")
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, tmp, ignore_errors=True)
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        files = [*(f"home/{name}" for name in _HOME_FILES), "state/journal.db", "config/config.toml"]
        for name in (*files, "hidden.py", "secret", "real/.env", "outside/file"):
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write("secret")
        os.mkdir(os.path.join(folder, "work"))
        with open(os.path.join(tmp, "file"), "w", encoding="ascii") as file:
            file.write("secret")
        tcp = stack.enter_context(socket.socket(socket.AF_INET))
        tcp.bind(("127.0.0.1", 0))
        tcp.listen(8)
        name = os.path.basename(folder)
        for address in (os.path.join(tmp, "s"), os.path.join(tmp, "agent"), "\0" + name):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen(8)
        other = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", "import time; time.sleep(300)", name],
                env={"ATTACK": "attack-secret"},
                stdin=subprocess.DEVNULL,
            )
        )
        stack.callback(other.kill)
        sums = {row: _sum(os.path.join(folder, part)) for row, part in _KEPT.items()}
        yield _Prey(folder, tmp, tcp.getsockname()[1], name, other.pid, sums)


def _attempt_all(
    place: _Prey, who: Who, bwrap: str | None, *, network: bool, other_user: bool
) -> dict[str, str] | str:
    python = os.path.realpath(sys.executable)
    work, home = place.at("work"), place.at("home")
    mount_at = place.at("real") if bwrap else work
    box = Box(
        kind=who,
        workspace=work,
        mount_at=mount_at,
        home=home,
        read=tools.prefixes(python, path=os.defpath, home=home, repo=work),
        hide=(place.at("state"), place.at("config"), place.at("hidden.py")),
        network=network,
        other_user=other_user,
    )
    given = {
        **{name: place.at(name) for name in ("home", "outside", "secret", "state", "config")},
        "hidden": place.at("hidden.py"),
        "work": mount_at,
        "tmp": place.tmp,
        "pid": str(place.pid),
        "path": place.tmp + "/s",
        "agent": place.tmp + "/agent",
        "port": place.port,
        "abstract": place.abstract,
        "mark": place.abstract,
        "stayer": _stayer(place, who),
        "rows": [(row.name, row.code) for row in _rows(bwrap)],
        "shown": list(box.read),
    }
    stdin = place.at("given.json")
    with open(stdin, "w", encoding="ascii") as file:
        json.dump(given, file)
    built = box_command(box, (python, "-I", "-S", "-c", box_program("attack")), bwrap=bwrap)
    ended, text, answers = run_box_program(
        place.at(f"call-{who}"), built, {"HOME": home}, seconds=60, stdin=stdin
    )
    if "begun" not in text.split():
        return ended.error or text.strip()[-300:] or "it said nothing"
    return answers


def _stayer(place: _Prey, who: Who) -> str:
    return f"{place.abstract}-stays-{who}"


def _held_outside(row: BoxAttempt, place: _Prey) -> bool:
    if row.name in _KEPT:
        return _sum(place.at(_KEPT[row.name])) == place.sums[row.name]
    if row.name in {"symlink-out", "write-outside"}:
        return not os.path.exists(place.at("outside/new"))
    if row.name == "write-tmp":
        return not os.path.exists(place.tmp + "/new")
    if row.name == "stay":
        mark = f"{place.abstract}-stays-".encode()
        return not any(
            mark in (tree.read_bytes(f"/proc/{pid}/cmdline") or b"") for pid in tree.list_processes()
        )
    return True


def _sum(path: str) -> str:
    return hashlib.sha256(tree.read_bytes(path) or b"").hexdigest()
