"""Asking agents what they are: adapters say what to start, here it is, with a clock and bare environment."""

from __future__ import annotations

import concurrent.futures
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec.structs import replace

from ralph import agents
from ralph.agents import Probe
from ralph.agents._kit.environ import ORDINARY
from ralph.core.text.clean import one_line
from ralph.shell.process import tree

TIMEOUT_SECONDS = 10.0  # seconds; some of them start slowly
SWEEP_SECONDS = 2.0
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.]+)?")


def probe_all(names: Iterable[str], env: Mapping[str, str]) -> dict[str, Probe]:
    """Each agent with its version, side by side: most of the time is theirs."""
    found = {name: agents.load(name).probe(env) for name in names}
    # The same program may be there in two ways: by its own adapter and over ACP.
    asking = {one.version_argv: one for one in found.values() if one.installed and one.version_argv}
    with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
        versions = dict(zip(asking, pool.map(lambda one: version_of(one, env), asking.values()), strict=True))
    return {
        name: replace(one, version=versions.get(one.version_argv, one.version)) for name, one in found.items()
    }


def version_of(found: Probe, env: Mapping[str, str]) -> str:
    """What the program says of itself, without keys and in an empty home; "" when it says nothing usable."""
    bare = {name: env[name] for name in ORDINARY if name in env and not name.startswith("XDG_")}
    with tempfile.TemporaryDirectory(prefix="ralph-probe-") as home:
        try:
            said = _ask(
                found.version_argv,
                env={**bare, "HOME": home, "CI": "1", "DISABLE_AUTOUPDATER": "1", "MSWEA_CONFIGURED": "true"},
                cwd=home,
            )
        except OSError:
            return ""
    number = _VERSION.search(said)
    return number[0] if number else one_line(said, 40)


def _ask(argv: tuple[str, ...], env: Mapping[str, str], cwd: str) -> str:
    """The first words of a program; one that hangs is ended with all that it started."""
    with tempfile.TemporaryFile() as said:  # a pipe would be held open by whatever it leaves behind
        with subprocess.Popen(
            argv,
            env=env,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as child:
            try:
                child.wait(TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                return ""
            finally:
                end_tree(child.pid)
        said.seek(0)
        return said.read(4096).decode("utf-8", "replace")


def end_tree(pid: int) -> None:
    """The program, its children wherever they moved to, and its group."""
    tree.sweep(lambda: tree.descendants(pid), SWEEP_SECONDS)
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)
